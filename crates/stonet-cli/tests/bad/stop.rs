//! Ctrl-C in the middle of long work: exit code 130, nothing left, and the same command works afterwards.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Desk, FIT_HOUSES, with_houses};

fn spawn(desk: &Desk, line: &str) -> Child {
    desk.stonet(line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

/// Ends with code 130 and says that it was stopped.
fn stopped(mut child: Child, line: &str) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "{line}: does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{line}: {stderr}");
    assert!(!stderr.contains("panicked"), "{line}: {stderr}");
}

/// Waits until the command has begun a file.
fn begun(desk: &Desk, name: &str, child: &mut Child) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !desk.contents().keys().any(|n| n.starts_with(&format!(".{name}."))) {
        assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline, "nothing was begun");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_fit_that_is_stopped_leaves_nothing() {
    let desk = with_houses(1500);
    desk.write("long.toml", "[stonet]\nsteps = 400000\n");
    let line = FIT_HOUSES.replace("--interval fast", "--interval cv+ --settings long.toml -v");
    let before = desk.contents();
    let mut child = spawn(&desk, &line);
    // The rows are read and the work begins.
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(stderr.any(|l| l.unwrap().starts_with("features: ")));
    interrupt(&child);
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    let said: Vec<String> = stderr.map(|l| l.unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
    assert!(said.iter().any(|l| l.starts_with("stopped: ")), "{said:?}");
    assert_eq!(desk.contents(), before);
    desk.run(FIT_HOUSES);
}

#[test]
fn training_that_is_stopped_leaves_nothing() {
    let desk = Desk::new();
    desk.write("houses.csv", crate::common::houses(600));
    let before = desk.contents();
    let line = |epochs: usize| {
        format!(
            "train houses.csv --task regression --target price --exclude id,region --epochs {epochs} -o n.onnx --hold-out h.csv=0.5"
        )
    };
    let mut child = spawn(&desk, &line(1_000_000));
    begun(&desk, "h.csv", &mut child);
    interrupt(&child);
    stopped(child, "train");
    assert_eq!(desk.contents(), before);
    desk.run(&line(2));
    assert_eq!(desk.contents().len(), 3);
}

/// Rows without end on standard input, until nobody reads them.
fn endless(desk: &Desk, line: &str, file: &str, output: &str) {
    let before = desk.contents();
    let text = desk.text(file);
    let (header, rows) = text.split_once('\n').unwrap();
    let (header, rows) = (format!("{header}\n"), rows.repeat(20));
    let mut child = spawn(desk, line);
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        let feed = scope.spawn(move || {
            let mut result = stdin.write_all(header.as_bytes());
            while result.is_ok() {
                result = stdin.write_all(rows.as_bytes());
            }
        });
        begun(desk, output, &mut child);
        interrupt(&child);
        stopped(child, line);
        feed.join().unwrap();
    });
    assert_eq!(desk.contents(), before, "{line}");
}

#[test]
fn predictions_and_features_that_are_stopped_leave_nothing() {
    let desk = with_houses(600);
    desk.run(FIT_HOUSES);
    for format in ["csv", "parquet", "npy"] {
        endless(&desk, &format!("predict head.stonet - -o p.{format}"), "test.csv", &format!("p.{format}"));
        endless(&desk, &format!("features net.onnx - -o f.{format}"), "new.csv", &format!("f.{format}"));
    }
    desk.run("predict head.stonet test.csv -o p.csv");
    desk.run("features net.onnx new.csv -o f.csv");
}

/// A command that has begun to write its output from rows that do not end.
fn writing(desk: &Desk, line: &str, file: &str, output: &str) -> (Child, std::process::ChildStdin) {
    let text = desk.text(file);
    let (header, rows) = text.split_once('\n').unwrap();
    let mut child = spawn(desk, line);
    let mut stdin = child.stdin.take().unwrap();
    // Two blocks of rows, so that one is written while the next is waited for.
    stdin.write_all(format!("{header}\n{}", rows.repeat(9000 / rows.lines().count() + 1)).as_bytes()).unwrap();
    begun(desk, output, &mut child);
    (child, stdin)
}

#[test]
fn what_a_killed_process_leaves_is_removed_by_the_next_one_and_what_a_living_one_writes_is_not() {
    let desk = with_houses(600);
    let temporary = |desk: &Desk| desk.contents().into_keys().filter(|n| n.ends_with(".tmp")).collect::<Vec<_>>();
    let line = "features net.onnx - -o f.csv";
    let (mut killed, _stdin) = writing(&desk, line, "new.csv", "f.csv");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = temporary(&desk);
    assert_eq!(left.len(), 1);
    let (mut living, _stdin) = writing(&desk, "features net.onnx - -o f.csv", "new.csv", "f.csv");
    // The other one has removed what was left, and writes itself.
    let deadline = Instant::now() + Duration::from_secs(120);
    while temporary(&desk).len() != 1 || temporary(&desk) == left {
        assert!(Instant::now() < deadline, "{:?}", temporary(&desk));
        std::thread::sleep(Duration::from_millis(5));
    }
    let its = temporary(&desk);
    desk.run("features net.onnx new.csv -o f.csv");
    assert_eq!(temporary(&desk), its);
    living.kill().unwrap();
    living.wait().unwrap();
    desk.run("features net.onnx new.csv -o f.csv");
    assert_eq!(temporary(&desk), Vec::<String>::new());
    // Heads, graphs and networks are written in the same way.
    desk.write(".head.stonet.4000000.0.tmp", "left").write(".x.onnx.4000000.tmp", "left");
    desk.run(FIT_HOUSES);
    desk.run("export head.stonet -o x.onnx");
    assert_eq!(temporary(&desk), Vec::<String>::new());
}
