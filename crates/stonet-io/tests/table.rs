//! Columns by name and by pattern.

use ndarray::array;
use stonet_io::{Choice, Problem, Table};

fn table() -> Table {
    let names = ["split", "f0", "f1", "z0", "z1", "y"].map(String::from).into();
    let values = array![[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 6.0, 7.0, 8.0, 9.0, 10.0]];
    Table::new("t.csv", names, values).unwrap()
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

#[test]
fn inputs_default_to_everything_else_in_the_order_of_the_file() {
    let data = table().dataset(None, &words(&["y"]), &words(&["split"])).unwrap();
    assert_eq!(data.x(), array![[1.0, 2.0, 3.0, 4.0], [6.0, 7.0, 8.0, 9.0]]);
    assert_eq!(data.y(), array![[5.0], [10.0]]);
    let named = table().dataset(Some(&words(&["z*", "f0", "y"])), &words(&["y", "f1"]), &words(&["z0"])).unwrap();
    assert_eq!(named.x(), array![[4.0, 1.0], [9.0, 6.0]]);
    assert_eq!(named.y(), array![[5.0, 2.0], [10.0, 7.0]]);
}

#[test]
fn patterns_keep_the_order_asked_for_and_take_no_column_twice() {
    assert_eq!(table().columns(&words(&["z?", "f1", "*1"])).unwrap(), [3, 4, 2]);
    let chosen = table().choose(Some(&words(&["f*"])), &words(&["z1", "z0"]), &[]).unwrap();
    assert_eq!(chosen, Choice { inputs: vec![1, 2], targets: vec![4, 3] });
    assert_eq!(table().column("z1").unwrap(), array![4.0, 9.0]);
}

#[test]
fn a_name_with_a_star_is_first_of_all_a_name() {
    let t = Table::new("t.csv", words(&["a*", "ab", "y"]), array![[1.0, 2.0, 3.0]]).unwrap();
    assert_eq!(t.columns(&words(&["a*"])).unwrap(), [0]);
    assert_eq!(t.columns(&words(&["a?"])).unwrap(), [0, 1]);
}

#[test]
fn columns_that_are_not_there_are_answered_with_the_nearest() {
    let e = table().column("Z3").unwrap_err().to_string();
    assert!(e.starts_with("t.csv: there is no column `Z3`; there are `z0`, `z1`, "), "{e}");
    let e = table().columns(&words(&["g*"])).unwrap_err();
    assert!(
        matches!(e.problem(), Some(Problem::NoMatch { .. }))
            && e.to_string().contains("no column matches `g*`; there are"),
        "{e}"
    );
}

#[test]
fn choices_that_leave_nothing_are_errors() {
    assert!(matches!(table().dataset(None, &[], &[]), Err(e) if matches!(e.problem(), Some(Problem::NoTarget { .. }))));
    assert!(
        matches!(table().dataset(None, &words(&["y"]), &words(&["*"])), Err(e) if matches!(e.problem(), Some(Problem::NoInputs)))
    );
    assert!(Table::new("t.csv", words(&["a"]), array![[1.0, 2.0]]).is_err());
    assert!(
        matches!(Table::new("t.csv", words(&["a", "a"]), array![[1.0, 2.0]]), Err(e) if matches!(e.problem(), Some(Problem::DuplicateColumn { .. })))
    );
}
