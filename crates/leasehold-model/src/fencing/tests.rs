//! Small worlds of tokens, to the end, and what the documentation tells of them.

use super::{
    run,
    shape::{Law, Shape},
};

fn shape(name: &str) -> &'static Shape {
    let all = Shape::usual(true);
    all.into_iter()
        .find(|shape| shape.name == name)
        .expect("a shape of this name")
}

/// The shortest way in which it breaks, as the program prints it.
fn story(shape: &'static Shape) -> Vec<String> {
    let outcome = run::explore(shape, |_, _| {});
    let Law::Broken(flaw) = shape.law else {
        panic!("{} is no control", shape.name);
    };
    assert!(outcome.breaks(flaw.property()), "{}", shape.name);
    let (_, steps) = outcome.broken.expect("it breaks");
    run::retell(shape, &steps)
}

#[test]
fn tokens_order_their_holders_in_a_small_world() {
    let outcome = run::explore(shape("tokens"), |_, _| {});
    assert!(outcome.is_well(), "{outcome:?}");
    // Another number is no defect, but something has changed that every course depends on.
    assert_eq!(outcome.unique, 46_135);
}

#[test]
fn a_node_that_restarts_without_its_data_gives_a_token_twice() {
    let story = story(shape("forgets-counter")).join("\n");
    for part in ["restarts without its data", "both have 1"] {
        assert!(story.contains(part), "{part} is not in:\n{story}");
    }
}

#[test]
fn the_documentation_tells_the_counterexamples_as_they_are_found() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/SAFETY.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    for name in [
        "no-second-round",
        "raises-anybody",
        "median",
        "time-alone",
        "counter-in-key",
    ] {
        let told = format!("### {name}\n");
        let (_, told) = page.split_once(&told).expect("it has a heading");
        let story = format!("```text\n{}\n```", story(shape(name)).join("\n"));
        let told = told.split("\n### ").next().unwrap_or_default();
        assert!(told.contains(&story), "under {name} belongs:\n{story}");
    }
}
