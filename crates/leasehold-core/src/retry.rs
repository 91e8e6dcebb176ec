//! How often to try, and how long to rest between.

use alloc::sync::Arc;
use core::{fmt, num::NonZeroU32, time::Duration};

/// How often an acquisition tries, and how long it rests in between.
///
/// The random pause keeps clients that lost to each other from meeting again ("retry on failure" of the
/// Redlock page).
#[derive(Clone, Debug)]
pub struct Retry {
    tries: Option<NonZeroU32>,
    pause: Pause,
    unreachable_for: Option<Duration>,
    done_until: Option<Duration>,
}

impl Default for Retry {
    /// 32 tries with pauses of 50 to 250 ms: about five seconds.
    fn default() -> Self {
        Self {
            tries: NonZeroU32::new(32),
            pause: Pause::default(),
            unreachable_for: None,
            done_until: None,
        }
    }
}

impl Retry {
    /// At most this many tries; none means without end.
    #[must_use]
    pub fn with_tries(self, tries: Option<NonZeroU32>) -> Self {
        Self { tries, ..self }
    }

    /// With this pause between tries.
    #[must_use]
    pub fn with_pause(self, pause: Pause) -> Self {
        Self { pause, ..self }
    }

    /// Give up, whatever tries are left, once too few nodes have answered for this long.
    #[must_use]
    pub fn give_up_unreachable_after(self, patience: Duration) -> Self {
        Self {
            unreachable_for: Some(patience),
            ..self
        }
    }

    /// Give up, whatever tries are left, once the work that the resource is for is [done](crate::Owner::done_until) until then at
    /// least: time since 1970.
    #[must_use]
    pub fn give_up_if_done_until(self, until: Duration) -> Self {
        Self {
            done_until: Some(until),
            ..self
        }
    }

    /// Until when work must be done that nobody waits to do again; none if nobody asks.
    #[must_use]
    pub const fn done_until(&self) -> Option<Duration> {
        self.done_until
    }

    /// Whether another try is allowed after `tried` tries.
    #[must_use]
    pub fn allows_more(&self, tried: u32) -> bool {
        self.tries.is_none_or(|tries| tried < tries.get())
    }

    /// Whether there is to be one try and no waiting.
    #[must_use]
    pub fn tries_once(&self) -> bool {
        self.tries == Some(NonZeroU32::MIN)
    }

    /// Whether to give up because no quorum has been reachable for `unreachable`.
    #[must_use]
    pub fn gives_up_unreachable(&self, unreachable: Duration) -> bool {
        self.unreachable_for
            .is_some_and(|patience| unreachable >= patience)
    }

    /// How long to rest after `tried` tries, by the die's throw `random`: a millisecond at least, since a
    /// try that fails at once and is repeated at once would leave no time for anything else.
    #[must_use]
    pub fn pause(&self, tried: u32, random: u64) -> Duration {
        self.wished_pause(tried, random)
            .max(Duration::from_millis(1))
    }

    fn wished_pause(&self, tried: u32, random: u64) -> Duration {
        match &self.pause {
            Pause::Between { least, most } => between(*least, *most, random),
            Pause::Function(PauseFunction(function)) => function(tried),
        }
    }
}

/// How long to rest between tries.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Pause {
    /// A random time in this range.
    Between {
        /// The shortest pause.
        least: Duration,
        /// The longest pause.
        most: Duration,
    },
    /// What a function of the number of tries so far says.
    Function(PauseFunction),
}

impl Default for Pause {
    fn default() -> Self {
        Self::Between {
            least: Duration::from_millis(50),
            most: Duration::from_millis(250),
        }
    }
}

impl Pause {
    /// A pause that `function` draws from the number of tries so far. Make it random: clients that rest
    /// equally long meet again.
    pub fn function(function: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Self {
        Self::Function(PauseFunction(Arc::new(function)))
    }
}

/// A function from the number of tries so far to a pause.
#[derive(Clone)]
pub struct PauseFunction(Arc<dyn Fn(u32) -> Duration + Send + Sync>);

impl fmt::Debug for PauseFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PauseFunction")
    }
}

/// A time from `least` to `most`, both possible.
pub(crate) fn between(least: Duration, most: Duration, random: u64) -> Duration {
    let span = u64::try_from(most.saturating_sub(least).as_nanos()).unwrap_or(u64::MAX);
    // The upper half of the product is the random number scaled to the span: no division, no bias
    // that a pause would notice.
    let scaled = (u128::from(random).saturating_mul(u128::from(span).saturating_add(1))) >> 64;
    least.saturating_add(Duration::from_nanos(u64::try_from(scaled).unwrap_or(span)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lies_in_its_range_and_reaches_both_ends() {
        let (least, most) = (Duration::from_millis(50), Duration::from_millis(250));
        assert_eq!(between(least, most, 0), least);
        assert_eq!(between(least, most, u64::MAX), most);
        assert_eq!(
            between(least, most, u64::MAX >> 1),
            Duration::new(0, 149_999_999 + 1)
        );
    }

    #[test]
    fn tries_are_counted_from_one() {
        let once = Retry::default().with_tries(NonZeroU32::new(1));
        assert!(once.allows_more(0));
        assert!(!once.allows_more(1));
        assert!(Retry::default().with_tries(None).allows_more(u32::MAX));
    }

    #[test]
    fn no_pause_is_still_a_millisecond() {
        let retry = Retry::default().with_pause(Pause::function(|_| Duration::ZERO));
        assert_eq!(retry.pause(1, 0), Duration::from_millis(1));
    }

    #[test]
    fn a_custom_pause_knows_how_often_was_tried() {
        let retry = Retry::default().with_pause(Pause::function(|tried| {
            Duration::from_millis(u64::from(tried))
        }));
        assert_eq!(retry.pause(7, 0), Duration::from_millis(7));
    }
}
