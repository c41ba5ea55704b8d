//! What a label is beside its text: a word, a whole number, a truth value, a date, a time or another number.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::base::names::named;

/// Days of the months of a year that is not a leap year.
const MONTHS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The kind of the labels of a classification; all classes have the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LabelKind {
    /// `text`.
    Text,
    /// `integer`: whole numbers of up to 64 bits.
    Integer,
    /// `boolean`: `true` and `false`, in upper or lower case.
    Boolean,
    /// `date`: a day, such as `2024-02-29`.
    Date,
    /// `datetime`: a time without a time zone, to the microsecond, such as `2024-02-29T12:30:00`.
    Datetime,
    /// `float`: any finite number.
    Float,
}

impl LabelKind {
    /// All of them.
    pub const ALL: [LabelKind; 6] = [
        LabelKind::Text,
        LabelKind::Integer,
        LabelKind::Boolean,
        LabelKind::Date,
        LabelKind::Datetime,
        LabelKind::Float,
    ];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            LabelKind::Text => "text",
            LabelKind::Integer => "integer",
            LabelKind::Boolean => "boolean",
            LabelKind::Date => "date",
            LabelKind::Datetime => "datetime",
            LabelKind::Float => "float",
        }
    }

    /// The kind of labels of which only the text is known: the narrowest that all of them have.
    pub fn of_texts(texts: &[impl AsRef<str>]) -> Self {
        use LabelKind::{Boolean, Date, Datetime, Float, Integer, Text};
        let all = |kind: LabelKind| texts.iter().all(|t| kind.fits(t.as_ref()));
        [Integer, Boolean, Date, Datetime, Float].into_iter().find(|kind| all(*kind)).unwrap_or(Text)
    }

    /// Whether a text is how a label of this kind is usually written. `007` is a code and not a number.
    fn fits(self, text: &str) -> bool {
        match self {
            LabelKind::Integer | LabelKind::Float => !is_code(text) && self.key(text).is_some(),
            LabelKind::Boolean => truth(text).is_some(),
            _ => self.key(text).is_some(),
        }
    }

    /// What two texts of the same label have in common; none where a text is no label of this kind.
    pub(crate) fn key(self, text: &str) -> Option<Cow<'_, str>> {
        let trimmed = text.trim();
        match self {
            LabelKind::Text => Some(text.into()),
            LabelKind::Integer => {
                let exact = trimmed.parse::<i64>().ok();
                exact.or_else(|| whole(trimmed)).map(|v| v.to_string().into())
            }
            LabelKind::Boolean => {
                let number = || whole(trimmed).filter(|v| (0..=1).contains(v)).map(|v| v == 1);
                truth(trimmed).or_else(number).map(|t| t.to_string().into())
            }
            LabelKind::Date => days(trimmed).map(|d| d.to_string().into()),
            LabelKind::Datetime => microseconds(trimmed).map(|t| t.to_string().into()),
            LabelKind::Float => {
                let value = trimmed.parse().ok().filter(|v: &f64| v.is_finite());
                // Zero has two signs.
                value.map(|v| (v + 0.0).to_string().into())
            }
        }
    }

    /// The truth value that a label says.
    pub fn truth(text: &str) -> Option<bool> {
        LabelKind::Boolean.key(text).map(|key| key == "true")
    }

    /// Days since 1970-01-01 of a date.
    pub fn days(text: &str) -> Option<i32> {
        days(text.trim()).and_then(|d| d.try_into().ok())
    }

    /// Microseconds since 1970-01-01 of a time.
    pub fn microseconds(text: &str) -> Option<i64> {
        microseconds(text.trim())
    }

    /// The date of so many days since 1970-01-01, such as `2024-02-29`; none outside of the years 1 to 9999.
    pub fn date(days: i64) -> Option<String> {
        date_text(days)
    }

    /// The time of so many microseconds since 1970-01-01, such as `2024-02-29T12:30:00`, with six more digits where
    /// they are not zero; none outside of the years 1 to 9999.
    pub fn datetime(microseconds: i64) -> Option<String> {
        let (day, rest) = (microseconds.div_euclid(DAY), microseconds.rem_euclid(DAY));
        let (seconds, micro) = (rest / 1_000_000, rest % 1_000_000);
        let fraction = if micro == 0 { String::new() } else { format!(".{micro:06}") };
        let [hour, minute, second] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
        Some(format!("{}T{hour:02}:{minute:02}:{second:02}{fraction}", date_text(day)?))
    }
}

named!(LabelKind, "kind of label");

/// The whole number that a text writes, such as `3`, `3.0` or `3e0`. Beyond 2^53 neighbours would run together: those
/// stay text.
pub(crate) fn whole(text: &str) -> Option<i64> {
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0).then_some(value as i64)
}

/// Whether digits stand behind a zero in front, as in `007`: such labels are codes, and the zeros belong to them.
pub(crate) fn is_code(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']).as_bytes();
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

fn truth(text: &str) -> Option<bool> {
    match () {
        () if text.eq_ignore_ascii_case("true") => Some(true),
        () if text.eq_ignore_ascii_case("false") => Some(false),
        () => None,
    }
}

/// Days since 1970-01-01; a time of day is allowed where it is midnight, as tables of dates are often written.
fn days(text: &str) -> Option<i64> {
    let time = microseconds(text)?;
    (time % DAY == 0).then_some(time.div_euclid(DAY))
}

/// `YYYY-MM-DD` of so many days since 1970-01-01; none outside of the years 1 to 9999.
fn date_text(days: i64) -> Option<String> {
    if !(civil(1, 1, 1)?..=civil(9999, 12, 31)?).contains(&days) {
        return None;
    }
    // Not after the year of that day, whichever way it lies from 1970, and then year by year.
    let mut year = (1970 + days.div_euclid(366).min(days.div_euclid(365))).max(1);
    while civil(year + 1, 1, 1)? <= days {
        year += 1;
    }
    let month = (1..=12).rev().find(|&m| civil(year, m, 1).is_some_and(|first| first <= days))?;
    Some(format!("{year:04}-{month:02}-{:02}", days - civil(year, month, 1)? + 1))
}

/// Microseconds since 1970-01-01 of `YYYY-MM-DD`, perhaps with `T` or a blank and `hh:mm`, `hh:mm:ss` or more digits
/// behind it.
fn microseconds(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let day = civil(year, month, day)?;
    Some(day * DAY + time.map_or(Some(0), time_of_day)?)
}

/// Microseconds since midnight.
fn time_of_day(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |s| number(s, 2))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Digits beyond the sixth are nanoseconds, which have to be zero.
    let (micro, nano) = fraction.split_at_checked(6).unwrap_or((fraction, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) || nano.bytes().any(|b| b != b'0') {
        return None;
    }
    let micro: i64 = format!("{micro:0<6}").parse().ok()?;
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000 + micro)
}

/// A number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let sound = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    if sound { text.parse().ok() } else { None }
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = |y: i64| i64::from(y % 4 == 0 && (y % 100 != 0 || y % 400 == 0));
    let length = |m: i64| MONTHS.get(m as usize).map(|d| if m == 1 { d + leap(year) } else { *d });
    if day < 1 || day > length(month - 1)? {
        return None;
    }
    // Leap years before a year, from year 0 on.
    let leaps = |y: i64| (y + 3) / 4 - (y + 99) / 100 + (y + 399) / 400;
    let years = 365 * (year - 1970) + leaps(year) - leaps(1970);
    let months: i64 = (0..month - 1).filter_map(length).sum();
    Some(years + months + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_by_known_values() {
        // Against numpy's datetime64.
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2024-03-01", 19_783),
            ("0001-01-01", -719_162),
        ] {
            assert_eq!(LabelKind::days(text), Some(days), "{text}");
        }
        assert_eq!(LabelKind::days("2000-02-29 00:00:00"), Some(11_016));
        for days in (-719_162..2_932_897).step_by(97).chain([-719_162, -1, 0, 11_016, 2_932_896]) {
            let text = LabelKind::date(days).unwrap();
            assert_eq!(LabelKind::days(&text).map(i64::from), Some(days), "{text}");
            for micro in [0, 1, 43_200_000_000, 86_399_999_999] {
                let text = LabelKind::datetime(days * 86_400_000_000 + micro).unwrap();
                assert_eq!(LabelKind::microseconds(&text), Some(days * 86_400_000_000 + micro), "{text}");
            }
        }
        assert_eq!((LabelKind::date(-719_163), LabelKind::date(2_932_897)), (None, None));
        assert_eq!(LabelKind::datetime(1_709_210_096_000_000).as_deref(), Some("2024-02-29T12:34:56"));
        for text in
            ["2023-02-29", "2024-13-01", "2024-00-01", "2024-01-32", "2024-1-1", "2024-01", "2024-01-01T05:00", "x"]
        {
            assert_eq!(LabelKind::days(text), None, "{text}");
        }
        assert_eq!(LabelKind::microseconds("1970-01-01T00:00:01.5"), Some(1_500_000));
        assert_eq!(LabelKind::microseconds("1970-01-02 01:02"), Some(DAY + 3_720_000_000));
        assert_eq!(LabelKind::microseconds("1970-01-01T00:00:00.000001000"), Some(1));
        for text in [
            "1970-01-01T00:00:00.0000001",
            "1970-01-01T24:00",
            "1970-01-01T1:00",
            "1970-01-01T01:00:00:00",
            "1970-01-01T01:00Z",
        ] {
            assert_eq!(LabelKind::microseconds(text), None, "{text}");
        }
    }

    #[test]
    fn the_narrowest_kind_that_all_texts_have() {
        for (texts, kind) in [
            (&["1", "-2", "3.0"][..], LabelKind::Integer),
            (&["0.5", "1"], LabelKind::Float),
            (&["True", "false"], LabelKind::Boolean),
            (&["2024-02-29", "2023-01-01"], LabelKind::Date),
            (&["2024-02-29", "2023-01-01 12:00:00"], LabelKind::Datetime),
            (&["01", "02"], LabelKind::Text),
            (&["1", "cat"], LabelKind::Text),
            (&["inf", "1"], LabelKind::Text),
        ] {
            assert_eq!(LabelKind::of_texts(texts), kind, "{texts:?}");
        }
    }
}
