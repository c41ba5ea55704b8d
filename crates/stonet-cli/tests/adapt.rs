//! `stonet adapt`: heads for rows from elsewhere, through files.

mod common;

use common::{Desk, FIT_LOGITS, with_logits};

/// Calibration rows, new rows whose x0 is larger, and labelled rows like them; noise grows with x0.
fn with_rows() -> Desk {
    let (desk, mut z) = (Desk::new(), common::normal(9));
    let mut rows = |n: usize, centre: f64, answers: bool| {
        let mut text = String::from(if answers { "x0,x1,y\n" } else { "x0,x1\n" });
        for _ in 0..n {
            let (a, b) = (centre + z(), z());
            text += &format!("{a},{b}");
            text += &if answers { format!(",{}\n", a + b + 0.4 * (0.6 * a).exp() * z()) } else { "\n".into() };
        }
        text
    };
    desk.write("val.csv", rows(500, 0.0, true)).write("new.csv", rows(400, 0.8, false));
    desk.write("test.csv", rows(400, 0.8, true)).write("away.csv", rows(100, 20.0, false));
    desk
}

const FIT: &str = "fit val.csv --task regression --interval fast -o head.stonet";

#[test]
fn a_head_that_keeps_its_rows_is_adapted() {
    let desk = with_rows();
    desk.run(&format!("{FIT} --keep-rows"));
    assert!(desk.run("inspect head.stonet").contains("kept rows    yes"));
    let told = desk.json("adapt head.stonet new.csv -o moved.stonet");
    let adapted = &told["adapted"];
    assert_eq!((&told["schema"], &told["shift"]), (&"stonet.adapt/1".into(), &"covariate".into()));
    assert_eq!((&adapted["rows"], &adapted["new_rows"], &adapted["known"]), (&500.into(), &400.into(), &false.into()));
    assert_eq!((&adapted["shift_found"], &adapted["columns"][0]["column"]), (&true.into(), &"x0".into()));
    let effective = adapted["effective_rows"].as_f64().unwrap();
    assert!(effective > 50.0 && effective < 450.0, "{told}");
    assert!(told["guarantee"].as_str().unwrap().contains("Approximately 90.0 %"), "{told}");
    // The count is that of the file.
    desk.run("predict moved.stonet new.csv -o moved.csv");
    let infinite = desk.column("moved.csv", "upper_90").iter().filter(|v| v.is_infinite()).count();
    assert_eq!(adapted["infinite"], infinite);
    let text = desk.run("adapt head.stonet new.csv -o again.stonet");
    for word in ["calibration rows are ranked", "found: held-out AUC", "x0 +", "a heuristic", "sum w", "guarantee"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    // The same rows, given again in a file of their own; and the same command writes the same bytes.
    desk.run(FIT);
    desk.run("adapt head.stonet new.csv --rows val.csv -o given.stonet");
    desk.run("predict given.stonet new.csv -o given.csv");
    assert_eq!(desk.text("moved.csv"), desk.text("given.csv"));
    assert_eq!(std::fs::read(desk.at("moved.stonet")).unwrap(), std::fs::read(desk.at("again.stonet")).unwrap());
    assert!(desk.run("inspect moved.stonet").contains("adapted      to 400 rows, by an estimated ratio"));
    // What reads heads reads this one.
    desk.run("predict moved.stonet new.csv -o q.csv --quantiles 0.1,0.9 --below 1 --side lower --level 0.8");
    let judged = desk.json("evaluate moved.stonet test.csv");
    assert!(judged["evaluation"].is_object(), "{judged}");
    desk.run("export moved.stonet -o moved.onnx --level 0.8,0.9 --below 1");
    desk.run("control moved.stonet test.csv --want coverage>=0.8 --confidence 0.9 -o rule.json");
}

#[test]
fn a_known_ratio_is_named_by_its_columns() {
    let desk = with_rows();
    desk.write("quick.toml", "folds = 2\n[stonet]\nhidden = [2]\nsteps = 30\nkappas = [0.1]\n");
    desk.run("fit val.csv --task regression --interval split --settings quick.toml --keep-rows -o head.stonet");
    let told = desk.json("adapt head.stonet new.csv --tilt x0=0.8 --level 0.8 -o moved.stonet");
    assert_eq!((&told["adapted"]["known"], &told["adapted"]["level"]), (&true.into(), &0.8.into()));
    assert!(told["guarantee"].as_str().unwrap().starts_with("At least 80.0 %"), "{told}");
    for (flag, why) in
        [("--tilt z=1", "names no feature"), ("--tilt x0", "has no weight"), ("--tilt x0=a", "is no number")]
    {
        assert!(desk.refuses(&format!("adapt head.stonet new.csv {flag} -o no.stonet"), &[]).contains(why), "{flag}");
    }
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_written() {
    let desk = with_rows();
    desk.run(FIT);
    let e = desk.refuses("adapt head.stonet new.csv -o moved.stonet", &[]);
    assert!(e.contains("keeps no calibration rows") && e.contains("--rows"), "{e}");
    let e = desk.refuses("adapt head.stonet new.csv --rows test.csv -o moved.stonet", &[]);
    assert!(e.contains("test.csv") && e.contains("belong to none of these rows"), "{e}");
    let e = desk.refuses("adapt head.stonet away.csv --rows val.csv -o moved.stonet", &[]);
    assert!(e.contains("100 of 100 new rows would have infinite intervals"), "{e}");
    let e = desk.refuses("adapt head.stonet new.csv --rows val.csv -o head.stonet", &[]);
    assert!(e.contains("head.stonet"), "{e}");
    assert!(!desk.at("moved.stonet").exists());
    desk.run("adapt head.stonet new.csv --rows val.csv -o moved.stonet");
    let e = desk.refuses("monitor moved.stonet test.csv", &[]);
    assert!(e.contains("was adapted"), "{e}");
    let e = desk.refuses("fit val.csv --task regression --interval cv -o c.stonet --keep-rows", &[]);
    assert!(e.contains("--keep-rows") && e.contains("Eve's law"), "{e}");
}

#[test]
fn shares_of_classes_are_found() {
    let desk = with_logits();
    desk.run(FIT_LOGITS);
    let told = desk.json("adapt head.stonet test.csv -o moved.stonet");
    assert_eq!((&told["shift"], &told["schema"]), (&"label".into(), &"stonet.adapt/1".into()));
    let shares: f64 = told["adapted"]["classes"].as_array().unwrap().iter().map(|c| c["after"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{told}");
    desk.run("predict moved.stonet test.csv -o p.csv");
    assert!(desk.run("inspect moved.stonet").contains("adapted      "));
    desk.run("export moved.stonet -o moved.onnx");
    let e = desk.refuses("adapt head.stonet test.csv --tilt x=1 -o no.stonet", &[]);
    assert!(e.contains("are for intervals"), "{e}");
}
