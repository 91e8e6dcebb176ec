//! What is wrong with a variable or a file that says where to lock.

use std::{error::Error, fmt};

/// What is wrong with a variable or a configuration file that says where to lock. Its text names the variable, or the file
/// and the line, says what is wrong there, and ends with the way out.
#[derive(Clone, PartialEq, Eq)]
pub struct SettingsError {
    text: String,
    hint: Option<String>,
}

impl SettingsError {
    #[cfg(feature = "config")]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let (text, hint) = (text.into(), None);
        Self { text, hint }
    }

    #[cfg(feature = "config")]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong, without the way out.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.text
    }

    /// The way out; none where what is wrong says it.
    #[must_use]
    pub fn way_out(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)?;
        match &self.hint {
            None => Ok(()),
            Some(hint) => write!(out, "; {hint}"),
        }
    }
}

impl Error for SettingsError {}

leasehold_core::debug_by_sentence!(struct SettingsError { text, hint });
