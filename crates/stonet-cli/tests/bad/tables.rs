//! Tables and outputs that a command refuses: inputs that would be replaced, columns in the wrong role, text, gaps,
//! settings, sizes.

use crate::common::{Desk, FIT_ANIMALS, FIT_HOUSES, with_animals, with_houses};

#[test]
fn an_output_never_replaces_what_is_read() {
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    desk.run("features net.onnx new.csv --keep price -o beside.npy");
    std::fs::create_dir(desk.at("sub")).unwrap();
    let mut outputs = vec!["test.csv", "./test.csv", "sub/../test.csv"];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(desk.at("test.csv"), desk.at("soft.csv")).unwrap();
        std::fs::hard_link(desk.at("test.csv"), desk.at("hard.csv")).unwrap();
        std::fs::hard_link(desk.at("test.csv"), desk.at("page.html")).unwrap();
        std::fs::hard_link(desk.at("net.onnx"), desk.at("link.onnx")).unwrap();
        std::fs::hard_link(desk.at("houses.csv"), desk.at("houses2.csv")).unwrap();
        outputs.extend(["soft.csv", "hard.csv"]);
    }
    let all = |desk: &Desk| ["test.csv", "net.onnx", "houses.csv", "new.csv"].map(|n| desk.bytes(n));
    let before = all(&desk);
    for output in outputs {
        let parts = [output, "would replace test.csv", "choose another name"];
        desk.refuses(&format!("predict head.stonet test.csv -o {output}"), &parts);
    }
    desk.refuses("features net.onnx new.csv -o new.csv", &["new.csv", "choose another name"]);
    desk.refuses("features net.onnx new.csv --with d=beside.npy -o beside.npy", &["beside.npy", "another name"]);
    desk.refuses("export head.stonet --network net.onnx -o net.onnx", &["net.onnx", "choose another name"]);
    desk.refuses(
        "train houses.csv --task regression --target price -o x.onnx --hold-out ./houses.csv=0.5",
        &["--hold-out"],
    );
    desk.refuses(
        "train t.csv --task regression -o x.onnx --hold-out a.csv=0.2 --hold-out sub/../a.csv=0.2",
        &["--hold-out"],
    );
    #[cfg(unix)]
    {
        desk.refuses("export head.stonet --network net.onnx -o link.onnx", &["link.onnx", "replace net.onnx"]);
        desk.refuses("evaluate head.stonet test.csv --report page.html", &["page.html", "replace test.csv"]);
        let compare = "compare val.csv test.csv --task regression --target price --inputs f* --report page.html";
        desk.refuses(compare, &["page.html", "replace test.csv"]);
        let train = "train houses.csv --task regression --target price -o x.onnx --hold-out houses2.csv=0.5";
        desk.refuses(train, &["--hold-out", "houses2.csv", "name another file"]);
    }
    assert_eq!(all(&desk), before);
}

#[test]
fn the_target_is_neither_an_input_nor_its_own_prediction() {
    let desk = with_houses(300);
    let fit = FIT_HOUSES.replace("head.stonet", "x.stonet");
    let own = "network's own prediction";
    desk.refuses(
        &fit.replace("--prediction prediction", "--prediction price"),
        &["--prediction names the target `price`", own],
    );
    desk.refuses(
        &fit.replace("--prediction prediction", "--prediction pric*"),
        &["--prediction names the target `price`", own],
    );
    desk.refuses(&fit.replace("f*", "f*,price"), &["--inputs names the target `price`", "leave it out"]);
    let inputs = "--target price --inputs size,price";
    desk.refuses(&format!("train houses.csv --task regression {inputs} -o x.onnx"), &["--inputs names the target"]);
    desk.refuses(&format!("benchmark houses.csv {inputs} --out x"), &["--inputs names the target"]);
    desk.run(FIT_HOUSES);
    desk.refuses("evaluate head.stonet test.csv --target prediction", &["--target names `prediction`", "answers"]);
    let desk = with_animals(300);
    let fit = FIT_ANIMALS.replace("head.stonet", "x.stonet");
    desk.refuses(&fit.replace("z*", "z*,animal"), &["--inputs names the target `animal`"]);
    desk.refuses(&format!("{fit} --features f0,animal"), &["--features names the target `animal`"]);
}

#[test]
fn columns_of_text_are_named_at_once_with_the_flags_that_leave_them_out() {
    let desk = with_houses(300);
    let text = ["2 columns hold text", "`id`, `region`", "--exclude id,region", "--inputs"];
    desk.refuses("fit val.csv --task regression --target price -o x.stonet", &text);
    desk.refuses("train houses.csv --task regression --target price -o x.onnx", &text);
    desk.refuses("benchmark houses.csv --target price --out x", &text);
    desk.refuses("compare val.csv test.csv --task regression --target price", &text);
    desk.run("features net.onnx held.csv --keep id,region,price -o val.parquet");
    desk.refuses("fit val.parquet --task regression --target price -o x.stonet", &text);
    desk.refuses(
        "fit val.csv --task regression --target region --exclude id -o x.stonet",
        &["`region`", "--task classification"],
    );
    desk.write("odd.csv", "a,\"b, c\",d e,y\n1,x,z,2\n");
    desk.refuses("fit odd.csv --task regression -o x.stonet", &["--exclude 'b? c,d e'"]);
    desk.write("thousands.csv", "f0,y\n\"1,000\",2\n\"2,500\",3\n");
    desk.refuses("fit thousands.csv --task regression -o x.stonet", &["`1,000`", "thousands separator"]);
    desk.write("gap.csv", "f0,y\n1,2\n,3\n");
    for line in ["fit gap.csv --task regression -o x.stonet", "evaluate head.stonet gap.csv --target y"] {
        if line.starts_with("evaluate") {
            desk.run("train houses.csv --task regression --target price --inputs size --epochs 1 -o n.onnx --hold-out h.csv=0.5 -q");
            desk.run("fit h.csv --task regression --interval fast --target price -o head.stonet -q");
            desk.write("gap.csv", "size,y\n1,2\n,3\n");
        }
        desk.refuses(line, &["gap.csv, line 3", "missing value", "--drop-missing"]);
    }
}

#[test]
fn a_target_that_is_not_there_is_blamed_itself() {
    let desk = with_houses(300);
    let typo = ["there is no column `prize`", "`price`", "--target"];
    desk.refuses("fit val.csv --task regression --target prize -o x.stonet", &typo);
    desk.refuses("fit val.csv --task classification --target prize -o x.stonet", &typo);
    desk.refuses("train houses.csv --task regression --target prize -o x.onnx", &typo);
    desk.refuses("benchmark houses.csv --target prize --out x", &typo);
    // A target that `features` was not asked to copy.
    desk.run("features net.onnx held.csv --inputs size,age,rooms -o bare.csv");
    let copied = ["no column `price`", "--keep price", "--inputs 'f*'"];
    desk.refuses("fit bare.csv --task regression --target price -o x.stonet", &copied);
    desk.refuses("fit bare.csv --task classification --target price -o x.stonet", &copied);
    desk.run(FIT_HOUSES);
    desk.refuses("evaluate head.stonet bare.csv", &copied);
}

#[test]
fn settings_and_metadata_are_explained_without_the_words_of_a_parser() {
    let desk = with_houses(300);
    for (text, parts) in [
        ("fold = 3\n", ["s.toml, line 1: there is no setting `fold`", "`folds`"]),
        ("folds = 3\n[stonet]\nsteps = \"many\"\n", ["s.toml, line 3: stonet.steps", "a whole number is needed"]),
        ("kind = \"exact\"\n", ["s.toml, line 1", "stack"]),
        ("kind\n", ["s.toml, line 1", "="]),
    ] {
        desk.write("s.toml", text);
        let said = desk.refuses(&FIT_HOUSES.replace("head.stonet", "x.stonet --settings s.toml"), &parts);
        for raw in ["TOML parse error", "expected usize", "invalid type", "unknown field", "unknown variant"] {
            assert!(!said.contains(raw), "{said}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_small_file_of_many_rows_does_not_fill_the_memory() {
    use stonet_io::{Cells, Column, Type, Writer};
    let desk = Desk::new();
    let columns =
        (0..500).map(|i| format!("f{i}")).chain(["y".to_owned()]).map(|n| Column::new(n, Type::F64)).collect();
    let mut writer = Writer::create(&desk.at("rows.csv.gz"), columns).unwrap();
    let zeros = ndarray::Array1::zeros(1000);
    (0..60).for_each(|_| writer.write(&vec![Cells::Numbers(zeros.view()); 501]).unwrap());
    writer.finish().unwrap();
    // 240 MB as numbers.
    assert!(desk.bytes("rows.csv.gz").len() < 1_000_000);
    let stderr = refused_with_little_memory(&desk, "fit rows.csv.gz --task regression -o x.stonet --jobs 1");
    for part in ["rows.csv.gz", "MiB", "--sample", "Parquet"] {
        assert!(stderr.contains(part), "{stderr}");
    }
    // No other command has that flag.
    let compare = "compare rows.csv.gz rows.csv.gz --task regression --target y --jobs 1";
    let stderr = refused_with_little_memory(&desk, compare);
    assert!(stderr.contains("rows.csv.gz") && stderr.contains("MiB") && !stderr.contains("--sample"), "{stderr}");
}

/// Standard error of a command that ends with an error in 700 MB of addresses.
#[cfg(unix)]
fn refused_with_little_memory(desk: &Desk, line: &str) -> String {
    let stonet = desk.stonet(line);
    let words: Vec<&str> = stonet.get_args().map(|a| a.to_str().unwrap()).collect();
    let shell = format!("ulimit -v 700000; exec '{}' {}", stonet.get_program().to_str().unwrap(), words.join(" "));
    let output = std::process::Command::new("sh").args(["-c", &shell]).current_dir(desk.at(".")).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    stderr
}

#[cfg(unix)]
#[test]
fn many_rows_to_judge_do_not_fill_the_memory() {
    let desk = Desk::new();
    let rows: String = (0..80).map(|i| format!("{},{},{}\n", i % 7, i % 11, (i * i) % 13)).collect();
    desk.write("t.csv", format!("a,b,y\n{rows}"));
    desk.run("fit t.csv --task regression --target y --interval fast --no-fingerprints -o x.stonet");
    // Four million rows of four bytes each, of which evaluate keeps 48.
    desk.write("many.csv", format!("a,b,y\n{}", "1,2,3\n".repeat(4_000_000)));
    let stderr = refused_with_little_memory(&desk, "evaluate x.stonet many.csv --allow-seen --jobs 1");
    assert!(stderr.contains("many.csv: the first") && stderr.contains("fewer rows"), "{stderr}");
}
