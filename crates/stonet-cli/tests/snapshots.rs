//! Texts that people read: the help of every command, and the messages of calls that go wrong, word by word.
//!
//! After a wanted change: `INSTA_UPDATE=always cargo test --release -p stonet-cli --test snapshots`, and read the
//! difference.

mod common;

use common::{Desk, FIT_ANIMALS, FIT_HOUSES, with_animals, with_houses};

/// The commands there are, by the lines of their list in a help text.
fn commands(help: &str) -> Vec<String> {
    let Some(from) = help.find("Commands:") else { return Vec::new() };
    let lines = help[from..].lines().skip(1).map_while(|l| l.strip_prefix("  "));
    let names = lines.filter(|l| !l.starts_with(' ')).filter_map(|l| l.split_whitespace().next());
    names.filter(|n| *n != "help").map(str::to_owned).collect()
}

/// Help as it is where no terminal tells its width.
fn help(desk: &Desk, command: &str) -> String {
    let mut command = desk.stonet(&format!("{command} --help"));
    command.env_remove("COLUMNS").env_remove("LINES").env_remove("CLICOLOR_FORCE");
    let output = command.output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    // Lines between two flags are blanks; editors take them away.
    text.lines().map(|l| l.trim_end().to_owned() + "\n").collect()
}

fn keep(name: &str, text: &str) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn help_of_every_command() {
    let desk = Desk::new();
    let whole = help(&desk, "");
    keep("help", &whole);
    let names = commands(&whole);
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let text = help(&desk, &name);
        let inner = commands(&text);
        for experiment in &inner {
            let text = help(&desk, &format!("{name} {experiment}"));
            assert!(text.contains("Example: stonet reproduce"), "{experiment}");
            keep(&format!("help-{name}-{experiment}"), &text);
        }
        let example = text.find("Example").map(|at| &text[at..]);
        assert!(example.is_some_and(|e| e.contains(&format!("stonet {name} "))), "{name}: no example");
        keep(&format!("help-{name}"), &text);
    }
}

/// What stands on standard error, with the exit code; paths, and sizes that depend on a fit's digits, are not part of it.
fn message(desk: &Desk, line: &str) -> String {
    let output = desk.stonet(line).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let place = desk.at("").display().to_string();
    let text = text.replace(place.trim_end_matches('/'), "[DIR]");
    let text =
        match text.split_once("a header of ").and_then(|(before, rest)| Some((before, rest.split_once(" bytes")?.1))) {
            Some((before, after)) => format!("{before}a header of [N] bytes{after}"),
            None => text,
        };
    format!("$ stonet {line}\n[{}] {}\n", output.status.code().unwrap_or(-1), text.trim_end())
}

#[test]
fn messages_of_calls_that_go_wrong() {
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    desk.write("few.csv", "f0,f1,y\n1,2,3\n4,5,6\n7,8,8\n").write("empty.csv", "").write("header.csv", "f0,f1,y\n");
    desk.write("cell.csv", "f0,f1,y\n1,2,3\n4,red,6\n").write("gap.csv", "f0,f1,y\n1,2,3\n4,5,\n");
    desk.write("cut.stonet", &desk.bytes("head.stonet")[..1000]).write("cut.onnx", &desk.bytes("net.onnx")[..500]);
    desk.write("bad.toml", "fold = 3\n");
    let table = [
        "predict",
        "predict head.stonet none.csv",
        "predict none.stonet test.csv",
        "predict cut.stonet test.csv",
        "predict net.onnx test.csv",
        "predict head.stonet held.csv",
        "predict head.stonet test.csv --level 95",
        "predict head.stonet test.csv -o none/p.csv",
        "predict head.stonet test.csv -o p.xlsx",
        "predict head.stonet test.csv --keep prediction",
        "predict head.stonet test.csv --json",
        "fit val.csv --task regression",
        "fit val.csv --task ranking -o x.stonet",
        "fit val.csv --task regression --target prize -o x.stonet",
        "fit val.csv --task regression --target price -o x.stonet",
        "fit val.csv --task regression --target price --inputs f* --interval exact -o x.stonet",
        "fit val.csv --task regression --target price --inputs f* --method stack -o x.stonet",
        "fit val.csv --task regression --target price --inputs f* --settings bad.toml -o x.stonet",
        "fit val.csv --task regression --target price --inputs f* --train-error 0.1 -o x.stonet",
        "fit few.csv --task regression -o x.stonet",
        "fit empty.csv --task regression -o x.stonet",
        "fit header.csv --task regression -o x.stonet",
        "fit cell.csv --task regression -o x.stonet",
        "fit gap.csv --task regression -o x.stonet",
        "fit val.csv --task classification --target region --inputs f* -o x.stonet --method magic",
        "evaluate head.stonet test.csv --require covrage>=0.9",
        "evaluate head.stonet test.csv --require ece<=0.1",
        "evaluate head.stonet test.csv --report page.pdf",
        "evaluate head.stonet test.csv --by colour",
        "features none.onnx new.csv -o x.csv",
        "features cut.onnx new.csv -o x.csv",
        "features net.onnx test.csv -o x.csv",
        "features net.onnx new.csv -o x.csv --tap hidden",
        "features net.onnx new.csv -o x.csv --std 0",
        "features net.onnx new.csv",
        "train houses.csv --task regression --target price -o x.onnx",
        "train houses.csv --task regression --target price --exclude id,region -o x.net",
        "train houses.csv --task regression --target price --exclude id,region -o x.onnx --hold-out v.csv=2",
        "export head.stonet -o x.onnx --tap t8",
        "export head.stonet -o x.txt",
        "inspect houses.csv",
        "compare val.csv --task regression --target price",
        "compare val.csv test.csv --task regression --target price --inputs f* --methods magic",
        "benchmark houses.csv --target prize --out x",
        "demo --level 95 --out x",
        "completions tcsh",
        "predic head.stonet test.csv",
    ];
    let text: String = table.into_iter().map(|line| message(&desk, line) + "\n").collect();
    assert_eq!(text.matches("\n[2] ").count(), table.len(), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    keep("messages", &text);
}

#[test]
fn messages_about_classes() {
    let desk = with_animals(300);
    desk.run(FIT_ANIMALS);
    desk.run("features net.onnx new.csv --keep animal -o test.csv");
    desk.write("cow.csv", desk.text("test.csv").replacen("\ndog,", "\ncow,", 1));
    desk.write("sum.csv", "z0,z1,z2,animal\n0.2,0.3,0.4,cat\n0.1,0.8,0.1,dog\n0.5,0.3,0.2,owl\n");
    let table = [
        "evaluate head.stonet cow.csv",
        "evaluate head.stonet test.csv --level 0.9",
        "evaluate head.stonet test.csv --require coverage>=0.9",
        "predict head.stonet test.csv --joint",
        "predict head.stonet test.csv -o p.npy",
        "export head.stonet -o x.onnx --level 0.9",
        "fit sum.csv --task classification --target animal -o x.stonet",
        "fit sum.csv --task classification --target animal --kind probabilities -o x.stonet",
        "fit test.csv --task classification --target animal --inputs z* --interval fast -o x.stonet",
        "fit test.csv --task classification --target animal --inputs z* --kind scores -o x.stonet",
        "fit test.csv --task classification --target animal,z0 -o x.stonet",
    ];
    let text: String = table.into_iter().map(|line| message(&desk, line) + "\n").collect();
    assert_eq!(text.matches("\n[2] ").count(), table.len(), "{text}");
    keep("messages-classes", &text);
}
