//! Words for rows that were fitted on, in place of "new rows".

use stonet::Overlap;

use crate::number::{capital, percent};

/// A row by its name, which is `new` unless rows were fitted on.
pub fn called(seen: Option<&Overlap>, name: &str) -> String {
    if seen.is_some_and(Overlap::any) { name.to_owned() } else { format!("new {name}") }
}

/// What a verdict adds where rows were fitted on.
pub fn addition(seen: Option<&Overlap>) -> String {
    seen.filter(|o| o.any()).map_or(String::new(), |o| format!("; but {}", o.text()))
}

/// The overlap as a sentence of its own.
pub fn sentence(seen: Option<&Overlap>) -> String {
    let text = seen.map_or(
        "whether rows were fitted on is not known: the head has no fingerprints of its rows".into(),
        Overlap::text,
    );
    format!("{}.", capital(&text))
}

/// The overlap beside the number of rows.
pub fn short(seen: Option<&Overlap>) -> String {
    match seen {
        Some(o) if o.any() => format!("{} of them fitted on", percent(o.share)),
        Some(o) if o.checked > 0 => "not used for fitting".into(),
        _ => "not known whether fitted on".into(),
    }
}

/// Whether too many rows were fitted on for the result to count.
pub fn voids(seen: Option<&Overlap>) -> bool {
    seen.is_some_and(Overlap::too_many)
}
