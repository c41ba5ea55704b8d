//! Outputs that cannot be written, at once or only at their end: nothing is left under their name.

use std::process::Command;

use crate::common::{Desk, FIT_HOUSES, with_houses};

#[test]
fn folders_that_are_not_there_or_in_the_way_are_named_before_the_work() {
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    let lines = |csv: &str, stonet: &str, onnx: &str, html: &str| {
        [
            (format!("train t.csv --task regression -o {onnx}"), onnx.to_owned()),
            (format!("train t.csv --task regression -o n.onnx --hold-out {csv}=0.5"), csv.to_owned()),
            (format!("features net.onnx new.csv -o {csv}"), csv.to_owned()),
            (FIT_HOUSES.replace("head.stonet", stonet), stonet.to_owned()),
            (format!("predict head.stonet test.csv -o {csv}"), csv.to_owned()),
            (format!("evaluate head.stonet test.csv --report {html}"), html.to_owned()),
            (format!("export head.stonet -o {onnx}"), onnx.to_owned()),
        ]
    };
    for (line, name) in lines("no/p.csv", "no/h.stonet", "no/n.onnx", "no/r.html") {
        desk.refuses(&line, &[&name, "there is no folder no; create it"]);
    }
    for name in ["d.csv", "d.stonet", "d.onnx", "d.html"] {
        std::fs::create_dir(desk.at(name)).unwrap();
    }
    for (line, name) in lines("d.csv", "d.stonet", "d.onnx", "d.html") {
        desk.refuses(&line, &[&name, "it is a folder"]);
    }
    desk.refuses("predict head.stonet test.csv -o p.xlsx", &["p.xlsx", ".csv", ".parquet", ".npy"]);
    desk.refuses("predict head.stonet test.csv -o p", &["p: not a format that can be written"]);
    desk.refuses(&FIT_HOUSES.replace("head.stonet", "head.bin"), &["--output must end in .stonet"]);
    desk.refuses("evaluate head.stonet test.csv --report r.pdf", &["--report must end in .html"]);
    desk.refuses("predict head.stonet test.csv -o p.npy --keep id", &["p.npy", "`id`", ".parquet"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_to_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    std::fs::create_dir(desk.at("locked")).unwrap();
    let mode = |mode| std::fs::set_permissions(desk.at("locked"), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    if std::fs::write(desk.at("locked/try"), "").is_ok() {
        eprintln!("skipped: this user may write everywhere");
        return;
    }
    for line in ["predict head.stonet test.csv -o locked/p.csv", "export head.stonet -o locked/h.onnx"] {
        desk.refuses(line, &["locked/", "ermission denied"]);
    }
    mode(0o755);
}

/// Runs where no file can grow beyond so many blocks of 512 bytes, and writing more is an error.
#[cfg(unix)]
fn cramped(desk: &Desk, line: &str, blocks: usize) -> std::process::Output {
    let stonet = desk.stonet(line);
    let words = stonet.get_args().map(|a| format!("'{}'", a.to_str().unwrap()));
    let program = stonet.get_program().to_str().unwrap().to_owned();
    let words = [format!("'{program}'")].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    let shell = format!("trap '' XFSZ; ulimit -f {blocks}; exec {words}");
    Command::new("sh").args(["-c", &shell]).current_dir(desk.at(".")).output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_disk_that_is_full_leaves_nothing_and_keeps_what_was_there() {
    let desk = with_houses(1500);
    desk.run(FIT_HOUSES);
    let many = desk.text("test.csv");
    let (header, rows) = many.split_once('\n').unwrap();
    desk.write("many.csv", format!("{header}\n{}", rows.repeat(5)));
    desk.run("export head.stonet -o joined.onnx --network net.onnx");
    for name in ["p.csv", "p.parquet", "p.arrow", "p.npy", "p.csv.gz", "x.stonet", "x.onnx", "r.html"] {
        desk.write(name, "old");
    }
    let before = desk.contents();
    let mut lines: Vec<(String, String)> = ["p.csv", "p.parquet", "p.arrow", "p.npy", "p.csv.gz"]
        .map(|p| (format!("predict head.stonet many.csv -o {p}"), p.to_owned()))
        .into();
    lines.push((FIT_HOUSES.replace("head.stonet", "x.stonet"), "x.stonet".into()));
    lines.push(("export head.stonet --network net.onnx -o x.onnx".into(), "x.onnx".into()));
    lines.push(("evaluate head.stonet test.csv --report r.html".into(), "r.html".into()));
    lines.push(("features net.onnx new.csv -o p.parquet".into(), "p.parquet".into()));
    for (line, name) in lines {
        let output = cramped(&desk, &line, 8);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.contains(&name) && stderr.to_lowercase().contains("file too large"), "{line}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert_eq!(desk.contents(), before, "{line}");
        assert_eq!(desk.text(&name), "old");
    }
    let train =
        "train houses.csv --task regression --target price --keep id,region --epochs 1 -o n.onnx --hold-out h.csv=0.5";
    let output = cramped(&desk, train, 8);
    assert_eq!((output.status.code(), desk.contents()), (Some(2), before));
}

#[cfg(target_os = "linux")]
#[test]
fn a_screen_that_takes_nothing_is_an_error() {
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    for line in
        ["predict head.stonet test.csv", "evaluate head.stonet test.csv", "inspect net.onnx", "completions bash"]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = desk.stonet(line).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        assert!(stderr.contains("standard output") && !stderr.contains("panicked"), "{line}: {stderr}");
    }
}
