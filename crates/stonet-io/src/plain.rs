//! Messages of serde in words for people who read or write the file, and not its parser.

/// What a parser says about a field (`noun` is what the file calls one), with the field's name and what is allowed, and
/// without types of Rust.
///
/// ```
/// let said = "unknown field `fold`, expected `folds` or `level`";
/// assert_eq!(stonet_io::explain(said, "setting"), "there is no setting `fold`; there are `folds` or `level`");
/// let said = "invalid type: string \"many\", expected usize at line 1 column 9";
/// assert_eq!(stonet_io::explain(said, "setting"), "the text \"many\" stands where a whole number is needed");
/// ```
pub fn explain(message: &str, noun: &str) -> String {
    let message = without_place(message);
    let quoted = |prefix: &str| message.strip_prefix(prefix)?.split_once("`, ");
    if let Some((name, rest)) = quoted("unknown field `") {
        let known = allowed(rest);
        return format!("there is no {noun} `{name}`; there are {known}");
    }
    if let Some((name, rest)) = quoted("unknown variant `") {
        return format!("`{name}` is not allowed; allowed are {}", allowed(rest));
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("the {noun} {name} is missing");
    }
    if let Some(name) = message.strip_prefix("duplicate field ") {
        return format!("the {noun} {name} stands there twice");
    }
    let value =
        ["invalid type: ", "invalid value: "].iter().find_map(|p| message.strip_prefix(p)?.split_once(", expected "));
    match value {
        Some((found, wanted)) => format!("{} stands where {} is needed", found_value(found), wanted_value(wanted)),
        None => message.to_owned(),
    }
}

/// serde_json says where in the text of one line it stopped.
fn without_place(message: &str) -> &str {
    match message.rfind(" at line ") {
        Some(at) if message[at..].contains(" column ") => &message[..at],
        _ => message,
    }
}

fn allowed(rest: &str) -> &str {
    rest.strip_prefix("expected one of ").or_else(|| rest.strip_prefix("expected ")).unwrap_or("none")
}

fn found_value(found: &str) -> String {
    let number = |prefix: &str| found.strip_prefix(prefix).map(|n| format!("the number {}", n.trim_matches('`')));
    match found {
        "map" => "a section".into(),
        "sequence" => "a list".into(),
        "null" | "unit value" => "nothing".into(),
        _ => None
            .or_else(|| number("integer "))
            .or_else(|| number("floating point "))
            .or_else(|| found.strip_prefix("boolean ").map(|b| b.trim_matches('`').to_owned()))
            .or_else(|| found.strip_prefix("string ").map(|s| format!("the text {s}")))
            .unwrap_or_else(|| found.to_owned()),
    }
}

fn wanted_value(wanted: &str) -> &str {
    match wanted {
        "usize" | "u8" | "u16" | "u32" | "u64" => "a whole number",
        "isize" | "i8" | "i16" | "i32" | "i64" => "a whole number, also a negative one,",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string" | "str" => "a text",
        _ if wanted.starts_with("a sequence") => "a list",
        _ if wanted.starts_with("struct ") || wanted.starts_with("a map") => "a section",
        _ => wanted,
    }
}
