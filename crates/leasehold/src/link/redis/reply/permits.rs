//! What a node says of the permits that are taken.

use crate::link::redis::codec::Frame;
use leasehold_core::{PermitCount, Refusal, TakenPermits};
use std::time::Duration;

/// Reads how many permits there are and `slot ms slot ms …`, of one slot at least; none if no script of ours says so.
pub(super) fn refusal(of: i64, slots: &Frame<'_>) -> Option<Refusal> {
    let of = PermitCount::new(u16::try_from(of).ok()?)?;
    let Frame::Text(text) = slots else {
        return None;
    };
    let words: Vec<&str> = std::str::from_utf8(text).ok()?.split(' ').collect();
    let slots = words.chunks(2).map(|words| match words {
        [slot, ms] => {
            let slot = slot.parse().ok().filter(|slot| *slot < of.get())?;
            Some((slot, Duration::from_millis(ms.parse().ok()?)))
        }
        _ => None,
    });
    let mut slots = slots.collect::<Option<Vec<(u16, Duration)>>>()?;
    slots.sort_unstable();
    if slots.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return None;
    }
    Some(Refusal {
        // The next permit is free with the first of them.
        remaining: Some(slots.iter().map(|(_, left)| *left).min()?),
        permits: Some(Box::new(TakenPermits { of, slots })),
        ..Refusal::default()
    })
}
