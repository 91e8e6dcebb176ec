//! What a node has by the rule, as a server writes it down.

use leasehold_core::{
    AbstentionCause, Instant,
    quarantine::{Durability, Evictions, Marker},
};

/// What a server keeps of a marker.
pub(super) fn noted(marker: &Marker) -> [Option<String>; 6] {
    let why = match marker.cause {
        AbstentionCause::Empty => "empty",
        AbstentionCause::Changed => "changed",
        AbstentionCause::Evicted => "evicted",
        _ => "reconfigured",
    };
    let durable = match marker.durability {
        Durability::Ignored => "0",
        Durability::Kept => "1",
        Durability::Lost => "lost",
    };
    let evicted = marker.evictions.map(|evictions| match evictions {
        Evictions::Possible => "may".to_owned(),
        Evictions::Counted(count) => count.to_string(),
    });
    [
        Some(marker.id.as_str().to_owned()),
        Some(millis(marker.until).to_string()),
        Some(why.to_owned()),
        marker.seen_ms.map(|seen| seen.to_string()),
        evicted,
        Some(durable.to_owned()),
    ]
}

pub(super) fn millis(at: Instant) -> u64 {
    u64::try_from(at.since_origin().as_millis()).expect("some decades")
}
