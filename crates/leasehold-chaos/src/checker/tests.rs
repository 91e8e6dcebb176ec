use super::*;
use crate::journal;

fn journal(name: &str, text: &str) -> Journal {
    Journal {
        name: name.to_owned(),
        entries: journal::parse(text).unwrap(),
        death: None,
    }
}

fn killed(name: &str, text: &str, death: u64) -> Journal {
    Journal {
        death: Some(Moment::from_nanos(death)),
        ..journal(name, text)
    }
}

fn checked(journals: &[Journal]) -> Findings {
    check(journals, Moment::NEVER)
}

#[test]
fn two_holders_at_once_are_found_and_measured() {
    let first = journal("a", "10 acquired r0 x 100\n80 ended r0 x\n");
    let second = journal("b", "50 acquired r0 y 150\n60 ended r0 y\n");
    let findings = checked(&[second, first]);
    assert_eq!((findings.acquisitions, findings.hand_overs), (2, 1));
    let [overlap] = findings.overlaps.as_slice() else {
        panic!("{:?}", findings.overlaps);
    };
    assert_eq!(
        (&*overlap.first.journal, &*overlap.second.journal),
        ("a", "b")
    );
    assert_eq!(overlap.length(), Duration::from_nanos(10));
}

#[test]
fn claims_that_touch_do_not_overlap() {
    let first = journal(
        "a",
        "10 acquired r0 x 100\n50 ended r0 x\n90 acquired r0 z 200\n",
    );
    let second = journal("b", "50 acquired r0 y 90\n");
    assert_eq!(checked(&[first, second]).overlaps, []);
}

#[test]
fn different_resources_do_not_overlap() {
    let first = journal("a", "10 acquired r0 x 100\n");
    let second = journal("b", "10 acquired r1 y 100\n");
    assert_eq!(checked(&[first, second]).overlaps, []);
}

#[test]
fn a_client_stopped_beyond_its_validity_claims_nothing_there() {
    let stopped = journal("a", "10 acquired r0 x 100\n500 ended r0 x\n");
    let other = journal("b", "100 acquired r0 y 200\n");
    assert_eq!(checked(&[stopped, other.clone()]).overlaps, []);
    // Stopped before it could even read that it had won.
    let late = journal("c", "150 acquired r0 z 140\n");
    let findings = checked(&[late, other]);
    assert_eq!((findings.acquisitions, findings.overlaps.len()), (2, 0));
}

#[test]
fn an_extension_prolongs_the_claim() {
    let holder = journal("a", "10 acquired r0 x 100\n90 extended r0 x 300\n");
    let other = journal("b", "200 acquired r0 y 250\n");
    assert_eq!(checked(&[holder, other]).overlaps.len(), 1);
}

#[test]
fn who_is_told_that_it_is_valid_claims_beyond_the_promise() {
    let other = journal("b", "120 acquired r0 y 140\n");
    let told = journal(
        "a",
        "10 acquired r0 x 100\n130 relied r0 x\n150 ended r0 x\n",
    );
    let overlaps = checked(&[told, other.clone()]).overlaps;
    assert_eq!(overlaps.len(), 1);
    assert_eq!(overlaps[0].length(), Duration::from_nanos(10));
    // It was asked before the other won: the answer is none about the time after.
    let early = journal(
        "a",
        "10 acquired r0 x 100\n120 relied r0 x\n500 ended r0 x\n",
    );
    assert_eq!(checked(&[early, other.clone()]).overlaps, []);
    // Neither does a yes take anything from the promise, nor give anything to the dead.
    let within = journal("a", "10 acquired r0 x 130\n60 relied r0 x\n");
    assert_eq!(checked(&[within, other.clone()]).overlaps.len(), 1);
    let dead = killed("a", "10 acquired r0 x 100\n130 relied r0 x\n", 110);
    assert_eq!(checked(&[dead, other]).overlaps, []);
}

#[test]
fn the_dead_claim_nothing() {
    let holder = killed("a", "10 acquired r0 x 100\n", 40);
    let early = journal("b", "39 acquired r0 y 40\n");
    let late = journal("c", "40 acquired r0 z 90\n");
    let findings = checked(&[holder, early, late]);
    assert_eq!(findings.overlaps.len(), 1);
    assert_eq!(findings.overlaps[0].second.journal, "b");
}

#[test]
fn who_never_looks_at_validity_claims_until_it_ends_or_dies() {
    let holder = killed("a", "10 acquired r0 x never\n", 400);
    let other = journal("b", "300 acquired r0 y 350\n");
    assert_eq!(checked(&[holder, other]).overlaps.len(), 1);
}

#[test]
fn a_short_claim_does_not_hide_a_long_one() {
    let long = journal("a", "10 acquired r0 x 100\n");
    let short = journal("b", "20 acquired r0 y 30\n");
    let third = journal("c", "40 acquired r0 z 60\n");
    let overlaps = checked(&[long, short, third]).overlaps;
    assert_eq!(overlaps.len(), 2);
    assert!(overlaps.iter().all(|overlap| overlap.first.journal == "a"));
}

#[test]
fn what_is_beyond_the_horizon_is_left_for_later() {
    // The end of the first is not in its journal yet, the beginning of the second is.
    let first = journal("a", "10 acquired r0 x 100\n");
    let second = journal("b", "50 acquired r0 y 150\n");
    let horizon = Moment::from_nanos(50);
    assert_eq!(check(&[first, second], horizon).overlaps, []);
}

#[test]
fn a_moment_is_claimed_or_not() {
    let findings = checked(&[journal("a", "10 acquired r0 x 20\n")]);
    let at = |nanos| findings.is_claimed(Moment::from_nanos(nanos));
    assert!(!at(9) && at(10) && at(19) && !at(20));
}

#[test]
fn those_who_read_overlap_with_those_alone_who_write() {
    let readers = [
        journal("a", "10 acquired r0+read x 100\n"),
        journal("b", "20 acquired r0+read y 60\n"),
    ];
    assert_eq!(checked(&readers).overlaps, []);
    let [a, b] = readers;
    let writer = journal("c", "60 acquired r0 z 90\n");
    let other = journal("d", "30 acquired r1 u 90\n");
    let findings = checked(&[a.clone(), b, writer, other]);
    let [overlap] = findings.overlaps.as_slice() else {
        panic!("{:?}", findings.overlaps);
    };
    assert_eq!(
        (&*overlap.first.journal, &*overlap.second.journal),
        ("a", "c")
    );
    assert_eq!(overlap.length(), Duration::from_nanos(30));
    let before = journal("c", "5 acquired r0 z 11\n");
    assert_eq!(checked(&[a, before]).overlaps.len(), 1);
}

#[test]
fn of_two_permits_a_third_holder_is_found_and_of_a_slot_a_second_one() {
    let first = journal("a", "10 acquired r0+counted x 100\n");
    let second = journal("b", "20 acquired r0+counted y 40\n");
    let third = journal("c", "40 acquired r0+counted z 90\n50 ended r0+counted z\n");
    let fourth = journal("d", "45 acquired r0+counted u 90\n");
    assert_eq!(
        checked(&[first.clone(), second.clone(), third.clone()]).overlaps,
        []
    );
    let findings = checked(&[first, second, third, fourth]);
    let [overlap] = findings.overlaps.as_slice() else {
        panic!("{:?}", findings.overlaps);
    };
    assert_eq!(&*overlap.second.journal, "d");
    let one = journal("a", "10 acquired r0/0 x 100\n");
    let other = journal("b", "20 acquired r0/1 y 100\n");
    assert_eq!(checked(&[one.clone(), other]).overlaps, []);
    let same = journal("b", "20 acquired r0/0 y 100\n");
    assert_eq!(checked(&[one, same]).overlaps.len(), 1);
}
