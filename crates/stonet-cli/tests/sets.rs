//! `--sets`: prediction sets through files, by every command.

mod common;

use common::{FIT_LOGITS, with_logits};

#[test]
fn sets_are_fitted_predicted_judged_and_shown() {
    let desk = with_logits();
    let fitted = desk.json(&format!("{FIT_LOGITS} --sets cv+ --set-score raps --level 0.8"));
    assert!(fitted["guarantee"].as_str().unwrap().contains("usually close to 80 %"), "{fitted}");
    assert_eq!((&fitted["sets"]["folds"], &fitted["level"]), (&5.into(), &0.8.into()));
    let shown = desk.run("inspect head.stonet");
    assert!(shown.contains("sets         raps, cv+ of 5 folds, 400 rows judge"), "{shown}");

    // The probabilities are those without sets.
    desk.run("predict head.stonet test.csv -o with.csv");
    desk.run(&format!("{FIT_LOGITS} --sets cv+").replace("head.stonet", "other.stonet"));
    desk.run("predict other.stonet test.csv -o other.csv");
    desk.run(&FIT_LOGITS.replace("head.stonet", "plain.stonet"));
    desk.run("predict plain.stonet test.csv -o plain.csv");
    assert_eq!(desk.text("with.csv"), desk.text("plain.csv"));
    assert_eq!(desk.text("with.csv"), desk.text("other.csv"));

    desk.run("predict head.stonet test.csv --sets -o sets.csv --keep animal");
    let text = desk.text("sets.csv");
    assert!(text.starts_with("animal,class,p_ant,p_bee,p_cat|dog,set,set_size\n"), "{text}");
    let mut covered = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (animal, set, size) = (cells[0].replace('|', "\\|"), cells[5], cells[6]);
        // A separator within a label has a backslash in front.
        let labels: Vec<String> = set.replace("\\|", "/").split('|').map(|l| l.replace('/', "\\|")).collect();
        assert_eq!(labels.len().to_string(), size, "{line}");
        covered += usize::from(labels.contains(&animal));
    }
    // Within 4.5 binomial standard deviations of the level.
    assert!((covered as f64 / 800.0 - 0.8).abs() < 4.5 * (0.8 * 0.2 / 800.0_f64).sqrt() + 0.05, "{covered}");
    desk.run("predict head.stonet test.csv --sets=columns --level 0.5,0.9 -o columns.csv");
    let header = desk.text("columns.csv").lines().next().unwrap().to_owned();
    assert!(
        header.ends_with("in_ant_50,in_bee_50,in_cat|dog_50,set_size_50,in_ant_90,in_bee_90,in_cat|dog_90,set_size_90")
    );
    desk.run("predict head.stonet test.csv --sets -o sets.parquet");
    assert_eq!(desk.table("sets.parquet", &["class", "set", "set_size"]).rows(), 800);

    let judged = desk.json("evaluate head.stonet test.csv --by region --require set_coverage>=0.7 --report page.html");
    let sets = &judged["evaluation"]["sets"];
    assert_eq!(sets["coverage"]["value"].as_f64().unwrap(), covered as f64 / 800.0);
    assert_eq!(sets["subgroups"][1].as_array().unwrap().len(), 2);
    assert_eq!(judged["requirements"][0]["met"], true);
    assert!(desk.text("page.html").contains("Coverage by size of the set"));
    let text = desk.run("evaluate head.stonet test.csv --level 0.9");
    assert!(text.contains("Prediction sets (raps) at 90 %") && text.contains("set size"), "{text}");
    let missed = desk.ended("evaluate head.stonet test.csv --require mean_set_size<=1", 1);
    assert!(String::from_utf8_lossy(&missed.stdout).contains("mean_set_size<=1: not met"));
}

#[test]
fn every_kind_of_set_is_predicted_as_it_is_exported() {
    let desk = with_logits();
    for flags in ["split", "split --set-by class", "split --set-by cluster --set-score aps", "cv+ --set-score saps"] {
        desk.run(&format!("{FIT_LOGITS} --sets {flags} --allow-empty-sets"));
        desk.run("predict head.stonet test.csv --sets=columns -o p.csv");
        desk.run("export head.stonet -o head.onnx --sets");
        let shown = desk.run("inspect head.onnx");
        assert!(shown.contains("in_set") && shown.contains("set_size"), "{shown}");
        let sizes = desk.column("p.csv", "set_size");
        let parts: Vec<Vec<f64>> = ["in_ant", "in_bee", "in_cat|dog"].iter().map(|c| desk.column("p.csv", c)).collect();
        assert!((0..800).all(|i| sizes[i] == parts.iter().map(|p| p[i]).sum::<f64>()));
    }
}

#[test]
fn what_does_not_go_together_is_refused_in_words() {
    let desk = with_logits();
    desk.refuses(&format!("{FIT_LOGITS} --sets cv+ --set-by class"), &["--set-by", "need --sets split"]);
    desk.refuses(&format!("{FIT_LOGITS} --set-score aps"), &["--sets"]);
    desk.refuses(
        &format!("{FIT_LOGITS} --level 0.8"),
        &["--level", "is for --task regression, --sets or --accuracy-bounds"],
    );
    let regression = "fit val.csv --task regression --inputs z* --target z0 -o head.stonet --sets cv+";
    desk.refuses(regression, &["--sets", "is for --task classification"]);
    desk.run(FIT_LOGITS);
    desk.refuses(
        "predict head.stonet test.csv --sets -o p.csv",
        &["--sets", "fit it with them", "stonet fit --sets cv+"],
    );
    desk.refuses("export head.stonet -o head.onnx --sets", &["--sets", "stonet fit --sets cv+"]);
    desk.refuses(
        "evaluate head.stonet test.csv --require set_coverage>=0.8",
        &["set_coverage", "fitted with sets", "stonet fit --sets cv+"],
    );
    desk.run(&format!("{FIT_LOGITS} --sets split"));
    desk.refuses("predict head.stonet test.csv --level 0.8 -o p.csv", &["--level", "give --sets too"]);
    desk.refuses("predict head.stonet test.csv --sets=rows -o p.csv", &["--sets", "text", "columns"]);
}

#[test]
fn kinds_of_sets_stand_side_by_side() {
    let desk = with_logits();
    let line =
        "compare val.csv test.csv --task classification --inputs z* --target animal --methods none --sets --level 0.8";
    let found = desk.json(&format!("{line} --report page.html"));
    let page = desk.text("page.html");
    assert!(page.contains("Prediction sets compared") && page.contains("coverage, worst size"));
    let kinds = found["sets"]["kinds"].as_array().unwrap();
    let names: Vec<&str> = kinds.iter().map(|k| k["score"].as_str().unwrap()).collect();
    assert_eq!(names, ["lac", "aps", "raps", "saps"]);
    assert!(kinds.iter().all(|k| k["coverage"]["value"].as_f64().unwrap() > 0.7));
    assert!(kinds[0]["mean_size"].as_f64() <= kinds[1]["mean_size"].as_f64());
    desk.refuses(&line.replace(" --sets", ""), &["--level", "--sets"]);
}
