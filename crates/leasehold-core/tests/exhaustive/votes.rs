//! Every table of votes against the definition of a quorum.

use leasehold_core::{Decision, NodeSet, Quorum, Tally, quorum::Ballot};

/// All ways in which `nodes` nodes can have voted so far; none means not yet.
fn tables(nodes: u32) -> impl Iterator<Item = Vec<Option<Ballot>>> {
    const VALUES: [Option<Ballot>; 4] = [
        Some(Ballot::Granted),
        Some(Ballot::Refused),
        Some(Ballot::Unknown),
        None,
    ];
    (0..4_usize.pow(nodes)).map(move |number| {
        let digit = |place| VALUES[number / 4_usize.pow(place) % 4];
        (0..nodes).map(digit).collect()
    })
}

fn quorum(nodes: u32) -> Quorum {
    Quorum::majority(nodes as usize).expect("1 to 7 nodes")
}

fn tally(table: &[Option<Ballot>]) -> Tally {
    let mut tally = Tally::EMPTY;
    for (node, ballot) in NodeSet::first(7).iter().zip(table) {
        if let Some(ballot) = ballot {
            assert!(tally.count(node, *ballot), "a first vote counts");
            assert!(!tally.count(node, Ballot::Granted), "a second one does not");
        }
    }
    tally
}

#[test]
fn a_vote_is_decided_as_soon_as_it_cannot_change_and_never_before() {
    for nodes in 1..=7 {
        let needed = nodes as usize / 2 + 1;
        for table in tables(nodes) {
            let count = |wanted| table.iter().filter(|vote| **vote == wanted).count();
            let (granted, open) = (count(Some(Ballot::Granted)), count(None));
            let expected = match () {
                () if granted >= needed => Decision::Won,
                () if granted + open < needed => Decision::Lost,
                () => Decision::Pending,
            };
            let decision = tally(&table).decision(quorum(nodes));
            assert_eq!(decision, expected, "{table:?}");
            assert!(open > 0 || decision != Decision::Pending, "{table:?}");
        }
    }
}

#[test]
fn any_two_sets_of_nodes_that_win_share_a_node() {
    // Argument S1.
    for nodes in 1..=7 {
        let all: Vec<_> = quorum(nodes).nodes().iter().collect();
        let set = |bits: usize| -> NodeSet {
            let chosen = all.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            chosen.map(|(_, node)| *node).collect()
        };
        let wins = |set: &NodeSet| {
            let mut tally = Tally::EMPTY;
            for node in set.iter() {
                tally.count(node, Ballot::Granted);
            }
            tally.decision(quorum(nodes)) == Decision::Won
        };
        let winners: Vec<_> = (0..1 << nodes).map(set).filter(wins).collect();
        for one in &winners {
            for other in &winners {
                assert!(
                    !one.intersection(*other).is_empty(),
                    "{one:?} and {other:?}"
                );
            }
        }
        assert!(winners.contains(&quorum(nodes).nodes()));
    }
}
