//! The words of a command, as they lie in its bytes.

use crate::link::redis::{codec::digits, glance::bulk};
use std::ops::Range;

/// The words of a command, one after the other.
#[derive(Clone, Debug)]
pub(in crate::link::redis) struct Words<'a> {
    pub(super) rest: &'a [u8],
    /// How many there are; none once one of them is not there.
    pub(super) left: Option<usize>,
}

impl<'a> Words<'a> {
    /// The words of the command that `wire` begins with.
    pub(super) fn of(wire: &'a [u8]) -> Option<Self> {
        let (left, rest) = digits(wire.strip_prefix(b"*")?)?;
        let (left, rest) = (usize::try_from(left).ok(), rest.strip_prefix(b"\r\n")?);
        Some(Self { rest, left })
    }

    /// Where the next word stands in `wire`, which they are of.
    pub(super) fn place(&mut self, wire: &[u8]) -> Option<Range<usize>> {
        let length = self.next()?.len();
        let end = wire.len() - self.rest.len() - b"\r\n".len();
        Some(end - length..end)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let left = self.left?.checked_sub(1)?;
        let found = bulk(self.rest);
        self.left = found.is_some().then_some(left);
        let (part, rest) = found?;
        self.rest = rest;
        Some(part)
    }
}
