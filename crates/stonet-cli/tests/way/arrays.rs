//! Arrays as numpy saves them: features in one file, answers in another.

use ndarray::{Array1, Array2};
use stonet_io::{Cells, Column, Type, Writer};

use crate::common::{Desk, FIT_HOUSES, with_houses};

/// An npy file of these columns.
fn npy(desk: &Desk, name: &str, values: &Array2<f64>) {
    let columns = (0..values.ncols()).map(|c| Column::new(format!("c{c}"), Type::F64)).collect();
    let mut writer = Writer::create(&desk.at(name), columns).unwrap();
    writer.write(&values.columns().into_iter().map(Cells::Numbers).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
}

/// Features and targets of `val.csv` and `test.csv` as arrays, the latter's targets under another name.
fn with_arrays() -> Desk {
    let desk = with_houses(700);
    for (table, x, y) in [("val.csv", "features.npy", "y.npy"), ("test.csv", "new.npy", "other.npy")] {
        let table = desk.table(table, &["id", "region"]);
        let columns: Vec<usize> =
            (0..12).map(|i| table.names().iter().position(|n| *n == format!("f{i}")).unwrap()).collect();
        npy(&desk, x, &table.select(&columns));
        let price: Array1<f64> = table.column("price").unwrap().to_owned();
        npy(&desk, y, &price.insert_axis(ndarray::Axis(1)));
    }
    desk
}

#[test]
fn features_and_targets_are_two_files() {
    let desk = with_arrays();
    let fit = desk.json("fit features.npy --with y.npy --task regression --interval fast -o arrays.stonet");
    assert_eq!((&fit["features"], &fit["targets"]), (&12.into(), &serde_json::json!(["y"])));
    // The same rows as a table give the same head, but for the names of columns.
    desk.run(&FIT_HOUSES.replace(" --prediction prediction", ""));
    desk.run("predict head.stonet test.csv -o table.csv");
    desk.run("predict arrays.stonet new.npy -o arrays.csv");
    assert_eq!(desk.text("arrays.csv"), desk.text("table.csv"));
    // Answers under another name: called `y` here, or found by --target.
    let named = desk.json("evaluate arrays.stonet new.npy --with y=other.npy");
    let target = desk.json("evaluate arrays.stonet new.npy --with other.npy --target other");
    assert_eq!(named["evaluation"]["overall"], target["evaluation"]["overall"]);
    let table = desk.json("evaluate head.stonet test.csv");
    assert_eq!(named["evaluation"]["overall"], table["evaluation"]["overall"]);
}

#[test]
fn arrays_that_do_not_fit_together_are_named() {
    let desk = with_arrays();
    let fit = "fit features.npy --task regression --interval fast -o x.stonet";
    desk.refuses(
        &format!("{fit} --with other.npy --target other"),
        &["other.npy has 210 rows", "features.npy has 280"],
    );
    desk.refuses(fit, &["features.npy", "no column `y`"]);
    desk.refuses(&format!("{fit} --with none.npy"), &["none.npy: there is no such file"]);
    desk.run("fit features.npy --with y.npy --task regression --interval fast -o arrays.stonet");
    npy(&desk, "narrow.npy", &Array2::zeros((5, 10)));
    desk.refuses("predict arrays.stonet narrow.npy", &["narrow.npy", "2 columns are missing", "`c10`", "`c11`"]);
    desk.refuses("evaluate arrays.stonet new.npy", &["new.npy", "`y`"]);
}

#[test]
fn a_network_takes_arrays_and_gives_them() {
    let desk = with_houses(300);
    let table = desk.table("new.csv", &["id", "region"]);
    let columns: Vec<usize> =
        ["size", "age", "rooms"].map(|n| table.names().iter().position(|m| m == n).unwrap()).into();
    npy(&desk, "raw.npy", &table.select(&columns));
    // Columns of an array have no names, so which go in is said.
    let said = desk.json("features net.onnx raw.npy --inputs c0,c1,c2 -o said.npy");
    assert_eq!(said["columns"].as_array().unwrap().len(), 13);
    let (found, wanted) = (desk.table("said.npy", &[]), desk.table("test.csv", &["id", "region", "price"]));
    assert_eq!(found.values().mapv(|v| v as f32), wanted.values().mapv(|v| v as f32));
}
