//! What wakes the thread of a store: a commit of any process, and who wants something of it here.
//!
//! The kernel tells of every write to the data file (inotify), whichever process wrote. LMDB writes the pages of a
//! commit and then the head page, all with system calls.
//!
//! The right to be told is got when the store is opened, and kept: by then the links must know whether they can
//! promise hints, and the kernel has few of these rights (128 or more for each user). What it is to be told of is said
//! only when somebody watches a key. While nobody does, a commit costs nobody anything; and a process that never waited
//! ends at once: the kernel takes some 10 ms to forget what it was to tell of, and the process's end waits for it. Of
//! these the kernel has many (8,192 or more), so that there is none left is not to be expected; who waits would then
//! learn of a change as late as without a hint.

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use linux::Notifier;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use none::Notifier;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use rustix::{
        event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
        fd::OwnedFd,
        fs::inotify::{CreateFlags, WatchFlags, add_watch, init},
        io::{Errno, Result, read, write},
    };
    use std::{
        path::{Path, PathBuf},
        time::Duration,
    };

    /// Rings when any process commits, while it is not muted, and when it is called.
    #[derive(Debug)]
    pub(in super::super) struct Notifier {
        data: PathBuf,
        commits: OwnedFd,
        calls: OwnedFd,
    }

    impl Notifier {
        /// A muted notifier for this file; none if the kernel has none to give.
        pub(in super::super) fn new(data: &Path) -> Option<Self> {
            let commits = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            let calls = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
            Some(Self {
                data: data.to_owned(),
                commits,
                calls,
            })
        }

        /// Rings for commits from now on.
        pub(in super::super) fn unmute(&self) {
            // If the kernel does not find the file, that was replaced, and the next step is answered so.
            let _ = self.tell_of(WatchFlags::MODIFY);
        }

        /// Does not fire for commits any more.
        pub(in super::super) fn mute(&self) {
            // Its place is kept: a process that waited once may wait again.
            let _ = self.tell_of(WatchFlags::DELETE_SELF);
        }

        fn tell_of(&self, events: WatchFlags) -> Result<()> {
            add_watch(&self.commits, &self.data, events).map(drop)
        }

        /// Wakes who waits, or the next one who does.
        pub(in super::super) fn call(&self) {
            // It can fail only because there were calls enough to wake everybody.
            let _ = write(&self.calls, &1_u64.to_ne_bytes());
        }

        /// Whether it has fired for a commit.
        pub(in super::super) fn has_rung(&self) -> bool {
            let mut commits = [PollFd::new(&self.commits, PollFlags::IN)];
            poll(&mut commits, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        }

        /// Forgets the commits for which it has fired.
        pub(in super::super) fn silence(&self) {
            // What is the same as the event before it is not queued, so there is little to read; and what is
            // left over fires again.
            let mut events = [0; 1024];
            while read(&self.commits, &mut events) == Err(Errno::INTR) {}
        }

        /// Waits for a call, for `limit` at most.
        pub(in super::super) fn wait_for_call(&self, limit: Option<Duration>) {
            self.wait(&mut [PollFd::new(&self.calls, PollFlags::IN)], limit);
        }

        /// Waits for a call or a commit, for `limit` at most.
        pub(in super::super) fn wait_for_any(&self, limit: Option<Duration>) {
            let calls = PollFd::new(&self.calls, PollFlags::IN);
            let commits = PollFd::new(&self.commits, PollFlags::IN);
            self.wait(&mut [calls, commits], limit);
        }

        fn wait(&self, what: &mut [PollFd<'_>], limit: Option<Duration>) {
            let limit = limit.map(|limit| {
                Timespec::try_from(limit).expect("nobody waits for more than seconds")
            });
            // A thread that was woken for nothing looks and waits again.
            let _ = poll(what, limit.as_ref());
            let mut count = [0; 8];
            let _ = read(&self.calls, &mut count);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod none {
    use std::{path::Path, time::Duration};

    /// There is none here.
    #[derive(Debug)]
    pub(in super::super) enum Notifier {}

    impl Notifier {
        pub(in super::super) const fn new(_: &Path) -> Option<Self> {
            None
        }

        pub(in super::super) const fn unmute(&self) {
            match *self {}
        }

        pub(in super::super) const fn mute(&self) {
            match *self {}
        }

        pub(in super::super) const fn call(&self) {
            match *self {}
        }

        pub(in super::super) const fn has_rung(&self) -> bool {
            match *self {}
        }

        pub(in super::super) const fn silence(&self) {
            match *self {}
        }

        pub(in super::super) const fn wait_for_call(&self, _: Option<Duration>) {
            match *self {}
        }

        pub(in super::super) const fn wait_for_any(&self, _: Option<Duration>) {
            match *self {}
        }
    }
}
