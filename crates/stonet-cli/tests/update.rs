//! `fit --time` and `stonet update`: what is noticed, remembered and refused, windows, and levels that follow their misses.

mod common;

use common::{Desk, FIT_LOGITS, logits, normal};
use serde_json::Value;

/// Rows of a series: errors depend on the row before by `rho` and have the size `noise`.
fn rows(count: usize, seed: u64, rho: f64, noise: f64) -> String {
    let (mut z, mut text, mut e) = (normal(seed), String::from("t,day,f0,f1,prediction,y\n"), 0.0);
    for t in 0..count {
        let [a, b] = [z(), z()];
        e = rho * e + (1.0 - rho * rho).sqrt() * z();
        let day = format!("2024-{:02}-{:02}", 1 + t / 28 % 12, 1 + t % 28);
        text += &format!("{t},{day},{a},{b},{a},{}\n", a - 0.3 * b + noise * e);
    }
    text
}

const FIT: &str =
    "fit val.csv --task regression --interval fast --inputs f0,f1 --prediction prediction --target y -o head.stonet";

fn told(desk: &Desk, line: &str) -> Value {
    serde_json::from_slice(&desk.ended(&format!("{line} --json"), 0).stdout).unwrap()
}

fn refused(desk: &Desk, line: &str, text: &str) {
    let output = desk.ended(line, 2);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains(text) && !stderr.contains("panicked"), "{line}: {stderr}");
}

#[test]
fn fits_warn_of_rows_in_order_and_time_declares_them() {
    let desk = Desk::new();
    desk.write("val.csv", rows(300, 1, 0.8, 1.0)).write("plain.csv", rows(300, 1, 0.0, 1.0));
    let warned = told(&desk, FIT);
    let warnings = warned["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w.as_str().unwrap().contains("--time COLUMN")), "{warnings:?}");
    let stderr = String::from_utf8(desk.ended(FIT, 0).stderr).unwrap();
    assert!(stderr.contains("rows look ordered"), "{stderr}");
    let plain = told(&desk, &FIT.replace("val.csv", "plain.csv"));
    assert!(plain["warnings"].as_array().unwrap().is_empty(), "{plain}");
    for time in ["--time t --gap 7", "--time day"] {
        let fitted = told(&desk, &format!("{FIT} {time}"));
        assert!(fitted["warnings"].as_array().unwrap().is_empty(), "{fitted}");
        assert!(fitted["guarantee"].as_str().unwrap().contains("No finite-sample bound"), "{fitted}");
        let shown = told(&desk, "inspect head.stonet");
        assert_eq!(shown["time"]["gap"], if time.contains("gap") { 7 } else { 3 });
        assert!(shown["guarantee"]["coverage"].is_null());
        let text = String::from_utf8(desk.ended("inspect head.stonet", 0).stdout).unwrap();
        assert!(text.contains("in order     by "), "{text}");
    }
    desk.run(&format!("{FIT} --interval split --time t --gap 7").replace("--interval fast ", ""));
    desk.run("predict head.stonet plain.csv -o out.csv");
    desk.run("evaluate head.stonet plain.csv --allow-seen");
    for (flags, text) in [
        ("--time t --groups day", "--time does not go with --groups"),
        ("--time t --within day", "--time does not go with --within"),
        ("--time t --sample 100", "--time"),
        ("--gap 7", "--time"),
        ("--time nothing", "nothing"),
        ("--time t --gap 90", "smaller gap"),
    ] {
        let line = if flags.contains("sample") { FIT.replace("--interval fast ", "") } else { FIT.to_owned() };
        refused(&desk, &format!("{line} {flags}"), text);
    }
    refused(&desk, &format!("{FIT} --time t").replace("fast", "cv"), "--time needs --interval");
    desk.write("val.csv", rows(60, 1, 0.0, 1.0).replace("2024-01-05", "soon"));
    refused(&desk, &format!("{FIT} --time day"), "row 4 (from 0) of column `day` is `soon`");
    let labels = "fit val.csv --task classification --inputs f0,f1 --target day -o c.stonet --time t";
    refused(&desk, labels, "--time is for --task regression");
}

#[test]
fn rows_join_leave_and_are_remembered() {
    let desk = Desk::new();
    desk.write("val.csv", rows(300, 1, 0.0, 1.0)).write("new.csv", rows(120, 2, 0.0, 3.0));
    desk.write("more.csv", rows(30, 3, 0.0, 3.0)).write("judge.csv", rows(400, 4, 0.0, 3.0));
    desk.run(FIT);
    let before = desk.bytes("head.stonet");
    let joined = told(&desk, "update head.stonet new.csv -o head2.stonet --window 100");
    assert_eq!((joined["rows"].as_u64(), joined["scored"].as_u64()), (Some(120), Some(100)));
    assert_eq!(desk.bytes("head.stonet"), before);
    let joined = told(&desk, "update head2.stonet more.csv -o head2.stonet");
    assert_eq!((joined["joined"].as_u64(), joined["scored"].as_u64()), (Some(150), Some(130)));
    let shown = told(&desk, "inspect head2.stonet");
    assert_eq!(shown["updated"]["joined"], 150);
    assert!(shown["guarantee"]["coverage"].is_null());
    let coverage = |head: &str| {
        let told = told(&desk, &format!("evaluate {head} judge.csv"));
        told["evaluation"]["overall"]["coverage"]["value"].as_f64().unwrap()
    };
    let (old, new) = (coverage("head.stonet"), coverage("head2.stonet"));
    assert!(old < 0.6 && new > 0.8, "{old} {new}");
    // Rows that joined are known, and the other commands take the head.
    refused(&desk, "evaluate head2.stonet new.csv", "--allow-seen");
    desk.run("export head2.stonet -o head2.onnx");
    desk.ended("monitor head2.stonet judge.csv", 1);
    // A split says what is exact.
    desk.run(&FIT.replace("fast", "split"));
    let split = told(&desk, "update head.stonet new.csv -o split.stonet --window 100");
    assert!(split["guarantee"].as_str().unwrap().starts_with("At least 90.0 %"), "{split}");
}

#[test]
fn levels_follow_the_misses_of_what_was_issued() {
    let desk = Desk::new();
    desk.write("val.csv", rows(300, 1, 0.0, 1.0)).write("new.csv", rows(120, 2, 0.0, 3.0));
    desk.run(FIT);
    desk.run("predict head.stonet new.csv -o issued.parquet");
    desk.run("predict head.stonet new.csv -o issued.csv");
    let aci = told(&desk, "update head.stonet new.csv -o aci.stonet --adaptive aci --rate 0.001 --issued issued.csv");
    let misses = aci["levels"][0]["misses"].as_u64().unwrap();
    assert!(misses > 40 && aci["guarantee"].as_str().unwrap().contains("long-run mean"), "{aci}");
    let same =
        told(&desk, "update head.stonet new.csv -o p.stonet --adaptive aci --rate 0.001 --issued issued.parquet");
    assert_eq!(same["levels"], aci["levels"]);
    assert_eq!(desk.bytes("p.stonet"), desk.bytes("aci.stonet"));
    desk.run("export aci.stonet -o aci.onnx");
    // On and on: the whole line, whose infinite ends are issued and read again, and which no ONNX file can give.
    let whole = told(&desk, "update head.stonet new.csv -o whole.stonet --adaptive aci --rate 0.1 --issued issued.csv");
    assert!(whole["warnings"][0].as_str().unwrap().contains("whole line"), "{whole}");
    for file in ["whole.csv", "whole.parquet"] {
        desk.run(&format!("predict whole.stonet new.csv -o {file}"));
        let next = told(&desk, &format!("update whole.stonet new.csv -o next.stonet --issued {file}"));
        assert_eq!(next["levels"][0]["misses"].as_u64(), Some(misses));
        assert_eq!((next["rate"].as_f64(), next["adaptive"].as_str()), (Some(0.1), Some("aci")));
    }
    refused(&desk, "export whole.stonet -o whole.onnx", "whole line");
    let pid = told(&desk, "update head.stonet new.csv -o pid.stonet --adaptive pid --issued issued.csv --window 200");
    assert_eq!((pid["adaptive"].as_str(), pid["rate"].as_f64()), (Some("pid"), Some(0.1)));
    let shown = told(&desk, "inspect pid.stonet");
    assert_eq!(shown["updated"]["adapted"]["levels"][0]["rows"], 120);
    desk.run("predict head.stonet new.csv -o two.csv --level 0.8,0.95");
    let two = told(&desk, "update head.stonet new.csv -o two.stonet --adaptive aci --issued two.csv --level 0.8,0.95");
    assert_eq!(two["levels"].as_array().unwrap().len(), 2);
    desk.run("predict two.stonet new.csv -o next.csv --level 0.8,0.9,0.95");
}

#[test]
fn what_does_not_fit_is_refused() {
    let desk = Desk::new();
    desk.write("val.csv", rows(300, 1, 0.0, 1.0)).write("new.csv", rows(50, 2, 0.0, 1.0));
    desk.write("few.csv", rows(20, 2, 0.0, 1.0)).write("none.csv", "t,day,f0,f1,prediction,y\n");
    desk.write("logits.csv", logits(120, 3));
    desk.run(FIT);
    desk.run(&FIT_LOGITS.replace("val.csv", "logits.csv").replace("head.stonet", "logits.stonet"));
    desk.run("predict head.stonet new.csv -o issued.csv");
    desk.run("predict head.stonet few.csv -o short.csv");
    let update = "update head.stonet new.csv -o out.stonet";
    for (line, text) in [
        (format!("{update} --window 8"), "--window is 8"),
        (format!("{update} --issued issued.csv"), "--issued is for --adaptive"),
        (format!("{update} --rate 0.1"), "--rate is for --adaptive"),
        (format!("{update} --adaptive aci"), "needs --issued"),
        (format!("{update} --adaptive agaci --issued issued.csv"), "aci, pid"),
        (format!("{update} --adaptive aci --issued issued.csv --rate 0"), "--rate is 0"),
        (format!("{update} --adaptive aci --issued short.csv"), "has 20 rows"),
        (format!("{update} --adaptive aci --issued issued.csv --level 0.8"), "lower_80"),
        (format!("{update} --adaptive aci --issued new.csv"), "lower_90"),
        ("update head.stonet few.csv -o out.stonet --adaptive aci --issued issued.csv".into(), "has 50 rows"),
        ("update head.stonet new.csv -o out.csv".into(), ".stonet"),
        ("update head.stonet none.csv -o out.stonet".into(), "no rows"),
        ("update head.stonet new.csv -o out.stonet --target f0".into(), "--target"),
        ("update logits.stonet logits.csv -o out.stonet".into(), "classifier"),
    ] {
        refused(&desk, &line, text);
        assert!(!desk.at("out.stonet").exists(), "{line}");
    }
    let broken = desk
        .text("issued.csv")
        .lines()
        .enumerate()
        .map(|(i, l)| if i == 3 { "0,x,1".into() } else { l.to_owned() })
        .collect::<Vec<String>>();
    desk.write("broken.csv", broken.join("\n") + "\n");
    refused(
        &desk,
        &format!("{update} --adaptive aci --issued broken.csv"),
        "row 2 (from 0) of column `lower_90` is `x`",
    );
    // A head that adapts needs what was issued.
    desk.run(&format!("{update} --adaptive aci --issued issued.csv"));
    refused(&desk, "update out.stonet new.csv -o next.stonet", "adapts its level by aci");
    refused(&desk, "update out.stonet new.csv -o next.stonet --adaptive pid --issued issued.csv", "another way");
}
