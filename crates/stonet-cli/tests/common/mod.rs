//! Running the command and reading what it says.
#![allow(dead_code)] // not every test file needs every one

use std::path::Path;
use std::process::Command;

use assert_cmd::prelude::*;
use serde_json::Value;

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

/// Fails with exit code 2 and this text on standard error.
pub fn refuses(arguments: &[&str], text: &str) {
    let output = stonet(arguments).assert().code(2).get_output().clone();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}
