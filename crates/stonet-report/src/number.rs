//! Numbers as people read them, and as JSON keeps them where they are infinite.

/// Four significant digits, thousands apart by commas; ∞ and – for what is no number.
pub fn shown(v: f64) -> String {
    if v.is_nan() {
        return "–".into();
    }
    if v.is_infinite() {
        return if v > 0.0 { "∞".into() } else { "−∞".into() };
    }
    if v == 0.0 {
        return "0".into();
    }
    let power = v.abs().log10().floor();
    if !(-4.0..7.0).contains(&power) {
        return format!("{v:.2e}");
    }
    let decimals = (3.0 - power).clamp(0.0, 7.0) as usize;
    grouped(&format!("{v:.decimals$}"))
}

/// Commas between the thousands of a number as text: 1234567.5 as 1,234,567.5.
pub fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (whole, after) = rest.split_at(digits);
    let mut out = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + after
}

/// A whole number: 12,345.
pub fn whole(n: usize) -> String {
    grouped(&n.to_string())
}

/// A time in the unit that suits it: 26.8 µs, 3.21 s, 2.4 min.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return shown(seconds);
    }
    if seconds == 0.0 {
        return "0 s".into();
    }
    // Limits lie where rounding would show 1000 of the smaller unit.
    let (value, unit) = match seconds {
        s if s < 0.999_5e-6 => (1e9 * s, "ns"),
        s if s < 0.999_5e-3 => (1e6 * s, "µs"),
        s if s < 0.999_5 => (1e3 * s, "ms"),
        s if s < 119.95 => (s, "s"),
        s if s < 119.95 * 60.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{} {unit}", grouped(&format!("{value:.decimals$}")))
}

/// A part of a whole in per cent; what would be rounded to nothing is said to be small.
pub fn share(v: f64) -> String {
    if v > 0.0 && v < 0.000_5 { "< 0.1 %".into() } else { percent(v) }
}

/// One decimal, as 89.4.
pub fn points(v: f64) -> String {
    if v.is_finite() { format!("{:.1}", 100.0 * v) } else { shown(v) }
}

/// As 89.4 %.
pub fn percent(v: f64) -> String {
    if v.is_finite() { format!("{} %", points(v)) } else { shown(v) }
}

/// A level as it was typed: 90 %, 99.5 %.
pub fn level(v: f64) -> String {
    let text = format!("{:.3}", 100.0 * v);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// With a capital letter at the beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    first + letters.as_str()
}

/// One, or many with the number before them.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", whole(n)) }
}

/// JSON has no infinity; serde_json would write null and refuse to read it back.
pub mod real {
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Real {
        Number(f64),
        Text(String),
    }

    /// A number, or the word for what is none.
    pub fn serialize<S: Serializer>(v: &f64, s: S) -> Result<S::Ok, S::Error> {
        if v.is_finite() { s.serialize_f64(*v) } else { s.serialize_str(&v.to_string()) }
    }

    /// From either.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        match Real::deserialize(d)? {
            Real::Number(v) => Ok(v),
            Real::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[test]
    fn numbers_have_four_digits() {
        for (v, text) in [
            (0.0, "0"),
            (1234.56, "1,235"),
            (-1_234_567.8, "-1,234,568"),
            (999.96, "1,000.0"),
            (12.3456, "12.35"),
            (0.012342, "0.01234"),
            (-2.5, "-2.500"),
            (1.2e9, "1.20e9"),
            (3.2e-7, "3.20e-7"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(shown(v), text);
        }
        assert_eq!((percent(0.8944), level(0.9), level(0.995)), ("89.4 %".into(), "90 %".into(), "99.5 %".into()));
        assert_eq!((count(1, "row"), count(2, "row")), ("1 row".into(), "2 rows".into()));
        assert_eq!(
            (count(12_345, "row"), whole(999), whole(1000)),
            ("12,345 rows".into(), "999".into(), "1,000".into())
        );
    }

    #[test]
    fn times_have_the_unit_that_suits_them() {
        for (v, text) in [
            (0.0, "0 s"),
            (3.2e-8, "32.0 ns"),
            (2.68e-5, "26.8 µs"),
            (0.000_999_9, "1.00 ms"),
            (0.0123, "12.3 ms"),
            (0.999_9, "1.00 s"),
            (4.567, "4.57 s"),
            (119.9, "120 s"),
            (150.0, "2.50 min"),
            (7200.0, "2.00 h"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(duration(v), text);
        }
    }

    #[test]
    fn a_small_share_is_not_shown_as_nothing() {
        assert_eq!((share(0.000_4), share(0.000_6), share(0.0)), ("< 0.1 %".into(), "0.1 %".into(), "0.0 %".into()));
    }

    #[test]
    fn infinite_numbers_survive_json() {
        #[derive(Serialize, Deserialize)]
        struct One(#[serde(with = "real")] f64);
        for v in [1.5, 2.0, f64::INFINITY, f64::NEG_INFINITY] {
            let text = serde_json::to_string(&One(v)).unwrap();
            assert_eq!(serde_json::from_str::<One>(&text).unwrap().0, v, "{text}");
        }
        assert!(serde_json::from_str::<One>("\"wide\"").is_err());
    }
}
