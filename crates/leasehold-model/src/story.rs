//! What happened, in lines, for whoever wants to read it.

use crate::clock::TICK;

/// Where the lines go.
#[derive(Debug)]
pub(crate) enum Story {
    /// Nowhere. Nothing is formatted.
    Untold,
    /// Into this list.
    Told(Vec<String>),
}

impl Story {
    /// Tells one line. Formatting is put off: almost all steps have no reader.
    pub(crate) fn tell(&mut self, tick: u8, line: impl FnOnce() -> String) {
        if let Self::Told(lines) = self {
            let millis = (TICK * u32::from(tick)).as_millis();
            lines.push(format!("{millis:>5} ms  {}", line()));
        }
    }

    /// Tells one line of a story without time.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Self::Told(lines) = self {
            lines.push(line());
        }
    }
}
