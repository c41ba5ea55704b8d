//! The command among others: standard input and output, JSON of every command, threads, completions.

use std::io::Write;
use std::process::Stdio;

use crate::common::{Desk, FIT_ANIMALS, FIT_HOUSES, with_animals, with_houses};

/// What a command prints that is fed a file.
fn piped(desk: &Desk, line: &str, file: &str) -> String {
    let mut child =
        desk.stonet(line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&desk.bytes(file)).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_step_reads_and_writes_pipes() {
    let desk = with_houses(500);
    let features = piped(&desk, "features net.onnx - --keep id,region,price -o -", "held.csv");
    assert_eq!(features, desk.text("val.csv"));
    desk.run(FIT_HOUSES);
    let head = desk.bytes("head.stonet");
    piped(&desk, &FIT_HOUSES.replace("val.csv", "-"), "val.csv");
    assert_eq!(desk.bytes("head.stonet"), head);
    assert_eq!(piped(&desk, "predict head.stonet -", "test.csv"), desk.run("predict head.stonet test.csv"));
    let judged = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap()["evaluation"].clone();
    let (a, b) =
        (piped(&desk, "evaluate head.stonet - --json", "test.csv"), desk.run("evaluate head.stonet test.csv --json"));
    assert_eq!(judged(a), judged(b));
    // What a screen shows cannot be JSON as well.
    desk.refuses("predict head.stonet test.csv --json", &["--json", "-o predictions.csv"]);
    desk.refuses("features net.onnx new.csv -o - --json", &["--json", "-o features.parquet"]);
}

#[test]
fn json_of_every_command_has_a_schema_and_its_settings() {
    let desk = with_houses(400);
    let train = "train houses.csv --task regression --target price --exclude id,region --hidden 4 --epochs 2 -o n.onnx";
    let fit = format!("{FIT_HOUSES} --seed 9");
    let compare = "compare val.csv test.csv --task regression --inputs f* --prediction prediction --target price \
                   --methods split --seed 9";
    let benchmark = "benchmark train.csv --target price --epochs 2 --splits 1 --seed 9 --out bench";
    let selected: String = desk
        .text("houses.csv")
        .lines()
        .map(|l| {
            let c: Vec<&str> = l.split(',').collect();
            format!("{},{},{},{}\n", c[1], c[2], c[3], c[5])
        })
        .collect();
    desk.write("train.csv", selected.lines().take(121).map(|l| format!("{l}\n")).collect::<String>());
    let commands = [
        (format!("{train} --seed 9"), "stonet.train/1", "training"),
        ("features net.onnx new.csv -o f.csv".into(), "stonet.features/1", "batch"),
        ("features net.onnx --list-taps".into(), "stonet.taps/1", "taps"),
        (fit, "stonet.fit/1", "settings"),
        ("predict head.stonet test.csv -o p.csv".into(), "stonet.predict/1", "levels"),
        ("evaluate head.stonet test.csv --seed 9".into(), "stonet.evaluate/1", "evaluation"),
        ("export head.stonet -o h.onnx".into(), "stonet.export/1", "level"),
        ("inspect head.stonet".into(), "stonet.inspect.head/1", "settings"),
        ("inspect net.onnx".into(), "stonet.inspect.network/1", "operators"),
        (compare.into(), "stonet.compare.regression/1", "level"),
        (benchmark.into(), "stonet.benchmark/1", "level"),
    ];
    for (line, schema, settings) in commands {
        let json = desk.json(&line);
        assert_eq!(json["schema"], schema, "{line}");
        assert!(!json[settings].is_null(), "{line}: no {settings}");
        if !line.starts_with("features") && !line.contains("net.onnx") {
            assert_eq!(json["seed"], 9, "{line}");
        }
    }
    let desk = with_animals(300);
    let compare = FIT_ANIMALS.replace("fit val.parquet", "compare val.parquet test.parquet");
    let compare = compare.replace("--method ", "--methods ").replace("-o head.stonet", "--seed 4");
    let json = desk.json(&compare);
    assert!(json["schema"].as_str().unwrap().starts_with("stonet.compare"), "{}", json["schema"]);
    assert_eq!(json["seed"], 4);
}

#[test]
fn the_seed_alone_decides_whatever_the_number_of_threads() {
    let desk = with_houses(500);
    let stack = FIT_HOUSES.replace("--interval fast", "--folds 3 --settings quick.toml");
    desk.write("quick.toml", "[stonet]\nsteps = 300\n");
    let head = |flags: &str| {
        desk.run(&format!("{stack} {flags}"));
        desk.bytes("head.stonet")
    };
    let one = head("--jobs 1 --seed 3");
    assert_eq!(head("--jobs 3 --seed 3"), one);
    assert_ne!(head("--jobs 3 --seed 4"), one);
    let desk = with_animals(500);
    let head = |flags: &str| {
        desk.run(&format!("{} {flags}", FIT_ANIMALS.replace("--method temperature", "")));
        desk.bytes("head.stonet")
    };
    assert_eq!(head("--jobs 1 --seed 3"), head("--jobs 2 --seed 3"));
}

#[test]
fn inspect_shows_what_is_in_a_file() {
    let desk = with_houses(400);
    desk.run(&format!("{FIT_HOUSES} --seed 12"));
    let head = desk.run("inspect head.stonet");
    for part in ["a head for regression", "price", "f0, f1", "fast", "guarantee", "0.9", "12"] {
        assert!(head.contains(part), "{part}: {head}");
    }
    let network = desk.run("inspect net.onnx");
    for part in ["inputs: f32 N × 3", "Gemm 3", "Tanh 2", "last hidden layer"] {
        assert!(network.contains(part), "{part}: {network}");
    }
    let desk = with_animals(300);
    desk.run(FIT_ANIMALS);
    let head = desk.run("inspect head.stonet");
    for part in ["a head for classification", "owl, snowy", "z0, z1, z2 (logits)", "temperature"] {
        assert!(head.contains(part), "{part}: {head}");
    }
    // Coverage is a matter of intervals.
    assert!(!head.contains("level"), "{head}");
}

#[test]
fn completions_know_every_command() {
    let desk = Desk::new();
    let help = desk.run("--help");
    let from = help.find("Commands:").unwrap();
    // A command stands behind two spaces; what its text needs further lines for stands behind more.
    let names = help[from..].lines().skip(1).map_while(|l| l.strip_prefix("  "));
    let names: Vec<&str> = names.filter(|l| !l.starts_with(' ')).filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.contains(&"fit") && names.contains(&"completions") && names.len() >= 12, "{names:?}");
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = desk.run(&format!("completions {shell}"));
        for name in names.iter().filter(|n| **n != "help") {
            assert!(script.contains(name), "{shell} does not know {name}");
        }
        assert!(script.contains("hold-out"), "{shell}");
    }
    desk.refuses("completions tcsh", &["tcsh", "bash"]);
}

#[test]
fn notes_can_be_silenced_and_details_asked_for() {
    let desk = with_houses(300);
    let fit = "fit val.csv --task regression --interval fast --inputs f* --target price -o head.stonet";
    let said = |line: &str| String::from_utf8(desk.ended(line, 0).stderr).unwrap();
    assert!(said(fit).contains("note: without --prediction"), "{}", said(fit));
    assert_eq!(said(&format!("{fit} -q")), "");
    assert!(said(&format!("{fit} -v")).contains("features: f0, f1"));
    assert!(said("features net.onnx new.csv -o x.csv -v").starts_with("tap: t12"));
    desk.refuses(&format!("{fit} -q -v"), &["--quiet", "--verbose"]);
}

/// `stonet predict … | head`: the reader leaves, and that is no error.
#[test]
fn a_reader_that_has_seen_enough_may_leave() {
    let desk = with_houses(600);
    desk.run(FIT_HOUSES);
    let text = desk.text("test.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    desk.write("many.csv", format!("{header}\n{}", rows.repeat(50)));
    for line in ["predict head.stonet many.csv", "features net.onnx houses.csv --keep id -o -", "completions zsh"] {
        let mut child = desk.stonet(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
