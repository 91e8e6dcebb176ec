//! Whether standard output was closed when this process began (`leasehold acquire >&-`), or is open for reading alone
//! (`leasehold acquire 1</dev/null`): the runtime of Rust takes what is written there for written.
//!
//! The runtime of Rust opens /dev/null in the place of a standard stream that is closed, before `main`: from then on it
//! takes everything and looks like one that the user sent there on purpose. So it is looked at before the runtime begins.

use rustix::{
    fs::{OFlags, fcntl_getfl},
    io::Errno,
    stdio::stdout,
};
use std::io;

/// An error if nothing that is written can be read by anybody.
pub(super) fn check() -> io::Result<()> {
    let is_for_reading = |flags: OFlags| flags & OFlags::RWMODE == OFlags::RDONLY;
    match imp::was_closed() || fcntl_getfl(stdout()).is_ok_and(is_for_reading) {
        true => Err(Errno::BADF.into()),
        false => Ok(()),
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::{io::fcntl_getfd, stdio::stdout};
    use std::sync::atomic::{AtomicBool, Ordering};

    static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

    pub(super) fn was_closed() -> bool {
        WAS_CLOSED.load(Ordering::Relaxed)
    }

    extern "C" fn look() {
        // One system call and one store, which need nothing that the runtime prepares.
        WAS_CLOSED.store(fcntl_getfd(stdout()).is_err(), Ordering::Relaxed);
    }

    #[expect(
        unsafe_code,
        reason = "the section's entries are called before `main`, as functions of this type; nothing else can tell \
                  a closed stream from /dev/null"
    )]
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEFORE_THE_RUNTIME: extern "C" fn() = look;
}

#[cfg(not(target_os = "linux"))]
mod imp {
    /// Not known: what is closed is taken for /dev/null.
    pub(super) const fn was_closed() -> bool {
        false
    }
}
