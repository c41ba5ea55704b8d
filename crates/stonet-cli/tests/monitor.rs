//! `stonet monitor`: alarms with and without answers, a state that goes on, and what is refused.

mod common;

use common::{Desk, FIT_LOGITS, logits, normal};
use serde_json::Value;

/// Rows of three features, a prediction and a target; `shift` is added to the target, `broken` sets a feature to 0.
fn rows(count: usize, seed: u64, shift: f64, broken: bool) -> String {
    let (mut z, mut text) = (normal(seed), String::from("f0,f1,f2,prediction,y\n"));
    for _ in 0..count {
        let [a, b, c] = [z(), z(), z()];
        let y = a - b + 0.5 * z() + shift;
        let b = if broken { 0.0 } else { b };
        text += &format!("{a},{b},{c},{},{y}\n", a - b);
    }
    text
}

const FIT: &str =
    "fit val.csv --task regression --interval fast --inputs f* --prediction prediction --target y -o head.stonet";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("val.csv", rows(400, 1, 0.0, false));
    desk.run(FIT);
    desk
}

/// What a run with this exit code prints as JSON.
fn told(desk: &Desk, line: &str, code: i32) -> Value {
    serde_json::from_slice(&desk.ended(&format!("{line} --json"), code).stdout).unwrap()
}

#[test]
fn no_change_no_alarm_and_changes_are_named() {
    let desk = desk();
    desk.write("same.csv", rows(1500, 2, 0.0, false));
    desk.write("higher.csv", rows(1500, 3, 0.6, false));
    desk.write("broken.csv", rows(1500, 4, 0.0, true));
    let same = told(&desk, "monitor head.stonet same.csv --report same.html", 0);
    assert_eq!((same["schema"].as_str(), same["alarmed"].as_bool()), (Some("stonet.monitor/1"), Some(false)));
    assert!(desk.text("same.html").contains("No alarm"));
    let coverage = &same["monitor"]["measures"][0];
    assert_eq!(coverage["name"], "coverage of `y`");
    let [low, high] = ["lower", "upper"].map(|k| coverage[k].as_f64().unwrap());
    assert!(low < 0.9 && 0.9 < high && high - low < 0.1, "{coverage}");
    let higher = told(&desk, "monitor head.stonet higher.csv --report higher.html", 1);
    assert!(higher["monitor"]["answers"]["alarm_row"].as_u64().unwrap() < 600, "{}", higher["verdict"]);
    assert!(higher["monitor"]["inputs"]["alarm_row"].is_null());
    assert!(desk.text("higher.html").contains("Alarm"));
    let broken = told(&desk, "monitor head.stonet broken.csv --unlabelled", 1);
    let moved: Vec<&str> =
        broken["monitor"]["moved_columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    assert!(moved.contains(&"f1") && !moved.contains(&"f0") && !moved.contains(&"f2"), "{moved:?}");
    assert_eq!(broken["monitor"]["answered"], 0);
    let text = String::from_utf8(desk.ended("monitor head.stonet broken.csv --unlabelled", 1).stdout).unwrap();
    assert!(text.starts_with("ALARM") && text.contains("column `f1`"), "{text}");
}

#[test]
fn a_state_goes_on_as_if_all_rows_had_come_at_once() {
    let desk = desk();
    let all = rows(900, 5, 0.2, false);
    let lines: Vec<&str> = all.lines().collect();
    let part = |from: usize, to: usize| format!("{}\n{}\n", lines[0], lines[1 + from..1 + to].join("\n"));
    desk.write("all.csv", part(0, 900)).write("one.csv", part(0, 333)).write("two.csv", part(333, 900));
    let run = |rows: &str, state: &str| desk.stonet(&format!("monitor head.stonet {rows} --state {state}")).output();
    for (rows, state) in [("all.csv", "all.json"), ("one.csv", "parts.json"), ("two.csv", "parts.json")] {
        assert!(run(rows, state).unwrap().status.code().is_some_and(|c| c < 2));
    }
    assert_eq!(desk.text("all.json"), desk.text("parts.json"));
    // Rows without answers go into the same state.
    desk.stonet("monitor head.stonet one.csv --state parts.json --unlabelled").output().unwrap();
    let state: Value = serde_json::from_str(&desk.text("parts.json")).unwrap();
    assert_eq!((state["monitor"]["rows"].as_u64(), state["monitor"]["answered"].as_u64()), (Some(1233), Some(900)));
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_state_alone() {
    let desk = desk();
    desk.write("new.csv", rows(50, 6, 0.0, false));
    desk.run("monitor head.stonet new.csv --state s.json");
    desk.refuses(
        "monitor head.stonet new.csv --state s.json --alarm 0.2",
        &["--state", "--alarm 0.01", "another file"],
    );
    desk.refuses("monitor head.stonet new.csv --state s.json --level 0.5", &["--state", "--level 0.9"]);
    desk.refuses("monitor head.stonet new.csv --alarm 1.5", &["alarm", "between 0 and 1"]);
    desk.refuses("monitor head.stonet new.csv --target f0", &["--target", "`f0`", "which the head reads"]);
    desk.refuses("monitor head.stonet new.csv --state head.stonet", &["head.stonet"]);
    desk.write("bare.csv", "f0,f1,f2,prediction\n1,2,3,4\n");
    desk.refuses("monitor head.stonet bare.csv --state s.json", &["`y`"]);
    desk.write("gap.csv", "f0,f1,f2,prediction,y\n1,2,3,4,5\n1,,3,4,5\n");
    desk.refuses("monitor head.stonet gap.csv --state s.json", &["gap.csv", "f1"]);
    desk.run(&FIT.replace("head.stonet", "other.stonet --seed 7"));
    desk.refuses("monitor other.stonet new.csv --state s.json", &["--state", "another head"]);
    let good = desk.text("s.json");
    for (from, to) in [("stonet.monitor-state/1", "stonet.monitor-state/9"), ("\"rows\":50", "\"rows\":51"), ("}", "")]
    {
        desk.write("s.json", good.replacen(from, to, 1));
        desk.refuses("monitor head.stonet new.csv --state s.json", &["s.json", "monitor state"]);
    }
}

#[test]
fn heads_of_older_programs_compare_new_rows_with_each_other() {
    let desk = desk();
    desk.run(&FIT.replace("head.stonet", "bare.stonet --no-fingerprints"));
    desk.write("later.csv", rows(600, 8, 0.0, false) + rows(900, 9, 1.0, false).split_once('\n').unwrap().1);
    let text = String::from_utf8(desk.ended("monitor bare.stonet later.csv", 1).stdout).unwrap();
    assert!(text.contains("compare new rows with each other alone"), "{text}");
    let said = told(&desk, "monitor bare.stonet later.csv --unlabelled", 0);
    assert_eq!(said["monitor"]["inputs"]["quantities"].as_array().unwrap().len(), 2);
}

#[test]
fn classifiers_are_watched_with_sets_and_without() {
    let desk = Desk::new();
    desk.write("val.csv", logits(600, 1)).write("same.csv", logits(1500, 2));
    // Another mix of classes: most rows of one class are gone.
    let all = logits(3000, 3);
    let mut ants = 0;
    let kept = all.lines().filter(|l| {
        ants += usize::from(l.ends_with(",ant"));
        !l.ends_with(",ant") || ants % 8 == 0
    });
    desk.write("mix.csv", kept.collect::<Vec<_>>().join("\n") + "\n");
    for sets in ["", " --sets cv+", " --sets split --set-score aps"] {
        desk.run(&format!("{FIT_LOGITS}{sets}"));
        let same = told(&desk, "monitor head.stonet same.csv", 0);
        let names: Vec<&str> =
            same["monitor"]["measures"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"accuracy") && names.contains(&"calibration error"), "{names:?}");
        assert_eq!(names.contains(&"coverage of prediction sets"), !sets.is_empty(), "{names:?}");
        told(&desk, "monitor head.stonet same.csv --unlabelled", 0);
        let mix = told(&desk, "monitor head.stonet mix.csv", 1);
        assert!(mix["monitor"]["answers"]["alarm_row"].as_u64().is_some());
        told(&desk, "monitor head.stonet mix.csv --unlabelled", 1);
    }
}
