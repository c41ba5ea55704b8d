//! Files that are damaged, cut short, or something else than their name says.

use crate::common::{FIT_HOUSES, with_houses};

#[test]
fn files_that_break_off() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    for format in ["parquet", "arrow", "npy", "csv.gz"] {
        desk.run(&format!("features net.onnx new.csv -o rows.{format}"));
        let (whole, name) = (desk.bytes(&format!("rows.{format}")), format!("cut.{format}"));
        for part in [whole.len() / 2, whole.len() - 1, 7] {
            desk.write(&name, &whole[..part]);
            let line = format!("predict head.stonet {name} -o p.csv");
            let line =
                if format == "npy" { format!("fit {name} --task regression -o x.stonet --target c0") } else { line };
            desk.refuses(&line, &[&name]);
        }
    }
    let head = desk.bytes("head.stonet");
    for part in [0, 5, 100, head.len() / 2, head.len() - 1] {
        desk.write("cut.stonet", &head[..part]);
        for command in ["predict cut.stonet test.csv -o p.csv", "evaluate cut.stonet test.csv", "inspect cut.stonet"] {
            desk.refuses(command, &["cut.stonet: not a readable StoNet model file"]);
        }
        desk.refuses("export cut.stonet -o x.onnx", &["cut.stonet"]);
    }
    let mut changed = head.clone();
    changed[head.len() / 2] ^= 1;
    desk.write("cut.stonet", &changed);
    desk.refuses("predict cut.stonet test.csv -o p.csv", &["cut.stonet", "checksum"]);
    let network = desk.bytes("net.onnx");
    for part in [0, 10, network.len() / 2] {
        desk.write("cut.onnx", &network[..part]);
        desk.refuses("features cut.onnx new.csv -o x.csv", &["cut.onnx"]);
        desk.refuses("export head.stonet --network cut.onnx -o x.onnx", &["cut.onnx"]);
    }
}

#[test]
fn arrays_in_archives_that_break_off() {
    let desk = with_houses(300);
    desk.run("features net.onnx new.csv --no-outputs -o x.npy");
    let npy = desk.bytes("x.npy");
    desk.write("x.npz", stored("features.npy", &npy));
    desk.write("x.safetensors", tensors(&npy[128..], 90, 12));
    desk.write("y.csv", (0..90).map(|i| format!("{}\n", i % 17)).fold(String::from("y\n"), |a, b| a + &b));
    let fit = |name: &str| format!("fit {name} --with y.csv --task regression --interval fast -o x.stonet");
    for name in ["x.npz:features", "x.npz", "x.safetensors:features"] {
        desk.run(&fit(name));
        std::fs::remove_file(desk.at("x.stonet")).unwrap();
    }
    desk.refuses(&fit("x.npz:logits"), &["x.npz", "`logits`", "`features`"]);
    for name in ["x.npz", "x.safetensors"] {
        let whole = desk.bytes(name);
        for part in [4, 60, whole.len() / 2, whole.len() - 1] {
            desk.write(&format!("cut{name}"), &whole[..part]);
            desk.refuses(&fit(&format!("cut{name}")), &[&format!("cut{name}")]);
        }
    }
}

#[test]
fn files_that_are_something_else() {
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    desk.write("page.html", "<html>not found</html>");
    for name in ["a.parquet", "a.arrow", "a.npy", "a.npz", "a.safetensors", "a.stonet", "a.onnx"] {
        std::fs::copy(desk.at("page.html"), desk.at(name)).unwrap();
    }
    for name in ["a.parquet", "a.arrow", "a.npy", "a.npz", "a.safetensors"] {
        desk.refuses(&format!("predict head.stonet {name} -o p.csv"), &[name, "fetch or write the file again"]);
    }
    desk.refuses("predict a.stonet test.csv", &["a.stonet", "does not begin as a model file does", "check the ending"]);
    desk.refuses("predict net.onnx test.csv", &["net.onnx", "does not begin as a model file does"]);
    desk.refuses("inspect houses.csv", &["houses.csv", "does not begin as a model file does"]);
    desk.refuses("features a.onnx new.csv -o x.csv", &["a.onnx: not a sound ONNX file"]);
    desk.refuses("features head.stonet new.csv -o x.csv", &["head.stonet: not a sound ONNX file"]);
    desk.refuses("predict head.stonet page.html", &["page.html", "not a format that can be read", "CSV"]);
    desk.refuses("predict head.stonet net.onnx", &["net.onnx", "not a format that can be read"]);
    for (line, name) in [
        ("predict none.stonet test.csv", "none.stonet"),
        ("predict head.stonet none.csv", "none.csv"),
        ("features none.onnx new.csv -o x.csv", "none.onnx"),
        ("features net.onnx none.parquet -o x.csv", "none.parquet"),
        ("export head.stonet --network none.onnx -o x.onnx", "none.onnx"),
        ("inspect none.onnx", "none.onnx"),
    ] {
        desk.refuses(line, &[name, "there is no such file; check the name"]);
    }
}

/// A zip archive with one member, stored as it is.
fn stored(name: &str, contents: &[u8]) -> Vec<u8> {
    let crc = contents.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
    });
    let size = (contents.len() as u32).to_le_bytes();
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &(!crc).to_le_bytes(), &size, &size].concat();
    let length = (name.len() as u16).to_le_bytes();
    let local = [b"PK\x03\x04", &common[..], &length, &[0, 0], name.as_bytes(), contents].concat();
    let central = [b"PK\x01\x02\x14\0", &common[..], &length, &[0; 16], name.as_bytes()].concat();
    let sizes = [central.len() as u32, local.len() as u32].map(u32::to_le_bytes).concat();
    [&local[..], &central, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &sizes, &[0, 0]].concat()
}

/// A safetensors file with one tensor of f32.
fn tensors(values: &[u8], rows: usize, columns: usize) -> Vec<u8> {
    assert_eq!(values.len(), 4 * rows * columns);
    let end = values.len();
    let header = format!(r#"{{"features":{{"dtype":"F32","shape":[{rows},{columns}],"data_offsets":[0,{end}]}}}}"#);
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), values].concat()
}

/// A name of several bytes per letter stood before the one that was looked for, and was cut within a letter.
#[test]
fn names_of_any_language_are_listed_beside_a_target_that_is_not_there() {
    let desk = crate::common::Desk::new();
    desk.write("rows.csv", "größe,價格,🦀\n1,2,3\n4,5,6\n");
    desk.refuses(
        "fit rows.csv --task regression -o h.stonet",
        &["no column `y`", "größe", "價格", "--target names it"],
    );
    desk.write("rows.csv", "größe,f0,f1\n1,2,3\n4,5,6\n");
    desk.refuses("fit rows.csv --task regression -o h.stonet", &["no column `y`", "--keep y"]);
}

/// Names and cells of a hostile file reach the terminal only with their control characters made visible.
#[test]
fn a_file_cannot_steer_the_terminal() {
    let desk = crate::common::Desk::new();
    desk.write("rows.csv", include_bytes!("../attacks/csv/terminal_escapes"));
    let numbers: Vec<String> = (0..60).map(|i| format!("{},{},{}", i % 7, i % 5, i % 3)).collect();
    desk.write("good.csv", format!("a\u{1b}[31mred,\u{202e}b,y\n{}\n", numbers.join("\n")));
    // JSON is for programs: it escapes control characters, and leaves the direction of letters alone.
    let quiet = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let turned = |c: char| c == '\u{202e}' && !text.starts_with('{');
        assert!(!text.contains(|c: char| (c.is_control() && !"\n\t".contains(c)) || turned(c)), "{text:?}");
        text
    };
    for (line, code) in [
        ("fit rows.csv --task regression -o h.stonet --target y", 2),
        ("fit rows.csv --task regression -o h.stonet --target *", 2),
        ("fit good.csv --task regression --interval split -o h.stonet --verbose", 0),
        ("inspect h.stonet", 0),
        ("inspect h.stonet --json", 0),
        ("predict h.stonet rows.csv", 2),
        ("predict h.stonet rows.csv --json -o p.csv", 2),
    ] {
        let output = desk.ended(line, code);
        let text = quiet(&output.stdout) + &quiet(&output.stderr);
        assert!(line.starts_with("fit good") || text.contains("u{1b}") || text.contains("u001b"), "{line}: {text}");
    }
}
