use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

const NOW: u64 = 100_000;

fn naming(server: char, epoch: u64) -> Naming<char> {
    Naming {
        server,
        epoch,
        by: None,
    }
}

/// What a sentinel may have said last: nothing, that it knows no master, or a server, its epoch and how long ago.
type Word = Option<(Option<(char, u64)>, u64)>;

/// `m` is the old master and `r` the replica that took its place; `x` is what a sentinel names that is behind the times,
/// and `y` one that shares an epoch.
const WORDS: [Word; 11] = [
    None,
    Some((None, 0)),
    Some((Some(('m', 2)), 0)),
    Some((Some(('m', 2)), 10_000)),
    Some((Some(('m', 2)), 10_001)),
    Some((Some(('m', 4)), 0)),
    Some((Some(('r', 3)), 0)),
    Some((Some(('r', 3)), 10_001)),
    Some((Some(('r', 2)), 0)),
    Some((Some(('x', 1)), 0)),
    Some((Some(('y', 2)), 10_000)),
];

fn each_of_three(mut check: impl FnMut([Word; 3])) {
    for one in WORDS {
        for two in WORDS {
            for three in WORDS {
                check([one, two, three]);
            }
        }
    }
}

fn hear(discovery: &mut Discovery<char>, words: [Word; 3]) {
    for (sentinel, word) in words.into_iter().enumerate() {
        if let Some((named, age)) = word {
            let named = named.map(|(server, epoch)| naming(server, epoch));
            discovery.hear(sentinel, at(NOW.saturating_sub(age)), named);
        }
    }
}

/// How many have named this server under this epoch at most `within` ago.
fn named(words: [Word; 3], server: (char, u64), within: u64) -> usize {
    let names_it = |word: &&Word| matches!(word, Some((Some(named), age)) if *named == server && *age <= within);
    words.iter().filter(names_it).count()
}

fn epochs(words: [Word; 3], of: impl Fn(char) -> bool) -> Option<u64> {
    let named = words.iter().flatten().filter_map(|(named, _)| *named);
    named
        .filter(|(server, _)| of(*server))
        .map(|(_, epoch)| epoch)
        .max()
}

#[test]
fn a_server_is_dialled_if_a_majority_names_it_and_nobody_has_heard_of_a_later_failover() {
    each_of_three(|words| {
        let mut discovery = Discovery::new(3, Rule::DEFAULT);
        hear(&mut discovery, words);
        let is_due = |server: &char| {
            let own = epochs(words, |other| other == *server);
            own.is_some_and(|own| named(words, (*server, own), 10_000) >= 2)
                && own >= epochs(words, |_| true)
        };
        let due = ['m', 'r', 'x', 'y'].into_iter().find(is_due);
        assert_eq!(discovery.elected(at(NOW)).copied(), due, "{words:?}");
        assert_eq!(discovery.candidate(at(NOW)).copied(), due, "{words:?}");
    });
}

#[test]
fn without_a_majority_the_latest_epoch_is_believed_if_that_was_asked_for() {
    each_of_three(|words| {
        let rule = Rule {
            needs_majority: false,
            ..Rule::DEFAULT
        };
        let mut discovery = Discovery::new(3, rule);
        hear(&mut discovery, words);
        let candidate = discovery.candidate(at(NOW)).copied();
        assert_eq!(candidate.is_some(), epochs(words, |_| true).is_some());
        if let Some(candidate) = candidate {
            let own = epochs(words, |other| other == candidate);
            assert_eq!(own, epochs(words, |_| true), "{words:?}");
        }
    });
}

#[test]
fn a_link_waits_for_sentinels_until_a_majority_agrees_or_all_have_answered_or_failed_to() {
    let of_three = || Discovery::new(3, Rule::DEFAULT);
    let choose = |discovery: &mut Discovery<char>| discovery.choose(at(NOW));
    let mut agreed = of_three();
    agreed.hear(0, at(NOW), Some(naming('m', 2)));
    assert_eq!(choose(&mut agreed), Choice::Wait);
    agreed.hear(1, at(NOW), Some(naming('m', 2)));
    assert_eq!(choose(&mut agreed), Choice::Follow('m'));
    assert!(agreed.confirm(at(NOW), None).is_ok(), "it is followed");
    let mut divided = of_three();
    divided.hear(0, at(NOW), Some(naming('m', 2)));
    divided.miss(1);
    assert_eq!(choose(&mut divided), Choice::Wait);
    divided.hear(2, at(NOW), None);
    assert_eq!(choose(&mut divided), Choice::Nowhere);
    let rule = Rule {
        needs_majority: false,
        ..Rule::DEFAULT
    };
    let mut believed = Discovery::new(2, rule);
    believed.hear(0, at(NOW), Some(naming('m', 2)));
    assert_eq!(choose(&mut believed), Choice::Wait);
    believed.miss(1);
    assert_eq!(choose(&mut believed), Choice::Follow('m'));
}

/// A connection to `m`, opened when all three named it under epoch 2.
fn connected(rule: Rule) -> Discovery<char> {
    let mut discovery = Discovery::new(3, rule);
    for sentinel in 0..3 {
        discovery.hear(sentinel, at(0), Some(naming('m', 2)));
    }
    discovery.follow('m');
    discovery
}

// Argument S9, row by row.

#[test]
fn votes_count_while_a_majority_has_named_the_server_within_the_bound_and_nobody_knows_better() {
    each_of_three(|words| {
        let mut discovery = connected(Rule::DEFAULT);
        hear(&mut discovery, words);
        let later = epochs(words, |_| true) > Some(2);
        let another = epochs(words, |server| server != 'm').is_some();
        assert_eq!(
            discovery.departure().is_some(),
            later || another,
            "{words:?}"
        );
        for (room, within) in [(None, 10_000), (Some(20_000), 10_000), (Some(9_999), 9_999)] {
            let room = room.map(Duration::from_millis);
            let counts = named(words, ('m', 2), within) >= 2 && !later && !another;
            let confirmed = discovery.confirm(at(NOW), room);
            assert_eq!(confirmed.is_ok(), counts, "{words:?} {within}");
            if let Err(unconfirmed) = confirmed {
                assert_eq!((unconfirmed.needed, unconfirmed.sentinels), (2, 3));
                assert_eq!(unconfirmed.within, Duration::from_millis(within));
            }
        }
    });
}

#[test]
fn a_sentinel_that_never_named_the_server_is_behind_the_times_unless_its_epoch_or_a_majority_says_otherwise()
 {
    let connect = || {
        let mut discovery = Discovery::new(5, Rule::DEFAULT);
        for sentinel in 0..3 {
            discovery.hear(sentinel, at(0), Some(naming('m', 2)));
        }
        discovery.follow('m');
        discovery
    };
    let mut discovery = connect();
    discovery.hear(3, at(1), Some(naming('x', 1)));
    discovery.hear(4, at(1), Some(naming('y', 2)));
    assert_eq!(discovery.departure(), None);
    assert_eq!(discovery.confirm(at(1), None), Ok(()));
    discovery.hear(4, at(2), Some(naming('r', 3)));
    assert_eq!(discovery.departure(), Some(4));
    assert!(discovery.confirm(at(2), None).is_err());

    let mut discovery = connect();
    discovery.hear(3, at(1), Some(naming('x', 1)));
    discovery.hear(3, at(2), Some(naming('m', 2)));
    assert_eq!(discovery.departure(), None);
    discovery.hear(3, at(3), Some(naming('x', 1)));
    assert_eq!(
        discovery.departure(),
        Some(3),
        "it has named ours meanwhile"
    );
}

#[test]
fn a_server_that_is_the_master_again_after_another_was_is_dialled_anew() {
    let mut discovery = connected(Rule::DEFAULT);
    discovery.hear(1, at(1), Some(naming('m', 4)));
    assert_eq!(discovery.departure(), Some(1));
}

#[test]
fn a_sentinel_that_knows_an_earlier_time_as_the_master_does_not_confirm_a_later_one() {
    let mut discovery = Discovery::new(3, Rule::DEFAULT);
    discovery.hear(0, at(0), Some(naming('m', 4)));
    // It has not heard of `r`, which was the master in between.
    discovery.hear(1, at(0), Some(naming('m', 2)));
    assert_eq!(discovery.elected(at(0)), None);
    discovery.hear(2, at(0), Some(naming('m', 4)));
    assert_eq!(discovery.elected(at(0)), Some(&'m'));
    discovery.follow('m');
    assert_eq!(discovery.confirm(at(0), None), Ok(()));
    discovery.hear(1, at(10_001), Some(naming('m', 2)));
    discovery.hear(2, at(10_001), Some(naming('m', 4)));
    assert!(discovery.confirm(at(10_001), None).is_err());
    discovery.hear(0, at(10_001), Some(naming('m', 4)));
    assert_eq!(discovery.confirm(at(10_001), None), Ok(()));
}

#[test]
fn without_a_majority_votes_count_until_somebody_is_heard_that_knows_better() {
    let rule = Rule {
        needs_majority: false,
        ..Rule::DEFAULT
    };
    let mut discovery = connected(rule);
    assert_eq!(discovery.confirm(at(1_000_000), None), Ok(()));
    discovery.hear(2, at(1_000_000), Some(naming('r', 3)));
    assert_eq!(discovery.departure(), Some(2));
    assert!(discovery.confirm(at(1_000_000), None).is_err());
}

#[test]
fn nothing_counts_before_a_server_was_chosen() {
    let discovery = Discovery::<char>::new(3, Rule::DEFAULT);
    assert!(discovery.confirm(at(0), None).is_err());
    assert_eq!(discovery.departure(), None);
}

#[test]
fn an_answer_that_overtakes_a_later_question_changes_nothing() {
    let mut discovery = connected(Rule::DEFAULT);
    for sentinel in [0, 1] {
        discovery.hear(sentinel, at(9_000), Some(naming('m', 2)));
        discovery.hear(sentinel, at(1_000), Some(naming('m', 2)));
    }
    assert_eq!(discovery.confirm(at(19_000), None), Ok(()));
    assert!(discovery.confirm(at(19_001), None).is_err());
}

#[test]
fn a_sentinel_under_two_addresses_is_one() {
    let named = |by| {
        Some(Naming {
            by: Some(Identity::new(by)),
            ..naming('m', 2)
        })
    };
    let mut discovery = Discovery::new(3, Rule::DEFAULT);
    discovery.hear(0, at(0), named("a"));
    discovery.hear(2, at(0), named("a"));
    assert_eq!(discovery.elected(at(0)), None);
    discovery.hear(1, at(0), named("b"));
    assert_eq!(discovery.elected(at(0)), Some(&'m'));
}

#[test]
fn a_sentinel_under_two_addresses_is_heard_by_either() {
    let named = |by| {
        Some(Naming {
            by: Some(Identity::new(by)),
            ..naming('m', 2)
        })
    };
    let mut discovery = Discovery::new(3, Rule::DEFAULT);
    discovery.hear(0, at(0), named("a"));
    // Its first address does not answer any more.
    discovery.hear(1, at(NOW), named("a"));
    discovery.hear(2, at(NOW), named("b"));
    assert_eq!(discovery.elected(at(NOW)), Some(&'m'));
}

#[test]
fn a_majority_is_one_of_the_sentinels_that_were_configured() {
    for (sentinels, majority) in [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)] {
        let discovery = Discovery::<char>::new(sentinels, Rule::DEFAULT);
        assert_eq!(discovery.majority(), majority, "{sentinels}");
    }
}

#[test]
fn what_a_replaced_master_grants_has_ended_when_its_successor_votes() {
    let seconds = Duration::from_secs;
    for max_ttl in [1, 10, 30, 3_600].map(seconds) {
        for skew in [0, 1, 2, 60].map(seconds) {
            let most = Ttl::new(max_ttl).expect("in range");
            let quarantine = max_ttl + Drift::DEFAULT.allowance(most) + skew;
            for ttl in [max_ttl, max_ttl / 2, max_ttl / 10] {
                let room = room(quarantine, Ttl::new(ttl).expect("in range"));
                let certain = quarantine - Drift::DEFAULT.allowed_in(quarantine);
                assert!(room.is_zero() || room + ttl <= certain);
            }
        }
    }
    // The usual options, and the longest lock that they allow.
    let ttl = |seconds_| Ttl::new(seconds(seconds_)).expect("in range");
    assert_eq!(
        room(Duration::from_millis(32_302), ttl(30)),
        Duration::from_micros(1_976_980)
    );
    assert!(room(Duration::from_millis(32_302), ttl(10)) > Rule::DEFAULT.bound);
}

// Argument S9: a lease that was carried over to a successor is not granted to somebody else by the old master.
#[test]
fn a_grant_counts_when_a_majority_was_asked_after_it_was_heard_and_names_the_server() {
    each_of_three(|words| {
        let mut discovery = connected(Rule::DEFAULT);
        hear(&mut discovery, words);
        let later = epochs(words, |_| true) > Some(2);
        let another = epochs(words, |server| server != 'm').is_some();
        let heard = at(NOW.saturating_sub(10_000));
        let since = |word: &&Word| matches!(word, Some((_, age)) if *age <= 10_000);
        let due = 3_usize.saturating_sub(words.iter().filter(since).count());
        let named = named(words, ('m', 2), 10_000);
        let expected = match (later || another, named >= 2, named.saturating_add(due) >= 2) {
            (false, true, _) => Some(true),
            (false, false, true) => None,
            _ => Some(false),
        };
        let confirmed = discovery.confirm_grant(heard);
        assert_eq!(
            confirmed.map(|confirmed| confirmed.is_ok()),
            expected,
            "{words:?}"
        );
        // Of one that is silent nothing is waited for.
        for sentinel in 0..3 {
            discovery.miss(sentinel);
        }
        assert!(discovery.confirm_grant(heard).is_some(), "{words:?}");
    });
}

#[test]
fn without_a_majority_a_grant_counts_at_once() {
    let rule = Rule {
        needs_majority: false,
        ..Rule::DEFAULT
    };
    assert_eq!(connected(rule).confirm_grant(at(9)), Some(Ok(())));
}
