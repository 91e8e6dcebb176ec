//! Where else a vote must be before it counts, as people write it.

use super::duration;
use crate::disks::Disks;
use std::{str::FromStr, time::Duration};

/// What a vote must have before it counts, and how long that is waited for: `1,100ms` for a replica, `server+1,100ms` for
/// disks. Without a time it is a tenth of a second, or as long as the node limit of the default options leaves.
///
/// # Examples
/// ```
/// use leasehold::{Disks, config::Waited};
/// use std::time::Duration;
///
/// let waited: Waited<Disks> = "server,50ms".parse()?;
/// assert_eq!((waited.what, waited.within), (Disks::Server, Some(Duration::from_millis(50))));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a program that reads options elsewhere makes one"
)]
pub struct Waited<T> {
    /// How many replicas, or which disks.
    pub what: T,
    /// How long; none was said.
    pub within: Option<Duration>,
}

impl<T> Waited<T> {
    /// How long, where nobody said: no longer than `most`.
    pub(super) fn within_or(&self, most: Duration) -> Duration {
        self.within.unwrap_or(USUAL.min(most))
    }

    fn parse(text: &str, what: impl FnOnce(&str) -> Result<T, String>) -> Result<Self, String> {
        let (first, within) = match text.split_once(',') {
            None => (text, None),
            Some((first, within)) => {
                let read = duration::parse(within.trim());
                let why = |why| format!("{within:?}: {why}");
                (first, Some(read.map_err(why)?))
            }
        };
        let what = what(first.trim())?;
        Ok(Self { what, within })
    }
}

impl FromStr for Waited<u32> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, |count| {
            let count = count.parse().ok().filter(|count| *count > 0);
            count.ok_or_else(|| {
                format!("{text:?} is no number of replicas: say 1, or 1,100ms with a time")
            })
        })
    }
}

impl FromStr for Waited<Disks> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, str::parse)
    }
}

const USUAL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_read_with_a_time_or_without() {
        let ms = Duration::from_millis;
        let replicas = |text: &str| text.parse::<Waited<u32>>();
        let one = replicas("1").expect("a number");
        assert_eq!((one.what, one.within), (1, None));
        assert_eq!(
            (one.within_or(ms(500)), one.within_or(ms(50))),
            (ms(100), ms(50))
        );
        let two = replicas("2, 70ms").expect("a number and a time");
        assert_eq!((two.what, two.within_or(ms(50))), (2, ms(70)));
        let disks = "server+1,1s".parse::<Waited<Disks>>().expect("both");
        assert_eq!(
            (disks.what, disks.within),
            (Disks::ServerAndReplicas(1), Some(ms(1_000)))
        );
        for (wrong, told) in [
            ("0", "is no number of replicas: say 1, or 1,100ms"),
            ("", "is no number of replicas"),
            ("one", "is no number of replicas"),
            ("1,100", "\"100\": no unit: say 100s or 100ms"),
            ("1,", "no duration"),
        ] {
            let why = replicas(wrong).expect_err(wrong);
            assert!(why.contains(told), "{why}");
        }
        let why = "memory".parse::<Waited<Disks>>().expect_err("no disk");
        assert!(why.contains("say server, 1 for a replica"), "{why}");
    }
}
