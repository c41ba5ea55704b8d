//! Numbers as people read them, and as JSON keeps them where they are infinite.

/// Four significant digits; ∞ and – for what is no number.
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
    format!("{v:.decimals$}")
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

/// One, or many with the number before them.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
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
            (1234.56, "1235"),
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
