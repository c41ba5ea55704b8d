//! Class probabilities: names as words, logits or features, and one ONNX file.

use crate::common::{Desk, FIT_ANIMALS, apart, with_animals};

const CLASSES: [&str; 3] = ["cat", "dog", "owl, snowy"];

/// Predictions whose probabilities sum to one and whose class is the most probable.
fn sound(desk: &Desk, file: &str) -> Vec<Vec<f64>> {
    let table = desk.table(file, &["class"]);
    assert_eq!(table.names(), CLASSES.map(|c| format!("p_{c}")));
    let class = table.text("class").unwrap();
    let mut rows = Vec::new();
    for (p, class) in table.values().outer_iter().zip(class) {
        assert!((p.sum() - 1.0).abs() < 1e-12 && p.iter().all(|p| (0.0..=1.0).contains(p)), "{p}");
        let best = (0..3).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        assert_eq!(CLASSES[best], class);
        rows.push(p.to_vec());
    }
    rows
}

#[test]
fn from_a_table_of_names_to_probabilities_in_every_format() {
    let desk = with_animals(1200);
    let fit = desk.json(FIT_ANIMALS);
    assert_eq!((&fit["classes"], &fit["logits"]), (&serde_json::json!(CLASSES), &3.into()));
    assert_eq!((&fit["settings"]["method"], &fit["level"]), (&"temperature".into(), &serde_json::Value::Null));
    desk.run("predict head.stonet test.parquet -o wanted.csv");
    let wanted = sound(&desk, "wanted.csv");
    assert_eq!(wanted.len(), 360);
    for format in ["csv.gz", "parquet", "arrow", "feather"] {
        desk.run(&format!("predict head.stonet test.parquet -o p.{format}"));
        assert_eq!(sound(&desk, &format!("p.{format}")), wanted, "{format}");
    }
    let screen = desk.run("predict head.stonet test.parquet --keep picture");
    assert_eq!(screen.lines().next(), Some("picture,class,p_cat,p_dog,\"p_owl, snowy\""));
    // Temperature changes no class: the network's accuracy is the head's.
    let judged = desk.json("evaluate head.stonet test.parquet --report page.html --by animal");
    let scores = &judged["evaluation"]["scores"];
    let classes = desk.table("wanted.csv", &["class"]);
    let truth = desk.table("test.parquet", &["animal", "picture"]);
    let pairs = classes.text("class").unwrap().iter().zip(truth.text("animal").unwrap());
    let right = pairs.filter(|(a, b)| a == b).count() as f64 / 360.0;
    assert!((scores["accuracy"]["value"].as_f64().unwrap() - right).abs() < 1e-12);
    assert!(right > 0.6, "{right}");
    assert!(desk.text("page.html").contains("owl, snowy"));
    desk.run("evaluate head.stonet test.parquet --require ece<=0.5 --require accuracy>=0.5");
    desk.ended("evaluate head.stonet test.parquet --require accuracy>=0.9999", 1);
}

#[test]
fn logits_features_or_both_and_the_joined_network_agree() {
    let desk = with_animals(900);
    let fit = "fit val.parquet --task classification --target animal -o head.stonet";
    for (columns, method) in [
        ("--inputs z*", "temperature"),
        ("--inputs z*", "vector"),
        ("--inputs f* --kind features", "post-linear"),
        ("--inputs z* --features f*", "post-linear"),
    ] {
        let summary = desk.json(&format!("{fit} {columns} --method {method}"));
        assert_eq!(summary["members"][0]["method"], method);
        desk.run("predict head.stonet test.parquet -o wanted.csv");
        let wanted = sound(&desk, "wanted.csv");
        desk.run("export head.stonet -o joined.onnx --network net.onnx");
        // The joined file notes what the network was trained on, so raw rows go in by name.
        desk.run("features joined.onnx new.csv --tap probabilities -o found.csv");
        let found = desk.table("found.csv", &[]);
        assert_eq!(found.names(), ["f0", "f1", "f2"]);
        for (k, name) in ["f0", "f1", "f2"].into_iter().enumerate() {
            let wanted: Vec<f64> = wanted.iter().map(|p| p[k]).collect();
            assert!(apart(&wanted, &found.column(name).unwrap().to_vec()) < 1e-4, "{columns} {method}");
        }
        desk.run("export head.stonet -o both.onnx --network net.onnx --keep-outputs");
        let both = desk.run("features both.onnx new.csv --tap probabilities -o -");
        assert_eq!(both.lines().next(), Some("f0,f1,f2,z0,z1,z2"));
    }
}

#[test]
fn the_stack_is_fitted_where_nothing_is_said() {
    let desk = with_animals(600);
    let fit = "fit val.parquet --task classification --inputs z* --target animal -o head.stonet";
    let summary = desk.json(fit);
    assert_eq!(summary["settings"]["method"], "stack");
    let weights = summary["members"].as_array().unwrap().iter().map(|m| m["weight"].as_f64().unwrap());
    assert!((weights.sum::<f64>() - 1.0).abs() < 1e-9);
    desk.run("predict head.stonet test.parquet -o p.csv");
    sound(&desk, "p.csv");
}

#[test]
fn probabilities_instead_of_logits_give_the_same() {
    let desk = with_animals(600);
    let softmax = |name: &str, to: &str| {
        let table = desk.table(name, &["animal", "picture"]);
        let columns = ["z0", "z1", "z2"].map(|c| table.column(c).unwrap().to_vec());
        let mut text = String::from("z0,z1,z2,animal\n");
        for (i, animal) in table.text("animal").unwrap().iter().enumerate() {
            let e = [0, 1, 2].map(|k: usize| columns[k][i].exp());
            let p = e.map(|v| v / e.iter().sum::<f64>());
            text += &format!("{},{},{},\"{animal}\"\n", p[0], p[1], p[2]);
        }
        desk.write(to, text);
    };
    softmax("val.parquet", "val.csv");
    softmax("test.parquet", "test.csv");
    desk.run(FIT_ANIMALS);
    desk.run("predict head.stonet test.parquet -o a.csv");
    let fit = FIT_ANIMALS.replace("val.parquet", "val.csv").replace("-o head", "--kind probabilities -o p");
    desk.run(&fit);
    desk.run("predict p.stonet test.csv -o b.csv");
    for (a, b) in sound(&desk, "a.csv").iter().zip(&sound(&desk, "b.csv")) {
        assert!(apart(a, b) < 1e-6);
    }
    assert!(desk.run("export p.stonet -o p.onnx").contains("network_probabilities: f32 N × 3"));
    // Without --kind they are recognised, and as logits they are refused.
    let fit = FIT_ANIMALS.replace("val.parquet", "val.csv");
    desk.run(&fit);
    assert_eq!(desk.json("inspect head.stonet")["kind"], "probabilities");
    desk.refuses(&format!("{fit} --kind logits"), &["val.csv", "look like probabilities"]);
}
