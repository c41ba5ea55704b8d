//! `stonet control` and `--rule`: from a wish to decisions, through files.

mod common;

use common::{Desk, FIT_LOGITS, logits, with_logits};

/// A head of classes, and rows that it was not fitted on.
fn with_head() -> Desk {
    let desk = with_logits();
    desk.write("labelled.csv", logits(1500, 3));
    desk.run(FIT_LOGITS);
    desk
}

/// A head of intervals whose noise grows with x1, and rows that it was not fitted on.
fn with_intervals() -> Desk {
    let (desk, mut z) = (Desk::new(), common::normal(9));
    let mut rows = |n: usize| {
        let mut text = String::from("x0,x1,y\n");
        for _ in 0..n {
            let (a, b) = (z(), z());
            text += &format!("{a},{b},{}\n", a + (0.1 + b.abs()) * z());
        }
        text
    };
    desk.write("val.csv", rows(400)).write("labelled.csv", rows(1500)).write("test.csv", rows(300));
    desk.run("fit val.csv --task regression --interval fast -o head.stonet");
    desk
}

#[test]
fn a_wish_becomes_a_rule_and_decisions() {
    let desk = with_head();
    let made = desk
        .json("control head.stonet labelled.csv --want accuracy>=0.7 --confidence 0.9 -o rule.json --report page.html");
    assert_eq!((&made["schema"], &made["met"]), (&"stonet.control/1".into(), &true.into()));
    let chosen = &made["chosen"];
    assert!(
        chosen["bound"].as_f64().unwrap() <= 0.3 && made["ordering_rows"] == 300 && chosen["rows"] == 1200,
        "{made}"
    );
    assert!(made["guarantee"].as_str().unwrap().contains("probability of at least 90 % over the 1200 rows counted"));
    let page = desk.text("page.html");
    assert!(page.contains("Promised") && page.contains("Risk and answers") && page.contains("accuracy&gt;=0.7"));
    let file: serde_json::Value = serde_json::from_str(&desk.text("rule.json")).unwrap();
    assert_eq!((&file["schema"], &file["rule"]["want"]), (&"stonet.rule/1".into(), &"accuracy>=0.7".into()));
    // The same command writes the same file.
    desk.run("control head.stonet labelled.csv --want accuracy>=0.7 --confidence 0.9 -o again.json");
    assert_eq!(desk.text("rule.json"), desk.text("again.json"));

    desk.run("predict head.stonet test.csv --rule rule.json -o decided.csv");
    let table = desk.table("decided.csv", &["decision", "class"]);
    let names: Vec<String> = desk.text("decided.csv").lines().next().unwrap().split(',').map(str::to_owned).collect();
    assert_eq!(names.last().unwrap(), "decision");
    let threshold = chosen["threshold"].as_f64().unwrap();
    let p: Vec<Vec<f64>> =
        names.iter().filter(|n| n.starts_with("p_")).map(|n| desk.column("decided.csv", n)).collect();
    let decided = table.text("decision").unwrap();
    for (i, decision) in decided.iter().enumerate() {
        let sure = p.iter().map(|column| column[i]).fold(0.0, f64::max);
        assert_eq!(decision, if sure >= threshold { "answer" } else { "abstain" }, "row {i}");
    }
    assert!(decided.iter().any(|d| d == "answer") && decided.iter().any(|d| d == "abstain"));
    let told = desk.json("predict head.stonet test.csv --rule rule.json -o decided.parquet");
    assert_eq!((&told["rule"], &told["columns"][names.len() - 1]), (&"accuracy>=0.7".into(), &"decision".into()));
    desk.run("export head.stonet -o decided.onnx --rule rule.json");
    assert!(desk.run("inspect decided.onnx").contains("decision"));
}

#[test]
fn intervals_are_answered_by_their_length_and_npy_files_hold_numbers() {
    let desk = with_intervals();
    let text = desk.run("control head.stonet labelled.csv --want wrong<=0.05 --level 0.8 -o rule.json");
    assert!(
        text.contains("answer if the interval of level 80 % is at most") && text.contains("conformal risk control"),
        "{text}"
    );
    let saved: serde_json::Value = serde_json::from_str(&desk.text("rule.json")).unwrap();
    let longest = -saved["rule"]["chosen"]["threshold"].as_f64().unwrap();
    desk.run("predict head.stonet test.csv --rule rule.json --level 0.8 -o p.csv");
    let [lower, upper] = ["lower_80", "upper_80"].map(|n| desk.column("p.csv", n));
    let table = desk.table("p.csv", &["decision"]);
    for (i, decision) in table.text("decision").unwrap().iter().enumerate() {
        assert_eq!(decision == "answer", upper[i] - lower[i] <= longest, "row {i}");
    }
    // Another level may be shown beside it; the decision stays that of the rule.
    desk.run("predict head.stonet test.csv --rule rule.json --level 0.5 -o other.csv");
    assert_eq!(table.text("decision").unwrap(), desk.table("other.csv", &["decision"]).text("decision").unwrap());
    desk.run("predict head.stonet test.csv --rule rule.json -o p.npy");
    let numbers = desk.column("p.npy", "c3");
    let answered = |d: &String| f64::from(u8::from(d == "answer"));
    assert_eq!(numbers, table.text("decision").unwrap().iter().map(answered).collect::<Vec<_>>());
}

#[test]
fn a_wish_that_cannot_be_promised_is_refused_in_words() {
    let desk = with_head();
    let line =
        "control head.stonet labelled.csv --want accuracy>=0.999 --confidence 0.99 -o rule.json --report page.html";
    let output = desk.ended(line, 1);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("cannot be promised with a confidence of 99 %"), "{text}");
    assert!(!desk.at("rule.json").exists() && desk.text("page.html").contains("Not promised"));
    let told: serde_json::Value = serde_json::from_slice(&desk.ended(&format!("{line} --json"), 1).stdout).unwrap();
    assert!(
        told["met"] == false && told["refusal"]["text"].is_string() && told["curve"].as_array().unwrap().len() > 10
    );
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let desk = with_head();
    desk.run("control head.stonet labelled.csv --want wrong<=0.2 -o rule.json");
    let control = "control head.stonet labelled.csv -o other.json --want";
    desk.refuses(&format!("{control} accuracy>=0.9"), &["--want", "give --confidence"]);
    desk.refuses(&format!("{control} accuracy>=90 --confidence 0.9"), &["--want", "write 0.95 for 95 %"]);
    desk.refuses(&format!("{control} precision[egg]>=0.9 --confidence 0.9"), &["--want", "there are"]);
    desk.refuses(&format!("{control} coverage>=0.9 --confidence 0.9"), &["--want", "is for intervals"]);
    desk.refuses(&format!("{control} wrong<=0.2 --confidence 95"), &["--confidence", "between 0 and 1"]);
    desk.refuses(&format!("{control} wrong<=0.2 --level 0.9"), &["--level", "is for intervals"]);
    desk.refuses("control head.stonet labelled.csv --want wrong<=0.2 -o rule.txt", &["--output", ".json"]);
    desk.refuses("control head.stonet val.csv --want wrong<=0.2 -o other.json", &["val.csv", "--allow-seen"]);
    // A rule for another head, a damaged one, and what is none.
    desk.run(&FIT_LOGITS.replace("temperature -o head.stonet", "vector -o second.stonet"));
    desk.refuses("predict second.stonet test.csv --rule rule.json -o p.csv", &["--rule", "another head"]);
    desk.write("cut.json", &desk.text("rule.json")[..200])
        .write("extra.json", desk.text("rule.json").replace("\"want\"", "\"wish\""));
    desk.refuses("predict head.stonet test.csv --rule cut.json -o p.csv", &["cut.json", "is no rule of answers"]);
    desk.refuses(
        "predict head.stonet test.csv --rule extra.json -o p.csv",
        &["extra.json", "there is no field `wish`"],
    );
    desk.refuses("predict head.stonet test.csv --rule head.stonet -o p.csv", &["head.stonet", "is no rule of answers"]);
    desk.refuses("predict head.stonet test.csv --rule none.json -o p.csv", &["none.json", "no such file"]);
}
