//! Closed sets that users choose from by name: text, serde and errors follow from `ALL` and `name()`.

/// Display, FromStr and serde's conversions for an enum with `ALL` and `name()`; `$what` is the setting that messages
/// name.
macro_rules! named {
    ($type:ty, $what:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;
            fn from_str(name: &str) -> $crate::Result<Self> {
                <$type>::ALL.into_iter().find(|v| v.name() == name).ok_or_else(|| $crate::Error::UnknownName {
                    what: $what,
                    name: name.to_owned(),
                    known: <$type>::ALL.map(|v| v.name()).join(", "),
                })
            }
        }

        impl TryFrom<String> for $type {
            type Error = $crate::Error;
            fn try_from(name: String) -> $crate::Result<Self> {
                name.parse()
            }
        }

        impl From<$type> for String {
            fn from(v: $type) -> String {
                v.name().to_owned()
            }
        }
    };
}

pub(crate) use named;
