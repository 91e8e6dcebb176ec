//! Why the command ends without having done its work.

use crate::{exit_code, output};

/// An end that has to be explained: what to say, what to suggest, and the exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) text: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    /// An end with this code.
    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            hint: None,
        }
    }

    /// An end because leasehold itself, or the machine below it, failed.
    pub(crate) fn own(text: impl Into<String>) -> Self {
        Self::new(exit_code::FAILED, text)
    }

    /// An end of which there is nothing to say.
    pub(crate) const fn quiet(code: u8) -> Self {
        Self {
            code,
            text: String::new(),
            hint: None,
        }
    }

    /// Whether there is nothing to say of it.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.text.is_empty()
    }

    /// With a way out, if there is one to suggest.
    pub(crate) fn hint(mut self, hint: impl Into<Option<String>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Says it.
    pub(crate) fn tell(&self) {
        if self.is_quiet() {
            return;
        }
        // With -E 0, a lock that is held elsewhere is no error. Of an error, --quiet leaves the hint out.
        match self.code {
            exit_code::SUCCESS => output::talk(&self.text),
            _ => output::error(&self.text),
        }
        self.hint.iter().for_each(output::hint);
    }
}
