//! `--task labels`: heads of many labels through files, by every command.

mod common;

use common::{Desk, normal};
use ndarray::{Array2, s};
use rand::RngExt;
use stonet::base::streams::labels;
use stonet::classification::{LabelInputs, LabelRows};
use stonet::{ClassInputs, ClassMethod, ClassRows, InputKind, PostStoNetClassifier, Seed};

/// Logits of three labels, in another order than the labels themselves.
fn table(rows: usize, seed: u64) -> String {
    let (mut z, mut rng) = (normal(seed), Seed::new(seed + 100).rng());
    let mut text = "id,z_dog,z_cat,z_car,y_cat,y_dog,y_car\n".to_owned();
    for i in 0..rows {
        let z: [f64; 3] = [(); 3].map(|()| z());
        let y = z.map(|z| u8::from(rng.random::<f64>() < 1.0 / (1.0 + (0.5 - z).exp())));
        text += &format!("r{i},{},{},{},{},{},{}\n", 3.0 * z[0], 3.0 * z[1], 3.0 * z[2], y[1], y[0], y[2]);
    }
    text
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("val.csv", table(300, 1)).write("test.csv", table(200, 2));
    desk
}

const FIT: &str = "fit val.csv --task labels --inputs z_* --target y_* -o head.stonet";

#[test]
fn a_fit_is_one_binary_fit_per_label() {
    let desk = desk();
    let told = desk.json(&format!("{FIT} --seed 7"));
    let pairs: Vec<(&str, &str)> = told["labels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| (l["column"].as_str().unwrap(), l["label"].as_str().unwrap()))
        .collect();
    // In the order of the outputs, as a network gives them.
    assert_eq!(pairs, [("z_dog", "dog"), ("z_cat", "cat"), ("z_car", "car")]);
    desk.run("predict head.stonet test.csv --keep id -o p.csv");
    assert!(desk.text("p.csv").starts_with("id,p_dog,p_cat,p_car\nr0,"));
    let judged = desk.json("evaluate head.stonet test.csv");
    let mut nlls = Vec::new();
    for (k, name) in ["dog", "cat", "car"].into_iter().enumerate() {
        let logits = |file: &str| {
            let z =
                Array2::from_shape_vec((desk.column(file, "z_cat").len(), 1), desk.column(file, &format!("z_{name}")));
            InputKind::Logits.convert(z.unwrap()).unwrap()
        };
        let codes =
            |file: &str| desk.column(file, &format!("y_{name}")).iter().map(|&y| y as usize).collect::<Vec<_>>();
        let (z, y) = (logits("val.csv"), codes("val.csv"));
        let rows = ClassRows::new(ClassInputs::logits(z.view()).unwrap(), &y, 2).unwrap();
        let seed = Seed::new(7).child(labels::HEADS.at(k));
        let alone = PostStoNetClassifier::default().fit(&rows, seed, &|_, _| true).unwrap();
        let (z, y) = (logits("test.csv"), codes("test.csv"));
        let p = alone.probabilities(&ClassInputs::logits(z.view()).unwrap()).unwrap();
        let written = desk.column("p.csv", &format!("p_{name}"));
        assert!(common::apart(&written, &p.slice(s![.., 1]).to_vec()) < 1e-9, "{name}");

        let scores = stonet::metrics::class_scores(p.view(), &y, stonet::metrics::BINS).unwrap();
        let found = &judged["evaluation"]["labels"][k];
        assert_eq!(found["label"], name);
        let base_rate = y.iter().sum::<usize>() as f64 / y.len() as f64;
        for (score, expected) in
            [("nll", scores.nll), ("brier", scores.brier), ("ece", scores.ece), ("base_rate", base_rate)]
        {
            assert!((found[score].as_f64().unwrap() - expected).abs() < 1e-9, "{name} {score}");
        }
        nlls.push(scores.nll);
    }
    let mean = judged["evaluation"]["mean"]["nll"].as_f64().unwrap();
    assert!((mean - nlls.iter().sum::<f64>() / 3.0).abs() < 1e-9);
}

#[test]
fn every_command_works_or_refuses_in_words() {
    let desk = desk();
    let said = desk.run(&format!("{FIT} --method temperature"));
    assert!(said.contains("labels     z_dog = dog, z_cat = cat, z_car = car"), "{said}");
    let shown = desk.run("inspect head.stonet");
    assert!(shown.contains("a head for labels") && shown.contains("label        dog: temperature"), "{shown}");
    assert_eq!(desk.json("inspect head.stonet")["labels"][2]["column"], "z_car");
    let text = desk.run("evaluate head.stonet test.csv --require nll<=0.7");
    assert!(text.contains("base rate") && text.contains("required   nll<=0.7: met"), "{text}");
    desk.ended("evaluate head.stonet test.csv --require nll<=0.01", 1);
    desk.refuses(
        "predict head.stonet test.csv --sets -o p.csv",
        &["--sets is not for heads of many labels", "a row may have any number of labels"],
    );
    desk.refuses("export head.stonet -o head.onnx --sets", &["--sets is not for heads of many labels"]);
    desk.refuses("predict head.stonet test.csv --level 0.9 -o p.csv", &["--level is not for heads of many labels"]);
    desk.refuses("evaluate head.stonet test.csv --by none", &["test.csv", "none"]);
    desk.refuses("evaluate head.stonet val.csv", &["val.csv", "among the rows that were fitted on"]);
    desk.refuses("evaluate head.stonet test.csv --require coverage>=0.9", &["coverage", "nll, brier, ece, cece"]);
}

#[test]
fn probabilities_are_guessed_and_order_stands_in_for_names() {
    let desk = Desk::new();
    let mut text = "cat,dog,p0,p1\n".to_owned();
    let mut rng = Seed::new(5).rng();
    for _ in 0..200 {
        let p: [f64; 2] = [rng.random(), rng.random()];
        let y = p.map(|p| rng.random::<f64>() < p);
        text += &format!("{},{},{},{}\n", y[0], if y[1] { "TRUE" } else { "False" }, p[0], p[1]);
    }
    desk.write("val.csv", text);
    let output = desk.ended("fit val.csv --task labels --target cat,dog --method temperature -o head.stonet", 0);
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains("so their order does"), "{note}");
    let inspected = desk.json("inspect head.stonet");
    assert_eq!((&inspected["kind"], &inspected["labels"][1]["column"]), (&"probabilities".into(), &"p1".into()));
    desk.refuses(
        "fit val.csv --task labels --target cat,dog --kind logits -o other.stonet",
        &["val.csv", "look like probabilities"],
    );
}

#[test]
fn bad_rows_and_flags_are_named() {
    let desk = desk();
    let lines = |file: &str| desk.text(file).lines().map(str::to_owned).collect::<Vec<_>>();
    let mut two = lines("val.csv");
    two[4] = two[4].rsplit_once(',').unwrap().0.to_owned() + ",2";
    desk.write("two.csv", two.join("\n"));
    let never: Vec<String> = lines("val.csv")
        .iter()
        .enumerate()
        .map(|(i, l)| if i == 0 { l.clone() } else { l.rsplit_once(',').unwrap().0.to_owned() + ",0" })
        .collect();
    let always = (never.join("\n") + "\n").replace(",0\n", ",1\n");
    desk.write("never.csv", never.join("\n"))
        .write("always.csv", always.clone())
        .write("rare.csv", always.replacen(",1\n", ",0\n", 1));
    let fit = |rows: &str, more: &str| FIT.replace("val.csv", rows) + more;
    desk.refuses(&fit("two.csv", ""), &["two.csv: row 3 (from 0) of column `y_car` is `2`", "--target"]);
    desk.refuses(&fit("always.csv", ""), &["always.csv", "`y_car`", "is present in every row"]);
    desk.refuses(
        &fit("rare.csv", ""),
        &["rare.csv", "`y_car`", "label `car` is present in 299 of 300 rows", "--method"],
    );
    desk.run(&fit("rare.csv", " --method temperature"));
    std::fs::remove_file(desk.at("head.stonet")).unwrap();
    desk.refuses(&fit("never.csv", ""), &["never.csv", "`y_car`", "label `car` is present in no row", "--target"]);
    desk.refuses(
        "fit val.csv --task labels --inputs z_d*,z_cat --target y_* -o head.stonet",
        &["--inputs names 2 columns, and --target names 3", "--target 'y_*' --inputs 'z_*'"],
    );
    desk.refuses(
        "fit val.csv --task labels --target y_cat --exclude id -o head.stonet",
        &["--inputs is not given, which means all 5 other columns", "--target names 1"],
    );
    desk.refuses(&fit("val.csv", " --kind probabilities"), &["row 0 (from 0) of column `z_", "--kind logits"]);
    desk.refuses(&fit("val.csv", " --kind features"), &["--kind features is for --task classification"]);
    desk.refuses(
        &fit("val.csv", " --sets cv+"),
        &["--sets is for --task classification", "a row may have any number of labels"],
    );
    desk.refuses(&fit("val.csv", " --level 0.9"), &["--level is for --task regression"]);
    desk.refuses(&fit("val.csv", " --classes a,b"), &["--classes is for --task classification"]);
    desk.refuses(&fit("val.csv", " --features none"), &["val.csv", "none"]);
    desk.refuses(&fit("val.csv", " --features y_cat"), &["--features", "y_cat"]);
    desk.refuses(&fit("val.csv", " --interval cv+"), &["--interval is for --task regression"]);
    desk.refuses(&fit("val.csv", " --method none-such"), &["none-such"]);

    // A label that is not 0 or 1 among the rows to judge, by its row in the file.
    desk.run(&format!("{FIT} --method temperature"));
    let mut test = lines("test.csv");
    test[9] = test[9].rsplit_once(',').unwrap().0.to_owned() + ",maybe";
    desk.write("maybe.csv", test.join("\n"));
    desk.refuses("evaluate head.stonet maybe.csv", &["maybe.csv: row 8 (from 0) of column `y_car` is `maybe`"]);
}

/// Rows whose labels follow two inputs, and of which the third label is hard to tell from its output alone.
fn plain(rows: usize, seed: u64) -> String {
    let (mut x, mut rng) = (normal(seed), Seed::new(seed + 100).rng());
    let mut text = "a,b,place,y_cat,y_dog,y_car\n".to_owned();
    for i in 0..rows {
        let (a, b) = (x(), x());
        let y = [a + b, a - b, 2.0 * a * b].map(|z| u8::from(rng.random::<f64>() < 1.0 / (1.0 + (-2.0 * z).exp())));
        text += &format!("{a},{b},{},{},{},{}\n", ["sea", "land"][i % 2], y[0], y[1], y[2]);
    }
    text
}

/// A network with one output per label, and what it says of rows that it has not seen.
fn with_network() -> Desk {
    let desk = Desk::new();
    for (file, rows, seed) in [("train.csv", 400, 1), ("v.csv", 300, 2), ("t.csv", 200, 3)] {
        desk.write(file, plain(rows, seed));
    }
    desk.run(
        "train train.csv --task regression --target y_cat,y_dog,y_car --keep place -o net.onnx --hidden 8 --epochs 20 --hold-out spare.csv=0.1",
    );
    for (from, to) in [("v.csv", "val.parquet"), ("t.csv", "test.parquet")] {
        desk.run(&format!("features net.onnx {from} --inputs a,b --keep place,y_cat,y_dog,y_car -o {to}"));
    }
    desk
}

#[test]
fn a_joined_file_gives_what_predict_gives() {
    let desk = with_network();
    for (method, more) in [("stack", ""), ("skip-features", " --features f*"), ("temperature", "")] {
        let fit = "fit val.parquet --task labels --inputs z* --target y_cat,y_dog,y_car -o head.stonet";
        desk.run(&format!("{fit} --kind logits --method {method}{more}"));
        desk.run("predict head.stonet test.parquet -o p.csv");
        let told = desk.json("export head.stonet -o joined.onnx --network net.onnx");
        assert_eq!(told["outputs"].as_array().unwrap().len(), 1);
        assert!(told["outputs"][0].as_str().unwrap().starts_with("probabilities"), "{told}");
        let mut runtimes = vec!["rten"];
        runtimes.extend(std::env::var_os("ORT_DYLIB_PATH").map(|_| "onnxruntime"));
        for runtime in runtimes {
            let run = "features joined.onnx t.csv --inputs a,b --tap probabilities -o q.csv";
            desk.run(&format!("{run} --runtime {runtime}"));
            for (k, name) in ["cat", "dog", "car"].into_iter().enumerate() {
                let (one, two) = (desk.column("q.csv", &format!("f{k}")), desk.column("p.csv", &format!("p_{name}")));
                assert_eq!(one.len(), 200);
                assert!(common::apart(&one, &two) < 1e-4, "{method} {runtime} {name}");
            }
        }
        desk.run("export head.stonet -o alone.onnx");
    }
    // Outputs in another order than the network's are not joined to it.
    desk.run("fit val.parquet --task labels --inputs z1,z0,z2 --target y_dog,y_cat,y_car --method temperature -o t.stonet --kind logits");
    desk.refuses("export t.stonet -o other.onnx --network net.onnx", &["z1, z0, z2", "in this order"]);
}

#[test]
fn features_are_used_for_every_label() {
    let desk = with_network();
    let fit = "fit val.parquet --task labels --inputs z* --target y_cat,y_dog,y_car --kind logits";
    desk.run(&format!("{fit} --features f* --method skip-features -o head.stonet"));
    let shown = desk.run("inspect head.stonet");
    assert!(shown.contains("features     f0") && shown.contains("label        car: skip-features"), "{shown}");
    assert_eq!(desk.json("inspect head.stonet")["columns"]["features"].as_array().unwrap().len(), 8);
    let judged = desk.json("evaluate head.stonet test.parquet");
    assert_eq!(judged["evaluation"]["labels"].as_array().unwrap().len(), 3);
    desk.refuses("predict head.stonet t.csv -o p.csv", &["t.csv", "f0"]);
    // The same as the library gives with these features.
    desk.run("predict head.stonet test.parquet -o p.csv");
    let array = |file: &str, names: &[String]| {
        let columns: Vec<Vec<f64>> = names.iter().map(|n| desk.column(file, n)).collect();
        Array2::from_shape_fn((columns[0].len(), names.len()), |(i, k)| columns[k][i])
    };
    let named = |stem: &str, count: usize| (0..count).map(|i| format!("{stem}{i}")).collect::<Vec<_>>();
    let labels = ["cat", "dog", "car"].map(String::from);
    let (z, x) = (array("val.parquet", &named("z", 3)), array("val.parquet", &named("f", 8)));
    let present = array("val.parquet", &labels.clone().map(|l| format!("y_{l}"))).mapv(|y| y == 1.0);
    let inputs = LabelInputs::new(InputKind::Logits, z.view()).unwrap().with_features(x.view()).unwrap();
    let rows = LabelRows::new(inputs, present.view(), &labels).unwrap();
    let settings = PostStoNetClassifier { method: ClassMethod::SkipFeatures, ..Default::default() };
    let fitted = settings.fit_labels(&rows, Seed::new(1), &|_, _| true).unwrap();
    let (z, x) = (array("test.parquet", &named("z", 3)), array("test.parquet", &named("f", 8)));
    let inputs = LabelInputs::new(InputKind::Logits, z.view()).unwrap().with_features(x.view()).unwrap();
    let p = fitted.probabilities(&inputs).unwrap();
    for (k, name) in labels.iter().enumerate() {
        let written = desk.column("p.csv", &format!("p_{name}"));
        assert!(common::apart(&written, &p.column(k).to_vec()) < 1e-9, "{name}");
    }
}

#[test]
fn evaluations_have_subgroups_and_a_page() {
    let desk = with_network();
    let hostile = "<script>x</script>";
    for file in ["v.csv", "t.csv"] {
        desk.write(&format!("h{file}"), desk.text(file).replacen("y_car", &format!("y_{hostile}"), 1));
    }
    for (from, to) in [("hv.csv", "val.csv"), ("ht.csv", "test.csv")] {
        desk.run(&format!("features net.onnx {from} --inputs a,b --keep place,y_cat,y_dog,y_{hostile} -o {to}"));
    }
    desk.run("fit val.csv --task labels --inputs z* --target y_* --kind logits --method temperature -o head.stonet");
    let text = desk.run("evaluate head.stonet test.csv --by place --report page.html");
    assert!(text.contains("labels beyond chance") && text.contains("sea") && text.contains("land"), "{text}");
    let told = desk.json("evaluate head.stonet test.csv --by place");
    let (column, groups) = (&told["evaluation"]["subgroups"][0], &told["evaluation"]["subgroups"][1]);
    assert_eq!((column, groups.as_array().unwrap().len()), (&"place".into(), 2));
    // The mean over groups of one size is the mean over all rows.
    let nll = |v: &serde_json::Value| v["mean"]["nll"].as_f64().unwrap();
    let mean = (nll(&groups[0]) + nll(&groups[1])) / 2.0;
    assert!((mean - nll(&told["evaluation"])).abs() < 1e-9 && groups[0]["rows"] == 100);
    for l in told["evaluation"]["labels"].as_array().unwrap() {
        assert_eq!(l["rows"].as_f64().unwrap(), (200.0 * l["base_rate"].as_f64().unwrap()).round());
        assert!(l["ece_limit"].as_f64() > l["ece_chance"].as_f64());
    }
    let page = desk.text("page.html");
    assert!(
        page.contains("Every label") && page.contains("Calibration by place") && page.contains("id=\"reliability\"")
    );
    assert!(page.contains("&lt;script&gt;") && !page.contains(hostile));
}
