//! Tables as people have them: columns in any order, row numbers, gaps, truth values, and a column in two roles.

use serde_json::json;

use crate::common::{Desk, FIT_ANIMALS, FIT_HOUSES, with_animals, with_houses};

/// What a command that ends well prints on standard error.
fn notes(desk: &Desk, line: &str) -> String {
    String::from_utf8(desk.ended(line, 0).stderr).unwrap()
}

#[test]
fn inputs_stand_in_the_order_asked_for() {
    let desk = with_houses(400);
    let fit = |inputs: &str, head: &str| FIT_HOUSES.replace("f*", inputs).replace("head.stonet", head);
    desk.run(&fit("f2,f1?,f0,f2", "a.stonet"));
    let columns = |head: &str, of: &str| desk.json(&format!("inspect {head}"))["columns"][of].clone();
    assert_eq!(columns("a.stonet", "features"), json!(["f2", "f10", "f11", "f0"]));
    // Columns are found by name, wherever they stand.
    desk.run(&fit("f0,f1", "a.stonet"));
    desk.run(&fit("f1,f0", "b.stonet"));
    assert_eq!(
        (columns("a.stonet", "features"), columns("b.stonet", "features")),
        (json!(["f0", "f1"]), json!(["f1", "f0"]))
    );
    let turned: String =
        desk.text("test.csv").lines().map(|l| l.split(',').rev().collect::<Vec<_>>().join(",") + "\n").collect();
    desk.write("turned.csv", turned);
    for head in ["a.stonet", "b.stonet"] {
        desk.run(&format!("predict {head} test.csv -o p.csv"));
        desk.run(&format!("predict {head} turned.csv -o q.csv"));
        assert_eq!(desk.text("p.csv"), desk.text("q.csv"));
    }
    // A network gives its features in its own order.
    let all: Vec<String> = (0..12).rev().map(|i| format!("f{i}")).collect();
    desk.run(&fit(&all.join(","), "c.stonet"));
    desk.refuses("export c.stonet --network net.onnx -o x.onnx", &["HEAD", "f11, f10", "--inputs 'f*'"]);
    desk.run("train houses.csv --task regression --target price --inputs rooms,size --epochs 1 -o n.onnx --hold-out h.csv=0.2");
    assert_eq!(desk.text("h.csv").lines().next(), Some("rooms,size,price"));
    let desk = with_animals(300);
    let temperature = FIT_ANIMALS.replace("z*", "z2,z0,z1");
    desk.run(&temperature);
    assert_eq!(desk.json("inspect head.stonet")["columns"]["logits"], json!(["z2", "z0", "z1"]));
    desk.refuses("export head.stonet --network net.onnx -o x.onnx", &["HEAD", "z2, z0, z1", "--inputs 'z*'"]);
}

#[test]
fn row_numbers_are_no_features() {
    let desk = with_houses(300);
    let numbered = |name: &str, first: &str| {
        let mut lines = desk.text("val.csv").lines().map(str::to_owned).collect::<Vec<_>>();
        lines
            .iter_mut()
            .enumerate()
            .for_each(|(i, l)| *l = format!("{},{l}", if i == 0 { first.into() } else { i.to_string() }));
        desk.write(name, lines.join("\n"));
    };
    let fit = "fit NAME --task regression --interval fast --exclude id,region --prediction prediction --target price -o x.stonet";
    desk.run(&fit.replace("NAME", "val.csv"));
    let wanted = desk.bytes("x.stonet");
    for (first, name) in [("Unnamed: 0", "Unnamed: 0"), ("", "column1"), ("__index_level_0__", "__index_level_0__")] {
        numbered("n.csv", first);
        let said = notes(&desk, &fit.replace("NAME", "n.csv"));
        assert!(said.contains(&format!("`{name}` holds row numbers")) && said.contains("--inputs"), "{said}");
        assert_eq!(desk.bytes("x.stonet"), wanted);
    }
    numbered("n.csv", "Unnamed: 0");
    let named = fit.replace("NAME", "n.csv").replace("--exclude id,region", "--inputs Unn*,f*");
    desk.run(&named);
    assert_eq!(desk.json("inspect x.stonet")["columns"]["features"][0], "Unnamed: 0");
}

#[test]
fn rows_are_judged_by_any_column_also_an_input_or_the_target() {
    let desk = with_houses(400);
    desk.run(FIT_HOUSES);
    desk.write(
        "test.csv",
        desk.text("test.csv")
            .lines()
            .enumerate()
            .map(|(i, l)| {
                let mut cells: Vec<String> = l.split(',').map(str::to_owned).collect();
                if i > 0 {
                    cells[3] = (i % 2).to_string()
                }
                cells.join(",") + "\n"
            })
            .collect::<String>(),
    );
    for by in ["f0", "prediction", "price"] {
        let judged = desk.json(&format!("evaluate head.stonet test.csv --by {by}"));
        assert!(judged["evaluation"].to_string().contains(by), "{by}");
    }
    let desk = with_animals(300);
    desk.run(FIT_ANIMALS);
    for by in ["z0", "animal"] {
        desk.run(&format!("evaluate head.stonet test.parquet --by {by}"));
    }
    let desk = with_houses(300);
    desk.run(&FIT_HOUSES.replace("--inputs f*", "--inputs f0,f1 --groups f0"));
}

/// Every tenth row with a gap in one of these columns, in turn.
fn with_gaps(text: &str, columns: &[usize]) -> (String, String) {
    let (mut gaps, mut complete) = (String::new(), String::new());
    for (i, line) in text.lines().enumerate() {
        if i == 0 || i % 10 > 0 {
            gaps += &format!("{line}\n");
            complete += &format!("{line}\n");
            continue;
        }
        let mut cells: Vec<&str> = line.split(',').collect();
        cells[columns[i / 10 % columns.len()]] = "";
        gaps += &format!("{}\n", cells.join(","));
    }
    (gaps, complete)
}

#[test]
fn rows_with_gaps_are_left_out_on_request() {
    let desk = with_houses(600);
    for name in ["val.csv", "test.csv"] {
        // id, region, price, f0, …, f11, prediction
        let (gaps, complete) = with_gaps(&desk.text(name), &[2, 4]);
        desk.write(&format!("gaps-{name}"), gaps).write(&format!("whole-{name}"), complete);
    }
    let fit = |rows: &str, flags: &str| FIT_HOUSES.replace("val.csv", rows) + flags;
    desk.run(&fit("whole-val.csv", ""));
    let wanted = desk.bytes("head.stonet");
    let said = notes(&desk, &fit("gaps-val.csv", " --drop-missing"));
    assert!(said.contains("left out 24 of 240 rows with missing values in `price` (12), `f1` (12)"), "{said}");
    assert_eq!(desk.bytes("head.stonet"), wanted);
    let judged = desk.json("evaluate head.stonet whole-test.csv");
    let again = desk.json("evaluate head.stonet gaps-test.csv --drop-missing");
    assert_eq!(judged["evaluation"], again["evaluation"]);
    let sampled = |rows: &str, flags: &str| {
        desk.run(&(fit(rows, flags).replace("--interval fast", "--interval split --sample 100")));
        desk.bytes("head.stonet")
    };
    assert_eq!(sampled("gaps-val.csv", " --drop-missing"), sampled("whole-val.csv", ""));
    let compare =
        "--task regression --target price --inputs f* --methods split-conformal --prediction prediction --json";
    let methods = |line: &str| serde_json::from_str::<serde_json::Value>(&desk.run(line)).unwrap()["test_rows"].clone();
    let line = format!("compare gaps-val.csv gaps-test.csv {compare} --drop-missing");
    assert_eq!(methods(&line), methods(&format!("compare whole-val.csv whole-test.csv {compare}")));
    // Training, and features of the rows that are complete; gaps in columns that are only copied do not matter.
    let (gaps, _) = with_gaps(&desk.text("houses.csv"), &[1, 4]);
    desk.write("gaps.csv", gaps);
    let train = "train gaps.csv --task regression --target price --keep id,region --epochs 1 -o n.onnx --hold-out h.csv=0.5 --drop-missing";
    assert!(notes(&desk, train).contains("left out 30 of 600 rows with missing values in `size` (30)"));
    let said = notes(&desk, "features n.onnx gaps.csv --keep id,region,price -o f.parquet --drop-missing");
    assert!(said.contains("left out 30 of 600 rows"), "{said}");
    assert_eq!(desk.column("f.parquet", "f0").len(), 570);
}

#[test]
fn truth_values_are_numbers_and_copied_columns_may_have_gaps() {
    let desk = with_houses(300);
    let mut text = String::from("id,year,rate,new,size,age,rooms,price\n");
    for (i, line) in desk.text("houses.csv").lines().skip(1).enumerate() {
        let c: Vec<&str> = line.split(',').collect();
        let (year, rate) = if i % 7 == 0 { ("", "NA") } else { ("1999", "0.5") };
        text += &format!(
            "{},{year},{rate},{},{},{},{},{}\n",
            c[0],
            if i % 2 == 0 { "True" } else { "False" },
            c[1],
            c[2],
            c[3],
            c[5]
        );
    }
    desk.write("t.csv", text);
    desk.run("train t.csv --task regression --target price --keep id,year,rate --epochs 1 -o n.onnx --hold-out h.parquet=0.5");
    let new = desk.column("h.parquet", "new");
    assert!(new.iter().all(|v| [0.0, 1.0].contains(v)) && new.contains(&1.0));
    for format in ["csv", "parquet", "arrow"] {
        desk.run(&format!("features n.onnx h.parquet --keep id,year,rate,price -o f.{format}"));
        let reading = stonet_io::Reading {
            numbers: Some(vec!["rate".into()]),
            text: vec!["year".into()],
            gaps: vec!["year".into(), "rate".into()],
            ..stonet_io::Reading::default()
        };
        let table = reading.read(&desk.at(&format!("f.{format}"))).unwrap();
        let missing = table.text("year").unwrap().iter().filter(|y| y.is_empty()).count();
        assert!((5..150).contains(&missing), "{format}: {missing}");
        assert_eq!(table.column("rate").unwrap().iter().filter(|r| r.is_nan()).count(), missing);
        assert!(table.text("year").unwrap().iter().all(|y| y.is_empty() || y == "1999"));
        desk.run(&format!("fit f.{format} --task regression --interval fast --inputs f* --target price -o x.stonet"));
        desk.run(&format!("predict x.stonet f.{format} --keep id,year,rate -o p.{format}"));
        assert_eq!(
            reading.read(&desk.at(&format!("p.{format}"))).unwrap().text("year").unwrap(),
            table.text("year").unwrap()
        );
    }
}
