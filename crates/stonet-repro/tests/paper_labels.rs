//! PAPER.md names every label of the paper, and no label twice in the list.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_label_of_the_paper_is_named() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(here.join(path)).unwrap();
    let (labels, paper) = (read("paper/labels.txt"), read("../../PAPER.md"));
    let missing: Vec<&str> = labels.lines().filter(|label| !paper.contains(&format!("`{label}`"))).collect();
    assert!(missing.is_empty(), "PAPER.md does not name {missing:?}");
    let different: BTreeSet<&str> = labels.lines().collect();
    assert_eq!((different.len(), labels.lines().count()), (56, 56));
}
