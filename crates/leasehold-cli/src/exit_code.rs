//! The codes that `leasehold` ends with on its own account.
//!
//! A command's own code passes through, and its death by a signal is leasehold's own ([`exit`](crate::exit)). The
//! codes here sit below 128, where few programs have theirs, so that a script can tell the lock's
//! trouble from the command's.

/// Everything went well.
pub(crate) const SUCCESS: u8 = 0;

/// The arguments cannot be understood; nothing was touched.
pub(crate) const USAGE: u8 = 2;

/// Locks work, but less well than they should: `doctor` says why.
pub(crate) const WEAKENED: u8 = 120;

/// The lock is held: elsewhere, and `--no-wait` was given; or by anyone, and `status` was asked.
pub(crate) const HELD: u8 = 121;

/// Too few nodes answered to decide anything.
pub(crate) const NO_QUORUM: u8 = 122;

/// The lease was lost while the command ran, and the command was ended.
pub(crate) const LEASE_LOST: u8 = 123;

/// The lock stayed held elsewhere for all of `--wait`.
pub(crate) const WAIT_TIMED_OUT: u8 = 124;

/// `leasehold` itself failed.
pub(crate) const FAILED: u8 = 125;

/// The command was found but cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;

/// The command was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// The code by which a shell tells of a process that this signal ended.
pub(crate) fn of_signal(number: i32) -> u8 {
    // Signals are numbered 1 to 64, so this saturates only on nonsense.
    u8::try_from(number.saturating_add(128)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn death_by_signal_is_told_as_the_shell_tells_it() {
        assert_eq!(of_signal(15), 143);
        assert_eq!(of_signal(i32::MAX), u8::MAX);
    }
}
