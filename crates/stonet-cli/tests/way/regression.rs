//! Intervals: from a table to predictions in every format, and to a network that says them itself.

use std::collections::HashSet;

use crate::common::{Desk, FIT_HOUSES, apart, with_houses};

#[test]
fn a_network_is_trained_and_the_rows_it_has_not_seen_are_kept() {
    let desk = Desk::new();
    desk.write("houses.csv", crate::common::houses(900));
    let train = "train houses.csv --task regression --target price --keep id,region --hidden 24,12 --epochs 30 -o net.onnx \
                 --hold-out held.csv=0.4 --hold-out new.parquet=0.3 --seed 5";
    let summary = desk.json(train);
    assert_eq!((&summary["schema"], &summary["seed"]), (&"stonet.train/1".into(), &5.into()));
    assert_eq!(summary["widths"], serde_json::json!([3, 24, 12, 1]));
    assert_eq!(summary["inputs"], serde_json::json!(["size", "age", "rooms"]));
    assert_eq!(summary["training"]["epochs"], 30);
    let rows: Vec<u64> = summary["scores"].as_array().unwrap().iter().map(|s| s["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [270, 360, 270]);
    let ids = |name: &str| desk.table(name, &["id", "region"]).text("id").unwrap().to_vec();
    let (held, new) = (ids("held.csv"), ids("new.parquet"));
    let distinct: HashSet<&String> = held.iter().chain(&new).collect();
    assert_eq!((held.len(), new.len(), distinct.len()), (360, 270, 630));
    // What is held out is what stands in the file, number by number.
    let all = desk.text("houses.csv");
    let lines = desk.text("held.csv");
    assert_eq!(lines.lines().next(), Some("id,region,size,age,rooms,price"));
    let line = lines.lines().nth(1).unwrap().split(',').collect::<Vec<_>>();
    let same = |l: &&str| l.starts_with(&format!("{},", line[0])) && l.split(',').nth(4) == Some(line[1]);
    let found = all.lines().find(same).unwrap().split(',').map(|c| c.parse::<f64>().unwrap_or(0.0)).collect::<Vec<_>>();
    assert_eq!(found[1..4], [2, 3, 4].map(|i: usize| line[i].parse::<f64>().unwrap()));
    // The network in the file is the one that was scored.
    let said = desk.json("features net.onnx held.csv --keep price -o val.csv");
    assert_eq!((&said["rows"], &said["columns"][13]), (&360.into(), &"prediction".into()));
    let (y, p) = (desk.column("val.csv", "price"), desk.column("val.csv", "prediction"));
    let rmse = (y.iter().zip(&p).map(|(y, p)| (y - p).powi(2)).sum::<f64>() / 360.0).sqrt();
    assert!((rmse - summary["scores"][1]["rmse"].as_f64().unwrap()).abs() < 1e-4 * rmse);
    // The same command makes the same network.
    let bytes = desk.bytes("net.onnx");
    desk.run(&format!("{train} --jobs 1"));
    assert_eq!(desk.bytes("net.onnx"), bytes);
}

#[test]
fn a_head_is_fitted_judged_and_held_to_conditions() {
    let desk = with_houses(1500);
    let fit = desk.json(FIT_HOUSES);
    assert_eq!((&fit["rows"], &fit["features"], &fit["level"]), (&600.into(), &12.into(), &0.9.into()));
    assert!(fit["guarantee"].as_str().unwrap().contains("At least"));
    let judged = desk.json("evaluate head.stonet test.csv --by region --report report.html");
    assert_eq!(judged["fingerprint"], fit["fingerprint"]);
    // 450 rows; those of the fit, 600, add their own error. CV+ may cover more.
    let sd = (0.09f64 / 450.0 + 0.09 / 600.0).sqrt();
    let covered = judged["evaluation"]["overall"]["coverage"]["value"].as_f64().unwrap();
    assert!((0.9 - 4.5 * sd..0.93 + 4.5 * sd).contains(&covered), "{covered}");
    let text = judged["evaluation"].to_string();
    assert!(text.contains("north") && text.contains("south"), "{text}");
    let page = desk.text("report.html");
    assert!(page.to_lowercase().starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("region") && page.contains("stonet evaluate head.stonet test.csv"));
    let met = desk.run("evaluate head.stonet test.csv --require coverage>=0.5 --require rmse<=100");
    assert!(met.contains("coverage>=0.5: met") && met.contains("rmse<=100: met"), "{met}");
    let missed = desk.ended("evaluate head.stonet test.csv --require coverage>=0.5 --require rmse<=0.0001", 1);
    let missed = String::from_utf8(missed.stdout).unwrap();
    assert!(missed.contains("coverage>=0.5: met") && missed.contains("rmse<=0.0001: not met"), "{missed}");
    let json = desk.ended("evaluate head.stonet test.csv --require rmse<=0.0001 --json", 1);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["requirements"][0]["met"], false);
}

/// The network's inputs stand beside its features, and the head reads both by name.
#[test]
fn the_networks_inputs_join_its_features() {
    let desk = Desk::new();
    desk.write("houses.csv", crate::common::houses(900));
    let trained = desk.json(
        "train houses.csv --task regression --target price --keep id,region --hidden 24,12 --epochs 30 -o net.onnx \
         --hold-out held.csv=0.4 --hold-out new.csv=0.3",
    );
    let next: Vec<&str> = trained["next"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    assert!(next[0].ends_with("net.onnx held.csv --keep price --with-inputs -o features.parquet"), "{next:?}");
    assert!(next[1].contains("--inputs 'f*' --also size,age,rooms --prediction prediction"), "{next:?}");
    let said = desk.json("features net.onnx held.csv --keep price --with-inputs -o val.csv");
    let columns: Vec<&str> = said["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    assert_eq!((&columns[..5], columns.len()), (&["price", "size", "age", "rooms", "f0"][..], 17));
    assert_eq!(desk.column("val.csv", "size"), desk.column("held.csv", "size"));
    desk.run("features net.onnx new.csv --keep price --with-inputs -o test.csv");
    let fit = "fit val.csv --task regression --target price --prediction prediction --interval fast --inputs f*";
    let with = desk.json(&format!("{fit} --also size,age,rooms -o with.stonet"));
    assert_eq!((&with["features"], &with["also"]), (&15.into(), &3.into()));
    let head = desk.json("inspect with.stonet");
    assert_eq!((&head["columns"]["also"], &head["columns"]["features"][12]), (&3.into(), &"size".into()));
    let same = desk.json(&format!("{fit},size,age,rooms -o same.stonet"));
    assert_eq!(same["features"], 15);
    desk.run("predict with.stonet test.csv -o with.csv");
    desk.run("predict same.stonet test.csv -o same.csv");
    assert_eq!(desk.bytes("with.csv"), desk.bytes("same.csv"));
    desk.refuses("predict with.stonet new.csv -o none.csv", &["new.csv", "f0"]);
    // One file goes from the network's inputs to the same intervals.
    let joined = desk.json("export with.stonet --network net.onnx -o joined.onnx");
    assert_eq!(joined["also"], serde_json::json!(["size", "age", "rooms"]));
    desk.run("features joined.onnx new.csv --tap upper --keep price -o joined.csv");
    let far = apart(&desk.column("joined.csv", "f0"), &desk.column("with.csv", "upper_90"));
    assert!(far < 1e-3, "{far}");
    desk.run(
        "fit val.csv --task regression --target price --interval fast --inputs f* --also rooms,size -o two.stonet",
    );
    desk.run("export two.stonet --network net.onnx -o two.onnx");
    desk.run("features two.onnx new.csv --tap upper --keep price -o two.csv");
    desk.run("predict two.stonet test.csv -o apart.csv");
    assert!(apart(&desk.column("two.csv", "f0"), &desk.column("apart.csv", "upper_90")) < 1e-3);
    desk.refuses(
        "export same.stonet --network net.onnx -o x.onnx",
        &["has 12 numbers per row", "15 features", "--also"],
    );
    desk.refuses("export same.stonet --network net.onnx --inputs a -o x.onnx", &["--inputs is for a head", "--also"]);
    desk.refuses("export with.stonet --network net.onnx --inputs a,b -o x.onnx", &["2 names and 3 columns"]);
    let others = "--inputs a,b,c -o x.onnx";
    let words = ["net.onnx: the head was fitted on further columns", "`size`", "not all among", "without --network"];
    desk.refuses(&format!("export with.stonet --network net.onnx {others}"), &words);
    let bad = "fit val.csv --task regression --target price --interval fast -o x.stonet";
    desk.refuses(&format!("{bad} --also size"), &["--also needs --inputs", "f*"]);
    let paper = "fit val.csv --task regression --target price --inputs f* --also size -o x.stonet --interval";
    desk.refuses(&format!("{paper} paper"), &["--also is not for --interval paper and cv", "features alone"]);
    desk.refuses(&format!("{paper} cv"), &["--also is not for --interval paper and cv"]);
    let compared = desk.json(
        "compare val.csv test.csv --task regression --target price --prediction prediction --inputs f* \
         --also size,age,rooms --methods fast,laplace,cqr",
    );
    assert_eq!((&compared["features"], &compared["also"]), (&12.into(), &3.into()));
    assert_eq!(compared["with_further"], serde_json::json!(["fast", "cqr"]));
    desk.refuses(&format!("{bad} --inputs f* --also price"), &["--also names the target `price`"]);
    desk.refuses(&format!("{bad} --inputs f* --also weight"), &["weight"]);
    desk.refuses(
        "fit val.csv --task classification --target price --inputs f* --also size -o x.stonet",
        &["--also is for --task regression", "--features"],
    );
}

#[test]
fn predictions_are_the_same_in_every_format_and_levels_nest() {
    let desk = with_houses(700);
    desk.run(FIT_HOUSES);
    let predict = "predict head.stonet test.csv --level 0.5,0.9,0.99";
    std::fs::write(desk.at("screen.csv"), desk.run(predict)).unwrap();
    let wanted = desk.table("screen.csv", &[]);
    let names = ["prediction", "lower_50", "upper_50", "lower_90", "upper_90", "lower_99", "upper_99"];
    assert_eq!(wanted.names(), names);
    for row in wanted.values().outer_iter() {
        let rising = [row[5], row[3], row[1], row[0], row[2], row[4], row[6]];
        assert!(rising.is_sorted(), "{row}");
    }
    for format in ["csv", "csv.gz", "parquet", "arrow", "feather", "npy"] {
        let summary = desk.json(&format!("{predict} -o p.{format}"));
        assert_eq!((&summary["rows"], &summary["levels"]), (&210.into(), &serde_json::json!([0.5, 0.9, 0.99])));
        assert_eq!(desk.table(&format!("p.{format}"), &[]).values(), wanted.values(), "{format}");
    }
    desk.run(&format!("{predict} -o single.npy --single"));
    let single = desk.table("single.npy", &[]);
    assert!(single.values().iter().zip(&wanted.values()).all(|(a, b)| *a == f64::from(*b as f32)));
    // Quantiles and probabilities, which go together.
    let risk = desk.run("predict head.stonet test.csv --quantiles 0.05,0.5,0.95 --below -1e9,1e9");
    let mut lines = risk.lines();
    assert_eq!(lines.next(), Some("prediction,q05,q50,q95,below_-1000000000,below_1000000000"));
    for line in lines {
        let cells: Vec<f64> = line.split(',').map(|c| c.parse().unwrap()).collect();
        assert!(cells[1] <= cells[2] && cells[2] <= cells[3] && cells[4] < 0.01 && cells[5] > 0.99, "{line}");
    }
    let refused = ["--quantiles has 5", "between 0 and 1"];
    desk.refuses("predict head.stonet test.csv --quantiles 5,95", &refused);
    desk.refuses("predict head.stonet test.csv --quantiles 0.5 --side lower", &["--side is for intervals", "--level"]);
    desk.refuses("predict head.stonet test.csv --below 1,1.0", &["--below has two values of below_1"]);
    // Columns in front, one end only, and other columns in another order.
    let kept = desk.run("predict head.stonet test.csv --keep id,region --side lower");
    assert_eq!(kept.lines().next(), Some("id,region,prediction,lower_90"));
    let again = desk.table("test.csv", &["id", "region"]);
    let mut text = again.names().iter().rev().cloned().collect::<Vec<_>>().join(",") + ",note\n";
    for row in again.values().outer_iter() {
        text += &(row.iter().rev().map(ToString::to_string).collect::<Vec<_>>().join(",") + ",free text\n");
    }
    desk.write("mixed.csv", text);
    assert_eq!(desk.run("predict head.stonet mixed.csv --level 0.5,0.9,0.99"), desk.run(predict));
}

/// How much further out the ends of a joined network are than those that are predicted: the least and the most.
fn further_out(desk: &Desk) -> (f64, f64) {
    desk.run("predict head.stonet test.csv --level 0.8 -o wanted.csv");
    let summary = desk.json("export head.stonet --network net.onnx -o joined.onnx --level 0.8");
    assert_eq!((&summary["schema"], &summary["level"]), (&"stonet.export/1".into(), &0.8.into()));
    assert_eq!(summary["inputs"], serde_json::json!(["inputs: f32 N × 3"]));
    desk.run("features joined.onnx new.csv --tap prediction -o found.csv");
    assert!(apart(&desk.column("wanted.csv", "prediction"), &desk.column("found.csv", "f0")) < 1e-5);
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for (end, sign) in [("lower", -1.0), ("upper", 1.0)] {
        let (wanted, found) = (desk.column("wanted.csv", &format!("{end}_80")), desk.column("found.csv", end));
        for (wanted, found) in wanted.iter().zip(&found) {
            let out = sign * (found - wanted) / wanted.abs().max(1.0);
            ends = (ends.0.min(out), ends.1.max(out));
        }
    }
    ends
}

#[test]
fn an_exported_head_says_what_predict_says() {
    let desk = with_houses(700);
    desk.write("quick.toml", "[stonet]\nsteps = 300\n");
    for kind in ["stack", "cv+", "fast", "split", "paper", "cv"] {
        let quick = format!("--interval {kind} --folds 3 --settings quick.toml");
        desk.run(&FIT_HOUSES.replace("--interval fast", &quick));
        let (least, most) = further_out(&desk);
        println!("{kind}: {least:.1e} to {most:.1e}");
        // Ends of CV+ are rounded outwards.
        let narrowest = if ["stack", "cv+", "fast"].contains(&kind) { 0.0 } else { -1e-4 };
        assert!(least >= narrowest && most < 1e-4, "{kind}: {least} to {most}");
    }
}

/// A graph keeps 400 scores of a fold; those of 480 are compressed, which may widen intervals and never narrows them.
#[test]
fn an_exported_head_of_many_rows_is_never_narrower() {
    let desk = with_houses(6000);
    desk.run(FIT_HOUSES);
    let (least, most) = further_out(&desk);
    println!("{least:.1e} to {most:.1e}");
    assert!(least >= 0.0 && most < 0.05, "{least} to {most}");
}

#[test]
fn a_head_alone_is_a_network_from_features_to_intervals() {
    let desk = with_houses(700);
    desk.run("fit val.csv --task regression --interval fast --inputs f* --target price -o head.stonet");
    desk.run("export head.stonet -o head.onnx");
    desk.run("predict head.stonet test.csv -o wanted.csv");
    desk.run("features head.onnx test.csv --inputs f* --tap prediction -o found.csv");
    for (wanted, found) in [("prediction", "f0"), ("lower_90", "lower"), ("upper_90", "upper")] {
        let difference = apart(&desk.column("wanted.csv", wanted), &desk.column("found.csv", found));
        assert!(difference < 1e-2, "{wanted}: {difference}");
    }
    // With the network's own prediction there are two inputs, which take their columns in order.
    desk.run(FIT_HOUSES);
    let summary = desk.json("export head.stonet -o two.onnx");
    assert_eq!(summary["inputs"], serde_json::json!(["features: f32 N × 12", "network_prediction: f32 N × 1"]));
    let run = "features two.onnx test.csv --inputs f* --tap prediction -o both.csv";
    desk.refuses(run, &["`features`, `network_prediction`", "13 numbers in all", "have 12"]);
    desk.run(&run.replace("f*", "f*,prediction"));
    desk.run("predict head.stonet test.csv -o wanted.csv");
    assert!(apart(&desk.column("wanted.csv", "prediction"), &desk.column("both.csv", "f0")) < 1e-4);
}

#[test]
fn several_targets_are_held_one_by_one_or_all_at_once() {
    let desk = Desk::new();
    let mut text = String::new();
    for (i, line) in crate::common::houses(900).lines().enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let rent = cells[5].parse::<f64>().map_or("rent".into(), |p| (0.3 * p + (i as f64 * 0.7).sin()).to_string());
        text += &format!("{line},{rent}\n");
    }
    desk.write("houses.csv", text);
    let train = "train houses.csv --task regression --target price,rent --exclude id,region --hidden 16,8 --epochs 20";
    desk.run(&format!("{train} -o net.onnx --hold-out held.csv=0.5 --hold-out new.csv=0.2"));
    for (rows, features) in [("held.csv", "val.parquet"), ("new.csv", "test.parquet")] {
        desk.run(&format!("features net.onnx {rows} --keep price,rent -o {features}"));
    }
    let fit = "fit val.parquet --task regression --interval fast --inputs f* --target price,rent --prediction z0,z1";
    desk.run(&format!("{fit} -o head.stonet"));
    desk.run("predict head.stonet test.parquet -o each.csv");
    let summary = desk.json("predict head.stonet test.parquet -o all.csv --joint");
    assert_eq!(summary["joint"], true);
    let each = desk.table("each.csv", &[]);
    let names = ["price_prediction", "price_lower_90", "price_upper_90"];
    assert_eq!(each.names()[..3], names);
    assert_eq!(each.names()[3], "rent_prediction");
    for target in ["price", "rent"] {
        let column = |file: &str, end: &str| desk.column(file, &format!("{target}_{end}_90"));
        let wider = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).all(|(a, b)| a < b);
        assert!(wider(column("all.csv", "lower"), column("each.csv", "lower")), "{target}");
        assert!(wider(column("each.csv", "upper"), column("all.csv", "upper")), "{target}");
    }
    // The same boxes at two levels in one file; the ends of CV+ are rounded outwards.
    let export = "export head.stonet -o boxes.onnx --level 0.8,0.9 --joint";
    let exported = desk.json(export);
    assert_eq!((&exported["level"], &exported["joint"]), (&serde_json::Value::Null, &true.into()));
    assert_eq!((&exported["levels"], &exported["side"]), (&serde_json::json!([0.8, 0.9]), &"both".into()));
    assert_eq!(exported["outputs"][4], "upper_90: f32 N × 2");
    desk.run("features boxes.onnx test.parquet --inputs f*,z* --tap lower_90 -o found.csv");
    for (column, target) in [("f0", "price"), ("f1", "rent")] {
        let wanted = desk.column("all.csv", &format!("{target}_lower_90"));
        assert!(apart(&wanted, &desk.column("found.csv", column)) < 1e-2, "{target}");
    }
    for line in [export.replace("0.8,0.9", "0.9,0.9"), "predict head.stonet test.parquet --level 0.9,0.8,0.9".into()] {
        desk.refuses(&line, &["--level has two levels of 90 %", "leave one of them out"]);
    }
    let bound = desk.json("export head.stonet -o bound.onnx --side upper");
    assert_eq!(bound["outputs"], serde_json::json!(["prediction: f32 N × 2", "upper: f32 N × 2"]));
    let judged = desk.json("evaluate head.stonet test.parquet --joint");
    assert_eq!(judged["evaluation"]["joint"], true);
    // Bonferroni: both at once with at least the level; 180 rows, 450 of the fit.
    let sd = (0.09f64 / 180.0 + 0.09 / 450.0).sqrt();
    let covered = judged["evaluation"]["overall"]["coverage"]["value"].as_f64().unwrap();
    assert!(covered > 0.9 - 4.5 * sd, "{covered}");
    desk.refuses(&format!("{} -o x.stonet", fit.replace("z0,z1", "z0")), &["--prediction", "1 columns", "2 targets"]);
}

#[test]
fn settings_come_from_a_file_and_flags_come_on_top() {
    let desk = with_houses(500);
    desk.write("settings.toml", "kind = \"split\"\nlevel = 0.8\nfolds = 4\n[stonet]\nsteps = 250\n");
    let fit = FIT_HOUSES.replace("--interval fast", "--settings settings.toml");
    let settings = &desk.json(&fit)["settings"];
    assert_eq!((&settings["kind"], &settings["level"], &settings["folds"]), (&"split".into(), &0.8.into(), &4.into()));
    assert_eq!(settings["stonet"]["steps"], 250);
    assert!(desk.run("predict head.stonet test.csv").starts_with("prediction,lower_80,upper_80\n"));
    let settings = &desk.json(&format!("{fit} --interval fast --level 0.95"))["settings"];
    assert_eq!((&settings["kind"], &settings["level"], &settings["folds"]), (&"fast".into(), &0.95.into(), &4.into()));
    assert!(desk.run("predict head.stonet test.csv").starts_with("prediction,lower_95,upper_95\n"));
    desk.write("settings.toml", "kind = \"split\"\nfold = 4\n");
    desk.refuses(&fit, &["settings.toml", "fold"]);
    desk.write("settings.toml", "folds = four\n");
    desk.refuses(&fit, &["settings.toml", "line 1"]);
    desk.refuses(&fit.replace("settings.toml", "none.toml"), &["none.toml"]);
}
