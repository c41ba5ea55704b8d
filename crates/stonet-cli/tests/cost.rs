//! Cost that can be seen: `fit --estimate`, and where the time went with `-v`.

mod common;

use common::{FIT_HOUSES, with_houses, with_logits};

#[test]
fn an_estimate_says_rows_columns_time_and_memory_and_writes_nothing() {
    let desk = with_houses(900);
    let before = desk.contents();
    for kind in ["fast", "stack"] {
        let line = format!("fit val.csv --task regression --inputs f* --target price --interval {kind} --estimate");
        let said = desk.json(&line);
        assert_eq!((&said["schema"], &said["kind"]), (&"stonet.estimate/1".into(), &kind.into()));
        assert_eq!((&said["rows"], &said["features"], &said["targets"]), (&360.into(), &12.into(), &1.into()));
        let number = |name: &str| said[name].as_f64().unwrap();
        assert!(number("fit_seconds") > 0.0 && number("sample_seconds") > 0.0 && number("reading_seconds") >= 0.0);
        // At least the rows themselves.
        assert!(number("memory_bytes") > 360.0 * 12.0 * 8.0);
        assert!(number("sample_rows") <= 360.0 && number("threads") >= 1.0);
        let text = desk.run(&line);
        assert!(text.contains("360 rows with 12 features") && text.contains("no head was written"), "{text}");
    }
    assert_eq!(desk.contents(), before);
    // What a fit refuses is refused here, in the same words, and a head is still needed for a fit.
    desk.refuses("fit val.csv --task regression --inputs f* --target prize --estimate", &["no column `prize`"]);
    desk.refuses("fit val.csv --task regression --target price --estimate --print-settings", &["cannot be used with"]);
    desk.refuses("fit val.csv --task regression --target price --method stack --estimate", &["--method"]);
}

#[test]
fn classes_are_estimated_too() {
    let desk = with_logits();
    let said = desk.json("fit val.csv --task classification --inputs z* --target animal --method vector --estimate");
    assert_eq!((&said["task"], &said["kind"]), (&"classification".into(), &"vector".into()));
    assert!(said["fit_seconds"].as_f64().unwrap() > 0.0 && said["logits"].as_u64().unwrap() >= 2);
}

/// The seconds of every stage that `-v` prints.
fn stages(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().skip_while(|l| !l.starts_with("stage ")).skip(1);
    let line = |l: &str| {
        let words: Vec<&str> = l.split_whitespace().collect();
        let [name @ .., seconds, _, "%"] = &words[..] else { return None };
        Some((name.join(" "), seconds.parse().ok()?))
    };
    lines.map_while(line).collect()
}

#[test]
fn verbose_commands_print_where_the_time_went() {
    let desk = with_houses(900);
    let told = |line: &str| {
        let out = desk.ended(line, 0);
        stages(&String::from_utf8(out.stderr).unwrap())
    };
    let check = |line: &str, wanted: &[&str]| {
        let found = told(&format!("{line} -v"));
        for name in wanted.iter().chain(&["other", "total"]) {
            assert!(found.iter().any(|(n, _)| n.starts_with(name)), "{line}: no {name} in {found:?}");
        }
        let total = found.iter().find(|(n, _)| n == "total").unwrap().1;
        let parts: f64 = found.iter().filter(|(n, _)| n != "total").map(|(_, s)| s).sum();
        // Every line is rounded to a thousandth.
        assert!((parts - total).abs() <= 0.001 * found.len() as f64, "{line}: {parts} of {total}");
        assert!(told(line).is_empty(), "{line}");
    };
    let fitted = [
        "reading",
        "eigenvalues",
        "ridge regressions",
        "StoNets, kappa",
        "weights",
        "scale",
        "shape",
        "ranks",
        "writing",
    ];
    check(&FIT_HOUSES.replace("--interval fast", "--interval stack"), &fitted);
    check("predict head.stonet test.csv -o p.csv", &["reading", "scoring", "writing"]);
    check("evaluate head.stonet test.csv", &["reading", "scoring", "judging"]);
}
