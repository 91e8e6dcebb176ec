//! The log of a node whose clients trust its disk, and what becomes of it when somebody changes its settings.

use super::{Data, Node};
use leasehold_core::quarantine::{Disk, Durability, Log, Quarantine};

/// A disk that does not get every write.
#[derive(Debug)]
pub(crate) struct Behind {
    lack: Lack,
    /// What a restart would find.
    disk: Data,
}

/// Why it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// `appendonly no`. A restart reads the settings of the file again, and finds the old log.
    Off,
    /// `appendonly yes` again: until the log has been rewritten, a restart finds the old one.
    Rewriting,
    /// `appendfsync no`, and the machine will lose its power. Clients know it with each request, as if each had just
    /// asked.
    Unsynced,
}

impl Node {
    /// From now on the disk gets nothing.
    pub(crate) fn stop_logging(&mut self, lack: Lack) {
        let disk = self.logged();
        self.behind.get_or_insert(Behind { lack, disk });
    }

    /// The node is back without its log, on its last snapshot: that it has a log was never written to its file of settings.
    pub(crate) fn miss_log(&mut self) {
        // The log is as it was, and so complete: nothing is granted meanwhile.
        let (lack, disk) = (Lack::Off, self.logged());
        self.data = self.snapshot.clone();
        self.behind = Some(Behind { lack, disk });
    }

    /// The settings are back. Whether the disk still lacks something.
    pub(crate) fn log_again(&mut self) -> bool {
        // A log that is turned on is written anew.
        self.process.has_rewritten |= self.lack().is_some_and(|lack| lack != Lack::Unsynced);
        // Argument S9: a log that was off when nobody looked is taken for one that was always on. So it has everything
        // at once here: that the server dies before it has been rewritten is left unseen.
        let is_relied_on = self.says_that_all_is_logged();
        match &mut self.behind {
            Some(behind) if behind.lack == Lack::Off && !is_relied_on => {
                behind.lack = Lack::Rewriting;
                true
            }
            behind => {
                *behind = None;
                false
            }
        }
    }

    /// The node is back with what its disk has. Whether that is less than it had.
    pub(crate) fn read_log(&mut self) -> bool {
        let is_behind = self.behind.is_some();
        self.data = match self.behind.take() {
            Some(behind) => behind.disk,
            None => self.logged(),
        };
        is_behind
    }

    /// Whether a log was turned on that no client has looked at yet, and that is taken for one that was read. Argument S9: that the
    /// server dies before one does is left unseen.
    pub(crate) fn has_unseen_log(&self) -> bool {
        self.process.has_rewritten && self.says_that_all_is_logged() && !self.is_vouched_for()
    }

    pub(super) fn log(&self) -> Log {
        match self.lack() {
            Some(Lack::Off) => Log::Off,
            Some(Lack::Rewriting) => Log::Rewriting,
            Some(Lack::Unsynced) | None => Log::On,
        }
    }

    pub(crate) fn lack(&self) -> Option<Lack> {
        self.behind.as_ref().map(|behind| behind.lack)
    }

    /// The guard, as clients ask for it that know the settings.
    pub(super) fn guard_now(&self) -> Option<Quarantine> {
        let guard = self.guard?;
        let is_unsynced = self.lack() == Some(Lack::Unsynced);
        let disk = match guard.disk {
            Disk::Trusted if is_unsynced => Disk::Distrusted,
            disk => disk,
        };
        Some(Quarantine { disk, ..guard })
    }

    /// What a log has that got everything.
    #[cfg_attr(
        not(feature = "lua"),
        expect(clippy::let_and_return, reason = "a table is as it was")
    )]
    fn logged(&self) -> Data {
        let data = self.data.clone();
        #[cfg(feature = "lua")]
        let data = Data {
            keys: data.keys.replicated(),
            ..data
        };
        data
    }

    /// Whether a client has looked at the process.
    fn is_vouched_for(&self) -> bool {
        #[cfg(feature = "lua")]
        if let Some(scripted) = &self.scripted {
            return scripted.is_vouched_for(&self.data, &self.process.id);
        }
        let marker = self.data.marker.as_ref();
        marker.is_some_and(|marker| marker.id == self.process.id)
    }

    fn says_that_all_is_logged(&self) -> bool {
        #[cfg(feature = "lua")]
        if let Some(scripted) = &self.scripted {
            return scripted.says_that_all_is_logged(&self.data);
        }
        let marker = self.data.marker.as_ref();
        marker.is_some_and(|marker| marker.durability == Durability::Kept)
    }
}
