//! Nodes that answer late: a vote waits for each of them for so long, and not longer.

use super::{Finding, Weight, finding};
use crate::{
    diagnosis::{Options, facts::ServerFacts},
    duration::Shown,
    hint,
};
use leasehold::LockOptions;
use std::time::Duration;

/// Whether it needs longer for an answer than a vote waits: to an attempt it is silent.
pub(crate) fn is_late(server: &ServerFacts, options: &Options) -> bool {
    server.round_trip > limit(options)
}

/// `answers in 604 ms, and has 500 ms to answer`.
pub(crate) fn told(server: &ServerFacts, options: &Options) -> String {
    let (answers, limit) = (Shown(server.round_trip), Shown(limit(options)));
    format!("answers in {answers}, and has {limit} to answer")
}

/// A quarter of the time is worth a word.
pub(super) fn found(server: &ServerFacts, options: &Options) -> Option<Finding> {
    let weight = match is_late(server, options) {
        true => Weight::Problem,
        false if server.round_trip > limit(options) / 4 => Weight::Warning,
        false => return None,
    };
    let why = "a node that answers later than that does not vote";
    let remedy = hint::nearer(options.ttl);
    Some(finding(weight, told(server, options), why, remedy))
}

fn limit(options: &Options) -> Duration {
    LockOptions::usual_node_limit(options.ttl)
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{patient, server},
        *,
    };
    use crate::judgement::Judgement;

    /// Three servers, of which two need so long.
    fn far(round_trip: Duration, ttl: Duration) -> (Judgement, Option<Finding>) {
        let far = ServerFacts {
            round_trip,
            ..server()
        };
        let mut patient = patient(vec![far.clone(), far.clone(), server()]);
        patient.options.ttl = ttl;
        (patient.judgement(), found(&far, &patient.options))
    }

    #[test]
    fn a_node_that_answers_too_late_for_a_vote_has_none() {
        let [usual, short] = [10, 1].map(Duration::from_secs);
        for (millis, ttl, judgement, weight) in [
            (100, usual, Judgement::Now { spare: 1 }, None),
            (
                499,
                usual,
                Judgement::Now { spare: 1 },
                Some(Weight::Warning),
            ),
            (501, usual, Judgement::No, Some(Weight::Problem)),
            (51, short, Judgement::No, Some(Weight::Problem)),
        ] {
            let (judged, finding) = far(Duration::from_millis(millis), ttl);
            let weighed = finding.map(|finding| finding.weight);
            assert_eq!((judged, weighed), (judgement, weight), "{millis} ms");
        }
    }

    #[test]
    fn a_longer_ttl_is_advised_only_where_it_gives_more_time() {
        for (seconds, is_advised) in [(1, true), (9, true), (10, false)] {
            let (_, finding) = far(Duration::from_millis(600), Duration::from_secs(seconds));
            let remedy = finding.expect("it is late").remedy;
            assert_eq!(
                remedy.contains("a longer --max-ttl"),
                is_advised,
                "{remedy}"
            );
        }
    }
}
