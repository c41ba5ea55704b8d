//! First-run manners: what a call without arguments says, the command that comes next, tables of 80 columns, no colours
//! where nobody sees them, and what `stonet doctor` finds.

mod common;

use common::{Desk, FIT_ANIMALS, FIT_HOUSES, stonet, with_animals, with_houses};

fn said(desk: &Desk, line: &str, code: i32) -> String {
    String::from_utf8(desk.ended(line, code).stderr).unwrap()
}

#[test]
fn a_call_without_arguments_shows_three_commands() {
    let output = stonet(&[]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let text = String::from_utf8(output.stderr).unwrap();
    let shown: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("  stonet ")).collect();
    let names: Vec<&str> = shown.iter().filter_map(|l| l.split_whitespace().next()).collect();
    assert_eq!(names, ["demo", "fit", "evaluate"]);
}

/// Every command of the list, run once to a good end: the last line on standard error begins with `next: `, and with
/// --json or -q there is none. Those whose standard output is data (`completions`) or whose end nobody awaits (`serve`)
/// are named here as exceptions.
#[test]
fn every_command_ends_by_naming_the_next_one() {
    let desk = with_houses(400);
    let small: String = desk
        .text("houses.csv")
        .lines()
        .take(121)
        .map(|l| {
            let c: Vec<&str> = l.split(',').collect();
            format!("{},{},{},{}\n", c[1], c[2], c[3], c[5])
        })
        .collect();
    desk.write("small.csv", small);
    let calls = [
        ("demo --quick --interval fast --out d", "stonet train"),
        ("doctor", "stonet demo --quick"),
        (
            "train small.csv --task regression --target price --hidden 4 --epochs 2 -o n.onnx --hold-out v.csv=0.4",
            "stonet features n.onnx v.csv --keep price",
        ),
        ("train small.csv --task regression --target price --hidden 4 --epochs 2 -o n.onnx", "--hold-out"),
        ("features net.onnx held.csv --keep price -o f.csv", "stonet fit f.csv --task regression --inputs 'f*'"),
        (
            "features net.onnx held.csv --keep price --with-inputs -o f.csv",
            "--prediction prediction --also size,age,rooms --target price",
        ),
        ("features net.onnx --list-taps", "stonet features net.onnx"),
        (
            FIT_HOUSES,
            "stonet features network.onnx test.csv --keep price -o test.parquet\n      stonet evaluate head.stonet",
        ),
        ("predict head.stonet test.csv -o p.csv", "stonet monitor head.stonet test.csv --unlabelled"),
        ("evaluate head.stonet test.csv", "stonet predict head.stonet"),
        ("control head.stonet test.csv --want coverage>=0.6 --confidence 0.9 -o rule.json", "--rule rule.json"),
        ("monitor head.stonet test.csv --state w.json", "stonet monitor head.stonet later.csv --state w.json"),
        ("update head.stonet test.csv -o u.stonet", "stonet predict u.stonet"),
        ("adapt head.stonet test.csv --rows val.csv -o a.stonet", "stonet predict a.stonet"),
        ("export head.stonet -o h.onnx", "stonet inspect h.onnx"),
        ("inspect head.stonet", "stonet evaluate head.stonet"),
        ("inspect net.onnx", "stonet features net.onnx"),
        (
            "compare val.csv test.csv --task regression --inputs f* --prediction prediction --target price --methods fast",
            "stonet fit val.csv --task regression",
        ),
        ("benchmark small.csv --target price --epochs 2 --splits 1 --out b", "stonet train small.csv"),
    ];
    let mut left: Vec<String> = desk.commands().into_iter().filter(|n| n != "completions" && n != "serve").collect();
    for (line, next) in calls {
        let text = said(&desk, line, 0);
        let last = text.lines().rfind(|l| l.starts_with("next: ")).unwrap_or_else(|| panic!("{line}: {text}"));
        assert!(text.trim_end().ends_with(last) || text.contains("\n      stonet "), "{line}: {text}");
        assert!(text[text.find("next: ").unwrap()..].contains(next), "{line}: {text}");
        for silent in ["-q", "--json"] {
            let text = said(&desk, &format!("{line} {silent}"), 0);
            assert!(!text.contains("next: "), "{line} {silent}: {text}");
        }
        left.retain(|name| !line.starts_with(name));
    }
    // Runs for long; its next command is that of every experiment.
    left.retain(|name| name != "reproduce");
    assert!(left.is_empty(), "commands that name no next one, or are not tried here: {left:?}");
    for line in ["predict head.stonet test.csv", "features net.onnx new.csv -o -", "completions bash"] {
        assert_eq!(said(&desk, line, 0), "", "{line}: standard output is data");
    }
    let raw = said(&desk, "evaluate head.stonet held.csv", 2);
    assert!(raw.contains("what `stonet features` writes"), "{raw}");
    let missed = said(&desk, "evaluate head.stonet test.csv --require coverage>=0.999", 1);
    assert!(missed.contains("next: stonet compare"), "{missed}");
}

#[test]
fn a_network_of_classes_names_its_next_commands_too() {
    let desk = with_animals(300);
    let train = "train animals.csv --task classification --target animal --keep picture --hidden 4 --epochs 2 -o n.onnx \
                 --hold-out v.csv=0.4";
    let text = said(&desk, train, 0);
    assert!(text.contains("stonet fit features.parquet --task classification --inputs 'z*' --target animal"), "{text}");
    let text = said(&desk, "features net.onnx held.csv --keep animal -o f.csv", 0);
    assert!(text.contains("--task classification --inputs 'z*' --target animal"), "{text}");
}

#[test]
fn tables_fit_a_terminal() {
    let desk = with_houses(400);
    desk.run(&format!("{FIT_HOUSES} --within region"));
    let animals = with_animals(400);
    animals.run(&FIT_ANIMALS.replace("-o", "--sets cv+ -o"));
    let compare = "compare val.csv test.csv --task regression --inputs f* --prediction prediction --target price \
                   --methods fast,split,split-conformal,normalised-conformal";
    let classes = "compare val.parquet test.parquet --task classification --inputs z* --target animal \
                   --methods temperature,isotonic --sets";
    let runs = [
        (&desk, "demo --quick --interval fast --out d"),
        (&desk, compare),
        (&desk, "evaluate head.stonet test.csv --by region"),
        (&animals, classes),
        (&animals, "evaluate head.stonet test.parquet --by animal"),
    ];
    for (desk, line) in runs {
        let text = desk.run(line);
        let tables: Vec<&str> = text.lines().filter(|l| l.starts_with('|')).collect();
        assert!(!tables.is_empty() || line.starts_with("evaluate"), "{line}: no table: {text}");
        for l in tables {
            assert!(l.chars().count() <= 80, "{line}: {} columns: {l}", l.chars().count());
        }
    }
    // Files keep whole Markdown tables.
    desk.run(&format!("{compare} --out c"));
    let file = desk.text("c/compare.md");
    assert!(file.lines().any(|l| l.starts_with("| ---") && l.chars().count() > 80), "{file}");
}

#[test]
fn nothing_is_coloured_where_nobody_sees_it() {
    let desk = Desk::new();
    for (line, code) in [("--help", 0), ("fit --help", 0), ("nonsense", 2), ("doctor", 0), ("fit --task x", 2)] {
        let output = desk.ended(line, code);
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{line}");
    }
}

/// On a terminal, which `script` of util-linux plays, help is coloured unless NO_COLOR is set.
#[test]
#[cfg(target_os = "linux")]
fn no_color_is_followed_on_a_terminal() {
    let program = assert_cmd::cargo::cargo_bin!("stonet");
    let run = |no_color: bool| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &format!("{} --help", program.display()), "/dev/null"]);
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("CLICOLOR");
        if no_color {
            command.env("NO_COLOR", "1");
        }
        command.stdin(std::process::Stdio::null()).output().ok()
    };
    let Some(coloured) = run(false) else { return eprintln!("there is no `script` here: no terminal was tried") };
    if !coloured.status.success() {
        return eprintln!("`script` cannot run here: no terminal was tried");
    }
    assert!(coloured.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&coloured.stdout));
    let plain = run(true).unwrap();
    assert!(plain.status.success() && !plain.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&plain.stdout));
}

#[test]
fn a_quick_demo_has_two_networks() {
    let desk = Desk::new();
    let summary = desk.json("demo --quick --interval fast --out d");
    assert_eq!((&summary["sets"], &summary["schema"]), (&2.into(), &"stonet.demo/2".into()));
    let coverage = summary["methods"][0]["coverage"].as_f64().unwrap();
    // 2000 rows and two fits: four standard deviations are less than this.
    assert!((coverage - 0.9).abs() < 0.06, "{coverage}");
    assert!(desk.text("d/report.html").contains("Means over 2 networks"));
}

#[test]
fn the_doctor_tells_what_is_here() {
    let desk = Desk::new();
    let found = desk.json("doctor --jobs 2");
    assert_eq!((&found["schema"], &found["version"]), (&"stonet.doctor/1".into(), &env!("CARGO_PKG_VERSION").into()));
    assert_eq!(found["threads"], 2);
    assert!(found["instruction_sets"].is_array() && found["features"].is_array());
    let run = |dylib: Option<&str>, path: Option<&str>| {
        let mut command = desk.stonet("doctor");
        command.env_remove("ORT_DYLIB_PATH");
        dylib.map(|d| command.env("ORT_DYLIB_PATH", d));
        path.map(|p| command.env("PATH", p));
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let nothing = run(None, Some(""));
    assert!(nothing.contains("python       not found"), "{nothing}");
    assert!(nothing.contains("pip install onnxruntime"), "{nothing}");
    let wrong = run(Some("none.so"), Some(""));
    assert!(wrong.contains("ORT_DYLIB_PATH is none.so, and there is no such file"), "{wrong}");
    desk.write("libonnxruntime.so", "");
    let named = desk.at("libonnxruntime.so").display().to_string();
    assert!(run(Some(&named), Some("")).contains("--runtime onnxruntime"));
}

/// What stands for Python on the path may be anything: it is asked, and its silence is no error.
#[test]
#[cfg(unix)]
fn a_python_that_does_not_answer_is_no_python() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    for answer in ["exit 1", "echo nonsense", "echo '{\"version\": 3}'"] {
        desk.write("python3", format!("#!/bin/sh\n{answer}\n"));
        std::fs::set_permissions(desk.at("python3"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = desk.stonet("doctor").env("PATH", desk.at("")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("python       not found"), "{answer}: {text}");
    }
}
