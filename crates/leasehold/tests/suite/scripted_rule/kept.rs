//! What a node has by the rule, as a server writes it down.

use super::{NAMES, Twice};
use crate::support::{dice::permit_owners, driven::name};
use leasehold_core::{
    AbstentionCause, Instant, Owner, Request, Resource,
    fence::counter_of,
    quarantine::{Durability, Evictions, Marker},
};
use std::fmt::Write;

impl Twice {
    /// Compares what both have.
    pub(super) fn compare(&self) {
        let (now, now_ms) = (self.now(), self.us / 1_000);
        let (mut ruled, mut told) = (String::new(), String::new());
        let node_key = self.configuration.node_key();
        let field = |name: &str| {
            let value = self.data.field(node_key.as_bytes(), name.as_bytes());
            value.map(|value| String::from_utf8_lossy(value).into_owned())
        };
        for of in NAMES {
            let key = self.ruled.table.key(now, &name(of));
            let key = key.map(|key| (key.owner.as_bytes(), Some(millis(key.expires_at))));
            let text = self.data.text(of.as_bytes(), now_ms);
            let whole = name(of);
            let mut readers: Vec<_> = { self.ruled.table.readers(now, &whole) }
                .map(|key| (millis(key.expires_at), key.owner.as_bytes()))
                .collect();
            readers.sort_unstable();
            let shares = self.data.sorted(of.as_bytes(), now_ms);
            let shares = shares.map(|(owner, ends)| (u64::try_from(ends).expect("a time"), owner));
            let mut shares: Vec<_> = shares.filter(|(ends, _)| *ends > now_ms).collect();
            shares.sort_unstable();
            let counter = self
                .ruled
                .table
                .counter(&name(of))
                .map(|token| token.to_string());
            let kept = field(&format!("f{}", counter_of(&name(of))));
            writeln!(ruled, "{key:?} {readers:?} {counter:?}").expect("a string grows");
            writeln!(told, "{text:?} {shares:?} {kept:?}").expect("a string grows");
            // Each slot has a counter of its own. There are many, so they are looked at now and then.
            let slots = permit_owners().filter(|_| self.us.is_multiple_of(8));
            for counter in slots.map(|owner| counter_of_permit(of, owner)) {
                let ruling = self.ruled.table.counted(counter);
                let ruling = ruling.map(|token| token.to_string());
                let kept = field(&format!("f{counter}"));
                writeln!(ruled, "{ruling:?}").expect("a string grows");
                writeln!(told, "{kept:?}").expect("a string grows");
            }
        }
        let kept = ["id", "until", "why", "fit", "evicted", "logged"].map(field);
        // Without a guard nobody has looked.
        let kept = Some(kept).filter(|kept| kept[0].is_some());
        let kept = kept.map(|kept| kept.map(|text| text.filter(|text| !text.is_empty())));
        let marker = self.ruled.marker.as_ref().map(noted);
        assert_eq!(
            (told, kept),
            (ruled, marker),
            "{}: {}",
            self.place,
            self.story
        );
    }
}

/// Which counter counts the grants of this permit.
fn counter_of_permit(of: &str, owner: Owner) -> u16 {
    let resource = Resource::shared(of).expect("a good name");
    let keep = None;
    let request = Request::Release {
        resource,
        owner,
        keep,
    };
    request.counter()
}

/// What a server keeps of a marker.
fn noted(marker: &Marker) -> [Option<String>; 6] {
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

fn millis(at: Instant) -> u64 {
    u64::try_from(at.since_origin().as_millis()).expect("some decades")
}
