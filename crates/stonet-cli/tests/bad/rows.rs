//! Rows that do not fit: columns, types, values, targets, labels, settings.

use crate::common::{Desk, FIT_ANIMALS, FIT_HOUSES, with_animals, with_houses};

/// A table of sixty rows with one cell replaced: `at` is row and column, both from 0.
fn table(at: Option<(usize, usize)>, cell: &str) -> String {
    let mut text = String::from("f0,f1,y\n");
    for i in 0..60 {
        let mut cells = [(i % 7).to_string(), (i % 5).to_string(), (i % 11).to_string()];
        if let Some((row, column)) = at.filter(|(row, _)| *row == i) {
            assert!(row < 60);
            cells[column] = cell.into();
        }
        text += &format!("{}\n", cells.join(","));
    }
    text
}

const FIT: &str = "fit t.csv --task regression --interval fast -o x.stonet";

#[test]
fn cells_that_are_no_numbers_are_named_by_line_and_column() {
    let desk = Desk::new();
    for (cell, at, parts) in [
        ("red", (8, 1), ["t.csv, line 10, column `f1`", "`red` is not a number", "exclude the column"]),
        ("nan", (8, 1), ["t.csv, line 10, column `f1`", "missing value (`nan`)", "remove the row"]),
        ("", (0, 0), ["t.csv, line 2, column `f0`", "missing value", "fill it in"]),
        ("-inf", (59, 1), ["t.csv, line 61, column `f1`", "infinite value", "remove the row"]),
        ("NaN", (8, 2), ["t.csv, line 10, column `y`", "missing value", "remove the row"]),
        ("1e999", (8, 2), ["t.csv, line 10, column `y`", "infinite value", "remove the row"]),
    ] {
        desk.write("t.csv", table(Some(at), cell));
        desk.refuses(FIT, &parts);
        desk.refuses("train t.csv --task regression --epochs 2 -o x.onnx --hold-out h.csv=0.2", &parts);
    }
    desk.write("t.csv", table(None, ""));
    desk.run(FIT);
}

#[test]
fn too_little_to_learn_from() {
    let desk = Desk::new();
    desk.write("t.csv", "");
    desk.refuses(FIT, &["t.csv: the file is empty", "header line"]);
    desk.write("t.csv", "f0,f1,y\n");
    desk.refuses(FIT, &["t.csv: there are 3 column names and no rows"]);
    desk.write("t.csv", "f0,f1,y\n1,2,3\n4,5,6\n7,8,8\n");
    desk.refuses(FIT, &["t.csv", "rows"]);
    let constant = table(None, "").lines().map(|l| format!("{l},3\n")).collect::<String>().replacen(",3\n", ",z\n", 1);
    desk.write("t.csv", constant);
    desk.refuses(&format!("{FIT} --target z"), &["t.csv: column `z` is 3 in every row", "the right column"]);
    let train = "train t.csv --task regression --target z --epochs 2 -o x.onnx --hold-out h.csv=0.3";
    desk.refuses(train, &["t.csv: column `z` is 3 in every row", "the right column"]);
    desk.refuses(
        &FIT.replace("regression --interval fast", "classification --target z"),
        &["t.csv", "`3` is the only class"],
    );
}

#[test]
fn columns_at_predict_are_found_by_name() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    let without = |drop: &[&str]| {
        let table = desk.table("test.csv", &["id", "region"]);
        let keep: Vec<usize> =
            (0..table.names().len()).filter(|&i| !drop.contains(&table.names()[i].as_str())).collect();
        let mut text = keep.iter().map(|&i| table.names()[i].as_str()).collect::<Vec<_>>().join(",") + "\n";
        for row in table.values().outer_iter() {
            text += &(keep.iter().map(|&i| row[i].to_string()).collect::<Vec<_>>().join(",") + "\n");
        }
        desk.write("rows.csv", text);
    };
    without(&["f3", "f7", "prediction"]);
    let line = "predict head.stonet rows.csv -o p.csv";
    desk.refuses(line, &["rows.csv: 3 columns are missing", "`f3`", "`f7`", "`prediction`", "add or rename"]);
    without(&["f3"]);
    desk.refuses(line, &["rows.csv: there is no column `f3`"]);
    without(&["price"]);
    desk.run(line);
    desk.refuses("evaluate head.stonet rows.csv", &["rows.csv: there is no column `price`"]);
    desk.write("rows.csv", desk.text("test.csv").replace("f3", "F3"));
    desk.refuses(line, &["`f3`", "`F3`"]);
    desk.refuses("predict head.stonet test.csv --keep prediction", &["--keep", "`prediction`", "rename"]);
    desk.refuses("features net.onnx new.csv --keep nothing -o x.csv", &["new.csv", "`nothing`"]);
    desk.refuses("features net.onnx new.csv --keep size -o x.csv", &["--keep", "`size`"]);
    desk.refuses("evaluate head.stonet test.csv --by colour", &["test.csv", "no column `colour`"]);
}

#[test]
fn labels_that_a_head_does_not_know() {
    let desk = with_animals(300);
    desk.run(FIT_ANIMALS);
    desk.run("features net.onnx new.csv --keep animal -o test.csv");
    desk.write("test.csv", desk.text("test.csv").replacen("\ndog,", "\ncow,", 1));
    desk.refuses("evaluate head.stonet test.csv", &["test.csv", "`cow`", "`cat`", "`dog`", "`owl, snowy`"]);
}

#[test]
fn settings_out_of_range_and_names_that_are_not_there() {
    let desk = with_houses(300);
    desk.run(FIT_HOUSES);
    desk.refuses(
        "predict head.stonet test.csv --level 95",
        &["level must be", "but is 95", "strictly between 0 and 1", "0.95"],
    );
    desk.refuses("evaluate head.stonet test.csv --level 1", &["level must be", "but is 1", "strictly between 0 and 1"]);
    desk.refuses("export head.stonet -o x.onnx --level 0", &["level must be", "but is 0", "strictly between 0 and 1"]);
    desk.refuses("predict head.stonet test.csv --level 0.9,high", &["high"]);
    let fit = FIT_HOUSES.replace("head.stonet", "x.stonet");
    for (flags, parts) in [
        ("--level 95", &["level must be", "but is 95", "strictly between 0 and 1"][..]),
        ("--folds 1", &["folds must be", "but is 1", "at least 2"]),
        ("--folds 900", &["val.csv", "1800 rows", "fewer folds"]),
        ("--trainer adam", &["`adam`", "asghmc, iro, asghmc+iro"]),
        ("--select best", &["`best`", "one-standard-error"]),
        ("--select error", &["--select", "paper and cv"]),
        ("--range 5", &["--range", "LOW,HIGH"]),
        ("--range ,", &["--range", "at least one bound"]),
        ("--range 3,1", &["--range", "3 is not below 1"]),
        ("--range a,1", &["--range", "`a` is not a number"]),
        ("--range 1e9,", &["is", "outside of --range 1000000000,inf"]),
        ("--method temperature", &["--method", "--task classification", "--interval"]),
        ("--kind logits", &["--kind", "--task classification"]),
        ("--jobs 0", &["--jobs must be at least 1"]),
        ("--groups street", &["val.csv", "`street`"]),
    ] {
        desk.refuses(&format!("{fit} {flags}"), parts);
    }
    desk.refuses(&fit.replace("fast", "exact"), &["`exact`", "stack, cv+, cv, paper, fast, split"]);
    desk.refuses(&fit.replace("price", "prize"), &["val.csv", "`prize`", "`price`"]);
    desk.refuses(&fit.replace("f*", "g*"), &["val.csv", "`g*`"]);
    desk.refuses("evaluate head.stonet test.csv --require covrage>=0.9", &["`covrage`", "coverage"]);
    desk.refuses("evaluate head.stonet test.csv --require coverage", &["such as coverage>=0.88"]);
    let classes = fit.replace("regression --interval fast", "classification").replace("--prediction prediction", "");
    desk.refuses(&format!("{classes} --method magic"), &["`magic`", "temperature", "stack"]);
    desk.refuses(&format!("{classes} --level 0.9"), &["--level", "--task regression"]);
    let train = "train houses.csv --task regression --target price --exclude id,region -o x.onnx";
    for (flags, parts) in [
        ("--hidden 0", &["hidden", "positive"][..]),
        ("--epochs 0", &["epochs must be", "but is 0", "at least 1"]),
        ("--rate 0", &["rate must be", "but is 0", "positive"]),
        ("--activation gelu", &["`gelu`", "tanh, sigmoid, relu"]),
        ("--hold-out h.csv=1.5", &["h.csv=1.5", "validation.csv=0.4"]),
        ("--hold-out h.csv=0.6 --hold-out g.csv=0.5", &["--hold-out", "nothing to train on"]),
        ("--hold-out h.xlsx=0.5", &["h.xlsx", ".csv"]),
        ("--hold-out houses.csv=0.5", &["--hold-out", "houses.csv", "name another file"]),
        ("--hold-out h.csv=0.2 --hold-out h.csv=0.3", &["--hold-out", "h.csv", "name another file"]),
        ("--hold-out h.csv=0.3 --keep size --inputs size,age", &["--keep", "`size`"]),
    ] {
        desk.refuses(&format!("{train} {flags}"), parts);
    }
}

#[test]
fn numbers_of_any_magnitude_are_fitted_on_or_named_by_row_and_column() {
    let desk = Desk::new();
    let named = |column: &str| format!("row 8 (from 0) of column `{column}`");
    for interval in ["fast", "cv", "paper", "split"] {
        let fit = FIT.replace("fast", interval);
        for (cell, at) in [("1e308", (8, 1)), ("-1e308", (8, 2)), ("1e200", (8, 2))] {
            desk.write("t.csv", table(Some(at), cell));
            desk.refuses(
                &fit,
                &["t.csv", &named(["f0", "f1", "y"][at.1]), "too large to compute with", "divide the column"],
            );
        }
        // Features of any magnitude below.
        for cell in ["1e200", "-1e200", "1e-308"] {
            desk.write("t.csv", table(Some((8, 1)), cell));
            if interval == "paper" && cell != "1e-308" {
                // The row is beyond all others, and Eve's law does not clip.
                desk.refuses(&fit, &["t.csv", "of row 8, column 0 is", "too large for double precision"]);
                continue;
            }
            desk.run(&fit);
            desk.run("predict x.stonet t.csv -o p.csv");
            let numbers = |name: &str| desk.column("p.csv", name);
            let all = [numbers("prediction"), numbers("lower_90"), numbers("upper_90")].concat();
            assert!(all.len() == 180 && all.iter().all(|v| v.is_finite()), "{interval} {cell}");
        }
    }
    let plain = table(None, "");
    let tiny = plain.lines().map(|l| match l.rsplit_once(',') {
        Some((x, "y")) => format!("{x},y\n"),
        Some((x, y)) => format!("{x},{y}e-300\n"),
        None => String::new(),
    });
    desk.write("t.csv", tiny.collect::<String>());
    desk.refuses(FIT, &["t.csv: column `y` varies by 1e-299 only", "multiply the column"]);
    desk.write("t.csv", table(Some((8, 1)), "1e308"));
    desk.refuses(
        "train t.csv --task regression --target y --epochs 2 -o x.onnx",
        &["t.csv: row 8 (from 0) of column `f1` is 1e308"],
    );
}

#[test]
fn values_too_large_to_judge_are_named_by_row_and_column() {
    let desk = Desk::new();
    desk.write("t.csv", table(None, ""));
    desk.run(FIT);
    let mut lines: Vec<String> = table(None, "").lines().map(str::to_owned).collect();
    let last = lines.len() - 1;
    lines[last] = lines[last].rsplit_once(',').unwrap().0.to_owned() + ",1e160";
    desk.write("new.csv", lines.join("\n"));
    let parts = ["new.csv", "of column `y` is 1e160", "too large to compute with"];
    desk.refuses("evaluate x.stonet new.csv --allow-seen", &parts);
    desk.refuses("compare t.csv new.csv --task regression --target y --methods split --allow-seen", &parts);
}

#[test]
fn a_prediction_that_overflows_is_named_by_its_row_in_the_file() {
    let desk = Desk::new();
    desk.write("t.csv", table(None, ""));
    desk.run(&FIT.replace("fast", "cv"));
    let mut new = String::from("f0,f1\n");
    (0..5000).for_each(|i| new += if i == 4321 { "1e308,1e308\n" } else { "1,2\n" });
    desk.write("new.csv", &new);
    let said = desk.stonet("predict x.stonet new.csv -o p.csv").output().unwrap();
    let stderr = String::from_utf8_lossy(&said.stderr);
    match said.status.code() {
        Some(0) => assert!(desk.column("p.csv", "upper_90").iter().all(|v| v.is_finite())),
        code => assert!(code == Some(2) && stderr.contains("row 4321"), "{stderr}"),
    }
}

#[test]
fn a_target_far_from_zero_is_no_constant() {
    let desk = Desk::new();
    let plain = table(None, "");
    let far = plain.lines().map(|l| match l.rsplit_once(',') {
        Some((x, "y")) => format!("{x},y\n"),
        Some((x, y)) => format!("{x},{}\n", 1e14 + y.parse::<f64>().unwrap()),
        None => String::new(),
    });
    desk.write("t.csv", far.collect::<String>());
    desk.run(FIT);
    desk.run("predict x.stonet t.csv -o p.csv");
    let (lower, upper) = (desk.column("p.csv", "lower_90"), desk.column("p.csv", "upper_90"));
    assert!(lower.iter().zip(&upper).all(|(l, u)| (1.0..40.0).contains(&(u - l))), "{lower:?}");
}
