//! Promises of intervals, sets and bounds hold over independent replications: the cheap cells of the table whose full
//! run is in docs/results/validity.

#[path = "common/validity/mod.rs"]
mod validity;

use stonet::Kind;
use validity::judge::{assert_kept, rejected, student};
use validity::situations::cells;
use validity::{Cell, Found, Method, REPLICATIONS};

/// Cells whose fits cost little, and fits of StoNets on few rows.
fn is_cheap(cell: &Cell) -> bool {
    cell.cost() < 8.0 || cell.method == Method::Intervals(Kind::Split) && cell.rows() <= 60
}

#[test]
fn cheap_cells_keep_their_promises() {
    let mut all: Vec<(String, Found)> = Vec::new();
    for cell in cells().into_iter().filter(is_cheap) {
        let name = format!("{}, {}", cell.situation(), cell.method.name());
        let begin = std::time::Instant::now();
        match cell.run(REPLICATIONS) {
            Ok(found) => all.extend(found.into_iter().map(|f| (name.clone(), f))),
            Err(e) => panic!("{name}: {e}"),
        }
        println!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
    }
    assert_kept(&all);
}

#[test]
fn tails_of_student_and_holms_steps() {
    // Quantiles of tables: 5 % and 0.1 % of 9 and 199 degrees of freedom.
    for (t, freedom, p) in [(-1.833113, 9.0, 0.05), (-4.296806, 9.0, 0.001), (-3.131481, 199.0, 0.001), (0.0, 5.0, 0.5)]
    {
        assert!((student(t, freedom) - p).abs() < 1e-6, "{t}: {}", student(t, freedom));
        assert!((student(-t, freedom) - (1.0 - p)).abs() < 1e-6);
    }
    // 0.01/4, 0.01/3, 0.01/2: the third is too large, and so the fourth is kept although it is below 0.01.
    assert_eq!(rejected(&[0.003, 0.0024, 0.009, 0.006]), [true, true, false, false]);
    assert_eq!(rejected(&[0.003, 0.5]), [true, false]);
    assert!(rejected(&[]).is_empty());
}
