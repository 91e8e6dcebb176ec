//! Small worlds, to the end.

use crate::{flaw::Flaw, run, search::Outcome, shape::Shape, step::Step, subject::Subject};

fn explored(name: &str) -> (&'static Shape, Outcome<Step>) {
    let shape = Shape::usual(true)
        .into_iter()
        .find(|shape| shape.name == name)
        .expect("a shape of this name");
    (shape, run::explore(shape, |_, _| {}))
}

#[test]
fn a_small_world_is_explored_in_full_and_nothing_breaks() {
    let (_, outcome) = explored("turns");
    assert!(outcome.is_well(), "{outcome:?}");
    // Another number is no defect, but something has changed that every course depends on.
    assert_eq!(outcome.unique, 15_661);
}

#[test]
fn a_node_that_forgets_is_found_and_the_story_told() {
    let (shape, outcome) = explored("forgets");
    let (property, steps) = outcome.broken.expect("two leases at once");
    assert_eq!(property, Flaw::Exclusion.property());
    let story = run::retell(shape, &steps).join("\n");
    for part in [
        "n0 forgets its keys",
        "c0 is told: acquired",
        "c1 is told: acquired",
        "BROKEN",
    ] {
        assert!(story.contains(part), "{part} is not in:\n{story}");
    }
}

#[test]
fn names_are_not_used_twice() {
    let mut names: Vec<&str> = Subject::usual(true)
        .iter()
        .map(|subject| subject.name())
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
