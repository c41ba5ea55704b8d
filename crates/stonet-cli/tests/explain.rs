//! `stonet predict --explain`: columns that add up and name what makes noise, strange rows, and what is refused or left out.

mod common;

use common::{Desk, FIT_LOGITS, logits, normal};

/// Rows whose noise grows with f0 alone; `far` is added to every feature.
fn rows(count: usize, seed: u64, far: f64) -> String {
    let (mut z, mut text) = (normal(seed), String::from("id,f0,f1,f2,prediction,y\n"));
    for i in 0..count {
        let [a, b, c] = [z(), z(), z()].map(|v| v + far);
        let y = a - b + (0.9 * a).exp() * z();
        text += &format!("{i},{a},{b},{c},{},{y}\n", a - b);
    }
    text
}

const FIT: &str =
    "fit val.csv --task regression --interval fast --inputs f* --prediction prediction --target y -o head.stonet";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("val.csv", rows(600, 1, 0.0)).write("new.csv", rows(300, 2, 0.0)).write("far.csv", rows(20, 3, 8.0));
    desk.run(FIT);
    desk
}

/// The columns of a CSV file by name.
fn column(text: &str, name: &str) -> Vec<String> {
    let place = text.lines().next().unwrap().split(',').position(|n| n == name);
    let place = place.unwrap_or_else(|| panic!("{name}: {}", text.lines().next().unwrap()));
    text.lines().skip(1).map(|l| l.split(',').nth(place).unwrap().to_owned()).collect()
}

fn numbers(text: &str, name: &str) -> Vec<f64> {
    column(text, name).iter().map(|v| v.parse().unwrap()).collect()
}

#[test]
fn rows_are_explained_beside_their_unchanged_predictions() {
    let desk = desk();
    desk.run("predict head.stonet new.csv -o plain.csv --keep id");
    desk.run("predict head.stonet new.csv -o why.csv --keep id --explain");
    let (plain, why) = (desk.text("plain.csv"), desk.text("why.csv"));
    let header = "id,prediction,lower_90,upper_90,model_share,noise_share,width_ratio,wide_1,wide_1_factor,wide_2,wide_2_factor,\
                  wide_3,wide_3_factor,novelty";
    assert_eq!(why.lines().next().unwrap(), header);
    for (a, b) in plain.lines().zip(why.lines()) {
        assert!(b.starts_with(a), "{a}: {b}");
    }
    let [model, noise, ratio, novelty] =
        ["model_share", "noise_share", "width_ratio", "novelty"].map(|n| numbers(&why, n));
    assert!(model.iter().zip(&noise).all(|(m, n)| *m >= 0.0 && (m + n - 1.0).abs() < 1e-9));
    assert!(novelty.iter().all(|p| *p > 0.0 && *p <= 1.0));
    // Of rows like the calibration rows about a tenth is among the strangest tenth.
    let strange = novelty.iter().filter(|p| **p <= 0.1).count();
    assert!(strange < 60, "{strange} of 300");
    // The widest tenth of the rows is wide by f0.
    let (names, f0) = (column(&why, "wide_1"), numbers(&desk.text("new.csv"), "f0"));
    let wide: Vec<usize> = (0..300).filter(|&i| f0[i] > 1.5).collect();
    let by_f0 = wide.iter().filter(|&&i| names[i] == "f0").count();
    assert!(by_f0 * 10 >= wide.len() * 7, "{by_f0} of {}", wide.len());
    let mean = |rows: &[usize]| rows.iter().map(|&i| ratio[i]).sum::<f64>() / rows.len() as f64;
    let narrow: Vec<usize> = (0..300).filter(|&i| f0[i] < -1.0).collect();
    assert!(mean(&wide) > 2.0 * mean(&narrow), "{} {}", mean(&wide), mean(&narrow));
    // Rows far away are strange, and the same in other formats and with single numbers.
    desk.run("predict head.stonet far.csv -o far_why.csv --explain");
    let novelty = numbers(&desk.text("far_why.csv"), "novelty");
    assert!(novelty.iter().all(|p| *p < 0.01), "{novelty:?}");
    desk.run("predict head.stonet new.csv -o why.parquet --explain --single");
}

#[test]
fn what_a_head_cannot_tell_is_left_out_with_a_reason() {
    let desk = desk();
    desk.run(&FIT.replace("fast", "split").replace("head.stonet", "split.stonet --no-fingerprints"));
    let output = desk.ended("predict split.stonet new.csv -o split.csv --explain", 0);
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("single model") && notes.contains("no counts of its calibration rows"), "{notes}");
    let header = desk.text("split.csv").lines().next().unwrap().to_owned();
    assert!(header.contains("width_ratio") && !header.contains("share") && !header.contains("novelty"), "{header}");
    // Nothing at all can be told of one temperature without counts.
    desk.write("val.csv", logits(200, 1));
    desk.run(&format!("{FIT_LOGITS} --no-fingerprints"));
    desk.write("new.csv", logits(20, 2));
    let output = desk.ended("predict head.stonet new.csv -o no.csv --explain", 2);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("--explain") && error.contains("nothing to tell"), "{error}");
    assert!(!desk.at("no.csv").exists());
}

#[test]
fn classes_have_shares_and_novelty_and_files_of_numbers_are_refused() {
    let desk = desk();
    let output = desk.ended("predict head.stonet new.csv -o why.npy --explain", 2);
    assert!(String::from_utf8(output.stderr).unwrap().contains("wide_1"));
    desk.write("val.csv", logits(400, 1)).write("new.csv", logits(50, 2));
    desk.run(&FIT_LOGITS.replace(" --method temperature", ""));
    desk.run("predict head.stonet new.csv -o why.csv --explain");
    let why = desk.text("why.csv");
    let header = why.lines().next().unwrap();
    assert!(header.ends_with("novelty") && !header.contains("wide_1"), "{header}");
    if header.contains("model_share") {
        let (model, noise) = (numbers(&why, "model_share"), numbers(&why, "noise_share"));
        assert!(model.iter().zip(&noise).all(|(m, n)| (m + n - 1.0).abs() < 1e-9));
    }
}
