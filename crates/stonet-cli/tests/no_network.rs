//! No command opens a connection: the system calls of each are watched by strace, where that is allowed.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::OsStr;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use common::Desk;

/// strace that watches the calls for networks of a program and its children; they go to `strace.log`.
fn strace(desk: &Desk, program: &OsStr, arguments: &[&str]) -> Command {
    let log = desk.at("strace.log");
    let _ = std::fs::remove_file(&log);
    let mut strace = Command::new("strace");
    // -yy names the protocol of every socket.
    strace.args(["-f", "-qq", "-yy", "-e", "trace=network", "-e", "signal=none", "-o"]).arg(&log);
    strace.arg(program).args(arguments).current_dir(desk.at("."));
    strace
}

/// The calls in `strace.log` that concern a network.
fn calls(desk: &Desk) -> Vec<String> {
    desk.text("strace.log").lines().filter(|line| concerns_a_network(line)).map(str::to_owned).collect()
}

/// Sockets within this machine do not: `doctor` starts Python, whose C library asks the service for names of users by one.
fn concerns_a_network(line: &str) -> bool {
    let Some(call) = line.split_once(' ').map(|(_, call)| call.trim_start()) else { return true };
    // A thread that ends while strace lets go of it leaves a line without a call; a call that was interrupted is named twice.
    let named = !call.starts_with("???(") && !call.starts_with("<... ");
    // The first argument is a family, or a descriptor with its protocol; the second may be an address.
    let mut arguments = call.split_once('(').map_or("", |(_, arguments)| arguments).split([',', ')']);
    let first = arguments.next().unwrap_or("");
    let second = arguments.next().unwrap_or("").trim_start();
    let local = first == "AF_UNIX" || first.contains("<UNIX") || second == "{sa_family=AF_UNIX";
    named && !local
}

#[test]
fn sockets_within_this_machine_are_told_from_those_of_networks() {
    for line in [
        "71 socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, 0) = 3<UNIX-STREAM:[9]>",
        "71 connect(3<UNIX-STREAM:[9]>, {sa_family=AF_UNIX, sun_path=\"/var/run/nscd/socket\"}, 110) = -1 ENOENT (No such file)",
        "71 connect(3<UNIX-STREAM:[9]>, {sa_family=AF_UNIX, sun_path=\"/var/run/nscd/socket\"}, 110 <unfinished ...>",
        "71 connect(3<socket:[9]>, {sa_family=AF_UNIX, sun_path=\"/var/run/nscd/socket\"}, 110) = 0",
        "71 <... connect resumed>) = 0",
        "71 socketpair(AF_UNIX, SOCK_STREAM, 0, [3<UNIX-STREAM:[9]>, 4<UNIX-STREAM:[10]>]) = 0",
        "71 ???( <detached ...>",
    ] {
        assert!(!concerns_a_network(line), "{line}");
    }
    for line in [
        "71 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3<TCP:[9]>",
        "71 socket(AF_INET6, SOCK_DGRAM, IPPROTO_IP) = 3<UDPv6:[9]>",
        "71 socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = 3<NETLINK:[ROUTE:71]>",
        "71 connect(3<TCP:[9]>, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr(\"127.0.0.1\")}, 16) = -1 EINPROGRESS",
        "71 connect(3<TCP:[9]>, {sa_family=AF_INET, sin_port=htons(9)}, 16 <unfinished ...>",
        "71 sendto(3<UDP:[9]>, \"AF_UNIX <UNIX-STREAM\", 20, 0, NULL, 0) = 20",
    ] {
        assert!(concerns_a_network(line), "{line}");
    }
}

/// The system calls for networks of a program that runs to its end; none where strace cannot watch.
fn network_calls(desk: &Desk, program: &OsStr, arguments: &[&str]) -> Option<Vec<String>> {
    let strace = strace(desk, program, arguments).output().ok()?;
    let said = String::from_utf8_lossy(&strace.stderr);
    if said.contains("PTRACE") || said.contains("ptrace") {
        return None;
    }
    assert!(strace.status.success() || Path::new(program).ends_with("bash"), "{arguments:?}: {said}");
    Some(calls(desk))
}

/// The system calls for networks of a server that answers one request and is asked to end.
fn calls_of_the_server(desk: &Desk, program: &OsStr) -> Vec<String> {
    let arguments = ["serve", "head.stonet", "--port", "0", "--json"];
    let mut strace = strace(desk, program, &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(strace.stdout.take().unwrap());
    let mut stream = TcpStream::connect(common::address(&mut stdout)).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // strace keeps signals for itself: the server is its child.
    let children = format!("/proc/{0}/task/{0}/children", strace.id());
    let server = std::fs::read_to_string(children).unwrap();
    assert!(Command::new("kill").args(["-s", "TERM", server.trim()]).status().unwrap().success());
    assert!(strace.wait().unwrap().success());
    calls(desk)
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
    let mut unwatched = desk.commands();
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
        "update head.stonet t.parquet -o updated.stonet --window 30",
        "adapt head.stonet t.parquet --rows v.parquet -o adapted.stonet",
        "export head.stonet -o head.onnx",
        "inspect head.stonet",
        "inspect network.onnx",
        "compare v.parquet t.parquet --task regression --methods split-conformal --prediction prediction --allow-seen --out compared",
        "fit --task classification --print-settings",
        "completions bash",
        "doctor",
        "demo --quick --interval fast --out demo",
        "benchmark t.csv --target y --splits 1 --epochs 1 --out benchmark",
        "reproduce simulation --models 1 --settings ii --replicates 1 --out simulation",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let calls = network_calls(&desk, stonet.as_os_str(), &words).expect("strace ran before");
        assert!(calls.is_empty(), "{line}: {calls:?}");
        unwatched.retain(|name| name != words[0]);
    }
    let calls = calls_of_the_server(&desk, stonet.as_os_str());
    let has = |call: &str| calls.iter().filter(|line| line.contains(&format!(" {call}("))).count();
    assert_eq!((has("connect"), has("bind"), has("listen")), (0, 1, 1), "{calls:?}");
    assert!(calls.iter().any(|line| line.contains("bind(") && line.contains("127.0.0.1")), "{calls:?}");
    unwatched.retain(|name| name != "serve");
    assert!(unwatched.is_empty(), "commands that were not watched: {unwatched:?}");
}
