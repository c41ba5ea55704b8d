//! Running the command, reading what it says, and tables to run it on.
#![allow(dead_code)] // not every test file needs every one

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::prelude::*;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde_json::Value;
use stonet_io::{Reading, Table};

pub fn stonet(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("stonet"));
    command.args(arguments);
    command
}

pub fn json(command: &mut Command) -> Value {
    let output = command.assert().success().get_output().clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

pub fn path(p: &Path) -> &str {
    p.to_str().unwrap()
}

/// Where a server that was started with `--json` listens.
pub fn address(stdout: &mut impl BufRead) -> String {
    let mut said = String::new();
    loop {
        assert!(stdout.read_line(&mut said).unwrap() > 0, "the server ended: {said}");
        // An object over several lines.
        if let Ok(said) = serde_json::from_str::<Value>(&said) {
            return said["address"].as_str().unwrap().to_owned();
        }
    }
}

/// Fails with exit code 2 and this text on standard error.
pub fn refuses(arguments: &[&str], text: &str) {
    let output = stonet(arguments).assert().code(2).get_output().clone();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// A folder of its own, in which commands are typed as a user types them: words apart by spaces.
pub struct Desk(tempfile::TempDir);

impl Desk {
    pub fn new() -> Self {
        Desk(tempfile::tempdir().unwrap())
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.at(name), bytes).unwrap();
        self
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.at(name)).unwrap()
    }

    pub fn stonet(&self, line: &str) -> Command {
        let mut command = stonet(&line.split_whitespace().collect::<Vec<_>>());
        command.current_dir(self.0.path());
        command
    }

    /// Runs to a good end; what it prints.
    pub fn run(&self, line: &str) -> String {
        let output = self.ended(line, 0);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Ends with this exit code, and does not panic.
    pub fn ended(&self, line: &str, code: i32) -> Output {
        let output = self.stonet(line).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {stderr}");
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
        output
    }

    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(&format!("{line} --json"))).unwrap()
    }

    /// Ends with exit code 2 and a message that has all of these, prints nothing else but the same as JSON on request,
    /// and leaves the folder as it was.
    pub fn refuses(&self, line: &str, parts: &[&str]) -> String {
        let before = self.contents();
        let output = self.ended(line, 2);
        let stderr = String::from_utf8(output.stderr).unwrap();
        for part in parts {
            assert!(stderr.contains(part), "{line}: no `{part}` in: {stderr}");
        }
        let json = line.split(' ').any(|word| word == "--json");
        assert_eq!(output.stdout.is_empty(), !json, "{line}: {}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(self.contents(), before, "{line}");
        stderr
    }

    /// The names in the list of `--help`.
    pub fn commands(&self) -> Vec<String> {
        let help = self.run("--help");
        let lines = help[help.find("Commands:").unwrap()..].lines().skip(1).map_while(|l| l.strip_prefix("  "));
        let names = lines.filter(|l| !l.starts_with(' ')).filter_map(|l| l.split_whitespace().next());
        names.filter(|n| *n != "help").map(str::to_owned).collect()
    }

    /// Every file and folder, with the length of files.
    pub fn contents(&self) -> BTreeMap<String, u64> {
        let entry = |e: std::io::Result<std::fs::DirEntry>| {
            let e = e.unwrap();
            (e.file_name().into_string().unwrap(), e.metadata().unwrap().len())
        };
        std::fs::read_dir(self.0.path()).unwrap().map(entry).collect()
    }

    /// All columns but these, which are read as text.
    pub fn table(&self, name: &str, text: &[&str]) -> Table {
        let text = text.iter().map(|&t| t.to_owned()).collect();
        Reading { text, ..Reading::default() }.read(&self.at(name)).unwrap()
    }

    /// One column of numbers; what the others hold does not matter.
    pub fn column(&self, name: &str, column: &str) -> Vec<f64> {
        let reading = Reading { numbers: Some(vec![column.to_owned()]), ..Reading::default() };
        reading.read(&self.at(name)).unwrap().column(column).unwrap().to_vec()
    }
}

/// Standard normal numbers of a stream of its own.
pub fn normal(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = stonet::Seed::new(seed).rng();
    move || StandardNormal.sample(&mut rng)
}

/// Houses with an id, a region, and a price whose noise grows with the size.
pub fn houses(rows: usize) -> String {
    let (mut z, mut text) = (normal(1), String::from("id,size,age,rooms,region,price\n"));
    for i in 0..rows {
        let [size, age, rooms] = [z(), z(), z()];
        let price = 3.0 * size - age + (2.0 * rooms).sin() + (0.3 + 0.2 * size.abs()) * z();
        let region = if i % 3 == 0 { "south" } else { "north" };
        text += &format!("h{i},{size:.5},{age:.5},{rooms:.5},{region},{price:.5}\n");
    }
    text
}

/// Animals of three overlapping kinds, one of them with a comma in its name.
pub fn animals(rows: usize) -> String {
    let (mut z, mut text) = (normal(2), String::from("picture,a,b,c,animal\n"));
    for i in 0..rows {
        let (kind, at) = [("cat", [0.0, 0.0]), ("dog", [2.0, 0.0]), ("\"owl, snowy\"", [0.0, 2.0])][i % 3];
        text += &format!("{i}.png,{:.5},{:.5},{:.5},{kind}\n", at[0] + z(), at[1] + z(), z());
    }
    text
}

/// Houses, a network trained on some of them, and the features `val.csv` and `test.csv` of the others.
pub fn with_houses(rows: usize) -> Desk {
    let desk = Desk::new();
    desk.write("houses.csv", houses(rows));
    desk.run(
        "train houses.csv --task regression --target price --keep id,region --hidden 24,12 --epochs 30 -o net.onnx \
         --hold-out held.csv=0.4 --hold-out new.csv=0.3 -q",
    );
    desk.run("features net.onnx held.csv --keep id,region,price -o val.csv");
    desk.run("features net.onnx new.csv --keep id,region,price -o test.csv");
    desk
}

/// How a head is fitted on them, quickly.
pub const FIT_HOUSES: &str = "fit val.csv --task regression --interval fast --inputs f* --prediction prediction \
                              --target price -o head.stonet";

/// The same of animals, as Parquet.
pub fn with_animals(rows: usize) -> Desk {
    let desk = Desk::new();
    desk.write("animals.csv", animals(rows));
    desk.run(
        "train animals.csv --task classification --target animal --keep picture --hidden 16,8 --epochs 30 -o net.onnx \
         --hold-out held.csv=0.4 --hold-out new.csv=0.3 -q",
    );
    desk.run("features net.onnx held.csv --keep picture,animal -o val.parquet");
    desk.run("features net.onnx new.csv --keep picture,animal -o test.parquet");
    desk
}

/// How a classifier is fitted on them, quickly.
pub const FIT_ANIMALS: &str =
    "fit val.parquet --task classification --method temperature --inputs z* --target animal -o head.stonet";

/// Logits of three animals from a network that is twice too sure, a region, and the animal.
pub fn logits(rows: usize, seed: u64) -> String {
    let mut rng = stonet::Seed::new(seed).rng();
    let mut text = "z0,z1,z2,region,animal\n".to_owned();
    for _ in 0..rows {
        let z: [f64; 3] = [(); 3].map(|()| StandardNormal.sample(&mut rng));
        let mass = z.map(|z| (1.5 * z).exp());
        let mut left = rng.random::<f64>() * mass.iter().sum::<f64>();
        let drawn = mass.iter().position(|m| {
            left -= m;
            left < 0.0
        });
        let animal = ["ant", "bee", "cat|dog"][drawn.unwrap_or(0)];
        let region = ["north", "south"][rng.random_range(0..2)];
        text += &format!("{},{},{},{region},{animal}\n", 3.0 * z[0], 3.0 * z[1], 3.0 * z[2]);
    }
    text
}

/// Such logits in `val.csv`, and others in `test.csv`.
pub fn with_logits() -> Desk {
    let desk = Desk::new();
    desk.write("val.csv", logits(400, 1)).write("test.csv", logits(800, 2));
    desk
}

/// How a classifier is fitted on them, quickly.
pub const FIT_LOGITS: &str =
    "fit val.csv --task classification --inputs z* --target animal --method temperature -o head.stonet";

/// The largest relative difference.
pub fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs() / a.abs().max(b.abs()).max(1.0)).fold(0.0, f64::max)
}
