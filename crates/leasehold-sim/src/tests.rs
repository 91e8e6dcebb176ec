//! The world itself, and every scenario for a few seeds.

use crate::{
    campaign::{self, Summary},
    check::{Property, Violation},
    course::Phase,
    scenario::{Law, Scenario},
    time::Moment,
    trace::Trace,
    world::World,
};
use leasehold_core::{Owner, Request, Vote};

fn story(scenario: &Scenario, seed: u64) -> String {
    let mut world = World::new(scenario, seed, Trace::Keep(String::new()));
    world.run();
    match world.trace {
        Trace::Keep(text) => text,
        Trace::Off | Trace::Print => unreachable!("the story is kept"),
    }
}

#[test]
fn a_seed_is_a_story_to_the_byte() {
    for name in ["everything", "lawless", "control-restart"] {
        let scenario = Scenario::find(name).expect("a scenario of this name");
        for seed in 0..5 {
            assert_eq!(
                story(scenario, seed),
                story(scenario, seed),
                "{name} {seed}"
            );
        }
        assert_ne!(story(scenario, 0), story(scenario, 1), "{name}");
    }
}

#[test]
fn telling_the_story_does_not_change_it() {
    let scenario = Scenario::find("everything").expect("it is there");
    for seed in 0..5 {
        let told = World::new(scenario, seed, Trace::Keep(String::new())).run();
        let untold = World::new(scenario, seed, Trace::Off).run();
        assert_eq!(told.events, untold.events, "{seed}");
        assert_eq!(told.leases, untold.leases, "{seed}");
    }
}

/// `LEASEHOLD_WORLDS` has the first seed, how many seeds each scenario runs, and how many each that runs scripts. A control stops
/// at the first seeds that break it, and always begins at 0, since it must break.
#[test]
fn every_scenario_is_as_it_must_be_for_some_seeds() {
    let asked = std::env::var("LEASEHOLD_WORLDS");
    let asked = asked.as_deref().unwrap_or("0 30 30");
    let numbers: Vec<u64> = asked.split(' ').flat_map(str::parse).collect();
    let [first, seeds, scripted] = numbers[..] else {
        panic!("LEASEHOLD_WORLDS is `{asked}`, and must be three numbers");
    };
    for scenario in Scenario::all() {
        let seeds = match scenario.is_scripted() {
            true => scripted,
            false => seeds,
        };
        let run = |from, seeds| campaign::run(scenario, from, seeds, None, |_| {});
        let summary = match scenario.law {
            Law::Broken(_) => {
                let few = (0..30).step_by(5).map(|from| run(from, 5));
                let mut broken = few.filter(|summary| summary.is_as_it_must_be(scenario.law));
                broken.next().unwrap_or_default()
            }
            Law::Kept | Law::Fenced => run(first, seeds),
        };
        assert!(
            summary.is_as_it_must_be(scenario.law),
            "`cargo xtask sim --scenario {}` from seed {first}: {:?}",
            scenario.name,
            summary.violations.first()
        );
        assert!(
            summary.leases > 0,
            "{}: nobody ever acquired",
            scenario.name
        );
    }
}

#[cfg(feature = "lua")]
#[test]
fn scenarios_whose_nodes_run_scripts_are_known_by_their_names() {
    for scenario in Scenario::all() {
        let (setting, _) = scenario.draw(0);
        assert_eq!(
            scenario.is_scripted(),
            setting.texts.is_some(),
            "{}",
            scenario.name
        );
    }
}

/// A line of seeds.txt: scenario, seed, reason.
#[test]
fn seeds_that_once_failed_hold() {
    for line in include_str!("../seeds.txt").lines() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        let mut words = line.splitn(3, ' ');
        let (name, seed, reason) = (words.next(), words.next(), words.next());
        let scenario = name
            .and_then(Scenario::find)
            .expect("a scenario comes first");
        let seed = seed
            .and_then(|seed| seed.parse().ok())
            .expect("a seed comes second");
        assert!(
            reason.is_some_and(|reason| reason.len() > 10),
            "no reason: {line}"
        );
        assert!(
            !matches!(scenario.law, Law::Broken(_)),
            "a control fails as it must: {line}"
        );
        let report = campaign::one(scenario, seed, None, Trace::Off);
        assert_eq!(report.violation, None, "{line}");
    }
}

#[test]
fn a_key_that_nobody_takes_back_is_found() {
    let calm = Scenario::find("calm").expect("it is there");
    let long_ttl = (0..).find(|seed| calm.draw(*seed).0.ttl_ns > 3_000_000_000);
    let mut world = World::new(calm, long_ttl.expect("some seed draws it"), Trace::Off);
    let resource = world.resources[0].clone();
    while world.phase != Phase::Silence || world.nodes[0].key(world.now, &resource).is_some() {
        world.step();
    }
    let config = world.config(0);
    let request = Request::Acquire {
        resource,
        owner: config.owners.owner(&[9; 20]).expect("not empty"),
        ttl: config.timing.ttl(),
        proposal: None,
        place: None,
    };
    assert_eq!(world.nodes[0].execute(world.now, &request), Vote::GRANTED);
    let (_, violation) = world.run().violation.expect("the key is found");
    assert_eq!(violation.property, Property::Leftovers);
}

#[test]
fn a_world_in_which_nobody_can_acquire_is_found() {
    let calm = Scenario::find("calm").expect("it is there");
    let single = (0..).find(|seed| calm.draw(*seed).0.resources == 1);
    let mut world = World::new(calm, single.expect("some seed draws it"), Trace::Off);
    for node in &mut world.nodes {
        node.foreign_type = Some(world.resources[0].clone());
    }
    let (_, violation) = world.run().violation.expect("nobody acquires");
    assert_eq!(violation.property, Property::Progress);
}

#[test]
fn the_owner_tells_who_signed() {
    let scenario = Scenario::find("calm").expect("it is there");
    let mut world = World::new(scenario, 1, Trace::Off);
    world.clients[2].generation = 300;
    let owner = world.config(2).owners.owner(&[9; 20]).expect("not empty");
    assert_eq!(crate::world::signer(&owner), Some((2, 300)));
    let foreign = Owner::from_bytes(b"foreign").expect("seven bytes");
    assert_eq!(crate::world::signer(&foreign), None);
}

#[test]
fn a_fault_is_told_as_the_mutants_read_it() {
    let calm = Scenario::find("calm").expect("it is there");
    let violation = Violation {
        property: Property::Leftovers,
        what: "a key: left".to_owned(),
    };
    let mut summary = Summary {
        seeds: 1,
        leases: 1,
        violations: vec![(12, Moment::from_ns(3_000_000_000), violation)],
        ..Summary::default()
    };
    let told = crate::fault(calm, &summary).expect("it is not as it must be");
    assert!(
        told.starts_with("seed 12, at 3.000000 s: Leftovers: a key: left\n"),
        "{told}"
    );
    summary.violations.clear();
    assert_eq!(crate::fault(calm, &summary), None);
}
