//! What machines read: JSON, written and never read.
//!
//! By hand: it is the sixty lines below, and a library for it would be the largest dependency of the command but clap.
//! Names of times end with their unit. An object is one line, so that lines can be told apart in a stream.

use std::fmt::{self, Write};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Json>),
    /// Names and values, in the order in which they are written.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// What is not there is null.
    pub(crate) fn or_null<T: Into<Self>>(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }

    pub(crate) fn millis(time: std::time::Duration) -> Self {
        Self::Number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn micros(time: std::time::Duration) -> Self {
        Self::Number(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Json {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<bool> for Json {
    fn from(is_so: bool) -> Self {
        Self::Bool(is_so)
    }
}

impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(is_so) => is_so.fmt(out),
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => quote(out, text),
            Self::List(values) => {
                out.write_char('[')?;
                for (place, value) in values.iter().enumerate() {
                    out.write_str(if place == 0 { "" } else { "," })?;
                    value.fmt(out)?;
                }
                out.write_char(']')
            }
            Self::Object(pairs) => {
                out.write_char('{')?;
                for (place, (name, value)) in pairs.iter().enumerate() {
                    out.write_str(if place == 0 { "" } else { "," })?;
                    quote(out, name)?;
                    write!(out, ":{value}")?;
                }
                out.write_char('}')
            }
        }
    }
}

fn quote(out: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            letter if letter < ' ' || letter == '\u{7f}' => {
                write!(out, "\\u{:04x}", u32::from(letter))?;
            }
            letter => out.write_char(letter)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_written_as_the_standard_has_it() {
        let value = Json::Object(vec![
            ("a", Json::List(vec![Json::Null, true.into(), 7_u64.into()])),
            ("b", "say \"hi\"\\\n\u{1}é".into()),
            ("c", Json::List(Vec::new())),
            ("d", Json::Object(Vec::new())),
        ]);
        let text = r#"{"a":[null,true,7],"b":"say \"hi\"\\\n\u0001é","c":[],"d":{}}"#;
        assert_eq!(value.to_string(), text);
    }
}
