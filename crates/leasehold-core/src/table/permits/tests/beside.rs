//! Every request for a part or the whole beside everything that can stand under a name, by exhaustion.

use super::*;

/// Who has something, of whom none excludes another.
type Holders = Vec<Actor>;

/// Everything that can stand under a name, of up to three permits.
fn states() -> Vec<Holders> {
    let mut states = vec![
        vec![],
        vec![writer("w")],
        vec![reader("r")],
        vec![reader("r"), reader("s")],
    ];
    for of in 1..=3 {
        for taken in 1_u16..1 << of {
            let slots = (0..of).filter(|slot| taken & 1 << slot != 0);
            let number = |slot| u8::try_from(slot).expect("a few slots");
            states.push(slots.map(|slot| permit(slot, of, number(slot))).collect());
        }
    }
    states
}

/// Everything that a newcomer can ask for.
fn wishes() -> Vec<Actor> {
    let slots = (1..=3).flat_map(|of| (0..of).map(move |slot| (slot, of)));
    let permits = slots.map(|(slot, of)| permit(slot, of, 99));
    permits.chain([reader("new"), writer("new")]).collect()
}

/// Which part of the name somebody has or wants.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Whole,
    Share,
    Slot(u16, u16),
}

fn part(actor: &Actor) -> Part {
    match actor.owner.permit() {
        Some(permit) => Part::Slot(permit.slot(), permit.of().get()),
        None if actor.resource.is_shared() => Part::Share,
        None => Part::Whole,
    }
}

fn can_stand_beside(one: Part, other: Part) -> bool {
    match (one, other) {
        (Part::Share, Part::Share) => true,
        (Part::Slot(slot, of), Part::Slot(other, of_other)) => of == of_other && slot != other,
        _ => false,
    }
}

#[test]
fn a_part_is_granted_beside_those_that_it_does_not_exclude_and_no_others() {
    for state in states() {
        for wish in wishes() {
            let mut node = Node::default();
            for holder in &state {
                node.grants(&holder.acquire());
            }
            let mut both = state.iter();
            let expected = both.all(|holder| can_stand_beside(part(holder), part(&wish)));
            for request in [wish.acquire(), wish.repair(None)] {
                let mut node = node.clone();
                let vote = node.ask(&request);
                assert_eq!(
                    vote.is_granted(),
                    expected,
                    "{state:?}, {request:?}: {vote:?}"
                );
                // What was there is there.
                for holder in &state {
                    node.grants(&holder.extend(1_000));
                }
            }
            // When all have ended it is as if nobody had come.
            node.millis = 1_000;
            node.grants(&wish.acquire());
        }
    }
}

#[test]
fn whatever_is_refused_about_a_part_tells_which_permits_are_taken() {
    for state in states().into_iter().filter(|state| !state.is_empty()) {
        let mut node = Node::default();
        for holder in &state {
            node.grants(&holder.acquire());
        }
        let slots: Vec<_> = state.iter().map(part).collect();
        let expected = match slots[0] {
            Part::Slot(_, of) => {
                let slot = |part: &Part| match part {
                    Part::Slot(slot, _) => (*slot, 1_000),
                    _ => unreachable!("there are permits only"),
                };
                taken(of, &slots.iter().map(slot).collect::<Vec<_>>())
            }
            part => Refusal {
                holder: Some(writer("w").owner).filter(|_| part == Part::Whole),
                remaining: Some(Duration::from_secs(1)),
                ..Refusal::default()
            },
        };
        for stranger in [permit(0, 1, 77), permit(2, 3, 77), reader("x")] {
            for request in [
                stranger.extend(1_000),
                stranger.release(None),
                stranger.release(Some(1_000)),
                stranger.raise(9),
                stranger.inspect(),
                stranger.take_over(&reader("y"), None),
                stranger.take_over(&permit(0, 3, 78), Some(4)),
            ] {
                let told = node.refuses(&request);
                assert_eq!(told, expected, "{state:?}, {request:?}");
            }
        }
        // Who is about the whole name has no use for slots.
        for request in [writer("x").acquire(), writer("x").inspect()] {
            assert_eq!(node.refuses(&request).permits, None);
        }
    }
}

#[test]
fn several_names_are_not_had_while_there_is_a_permit_of_one() {
    let mut node = Node::default();
    node.grants(&permit(0, 2, 1).acquire());
    let both = Resource::several(["pool", "other"]).expect("names");
    let both = named(both, "b");
    node.refuses(&both.acquire());
    node.millis = 1_000;
    node.grants(&both.acquire());
    let told = node.refuses(&permit(0, 2, 1).acquire());
    assert_eq!(told.holder, Some(both.owner));
}
