//! What is wrong with a file of settings: its line, the setting, and what is allowed there.

use stonet_io::explain;

/// The place of an error and its text.
pub fn explained(text: &str, error: &toml::de::Error) -> (String, String) {
    let why = explain(error.message(), "setting");
    let Some(start) = error.span().map(|s| s.start).filter(|&s| text.is_char_boundary(s)) else {
        return (String::new(), why);
    };
    let place = format!(", line {}", text[..start].matches('\n').count() + 1);
    // Only a value needs the name of its setting; other messages have it.
    match setting(text, start).filter(|_| why.contains(" stands where ") || why.contains(" is not allowed; ")) {
        Some(name) => (place, format!("{name}: {why}")),
        None => (place, why),
    }
}

/// The setting on the line of this byte, with its section in front: `stonet.steps`.
fn setting(text: &str, at: usize) -> Option<String> {
    let before = &text[..at];
    let line = text[before.rfind('\n').map_or(0, |i| i + 1)..].lines().next()?;
    let key = line.split_once('=')?.0.trim();
    let header = |line: &str| line.trim().strip_prefix('[')?.split_once(']').map(|(name, _)| name.trim().to_owned());
    let section = before.lines().rev().skip(1).find_map(header);
    Some(section.map_or_else(|| key.to_owned(), |section| format!("{section}.{key}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (String, String) {
        explained(text, &toml::from_str::<stonet::PostStoNetRegressor>(text).unwrap_err())
    }

    #[test]
    fn settings_are_named_with_their_line_and_what_is_allowed() {
        let (place, why) = of("folds = 5\nfold = 3\n");
        assert_eq!(place, ", line 2");
        assert!(why.starts_with("there is no setting `fold`; there are `kind`, `folds`"), "{why}");
        assert_eq!(of("\nfolds = \"five\"\n").1, "folds: the text \"five\" stands where a whole number is needed");
        let (place, why) = of("[stonet]\nhidden = [5]\nsteps = 1.5\n");
        assert_eq!(place, ", line 3");
        assert!(why.starts_with("stonet.steps: the number 1.5 stands where a whole number is needed"), "{why}");
        let (_, why) = of("kind = \"exact\"\n");
        assert!(why.contains("exact") && why.contains("stack"), "{why}");
        assert!(!of("folds 5\n").1.contains("TOML parse error"));
    }
}
