//! The commands of README.md and of the pages of the site, run block by block by a shell on made-up files.
#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Desk, normal};

/// Lines that are not run, and why.
const NOT_RUN: [(&str, &str); 10] = [
    ("stonet serve", "runs until it is stopped; tests/serve.rs"),
    ("resnet.onnx", "needs a network for CIFAR images; tests of stonet-onnx read them"),
    ("densenet40_c10", "needs its logits; `stonet reproduce cifar` reads them"),
    ("data.npz", "needs a file that numpy writes; tests/way/arrays.rs reads one"),
    ("curl ", "needs a server; tests/serve.rs"),
    ("tritonserver", "is not installed by the tests; tests/recipes.rs compares its files with the graph"),
    ("pip install", "scripts/test.sh installs the package"),
    ("cargo ", "scripts and .ci/run build"),
    ("bash scripts/", "the tests themselves"),
    ("stonet completions", "tests/way/shell.rs"),
];

/// The documents with commands.
fn pages() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![top.join("README.md")];
    for folder in ["docs", "docs/after"] {
        let entries = std::fs::read_dir(top.join(folder)).unwrap().map(|e| e.unwrap().path());
        found.extend(entries.filter(|p| p.extension().is_some_and(|e| e == "md")));
    }
    found.sort();
    found
}

/// The blocks of shell commands in a document, each as its lines, with continued ones joined and comments left out.
fn blocks(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for block in text.split("\n```sh\n").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default().replace("\\\n", " ");
        let line = |l: &str| l.split(" #").next().unwrap_or_default().trim().to_owned();
        found.push(block.lines().map(line).filter(|l| !l.is_empty()).collect());
    }
    found
}

/// Houses with everything that the pages name: inputs, groups, the network's own uncertainty.
fn houses(rows: usize, seed: u64) -> String {
    let mut z = normal(seed);
    let mut text = "id,size,age,rooms,region,urban,coastal,new,median,q05,q95,mean,sigma,price,timestamp\n".to_owned();
    for i in 0..rows {
        let [size, age, rooms] = [z(), z(), z()];
        let (centre, sd) = (3.0 * size - age, 0.3 + 0.2 * size.abs());
        let (price, region) = (centre + sd * z(), if z() > 0.0 { "south" } else { "north" });
        let flags: Vec<&str> = (0..3).map(|_| if z() > 0.0 { "1" } else { "0" }).collect();
        let (low, high) = (centre - 1.6 * sd, centre + 1.6 * sd);
        writeln!(
            text,
            "h{i},{size:.5},{age:.5},{rooms:.5},{region},{},{centre:.5},{low:.5},{high:.5},{centre:.5},{sd:.5},{price:.5},{i}",
            flags.join(",")
        )
        .unwrap();
    }
    text
}

/// Columns of such a table by number.
fn cut(text: &str, columns: &[usize]) -> String {
    let line = |l: &str| {
        let cells: Vec<&str> = l.split(',').collect();
        columns.iter().map(|&c| cells[c]).collect::<Vec<_>>().join(",") + "\n"
    };
    text.lines().map(line).collect()
}

/// A network, rows of every kind, and a head for numbers.
fn regression() -> Desk {
    let desk = Desk::new();
    desk.write("houses.csv", cut(&houses(400, 1), &[0, 1, 2, 3, 13]));
    desk.run("train houses.csv --task regression --target price --keep id --hidden 12,6 --epochs 20 -o network.onnx --hold-out x.csv=0.1");
    let keep = "id,region,urban,coastal,new,median,q05,q95,mean,sigma,price,timestamp";
    let names = [
        ["validation", "test", "new", "labelled", "may", "june"],
        ["live", "later", "recent", "south", "today", "spring"],
    ];
    for (i, name) in names.as_flattened().iter().enumerate() {
        // Blocks of neighbours with gaps between them need many rows.
        let rows = if *name == "spring" { 1200 } else { 260 };
        desk.write("rows.csv", houses(rows, 10 + i as u64));
        for ending in ["csv", "parquet"] {
            desk.run(&format!("features network.onnx rows.csv --keep {keep} --with-inputs -o {name}.{ending}"));
        }
    }
    desk.run("fit validation.parquet --task regression --interval fast --inputs f* --prediction prediction --target price -o head.stonet");
    desk.run("predict head.stonet today.csv -o issued.csv");
    std::fs::copy(desk.at("today.csv"), desk.at("today-with-answers.csv")).unwrap();
    // What the pages call validation.csv and test.csv are inputs of the network.
    for (name, seed) in [("validation", 10), ("test", 11)] {
        desk.write(&format!("{name}.csv"), houses(260, seed));
    }
    std::fs::create_dir(desk.at("validation-parts")).unwrap();
    for i in 0..2 {
        desk.write("rows.csv", houses(200, 30 + i));
        desk.run(&format!("features network.onnx rows.csv --keep price -o validation-parts/{i}.parquet"));
    }
    desk
}

/// Logits of two classes, and a head with sets and bounds of accuracy.
fn classes() -> Desk {
    let desk = Desk::new();
    for (i, name) in ["validation", "test", "new", "labelled", "july"].iter().enumerate() {
        let mut z = normal(50 + i as u64);
        let mut text = "z0,z1,f0,f1,label\n".to_owned();
        for _ in 0..1500 {
            let (a, b) = (z(), z());
            let label = if 2.0 * a + z() > 0.0 { "spam" } else { "mail" };
            writeln!(text, "0,{:.5},{a:.5},{b:.5},{label}", 6.0 * a).unwrap();
        }
        desk.write(&format!("{name}.csv"), text);
        std::fs::write(desk.at(&format!("{name}.parquet")), stonet_parquet(&desk, name)).unwrap();
    }
    desk.run("fit validation.csv --task classification --classes mail,spam --inputs z* --target label --sets split --accuracy-bounds -o head.stonet");
    desk.run("fit validation.csv --task classification --classes mail,spam --inputs z* --target label -o spam.stonet");
    desk
}

/// A table of the command's own formats, by the reader and the writer of stonet-io.
fn stonet_parquet(desk: &Desk, name: &str) -> Vec<u8> {
    use stonet_io::{Cells, Column, Type, Writer};
    let table = desk.table(&format!("{name}.csv"), &["label"]);
    let numbers = table.names().iter().map(|n| Column::new(n, Type::F64));
    let columns: Vec<Column> = numbers.chain([Column::new("label", Type::Text)]).collect();
    let path = desk.at("made.parquet");
    let mut writer = Writer::create(&path, columns).unwrap();
    let values: Vec<_> = table.names().iter().map(|n| table.column(n).unwrap().to_owned()).collect();
    let mut cells: Vec<Cells<'_>> = values.iter().map(|v| Cells::Numbers(v.view())).collect();
    cells.push(Cells::Text(table.text("label").unwrap()));
    writer.write(&cells).unwrap();
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// Two labels per row, and arrays without names.
fn others() -> Desk {
    use ndarray::Array1;
    use stonet_io::{Cells, Column, Type, Writer};
    let desk = Desk::new();
    let mut z = normal(70);
    let mut text = "z_cat,z_dog,y_cat,y_dog\n".to_owned();
    for _ in 0..400 {
        let (a, b) = (z(), z());
        writeln!(text, "{:.5},{:.5},{},{}", 4.0 * a, 4.0 * b, u8::from(a + z() > 0.0), u8::from(b + z() > 0.0))
            .unwrap();
    }
    desk.write("validation.csv", text);
    for part in ["", "test_"] {
        let x: Vec<Array1<f64>> = (0..3).map(|_| (0..300).map(|_| z()).collect()).collect();
        let y: Array1<f64> = (0..300).map(|i| x[0][i] + 0.3 * z()).collect();
        for (name, columns) in [("features", x), ("y", vec![y])] {
            let names = (0..columns.len()).map(|i| Column::new(format!("c{i}"), Type::F64)).collect();
            let mut writer = Writer::create(&desk.at(&format!("{part}{name}.npy")), names).unwrap();
            writer.write(&columns.iter().map(|c| Cells::Numbers(c.view())).collect::<Vec<_>>()).unwrap();
            writer.finish().unwrap();
        }
    }
    desk
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { assert!(std::fs::copy(&path, &target).is_ok()) }
    }
}

/// Which made-up files a line needs.
fn kind(line: &str, block: &[String]) -> &'static str {
    let spam = block.iter().any(|l| l.contains("spam"));
    match line {
        l if l.contains("--task labels") || l.contains(".npy") => "others",
        l if l.contains("classification") || l.contains("--sets") || l.contains("--accuracy") || spam => "classes",
        _ => "regression",
    }
}

#[test]
fn every_command_of_the_documents_runs() {
    let kinds = BTreeMap::from([("regression", regression()), ("classes", classes()), ("others", others())]);
    let program = assert_cmd::cargo::cargo_bin!("stonet");
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        // The first pages tell one story: what a block writes is there for the next.
        let one_story = ["README.md", "start.md"].contains(&name.as_str());
        let mut place = tempfile::tempdir().unwrap();
        for block in blocks(&text) {
            if !one_story {
                place = tempfile::tempdir().unwrap();
            }
            let mut trail = Vec::new();
            for line in &block {
                if NOT_RUN.iter().any(|(part, _)| line.contains(part)) {
                    continue;
                }
                let kind = kind(line, &block);
                let folder = place.path().join(kind);
                if !folder.exists() {
                    copy(&kinds[kind].at(""), &folder);
                    if one_story {
                        // No identifier: the first lines name no column to keep.
                        std::fs::write(folder.join("houses.csv"), cut(&houses(600, 1), &[1, 2, 3, 13])).unwrap();
                    }
                }
                let done = Command::new("bash")
                    .args(["-c", &format!("set -o pipefail; {line}")])
                    .current_dir(&folder)
                    .env("PATH", &path)
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&done.stderr).into_owned();
                trail.push(format!("$ {line}\n{}", String::from_utf8_lossy(&done.stdout)));
                // 1 is an alarm, a wish that cannot be promised, or a condition that is not met: rows are made up.
                let judged = ["monitor ", "control ", "--require"].iter().any(|part| line.contains(part));
                let good = done.status.code() == Some(0) || judged && done.status.code() == Some(1);
                assert!(good, "{name}: {line}\n{said}{}", trail.join("\n"));
                ran += 1;
            }
        }
    }
    assert!(ran > 40, "{ran} commands were run");
}
