//! `fit --lower --upper` and `fit --sd`: heads that learn from the network's own uncertainty, and bad columns by name.

mod common;

use common::{Desk, normal};

/// Rows whose spread only the network knows.
fn table(rows: usize, seed: u64) -> String {
    let (mut next, mut text) = (normal(seed), String::from("f0,f1,d,q05,q95,sigma,y\n"));
    for _ in 0..rows {
        let (f0, f1, d, sd) = (next(), next(), next(), (0.8 * next()).exp());
        text += &format!("{f0},{f1},{d},{},{},{sd},{}\n", d - 1.645 * sd, d + 1.645 * sd, d + sd * next());
    }
    text
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("val.csv", table(400, 1)).write("test.csv", table(300, 2));
    desk
}

const FIT: &str = "fit val.csv --task regression --interval fast --inputs f* --prediction d";

#[test]
fn heads_with_quantiles_or_sd_are_fitted_used_judged_and_shown() {
    let desk = desk();
    for (flags, names) in [("--lower q05 --upper q95", &["q05", "q95"][..]), ("--sd sigma", &["sigma"])] {
        desk.run(&format!("{FIT} {flags} -o head.stonet"));
        let about = desk.run("inspect head.stonet");
        assert!(names.iter().all(|n| about.contains(n)), "{about}");
        desk.run("predict head.stonet test.csv --side lower -o bounds.csv");
        desk.run("predict head.stonet test.csv -o out.csv");
        let [lower, upper, sd] =
            [("out.csv", "lower_90"), ("out.csv", "upper_90"), ("test.csv", "sigma")].map(|(f, c)| desk.column(f, c));
        // Lengths follow the spread that only the network knows.
        let mut lengths: Vec<(f64, f64)> = (0..300).map(|i| (sd[i], upper[i] - lower[i])).collect();
        lengths.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = |part: &[(f64, f64)]| part.iter().map(|p| p.1).sum::<f64>() / part.len() as f64;
        assert!(mean(&lengths[200..]) > 3.0 * mean(&lengths[..100]));
        let judged = desk.json("evaluate head.stonet test.csv");
        let covered = judged["evaluation"]["overall"]["coverage"]["value"].as_f64().unwrap();
        // 300 rows; those of the fit, 400, add their own error.
        assert!((covered - 0.9).abs() < 4.5 * (0.09f64 / 300.0 + 0.09 / 400.0).sqrt(), "{covered}");
        desk.run("export head.stonet -o head.onnx");
        assert!(desk.bytes("head.onnx").len() > 100);
    }
}

#[test]
fn compare_shows_the_networks_own_uncertainty_side_by_side() {
    let desk = desk();
    let compare = "compare val.csv test.csv --task regression --inputs f* --prediction d";
    let names = |flags: &str| {
        let shown = desk.json(&format!("{compare} {flags}"));
        let list = |key: &str| -> Vec<String> {
            shown[key].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap().to_owned()).collect()
        };
        (list("methods"), list("refused"))
    };
    let (shown, refused) = names("--methods fast,cqr-own,normalised-own,cv --lower q05 --upper q95");
    assert_eq!(
        (shown, refused),
        (vec!["fast".into(), "cqr-own".into(), "cv".into()], vec!["normalised-own".to_owned()])
    );
    let (shown, _) = names("--methods fast,normalised-own --sd sigma");
    assert_eq!(shown, ["fast", "normalised-own"]);
    let text = desk.run(&format!("{compare} --methods fast,cqr-own"));
    assert!(text.contains("cqr-own is not there") && text.contains("--lower COLUMN --upper COLUMN"), "{text}");
}

#[test]
fn bad_columns_are_refused_by_name() {
    let desk = desk();
    let fit = |flags: &str| format!("{FIT} {flags} -o x.stonet");
    desk.refuses(&fit("--lower q05"), &["--upper"]);
    desk.refuses(&fit("--lower q05 --upper q95 --sd sigma"), &["--sd"]);
    desk.refuses(&fit("--lower q05 --upper q05"), &["--upper names `q05`"]);
    desk.refuses(&fit("--lower q05,d --upper q95,d"), &["--lower names 2 columns", "1 targets"]);
    desk.refuses(&fit("--sd y"), &["--sd names the target `y`", "standard deviation"]);
    desk.refuses(&fit("--sd missing"), &["val.csv", "missing"]);
    desk.refuses(&fit("--sd d"), &["val.csv: row ", "of column `d` is -", "a standard deviation is positive"]);
    let eve = "fit val.csv --task regression --interval cv --inputs f* --sd sigma -o x.stonet";
    desk.refuses(eve, &["kind", "own uncertainty"]);
    desk.refuses("fit val.csv --task classification --sd sigma --inputs f* -o x.stonet", &["--task regression"]);
    desk.run(&fit("--sd sigma"));
    desk.write("bad.csv", desk.text("test.csv").replace("f0,f1,d,q05,q95,sigma,y\n", "f0,f1,sigma,q05,q95,d,y\n"));
    let parts = ["bad.csv: row ", "of column `sigma` is -", "a standard deviation is positive"];
    desk.refuses("predict x.stonet bad.csv -o out.csv", &parts);
    desk.refuses("evaluate x.stonet bad.csv", &parts);
    desk.write("none.csv", desk.text("test.csv").replace("sigma", "other"));
    desk.refuses("predict x.stonet none.csv -o out.csv", &["none.csv", "sigma"]);
    assert!(!desk.contents().contains_key("out.csv"));
}
