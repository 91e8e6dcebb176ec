//! What a link knows of the server at the other end of its connection.

use crate::link::redis::{codec, copies::OwnDisk, native::Native};
use leasehold_core::quarantine::Disk;

/// What one connection adds to the commands that all links have in common.
#[derive(Clone, Debug)]
pub(in super::super) struct ServerInfo {
    id: String,
    /// What takes the place of scripts, if they cannot be run.
    pub(in super::super) native: Option<Native>,
    /// Whether what it says of its own disk can be believed.
    pub(in super::super) own_disk: OwnDisk,
    /// Whether a proxy may stand before it that reads what it passes on. It may pass each lock's requests on to another server.
    pub(in super::super) is_proxied: bool,
    /// Whether it votes for a list of nodes that follows ours.
    pub(in super::super) is_superseding: bool,
    /// What votes and extensions end with: what clients rely on the disk for, and the process.
    pub(super) attested: Vec<u8>,
}

impl ServerInfo {
    /// Of a connection to the process `id`, which is empty if it is not known. `disk` is what clients rely on the disk of
    /// that process for, and whether its settings let them.
    pub(in super::super) fn new(id: String, disk: Disk) -> Self {
        let mut met = Self {
            id,
            native: None,
            own_disk: OwnDisk::IfDurable(false),
            is_proxied: false,
            is_superseding: false,
            attested: Vec::new(),
        };
        met.rely(disk);
        met
    }

    /// Of a connection of which nothing is known yet.
    pub(in super::super) fn nobody(disk: Disk) -> Self {
        Self::new(String::new(), disk)
    }

    /// The process that was met when the connection was opened; empty if it is not known.
    pub(in super::super) fn id(&self) -> &str {
        &self.id
    }

    /// From now on clients rely on the disk for this.
    pub(in super::super) fn rely(&mut self, disk: Disk) {
        self.attested.clear();
        codec::encode_part(&mut self.attested, flag(disk).as_bytes());
        codec::encode_part(&mut self.attested, self.id.as_bytes());
    }
}

/// What is relied upon of a disk, as scripts are told.
pub(in super::super) const fn flag(disk: Disk) -> &'static str {
    match disk {
        Disk::Ignored => "0",
        Disk::Trusted => "1",
        Disk::Distrusted => "2",
        Disk::Unasked => "3",
    }
}
