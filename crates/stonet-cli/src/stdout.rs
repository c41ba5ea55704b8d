//! Standard output, and text that is safe to show on a terminal or to give to a shell.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use crate::error::Result;

/// Prints to standard output. A reader that has seen enough (`| head`) is no error.
pub fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(stonet_compare::Error::Io { path: "standard output".into(), action: "write", source }.into())
        }
        _ => Ok(()),
    }
}

/// Text for people with its control characters made visible: a column name, a label or a cell of a hostile file may hold
/// sequences that move the cursor, rename the window or turn the direction of what follows. JSON has its own escapes.
pub fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (c.is_control() && c != '\n' && c != '\t')
    };
    if !text.contains(hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Text as a shell takes it for one word: in quotes where it would read it otherwise.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// A path as a shell takes it.
pub fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_the_rest_is_kept_and_quoted_for_a_shell() {
        assert_eq!(visible("größe\t1 °C\n"), "größe\t1 °C\n");
        assert_eq!(quoted("größe,b-1"), "größe,b-1");
        assert_eq!((quoted("f*"), quoted("it's"), quoted("")), ("'f*'".into(), "'it'\\''s'".into(), "''".into()));
        assert_eq!(visible("a\u{1b}[31m\u{7}b\u{9b}0m\r\u{202e}c"), "a\\u{1b}[31m\\u{7}b\\u{9b}0m\\u{d}\\u{202e}c");
    }
}
