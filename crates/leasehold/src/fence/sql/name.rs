//! Names of tables and columns.

use std::{error::Error, fmt};

/// A name of a table or a column cannot be used.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// It is none that every database takes without quotes.
    Malformed {
        /// The name.
        name: String,
    },
    /// One statement would set the column twice.
    Twice {
        /// The column.
        column: String,
    },
}

impl fmt::Display for NameError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { name } => write!(
                out,
                "use {name:?} as a name in SQL: give letters, digits and _, not beginning with a digit, at most \
                 {LONGEST}; for a table, a schema and a dot may come before"
            ),
            Self::Twice { column } => {
                write!(out, "set the column {column:?} twice in one statement")
            }
        }
    }
}

impl Error for NameError {}

leasehold_core::debug_by_sentence!(NameError {
    Malformed { name },
    Twice { column },
});

/// The name, if it is a column's.
///
/// Names are written as they are given, without quotes: so they mean what they mean in statements written by hand.
/// (Quoted ones would be told apart by case in PostgreSQL, and be a text in SQLite if there is no such column.) A
/// word that the database keeps for itself it refuses itself.
pub(super) fn column(name: &str) -> Result<String, NameError> {
    let is_first = |letter: u8| letter.is_ascii_alphabetic() || letter == b'_';
    let bytes = name.as_bytes();
    let is_name = bytes.first().copied().is_some_and(is_first)
        && bytes
            .iter()
            .all(|&letter| is_first(letter) || letter.is_ascii_digit())
        && name.len() <= LONGEST;
    if !is_name {
        let name = name.to_owned();
        return Err(NameError::Malformed { name });
    }
    Ok(name.to_owned())
}

/// The name, if it is a table's: with or without a schema.
pub(super) fn table(name: &str) -> Result<String, NameError> {
    let (schema, table) = name
        .split_once('.')
        .map_or((None, name), |(schema, table)| (Some(schema), table));
    let parts = schema.into_iter().chain([table]);
    parts
        .map(column)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| {
            // The whole of it, as it was given.
            let name = name.to_owned();
            NameError::Malformed { name }
        })?;
    Ok(name.to_owned())
}

/// What PostgreSQL keeps of a name; it cuts off the rest without a word.
const LONGEST: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        let longest = "x".repeat(LONGEST);
        for good in ["a", "_", "Account_2", longest.as_str()] {
            assert_eq!(column(good).as_deref(), Ok(good));
            assert_eq!(table(good).as_deref(), Ok(good));
        }
        assert_eq!(table("bank.account").as_deref(), Ok("bank.account"));
        let too_long = "x".repeat(LONGEST + 1);
        for bad in [
            "",
            "2x",
            "a b",
            "a-b",
            "a;",
            "a'",
            "\"a\"",
            "`a`",
            "a\0",
            "a\n",
            "é",
            "a.b",
            "a--",
            too_long.as_str(),
        ] {
            let name = bad.to_owned();
            assert_eq!(column(bad), Err(NameError::Malformed { name }));
        }
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a.b.c",
            "a..b",
            "a. b",
            "a; DROP TABLE b",
        ] {
            let name = bad.to_owned();
            assert_eq!(table(bad), Err(NameError::Malformed { name }));
        }
    }

    #[test]
    fn a_bad_name_is_told_with_what_would_be_good() {
        let error = column("a b").expect_err("a blank");
        assert!(
            error
                .to_string()
                .starts_with("use \"a b\" as a name in SQL: give letters"),
            "{error}"
        );
    }
}
