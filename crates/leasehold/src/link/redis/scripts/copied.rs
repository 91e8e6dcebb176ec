//! Where else a vote must be before it counts.

use super::Encoder;
use crate::{disks::Disks, link::redis::copies::Copies};
use std::time::Duration;

impl Encoder {
    /// With votes that count only when so many replicas have heard of them.
    pub(crate) fn heard_by(self, replicas: u32, within: Duration) -> Self {
        self.copied(Copies::heard_by(replicas, within))
    }

    /// With votes that count only when they are on these disks.
    pub(crate) fn written_to(self, disks: Disks, within: Duration) -> Self {
        self.copied(Copies::written_to(disks, within))
    }

    /// With votes of which there must be these copies as well.
    pub(in crate::link::redis) fn copied(mut self, copies: Copies) -> Self {
        self.copies.push(copies);
        self
    }
}
