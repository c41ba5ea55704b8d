//! The order of modules: in every crate a module uses only modules that its `lib.rs` declares above it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All crates, from the top of the repository.
const CRATES: [&str; 9] = [
    "crates/stonet",
    "crates/stonet-io",
    "crates/stonet-onnx",
    "crates/stonet-report",
    "crates/stonet-compare",
    "crates/stonet-repro",
    "crates/stonet-serve",
    "crates/stonet-cli",
    "bindings/python",
];

/// Names that the front page and the guide need; the rest is reached by module.
const ROOT_EXPORTS: std::ops::RangeInclusive<usize> = 25..=30;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Source code without comments and without what only tests compile.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !word(c)).filter(|w| !w.is_empty()).collect()
}

/// The modules of a `lib.rs` in their order, those of tests and fuzz targets left out.
fn modules(lib: &str) -> Vec<String> {
    let (mut found, mut only_tests) = (Vec::new(), false);
    for line in lib.lines().map(str::trim) {
        if line.starts_with("#[") {
            only_tests |= ["#[cfg(test)]", "#[cfg(any(test, fuzzing))]"].contains(&line);
            continue;
        }
        let declared = line.trim_start_matches("pub ").strip_prefix("mod ").and_then(|l| l.strip_suffix(';'));
        if let (Some(name), false) = (declared, only_tests) {
            found.push(name.to_owned());
        }
        only_tests = false;
    }
    found
}

/// The names that a `lib.rs` exports, each with its module.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in lib.split(';').filter_map(|s| s.trim().strip_prefix("pub use ")) {
        let path = words(statement);
        let names = statement.split('{').nth(1).map_or(vec![*path.last().unwrap()], words);
        found.extend(names.into_iter().map(|name| (name.to_owned(), path[0].to_owned())));
    }
    found
}

/// The names directly behind every `crate::`, also where braces follow.
fn used(code: &str, root: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split(root).skip(1) {
        match rest.strip_prefix('{') {
            None => found.extend(words(rest).first().map(|w| (*w).to_owned())),
            Some(list) => {
                let (mut depth, mut first) = (0, true);
                for (at, c) in list.char_indices() {
                    match c {
                        '}' if depth == 0 => break,
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => first = true,
                        c if first && !c.is_whitespace() => {
                            found.extend(words(&list[at..]).first().map(|w| (*w).to_owned()));
                            first = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_name().is_some_and(|n| n != "tests.rs") {
            all.push(path);
        }
    }
    all
}

/// Every use of a module that stands below, as `file uses module`.
fn violations(src: &Path) -> (usize, Vec<String>) {
    let lib = code(&src.join("lib.rs"));
    let (modules, exports) = (modules(&lib), exports(&lib));
    let place = |name: &str| modules.iter().position(|m| m == name);
    let (mut looked_at, mut wrong) = (0, Vec::new());
    for path in sources(src) {
        let relative = path.strip_prefix(src).unwrap().to_owned();
        let first = relative.iter().next().unwrap().to_string_lossy().into_owned();
        let Some(own) = place(first.trim_end_matches(".rs")) else { continue };
        let code = code(&path);
        let mut names = used(&code, "crate::");
        if relative.components().count() == 1 {
            // The parent of such a file is the crate.
            names.extend(used(&code, "super::"));
        }
        for name in names {
            let module = exports.get(&name).unwrap_or(&name);
            let Some(other) = place(module) else { continue };
            looked_at += usize::from(other != own);
            if other > own {
                wrong.push(format!("{} uses {module}", relative.display()));
            }
        }
    }
    (looked_at, wrong)
}

#[test]
fn modules_use_only_what_stands_above_them() {
    for name in CRATES {
        let (uses, wrong) = violations(&top().join(name).join("src"));
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        assert!(uses > 0, "{name}: no use of another module was found");
    }
}

#[test]
fn a_use_of_a_lower_module_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    write("lib.rs", "mod low;\npub mod high;\n#[cfg(test)]\nmod reference;\npub use high::{Roof, tile};\n");
    write(
        "low.rs",
        "use std::fmt;\n// crate::high is a comment\nuse crate::{fmt, high::{a, b}};\nfn f() -> crate::Roof {}\n",
    );
    write("high.rs", "use crate::low;\nuse super::low::x;\n");
    let (uses, wrong) = violations(dir.path());
    assert_eq!((uses, wrong), (4, vec!["low.rs uses high".to_owned(); 2]));
}

#[test]
fn the_library_exports_few_names_at_its_root() {
    let lib = code(&top().join("crates/stonet/src/lib.rs"));
    let exports = exports(&lib);
    assert!(ROOT_EXPORTS.contains(&exports.len()), "{} names: {exports:?}", exports.len());
    assert_eq!(modules(&lib).len(), 18);
}

#[test]
fn only_the_command_knows_the_experiments_of_the_paper() {
    for name in CRATES.into_iter().filter(|n| !n.ends_with("-cli") && !n.ends_with("-repro")) {
        let manifest = std::fs::read_to_string(top().join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("stonet-repro"), "{name}");
    }
    let workspace = std::fs::read_to_string(top().join("Cargo.toml")).unwrap();
    let command = workspace.lines().find(|l| l.starts_with("stonet-cli ")).unwrap();
    assert!(command.contains("default-features = false"), "the Python package would bring them: {command}");
}
