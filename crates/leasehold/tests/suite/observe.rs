//! What observers are told.

use crate::support::{at_once, begin};
use leasehold::{
    LockManager, LockOptions, LossCause, Observation, ReleaseOutcome,
    observe::{Answer, Obstacle, RequestKind},
    testing::World,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// What was told of locks, or of nodes.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn write(&self, line: String) {
        self.0.lock().expect("nothing panics here").push(line);
    }

    /// What was told since the last look.
    fn read(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("nothing panics here"))
    }

    fn of_locks(&self) -> impl Fn(&Observation<'_>) + Send + Sync + 'static {
        let diary = self.clone();
        move |observation| {
            let line = match observation {
                Observation::Acquired {
                    resource,
                    waited,
                    attempts,
                    ..
                } => format!("{resource} acquired, {waited:?}, {attempts}"),
                Observation::NotAcquired {
                    resource,
                    obstacle,
                    attempts,
                    ..
                } => format!("{resource} not acquired, {}, {attempts}", obstacle.as_str()),
                Observation::Extended { took, .. } => format!("extended in {took:?}"),
                Observation::InDanger { .. } => "in danger".to_owned(),
                Observation::Lost { cause, held, .. } => {
                    let is_gone = matches!(cause, LossCause::Gone { .. });
                    format!("lost, gone: {is_gone}, {held:?}")
                }
                Observation::Released { outcome, held, .. } => {
                    let is_released = **outcome == ReleaseOutcome::Released;
                    format!("released: {is_released}, {held:?}")
                }
                Observation::HandedOver { held, .. } => format!("handed over, {held:?}"),
                _ => return,
            };
            diary.write(line);
        }
    }
}

/// A world, and a manager in it that is observed.
fn observed(diary: &Diary) -> (World, LockManager) {
    let world = World::new(3);
    let manager = world.builder().observer(diary.of_locks());
    let manager = manager.build().expect("three nodes");
    (world, manager)
}

#[test]
fn a_lease_is_told_from_its_beginning_to_its_end() {
    let diary = Diary::default();
    let (world, manager) = observed(&diary);
    let mutex = manager.mutex("r").expect("a name");
    let guard = manager.blocking().mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    assert_eq!(diary.read(), ["r acquired, 0ns, 1"]);
    let told = at_once(&world, &mut Box::pin(mutex.try_acquire()));
    assert!(told.is_some_and(|told| told.is_err()));
    assert_eq!(diary.read(), ["r not acquired, held, 1"]);
    world.advance(5 * SECOND);
    assert_eq!(diary.read(), ["extended in 0ns"]);
    assert!(guard.release().is_released());
    world.settle();
    assert_eq!(diary.read(), ["released: true, 5s"]);
}

#[test]
fn waiting_is_measured_and_attempts_are_counted() {
    let diary = Diary::default();
    let (world, manager) = observed(&diary);
    let other = world.manager().blocking().mutex("r").expect("a name");
    let guard = other.acquire().expect("it is free");
    let mutex = manager.mutex("r").expect("a name");
    let mut waiting = Box::pin(mutex.acquire_within(60 * SECOND));
    begin(&mut waiting);
    world.advance(SECOND);
    drop(guard);
    world.advance(SECOND);
    let [line] = &diary.read()[..] else {
        panic!("one line is told");
    };
    let words: Vec<_> = line.split(", ").collect();
    let [what, waited, attempts] = words[..] else {
        panic!("it has three parts: {line}");
    };
    assert_eq!(what, "r acquired");
    assert!(waited.starts_with("1.0") || waited == "1s", "{line}");
    assert!(
        attempts.parse::<u32>().is_ok_and(|count| count >= 2),
        "{line}"
    );
}

#[test]
fn attempts_at_a_fair_lock_are_counted_and_leaving_its_queue_is_none() {
    let (locks, nodes) = (Diary::default(), Diary::default());
    let world = World::new(3);
    let heard = nodes.clone();
    let asked = move |told: &Observation<'_>| {
        if let Observation::Asked { node, request, .. } = told {
            heard.write(format!("{node} {}", request.as_str()));
        }
    };
    let builder = world.builder().observer(locks.of_locks()).observer(asked);
    let manager = builder.build().expect("three nodes");
    let fair = || LockOptions::new().fair();
    let other = world.manager().blocking().mutex_with("r", fair());
    let guard = other.expect("a name").acquire().expect("it is free");
    let mutex = manager.mutex_with("r", fair()).expect("a name");
    let mut waiting = Box::pin(mutex.acquire_within(60 * SECOND));
    begin(&mut waiting);
    world.advance(3 * SECOND);
    // It has a place there, and wins without it: so it says that it leaves.
    world.node(2).hang();
    drop(guard);
    world.advance(SECOND);
    let told = nodes.read();
    let count = |line: &str| told.iter().filter(|told| *told == line).count();
    assert_eq!(count("node #2 leave"), 1, "{told:?}");
    // Each attempt begins at the one node on which all meet, or at all of them.
    let attempts = (0..3).map(|node| count(&format!("node #{node} acquire")));
    let attempts = attempts.max().expect("three nodes");
    assert!(attempts >= 4, "it shows itself once a second: {told:?}");
    let [line] = &locks.read()[..] else {
        panic!("one line is told");
    };
    assert!(line.ends_with(&format!(", {attempts}")), "{line}");
}

#[test]
fn who_goes_away_is_told_to_have_gone() {
    let diary = Diary::default();
    let (world, manager) = observed(&diary);
    for node in 0..3 {
        world.node(node).hang();
    }
    let mutex = manager.mutex("r").expect("a name");
    let mut waiting = Box::pin(mutex.acquire());
    begin(&mut waiting);
    world.settle();
    drop(waiting);
    world.settle();
    let cancelled = Obstacle::Cancelled.as_str();
    assert_eq!(diary.read(), [format!("r not acquired, {cancelled}, 1")]);
}

#[test]
fn a_lost_lease_is_told_once_and_its_release_is_not() {
    let diary = Diary::default();
    let (world, manager) = observed(&diary);
    let guard = manager.blocking().mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.lose("r");
    assert_eq!(diary.read()[1..], ["lost, gone: true, 20ms"]);
    assert!(!guard.release().is_released());
    world.settle();
    assert_eq!(diary.read(), [""; 0]);
}

#[test]
fn a_danger_is_told_and_the_extension_that_ends_it_tells_how_long_it_took() {
    let diary = Diary::default();
    let (world, manager) = observed(&diary);
    let guard = manager.blocking().mutex("r").expect("a name").acquire();
    let _guard = guard.expect("it is free");
    world.node(0).hang();
    world.node(1).hang();
    world.advance(8 * SECOND);
    let told = diary.read();
    assert!(told[1..].iter().all(|line| line == "in danger"), "{told:?}");
    assert!(told.len() > 1, "it is told");
    world.node(0).resume();
    world.advance(SECOND);
    let told = diary.read();
    let took = told[0]
        .strip_prefix("extended in ")
        .expect("it is extended");
    // The first was tried after about 3.3 s, and the node went on after 8.
    assert!(took.starts_with("4.") || took.starts_with("5."), "{took}");
}

#[test]
fn a_hand_over_ends_a_lease_here_and_begins_another() {
    let diary = Diary::default();
    let (world, manager) = observed(&diary);
    let manager = manager.blocking();
    let guard = manager.mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.advance(SECOND);
    let text = guard.hand_over().expect("it is held");
    drop(manager.adopt(&text).expect("nobody was faster"));
    world.settle();
    let told = diary.read();
    let told: Vec<_> = told.iter().map(String::as_str).collect();
    let expected = [
        "r acquired, 0ns, 1",
        "extended in 0ns",
        "handed over, 1s",
        "r acquired, 0ns, 1",
        "released: true, 0ns",
    ];
    assert_eq!(told, expected);
}

#[test]
fn nodes_are_told_of_by_name_with_what_they_were_asked_and_answered() {
    let diary = Diary::default();
    let world = World::new(3);
    world.node(2).down("no route");
    let heard = diary.clone();
    let builder = world.builder().observer(move |told: &Observation<'_>| {
        let line = match told {
            Observation::Asked { node, request, .. } => {
                format!("{node} asked {}", request.as_str())
            }
            Observation::Answered {
                node,
                request: RequestKind::Acquire,
                answer,
                took,
                ..
            } => format!("{node}: {} in {took:?}", answer.as_str()),
            Observation::ClockStepped { node, .. } => format!("{node} was set"),
            Observation::Up { node, .. } => format!("{node} up"),
            Observation::Down { node, reason, .. } => format!("{node} down, {reason}"),
            _ => return,
        };
        heard.write(line);
    });
    let manager = builder.build().expect("three nodes");
    world.settle();
    let up = ["node #0 up", "node #1 up", "node #2 down, no route"];
    assert_eq!(diary.read(), up);

    world.node(1).answer_after(30 * MS);
    let mutex = manager.mutex("r").expect("a name");
    let mut waiting = Box::pin(mutex.acquire());
    begin(&mut waiting);
    world.advance(30 * MS);
    let told = diary.read();
    for line in [
        "node #1 asked acquire",
        "node #0: granted in 0ns",
        "node #1: granted in 30ms",
        "node #2: down in 0ns",
    ] {
        assert!(told.iter().any(|other| other == line), "{line}: {told:?}");
    }
    world.node(0).set_clock_forward(SECOND);
    world.advance(5 * SECOND);
    assert!(diary.read().contains(&"node #0 was set".to_owned()));
    assert_eq!(Answer::Granted.as_str(), "granted");
}

#[test]
fn an_observer_that_panics_hurts_nobody_and_is_not_called_again() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let diary = Diary::default();
    let world = World::new(3);
    let builder = world.builder().observer(move |_: &Observation<'_>| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("an observer fails");
    });
    let manager = builder.observer(diary.of_locks()).build();
    let manager = manager.expect("three nodes").blocking();
    let options = LockOptions::new().ttl(SECOND);
    let guard = manager.mutex_with("r", options).expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.advance(10 * SECOND);
    assert!(guard.is_valid());
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let told = diary.read();
    assert!(
        told.len() > 20,
        "the other one is told of everything: {told:?}"
    );
}
