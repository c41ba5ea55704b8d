//! Folders of Parquet files, and heads that are fitted on a sample of rows and calibrated on the others.

mod common;

use common::{Desk, animals, normal};
use ndarray::Array1;
use stonet_io::{Cells, Column, Type, Writer};

const QUICK: &str = "[stonet]\nhidden = [6]\nsteps = 150\nkappas = [0.01, 0.1]\n";
const FIT: &str = "fit parts --task regression --prediction d --exclude id --settings quick.toml -o head.stonet";

/// Rows with four features, a network's prediction, an answer whose noise grows with a feature, and an id.
fn rows(n: usize, seed: u64) -> Vec<Array1<f64>> {
    let mut z = normal(seed);
    let mut columns = vec![Vec::new(); 6];
    for _ in 0..n {
        let f: Vec<f64> = (0..4).map(|_| z().tanh()).collect();
        let mean = 2.0 * f[0] - f[1] + (3.0 * f[2]).tanh();
        let (d, y) = (mean + 0.4 * f[3] + 0.2 * z(), mean + 0.3 * (0.8 * f[1]).exp() * z());
        columns.iter_mut().zip(f.into_iter().chain([d, y])).for_each(|(c, v)| c.push(v));
    }
    columns.into_iter().map(Array1::from).collect()
}

/// Some of these rows as a file.
fn write(desk: &Desk, name: &str, rows: &[Array1<f64>], part: std::ops::Range<usize>) {
    let path = desk.at(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let names = ["f0", "f1", "f2", "f3", "d", "y"].map(|n| Column::new(n, Type::F64));
    let columns = names.into_iter().chain([Column::new("id", Type::Text)]).collect();
    let mut writer = Writer::create(&path, columns).unwrap();
    let ids: Vec<String> = part.clone().map(|r| format!("r{r}")).collect();
    let cut: Vec<Array1<f64>> = rows.iter().map(|c| c.slice(ndarray::s![part.clone()]).to_owned()).collect();
    let cells: Vec<Cells<'_>> = cut.iter().map(|c| Cells::Numbers(c.view())).chain([Cells::Text(&ids)]).collect();
    writer.write(&cells).unwrap();
    writer.finish().unwrap();
}

/// The rows in three files of a folder, beside an empty one and what Spark leaves there.
fn scatter(desk: &Desk, rows: &[Array1<f64>]) {
    let n = rows[0].len();
    write(desk, "parts/0.parquet", rows, 0..0);
    write(desk, "parts/1.parquet", rows, 0..n / 2);
    write(desk, "parts/2.parquet", rows, n / 2..n / 2 + 1);
    write(desk, "parts/more/3.parquet", rows, n / 2 + 1..n);
    desk.write("parts/_SUCCESS", "").write("parts/.1.parquet.crc", "crc");
}

fn desk(n: usize) -> Desk {
    let desk = Desk::new();
    desk.write("quick.toml", QUICK);
    scatter(&desk, &rows(n, 1));
    desk
}

#[test]
fn a_folder_is_sampled_and_the_others_calibrate() {
    let desk = desk(900);
    let summary = desk.json(&format!("{FIT} --sample 400"));
    let count = |key: &str| summary[key].as_u64().unwrap();
    assert_eq!((count("sampled"), count("rows"), count("calibration_rows"), count("total_rows")), (400, 400, 500, 900));
    assert_eq!(summary["settings"]["kind"], "split");
    assert!(summary["guarantee"].as_str().unwrap().contains("split conformal, n = 500 rows"));
    let head = desk.bytes("head.stonet");
    let text = desk.run(&format!("{FIT} --sample 400 --interval split --jobs 1"));
    assert!(text.contains("fitted on 400 of 900 rows with 4 features, calibrated on 500 others, in"), "{text}");
    assert_eq!(desk.bytes("head.stonet"), head);
    // One file with the same rows, or one beside the other, is the same.
    write(&desk, "one.parquet", &rows(900, 1), 0..900);
    desk.run(&format!("{} --sample 400", FIT.replace("parts", "one.parquet")));
    assert_eq!(desk.bytes("head.stonet"), head);
    desk.run(&format!("{} --sample 400 --seed 2", FIT));
    assert_ne!(desk.bytes("head.stonet"), head);
    // At most seven tenths are fitted, so that there is something left.
    let summary = desk.json(FIT);
    assert_eq!((summary["sampled"].as_u64(), summary["calibration_rows"].as_u64()), (Some(630), Some(270)));
    // A file without --sample is fitted in memory as ever.
    let summary = desk.json(&FIT.replace("parts", "one.parquet --interval fast"));
    assert!(summary["sampled"].is_null() && summary["total_rows"].is_null() && summary["rows"] == 900);
}

#[test]
fn every_command_takes_a_folder() {
    let desk = desk(600);
    desk.run(&format!("{FIT} --sample 300"));
    write(&desk, "one.parquet", &rows(600, 1), 0..600);
    desk.run("predict head.stonet parts --keep id,y -o folder.csv");
    desk.run("predict head.stonet one.parquet --keep id,y -o one.csv");
    assert_eq!(desk.text("folder.csv"), desk.text("one.csv"));
    assert_eq!(desk.text("one.csv").lines().count(), 601);
    let judged = |rows: &str| {
        let mut judged = desk.json(&format!("evaluate head.stonet {rows} --allow-seen"));
        judged.as_object_mut().unwrap().retain(|key, _| key != "seconds" && key != "rows_file");
        judged["overall"]["coverage"].clone()
    };
    assert_eq!(judged("parts"), judged("one.parquet"));
    desk.run("predict head.stonet parts --level 0.5,0.99 --side upper -o bound.parquet");
    // The answers may stand in a file beside the folder.
    let answers: String = rows(600, 1)[5].iter().map(|y| format!("{y}\n")).collect();
    desk.write("answers.csv", format!("answer\n{answers}"));
    desk.run(
        "fit parts --with answers.csv --target answer --task regression --prediction d --exclude id,y --sample 300 \
         --settings quick.toml -o beside.stonet",
    );
    desk.run("predict beside.stonet parts -o beside.csv");
    desk.run("predict head.stonet parts -o alone.csv");
    assert_eq!(desk.text("beside.csv"), desk.text("alone.csv"));
    desk.run("inspect head.stonet");
    desk.run("export head.stonet -o head.onnx");
}

#[test]
fn intervals_agree_with_those_of_a_fit_in_memory() {
    const REPLICATIONS: u64 = 6;
    const NEW: usize = 4000;
    const CALIBRATE: usize = 1300;
    let (mut coverage, mut differences) = (0.0, Vec::new());
    for r in 0..REPLICATIONS {
        let desk = Desk::new();
        desk.write("quick.toml", QUICK);
        scatter(&desk, &rows(CALIBRATE + 700, 10 + r));
        write(&desk, "memory.parquet", &rows(1000, 20 + r), 0..1000);
        let new = rows(NEW, 30 + r);
        write(&desk, "new.parquet", &new, 0..NEW);
        let judge = |fit: &str| {
            desk.run(fit);
            desk.run("predict head.stonet new.parquet -o scored.parquet");
            let [low, high] = ["lower_90", "upper_90"].map(|c| desk.column("scored.parquet", c));
            let inside = (0..NEW).filter(|&i| (low[i]..=high[i]).contains(&new[5][i])).count();
            let length: f64 = low.iter().zip(&high).map(|(l, h)| h - l).sum();
            (inside as f64 / NEW as f64, length / NEW as f64)
        };
        let streamed = judge(&format!("{FIT} --sample 700 --seed {r}"));
        // As many rows are fitted: 0.7 of 1000.
        let memory = judge(&FIT.replace("parts", &format!("memory.parquet --interval split --seed {r}")));
        coverage += streamed.0 / REPLICATIONS as f64;
        differences.push(streamed.1 - memory.1);
    }
    // Coverage given n calibration rows has variance α(1 − α)/(n + 2) about ⌈0.9(n + 1)⌉/(n + 1), and new rows are
    // binomial.
    let variance = 0.09 / (CALIBRATE as f64 + 2.0) + 0.09 / NEW as f64;
    let allowed = 4.5 * (variance / REPLICATIONS as f64).sqrt() + 1.0 / CALIBRATE as f64;
    assert!((coverage - 0.9).abs() < allowed, "{coverage} {allowed}");
    let (mean, sd) = stonet::metrics::mean_sd(&differences);
    // t quantile of 5 degrees of freedom at .0005.
    assert!(mean.abs() < 6.87 * sd / (REPLICATIONS as f64).sqrt(), "{mean} {sd}");
}

#[test]
fn classes_are_fitted_on_the_sample_alone() {
    let desk = Desk::new();
    desk.write("animals.csv", animals(600));
    let line = "fit animals.csv --task classification --method temperature --kind features --inputs a,b,c --target animal \
                -o head.stonet";
    let line = line.replace("temperature", "post-linear");
    let output = desk.ended(&format!("{line} --sample 300 --json"), 0);
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains("300 of 600 rows are fitted and the others are not used"), "{note}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((summary["sampled"].as_u64(), summary["total_rows"].as_u64()), (Some(300), Some(600)));
    assert!(summary["calibration_rows"].is_null());
    let output = desk.ended(&format!("{line} --sample 600"), 0);
    assert!(!String::from_utf8(output.stderr).unwrap().contains("not used"));
}

#[test]
fn what_does_not_go_together_is_said() {
    let desk = desk(300);
    for kind in ["stack", "cv+", "paper"] {
        desk.refuses(&format!("{FIT} --interval {kind}"), &["--interval", kind, "needs all rows in memory", "`split`"]);
    }
    desk.write("stack.toml", format!("kind = \"stack\"\n{QUICK}"));
    desk.refuses(&FIT.replace("quick", "stack"), &["--interval stack", "needs all rows in memory"]);
    desk.refuses(&format!("{FIT} --groups id"), &["--groups", "a group must not be divided"]);
    desk.refuses(&format!("{FIT} --sample 0"), &["--sample", "at least 1"]);
    desk.refuses(&FIT.replace("parts", "- --sample 5"), &["--sample", "standard input"]);
    // 290 are left, and 999 are needed at 0.999; nine rows are too few to be fitted.
    desk.refuses(&format!("{FIT} --sample 10 --level 0.999"), &["parts", "calibration needs at least 999 rows", "290"]);
    desk.refuses(&format!("{FIT} --sample 9"), &["parts", "cross-fitting needs at least 10 rows, but there are 9"]);
    desk.refuses(&FIT.replace("parts", "nowhere --sample 5"), &["nowhere"]);
}

#[test]
fn files_of_a_folder_that_do_not_fit_are_named() {
    let desk = desk(300);
    let mut broken = rows(10, 2);
    broken[2][7] = f64::NAN;
    write(&desk, "parts/5.parquet", &broken, 0..10);
    desk.refuses(FIT, &["parts/5.parquet, row 7 (from 0), column `f2`: missing value"]);
    desk.refuses("predict nothing.stonet parts -o p.csv", &["nothing.stonet"]);

    let short = vec![Column::new("f0", Type::F64), Column::new("y", Type::F64)];
    let mut writer = Writer::create(&desk.at("parts/5.parquet"), short).unwrap();
    writer.write(&[Cells::Numbers(broken[0].view()), Cells::Numbers(broken[1].view())]).unwrap();
    writer.finish().unwrap();
    desk.refuses(FIT, &["parts/5.parquet", "`f1`", "`f2`", "missing"]);

    let names = ["f0", "f1", "f2", "d", "y"].map(|n| Column::new(n, Type::F64));
    let text = names.into_iter().chain([Column::new("f3", Type::Text)]).collect();
    let mut writer = Writer::create(&desk.at("parts/5.parquet"), text).unwrap();
    let words = vec!["red".to_owned(); 10];
    let numbers = [0, 1, 3, 4, 5].map(|c| Cells::Numbers(broken[c].view()));
    writer.write(&numbers.into_iter().chain([Cells::Text(&words)]).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    desk.refuses(FIT, &["parts/5.parquet, column `f3`", "cannot be read as numbers"]);

    std::fs::create_dir(desk.at("none")).unwrap();
    desk.refuses(&FIT.replace("parts", "none"), &["none: there is no Parquet file in this folder", ".parquet"]);
}

/// Rows without end, of which a sample is drawn until somebody asks to stop.
#[cfg(unix)]
#[test]
fn drawing_stops_on_request() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let desk = Desk::new();
    let line = "fit - --task classification --kind features --inputs a,b,c --target animal --sample 100 -o x.stonet";
    let mut child = desk.stonet(line).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = animals(3000);
    let (header, rows) = text.split_once('\n').unwrap();
    stdin.write_all(format!("{header}\n").as_bytes()).unwrap();
    // More than pipe and buffers hold, so that it has begun to read.
    (0..100).for_each(|_| stdin.write_all(rows.as_bytes()).unwrap());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    while stdin.write_all(rows.as_bytes()).is_ok() {}
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("stopped: ") && desk.contents().is_empty(), "{stderr}");
}
