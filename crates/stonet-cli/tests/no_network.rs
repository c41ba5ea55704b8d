//! No command opens a connection: the system calls of each are watched by strace, where that is allowed.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use common::Desk;

/// The system calls for networks that a program and its children make; none where strace cannot watch.
fn network_calls(desk: &Desk, program: &OsStr, arguments: &[&str]) -> Option<Vec<String>> {
    let log = desk.at("strace.log");
    let _ = std::fs::remove_file(&log);
    let strace = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=network", "-e", "signal=none", "-o"])
        .arg(&log)
        .arg(program)
        .args(arguments)
        .current_dir(desk.at("."))
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&strace.stderr);
    if said.contains("PTRACE") || said.contains("ptrace") {
        return None;
    }
    assert!(strace.status.success() || Path::new(program).ends_with("bash"), "{arguments:?}: {said}");
    // A thread that ends while strace lets go of it leaves a line without a call.
    let call = |line: &&str| !line.contains("???(");
    Some(std::fs::read_to_string(log).unwrap().lines().filter(call).map(str::to_owned).collect())
}

#[test]
fn no_command_opens_a_connection() {
    let desk = Desk::new();
    // A shell that does: otherwise an empty log would prove nothing.
    let control = network_calls(&desk, OsStr::new("bash"), &["-c", "exec 3<>/dev/tcp/127.0.0.1/9"]);
    let Some(control) = control else { return eprintln!("strace cannot run here: nothing was watched") };
    assert!(control.iter().any(|call| call.contains("connect(")), "{control:?}");
    let rows: Vec<String> = (0..120).map(|i| format!("{},{},{}", i % 7, i % 11, i % 7 + i % 3)).collect();
    desk.write("rows.csv", format!("a,b,y\n{}\n", rows.join("\n")));
    let stonet = assert_cmd::cargo::cargo_bin!("stonet");
    for line in [
        "train rows.csv --task regression -o network.onnx --hidden 4 --epochs 2 --hold-out v.csv=0.4 --hold-out t.csv=0.3",
        "features network.onnx v.csv -o v.parquet --keep y",
        "features network.onnx t.csv -o t.parquet --keep y",
        "fit v.parquet --task regression --interval split --prediction prediction -o head.stonet",
        "predict head.stonet t.parquet -o predictions.csv",
        "predict head.stonet t.parquet -o why.csv --explain",
        "evaluate head.stonet t.parquet --allow-seen --report report.html",
        "monitor head.stonet t.parquet --alarm 0.000001 --state watch.json",
        "control head.stonet t.parquet --want wrong<=0.9 --allow-seen -o rule.json",
        "export head.stonet -o head.onnx",
        "inspect head.stonet",
        "inspect network.onnx",
        "compare v.parquet t.parquet --task regression --methods split-conformal --prediction prediction --allow-seen --out compared",
        "fit --task classification --print-settings",
        "completions bash",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let calls = network_calls(&desk, stonet.as_os_str(), &words).expect("strace ran before");
        assert!(calls.is_empty(), "{line}: {calls:?}");
    }
}
