//! Flags that all commands share, and numbers on the command line: bounds, negative numbers, errors as JSON, printed
//! settings.

mod common;

use common::{Desk, FIT_ANIMALS, FIT_HOUSES, json, stonet, with_animals, with_houses};
use serde_json::Value;

/// The options of a command that take a number, by a help text that names a type: found by trying -1 on each.
fn options(desk: &Desk, command: &str) -> Vec<String> {
    let help = desk.run(&format!("{command} --help"));
    let flags = help.lines().map(str::trim_start).filter(|l| l.starts_with('-') && l.contains('<'));
    let long = |l: &str| l.split_whitespace().find(|w| w.starts_with("--")).map(str::to_owned);
    flags.filter_map(long).collect()
}

#[test]
fn a_negative_number_is_a_value_for_every_flag_that_takes_numbers() {
    let desk = with_houses(120);
    let fit = "fit val.csv --task regression --inputs f* --target price -o x.stonet";
    let predict = "predict net.onnx test.csv -o p.csv";
    for (line, said) in [
        (format!("{fit} --level -0.1"), "level"),
        (format!("{fit} --folds -3"), "'-3' for '--folds <K>': it must be a whole number, 0 or more"),
        (format!("{fit} --seed -1"), "'-1' for '--seed <SEED>': it must be a whole number, 0 or more"),
        (format!("{fit} --jobs -1"), "'-1' for '--jobs <N>': it must be a whole number, 0 or more"),
        (format!("{fit} --sample -5"), "'-5' for '--sample <N>'"),
        (format!("{fit} --interval fast --level -1"), "strictly between 0 and 1"),
        (format!("{predict} --level -0.5,0.9"), ""),
        ("demo --level -0.1 --out x".into(), "strictly between 0 and 1"),
        ("benchmark houses.csv --target price --level -0.5 --out x".into(), "strictly between 0 and 1"),
        ("features net.onnx new.csv -o x.csv --std -1".into(), "std"),
    ] {
        let said = desk.refuses(&line, &[said]);
        assert!(!said.contains("unexpected argument"), "{line}: {said}");
    }
    // No numeric flag of any command takes a negative number for another flag.
    for command in ["demo", "train", "features", "fit", "predict", "evaluate", "export", "compare", "benchmark"] {
        for flag in options(&desk, command) {
            let output = desk.stonet(&format!("{command} {flag} -1")).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let numeric = ["level", "seed", "jobs", "folds", "epochs", "batch", "rate", "splits", "sample", "error"];
            if numeric.iter().any(|n| flag.contains(n)) {
                assert!(!stderr.contains("unexpected argument '-1'"), "{command} {flag}: {stderr}");
            }
        }
    }
}

#[test]
fn more_threads_than_a_machine_can_use_are_refused_at_once() {
    let desk = with_houses(120);
    for command in [FIT_HOUSES, "predict head.stonet test.csv -o p.csv", "demo --out x", "inspect net.onnx"] {
        let most = stonet::base::most_threads();
        let said =
            desk.refuses(&format!("{command} --jobs 99999999"), &["--jobs is 99999999", &format!("at most {most}")]);
        assert!(said.contains("or leave it out for all cores"), "{said}");
    }
    desk.run(&format!("{FIT_HOUSES} --jobs {}", 64));
}

fn failure(desk: &Desk, line: &str, code: i32) -> Value {
    let output = desk.ended(line, code);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}"));
    assert_eq!(told["schema"], "stonet.error/1", "{line}");
    assert_eq!(told["exit_code"], code, "{line}");
    // People read the same on standard error.
    let stderr = String::from_utf8(output.stderr).unwrap();
    let first = told["error"]["message"].as_str().unwrap().lines().next().unwrap().to_owned();
    assert!(!first.is_empty() && stderr.contains(&first), "{line}: {stderr}");
    told
}

#[test]
fn errors_are_json_under_json() {
    let desk = with_houses(120);
    desk.run(FIT_HOUSES);
    desk.write("bad.toml", "fold = 3\n").write("cell.csv", "f0,y\n1,2\nred,3\n");
    let kind = |line: &str| failure(&desk, line, 2)["error"]["kind"].as_str().unwrap().to_owned();
    assert_eq!(kind("predict head.stonet none.csv -o p.csv --json"), "file");
    assert_eq!(kind("--json predict head.stonet"), "usage");
    assert_eq!(kind("fit val.csv --task ranking -o x.stonet --json"), "usage");
    assert_eq!(kind("fit val.csv --task regression -o x.txt --json"), "usage");
    assert_eq!(kind("fit val.csv --task regression --settings bad.toml -o x.stonet --json"), "setting");
    assert_eq!(kind("fit val.csv --task regression --level 95 --target price -o x.stonet --json"), "setting");
    assert_eq!(kind("fit val.csv --task regression -o none/x.stonet --json"), "output");
    assert_eq!(kind("fit cell.csv --task regression -o x.stonet --json"), "file");
    assert_eq!(kind("demo --jobs 99999999 --json --out x"), "usage");
    let usage = failure(&desk, "predict --json", 2);
    assert!(!usage["error"]["message"].as_str().unwrap().contains("Usage"), "{usage}");
    // Without the flag nothing is on standard output, and help is no error.
    desk.refuses("predict head.stonet none.csv", &["none.csv"]);
    assert!(desk.run("predict --help --json").contains("Usage"));
}

#[test]
fn a_threshold_that_cannot_be_met_is_refused() {
    let desk = with_houses(120);
    desk.run(FIT_HOUSES);
    for condition in ["coverage>=90", "coverage<=1.5", "coverage>1", "rmse<0", "winkler<=-1"] {
        desk.refuses(&format!("evaluate head.stonet test.csv --require {condition}"), &[condition, "this measure"]);
    }
    desk.run("evaluate head.stonet test.csv --require coverage>=0.2");
}

#[test]
fn the_lowest_coverage_can_be_required() {
    let desk = with_houses(1200);
    desk.run(FIT_HOUSES);
    let told = desk.json("evaluate head.stonet test.csv --require worst_fifth>=0.3 --require ert<=0.5");
    let diagnosis = &told["evaluation"]["targets"][0]["diagnosis"];
    let fifth = diagnosis["worst_fifth"]["coverage"]["value"].as_f64().unwrap();
    assert_eq!(told["requirements"][0]["found"].as_f64(), Some(fifth));
    let unmet = desk.ended("evaluate head.stonet test.csv --require worst_fifth>=0.9999", 1);
    let text = String::from_utf8(unmet.stdout).unwrap();
    assert!(text.contains("worst_fifth>=0.9999: not met") && text.contains("worst fifth: "), "{text}");
    // Too few rows for fifths of 20.
    let few: String = desk.text("test.csv").lines().take(51).map(|line| format!("{line}\n")).collect();
    desk.write("few.csv", few);
    let unmet = desk.ended("evaluate head.stonet few.csv --require worst_fifth>=0", 1);
    assert!(String::from_utf8(unmet.stdout).unwrap().contains("not known, too few rows"));
}

#[test]
fn printed_settings_are_read_back_as_they_were() {
    let desk = with_houses(200);
    let print = |arguments: &str| desk.run(&format!("fit --print-settings {arguments}"));
    for interval in ["stack", "cv+", "cv", "paper", "fast", "split"] {
        let printed = print(&format!("--task regression --interval {interval} --folds 4 --level 0.8"));
        assert!(printed.contains(&format!("kind = \"{interval}\" # which intervals")), "{printed}");
        assert!(printed.contains("folds = 4 # ") && printed.contains("level = 0.8 # "), "{printed}");
        let grid = if interval == "paper" { "kappas = [0.0005, 0.001, " } else { "kappas = [0.001, 0.006, " };
        assert!(printed.contains(grid), "{printed}");
        desk.write("settings.toml", &printed);
        assert_eq!(print("--task regression --settings settings.toml"), printed);
    }
    for method in ["stack", "temperature", "paper", "none"] {
        let printed = print(&format!("--task classification --method {method}"));
        desk.write("settings.toml", &printed);
        assert_eq!(print("--task classification --settings settings.toml"), printed);
    }
    // A fit with the printed settings is the fit with the flags.
    desk.write("settings.toml", print("--task regression --interval fast --folds 4"));
    let fit = |flags: &str| {
        desk.json(&format!("fit val.csv --task regression --inputs f* --target price -o h.stonet {flags}"))
    };
    let (by_flags, by_file) = (fit("--interval fast --folds 4"), fit("--settings settings.toml"));
    assert_eq!(by_flags["settings"], by_file["settings"]);
    assert_eq!(by_flags["weights"], by_file["weights"]);
    desk.refuses("fit --task regression", &["<ROWS>", "--output"]);
    let told = json(&mut stonet(&["fit", "--print-settings", "--task", "regression", "--json"]));
    assert_eq!((told["schema"].as_str(), told["settings"]["folds"].as_u64()), (Some("stonet.settings/1"), Some(5)));
}

/// Runs to a good end; the most memory that it held, in bytes.
#[cfg(target_os = "linux")]
fn peak(mut command: std::process::Command) -> u64 {
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let kilobytes = text.lines().find_map(|l| l.strip_prefix("VmHWM:")).map(|l| l.trim().trim_end_matches(" kB"));
        most = most.max(kilobytes.and_then(|k| k.parse::<u64>().ok()).unwrap_or(0) * 1024);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    most
}

/// One million rows of nine numbers are 72 MB; streamed, only figures of rows (a length, a hit, a prediction) have to
/// stay.
#[test]
#[cfg(target_os = "linux")]
fn memory_of_an_evaluation_is_bounded_by_the_figures_of_its_rows() {
    let desk = Desk::new();
    let table = |rows: usize, seed: u64| {
        let mut z = common::normal(seed);
        let mut text = String::from("f0,f1,f2,f3,f4,f5,f6,y\n");
        for _ in 0..rows {
            let f: Vec<f64> = (0..7).map(|_| z()).collect();
            let cells: Vec<String> = f.iter().chain(&[f[0] - f[1] + 0.5 * z()]).map(|v| format!("{v:.4}")).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    };
    desk.write("val.csv", table(400, 1)).write("test.csv", table(1_000_000, 2));
    desk.run("fit val.csv --task regression --interval fast -o head.stonet");
    let most = peak(desk.stonet("evaluate head.stonet test.csv --json -q"));
    assert!(most < 150 << 20, "{} MB", most >> 20);
}

#[test]
fn an_evaluation_of_classes_can_be_required_too() {
    let desk = with_animals(200);
    desk.run(FIT_ANIMALS);
    for condition in ["ece<=2", "accuracy>=90", "brier>2", "nll<0"] {
        desk.refuses(&format!("evaluate head.stonet test.parquet --require {condition}"), &[condition, "this measure"]);
    }
}
