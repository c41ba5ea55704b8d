//! A binary classifier with a single output, a network of several inputs, and one without a hidden layer: from rows to
//! one file.

use std::path::Path;

use crate::common::{Desk, apart, normal};

fn desk(networks: &[&str]) -> Desk {
    let desk = Desk::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stonet-onnx/tests/fixtures");
    for name in networks {
        std::fs::copy(fixtures.join(format!("{name}.onnx")), desk.at(&format!("{name}.onnx"))).unwrap();
    }
    desk
}

/// Rows of three numbers.
fn rows(seed: u64, count: usize) -> String {
    let mut z = normal(seed);
    (0..count).fold(String::from("a,b,c\n"), |text, _| text + &format!("{:.4},{:.4},{:.4}\n", z(), z(), z()))
}

/// The features of rows with a label that is `yes` less often than the network believes.
fn labelled(desk: &Desk, network: &str, seed: u64, count: usize, to: &str) {
    desk.write("rows.csv", rows(seed, count));
    desk.run(&format!("features {network}.onnx rows.csv -o said.csv"));
    let output = desk.column("said.csv", "prediction");
    let mut z = normal(seed + 1000);
    let mut text = String::from("prediction,answer\n");
    for p in output {
        let logit = if network == "probability" { (p / (1.0 - p)).ln() } else { p };
        // A probit draw at a third of the certainty.
        let answer = if logit / 3.0 / 1.7 + z() > 0.0 { "yes" } else { "no" };
        text += &format!("{p},{answer}\n");
    }
    desk.write(to, text);
}

#[test]
fn a_single_logit_or_probability_is_fitted_judged_and_exported() {
    let desk = desk(&["logit", "probability", "double"]);
    for (network, kind) in [("logit", "logits"), ("probability", "probabilities"), ("double", "logits")] {
        labelled(&desk, network, 3, 800, "val.csv");
        labelled(&desk, network, 4, 800, "test.csv");
        let fit = format!(
            "fit val.csv --task classification --method temperature --inputs prediction --kind {kind} --target answer -o head.stonet"
        );
        let fitted = desk.json(&fit);
        assert_eq!(fitted["class_columns"], serde_json::json!([{ "column": "prediction", "class": "yes" }]));
        desk.run("predict head.stonet test.csv -o p.csv");
        let p = desk.column("p.csv", "p_yes");
        let judged = desk.json("evaluate head.stonet test.csv");
        // 800 rows: the calibrated probabilities are right on average, within 4.5 standard deviations.
        let yes = desk.text("test.csv").lines().filter(|l| l.ends_with(",yes")).count() as f64 / 800.0;
        let mean = p.iter().sum::<f64>() / 800.0;
        assert!((mean - yes).abs() < 4.5 * (0.25f64 / 800.0).sqrt(), "{network}: {mean} {yes}");
        assert!(judged.to_string().contains("nll"), "{judged}");
        desk.run(&format!("export head.stonet -o sure.onnx --network {network}.onnx"));
        desk.run("features sure.onnx rows.csv --tap probabilities --no-outputs -o joined.csv");
        assert!(apart(&desk.column("joined.csv", "f1"), &p) < 1e-4, "{network}");
        if network == "probability" {
            let wrong = fit.replace("--kind probabilities", "--kind logits");
            desk.refuses(&wrong, &["val.csv", "look like probabilities"]);
        }
    }
}

#[test]
fn one_column_is_recognised_without_its_kind_or_the_warning_says_what_it_was_taken_for() {
    let desk = Desk::new();
    let mut z = normal(5);
    let row = |_| {
        let (logit, noise) = (3.0 * z(), z());
        format!("{logit},{noise},{}\n", if logit + noise > 0.0 { "yes" } else { "no" })
    };
    desk.write("val.csv", format!("logit,noise,answer\n{}", (0..300).map(row).collect::<String>()));
    let fit = "fit val.csv --task classification --method temperature --target answer -o head.stonet --inputs";
    let fitted = desk.json(&format!("{fit} logit"));
    assert_eq!(fitted["class_columns"], serde_json::json!([{ "column": "logit", "class": "yes" }]));
    assert!(fitted["warnings"][0].as_str().unwrap().contains("taken for logits"), "{}", fitted["warnings"]);
    desk.refuses(
        &format!("{fit} noise").replace("head.", "none."),
        &["taken for a feature", "--kind logits", "only features"],
    );
}

#[test]
fn columns_of_several_inputs_are_found_by_their_names() {
    let desk = desk(&["two_inputs"]);
    let mut z = normal(9);
    let (mut named, mut plain) = (String::from("id,x_2,x_1,x_0\n"), String::from("a,b,c,d\n"));
    for i in 0..50 {
        let x = [z(), z(), z()];
        named += &format!("{},{},{},{}\n", i % 5, x[2], x[1], x[0]);
        plain += &format!("{},{},{},{}\n", x[0], x[1], x[2], i % 5);
    }
    desk.write("named.csv", named).write("plain.csv", plain);
    desk.run("features two_inputs.onnx named.csv -o one.csv");
    desk.run("features two_inputs.onnx plain.csv --inputs a,b,c,d -o two.csv");
    assert_eq!(desk.text("one.csv"), desk.text("two.csv"));
    desk.refuses("features two_inputs.onnx plain.csv -o x.csv", &["plain.csv", "x_0"]);
    desk.refuses("features two_inputs.onnx plain.csv --inputs a,b,d,c -o x.csv", &["column `c`", "whole numbers"]);
}

#[test]
fn a_linear_network_gives_its_inputs_as_features() {
    let desk = desk(&["linear"]);
    desk.write("rows.csv", rows(5, 30));
    desk.run("features linear.onnx rows.csv -o f.csv");
    assert_eq!(desk.table("f.csv", &[]).names(), ["f0", "f1", "f2", "z0", "z1"]);
    assert!(apart(&desk.column("f.csv", "f1"), &desk.column("rows.csv", "b")) < 1e-6);
    assert!(desk.run("features linear.onnx --list-taps").contains("the network's own input"));
}
