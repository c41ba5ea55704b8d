//! `--accuracy-bounds`: bounds of accuracy through files, by every command.

mod common;

use common::{FIT_LOGITS, with_logits};

#[test]
fn bounds_are_fitted_predicted_judged_and_shown() {
    let desk = with_logits();
    let fitted = desk.json(&format!("{FIT_LOGITS} --accuracy-bounds --accuracy-bins 3 --level 0.8"));
    let accuracy = &fitted["accuracy"];
    let held = accuracy["rows"].as_u64().unwrap();
    assert_eq!(held, (0.3 * fitted["rows"].as_f64().unwrap()).round() as u64, "{fitted}");
    assert_eq!((&accuracy["level"], &fitted["level"]), (&0.8.into(), &0.8.into()));
    assert!(accuracy["guarantee"].as_str().unwrap().contains("at least 80 % over the"), "{accuracy}");
    let bins = accuracy["bins"].as_array().unwrap().clone();
    assert_eq!(bins.iter().map(|b| b["rows"].as_u64().unwrap()).sum::<u64>(), held);
    let shown = desk.run("inspect head.stonet");
    assert!(
        shown.contains(&format!("accuracy     bounds in {} bins of confidence, {held} rows counted", bins.len())),
        "{shown}"
    );
    assert!(shown.contains("bin          confidence 0.0–") && shown.contains("right)"), "{shown}");
    assert!(shown.contains("guarantee    With a probability of at least 80 %"), "{shown}");
    assert_eq!(desk.json("inspect head.stonet")["accuracy"], *accuracy);

    // Every row has the bounds of its confidence, at the level of the fit or at those that are asked for.
    desk.run("predict head.stonet test.csv --accuracy -o p.csv");
    let header = desk.text("p.csv").lines().next().unwrap().to_owned();
    assert!(header.ends_with(",accuracy_lower,accuracy_upper"), "{header}");
    let names: Vec<String> = header.split(',').filter(|n| n.starts_with("p_")).map(str::to_owned).collect();
    let p: Vec<Vec<f64>> = names.iter().map(|n| desk.column("p.csv", n)).collect();
    let [lower, upper] = ["accuracy_lower", "accuracy_upper"].map(|n| desk.column("p.csv", n));
    for i in 0..lower.len() {
        let confidence = p.iter().map(|column| column[i]).fold(0.0, f64::max);
        let bin = bins.iter().find(|b| confidence <= b["to"].as_f64().unwrap()).unwrap();
        assert_eq!((lower[i], upper[i]), (bin["lower"].as_f64().unwrap(), bin["upper"].as_f64().unwrap()));
    }
    desk.run("predict head.stonet test.csv --accuracy --level 0.5,0.99 -o two.csv");
    let [narrow, wide] = ["accuracy_lower_50", "accuracy_lower_99"].map(|n| desk.column("two.csv", n));
    assert!(narrow.iter().zip(&wide).all(|(n, w)| w < n));

    let judged = desk.json("evaluate head.stonet test.csv --require accuracy_bins_kept>=0 --report page.html");
    let bounds = &judged["evaluation"]["accuracy_bounds"];
    assert_eq!(bounds["level"], 0.8);
    let rows: u64 =
        bounds["bins"].as_array().unwrap().iter().map(|b| b["accuracy"]["rows"].as_u64().unwrap_or(0)).sum();
    assert_eq!(rows, lower.len() as u64);
    assert_eq!(judged["requirements"][0]["met"], true);
    assert!(desk.text("page.html").contains("Does the accuracy lie within its bounds?"));
    let text = desk.run("evaluate head.stonet test.csv --level 0.9");
    assert!(text.contains("Bounds of accuracy at 90 % for 3 bins of confidence"), "{text}");
    assert!(text.contains("promised") && text.contains("agree"), "{text}");
    desk.run("export head.stonet -o head.onnx --accuracy --level 0.9");
    let shown = desk.run("inspect head.onnx");
    assert!(shown.contains("accuracy_lower") && shown.contains("accuracy_upper"), "{shown}");
}

/// Rows of another kind than those of the fit contradict the bounds.
#[test]
fn bounds_that_do_not_hold_are_named() {
    let desk = with_logits();
    desk.run(&format!("{FIT_LOGITS} --accuracy-bounds --accuracy-bins 2"));
    // Every label is moved to the row before: guesses are right by chance alone.
    let text = desk.text("test.csv");
    let mut lines = text.lines();
    let header = lines.next().unwrap().to_owned();
    let place = header.split(',').position(|n| n == "animal").unwrap();
    let rows: Vec<Vec<&str>> = lines.map(|l| l.split(',').collect()).collect();
    let mut moved = header + "\n";
    for (i, row) in rows.iter().enumerate() {
        let mut row = row.clone();
        row[place] = rows[(i + 1) % rows.len()][place];
        moved += &(row.join(",") + "\n");
    }
    desk.write("moved.csv", moved);
    let missed = desk.ended("evaluate head.stonet moved.csv --require accuracy_bins_kept>=1", 1);
    let text = String::from_utf8_lossy(&missed.stdout).into_owned();
    assert!(text.contains("disagree with the accuracy seen") && text.contains("too low"), "{text}");
    assert!(text.contains("accuracy_bins_kept>=1: not met"), "{text}");
}

#[test]
fn sets_and_bounds_stand_side_by_side() {
    let desk = with_logits();
    let fit = FIT_LOGITS;
    let both = desk.json(&format!("{fit} --sets split --accuracy-bounds"));
    assert_eq!(both["accuracy"]["rows"], both["sets"]["rows"]);
    assert!(both["accuracy"]["guarantee"].as_str().unwrap().contains("do not hold jointly"));
    desk.run("predict head.stonet test.csv --sets --accuracy --level 0.8,0.9 -o p.csv");
    let header = desk.text("p.csv").lines().next().unwrap().to_owned();
    let behind =
        "set_80,set_size_80,set_90,set_size_90,accuracy_lower_80,accuracy_upper_80,accuracy_lower_90,accuracy_upper_90";
    assert!(header.ends_with(behind), "{header}");
    let apart = desk.json(&format!("{fit} --sets cv+ --accuracy-bounds=0.25"));
    let rows = apart["rows"].as_u64().unwrap();
    assert_eq!(apart["accuracy"]["rows"].as_u64().unwrap() + apart["sets"]["rows"].as_u64().unwrap(), rows);
}

#[test]
fn files_of_settings_have_tables_of_sets_and_bounds() {
    let desk = with_logits();
    let flags = "--sets split --set-score raps --set-by class --allow-empty-sets --accuracy-bounds --accuracy-bins 4 --level 0.8";
    let printed = desk.run(&format!("fit --print-settings --task classification --method temperature {flags}"));
    assert!(printed.contains("[sets.scheme.split]") && printed.contains("[accuracy]"), "{printed}");
    desk.write("settings.toml", &printed);
    assert_eq!(desk.run("fit --print-settings --task classification --settings settings.toml"), printed);
    let by_flags = desk.json(&format!("{FIT_LOGITS} {flags}"));
    let by_file = desk.json(&format!("{FIT_LOGITS} --settings settings.toml"));
    for field in ["sets", "accuracy", "level", "settings"] {
        assert_eq!(by_flags[field], by_file[field], "{field}");
    }
    // Flags override the file.
    let changed =
        desk.json(&format!("{FIT_LOGITS} --settings settings.toml --set-by all --accuracy-bins 2 --level 0.7"));
    assert_eq!((&changed["sets"]["rule"]["by"], &changed["level"]), (&"all".into(), &0.7.into()));
    assert_eq!(changed["accuracy"]["bins"].as_array().unwrap().len(), 2);
    let plain = desk.run("fit --print-settings --task classification");
    assert!(plain.contains("# [sets] is for prediction sets; print it with --sets"), "{plain}");
    desk.write("settings.toml", "[sets]\nclassifier = 3\n");
    desk.refuses(&format!("{FIT_LOGITS} --settings settings.toml"), &["line 2", "classifier", "`rule`"]);
    desk.write("settings.toml", "[accuracy]\nbins = \"many\"\n");
    desk.refuses(&format!("{FIT_LOGITS} --settings settings.toml"), &["line 2", "accuracy.bins"]);
    desk.write("settings.toml", "[sets.rule]\nby = \"class\"\n");
    desk.refuses(&format!("{FIT_LOGITS} --settings settings.toml"), &["--settings", "sets.rule.by", "--sets split"]);
    desk.write("settings.toml", "[accuracy]\nbins = 3\n");
    let labels = "fit val.csv --task labels --inputs z* --target z* -o h.stonet --settings settings.toml";
    desk.refuses(labels, &["--settings", "[accuracy]", "--task classification"]);
}

#[test]
fn what_does_not_go_together_is_refused_in_words() {
    let desk = with_logits();
    let fit = FIT_LOGITS;
    for (flags, said) in [
        ("--accuracy-bounds=0", ["--accuracy-bounds", "between 0 and 1"]),
        ("--accuracy-bounds=1.5", ["--accuracy-bounds", "between 0 and 1"]),
        ("--accuracy-bounds=half", ["--accuracy-bounds", "half"]),
        ("--accuracy-bounds=0.2 --sets split", ["--accuracy-bounds", "left out beside split sets"]),
        ("--accuracy-bounds --accuracy-bins 0", ["--accuracy-bins", "1 to 1000"]),
        ("--accuracy-bins 4", ["--accuracy-bins", "needs --accuracy-bounds"]),
        ("--level 0.8", ["--level", "--accuracy-bounds"]),
    ] {
        desk.refuses(&format!("{fit} {flags}"), &said);
    }
    let regression = "fit val.csv --task regression --inputs z* --target z0 -o head.stonet --accuracy-bounds";
    desk.refuses(regression, &["--accuracy-bounds", "is for --task classification"]);
    desk.run(fit);
    let without = ["--accuracy", "fitted without them", "stonet fit --accuracy-bounds"];
    desk.refuses("predict head.stonet test.csv --accuracy -o p.csv", &without);
    desk.refuses("export head.stonet -o head.onnx --accuracy", &without);
    desk.refuses(
        "evaluate head.stonet test.csv --require accuracy_bins_kept>=1",
        &["accuracy_bins_kept", "stonet fit --accuracy-bounds"],
    );
    desk.run(&format!("{fit} --accuracy-bounds"));
    desk.refuses("predict head.stonet test.csv --level 0.8 -o p.csv", &["--level", "give --accuracy too"]);
    desk.refuses("evaluate head.stonet test.csv --require accuracy_bins_kept>=90", &["write 0.9 for 90 %"]);
}
