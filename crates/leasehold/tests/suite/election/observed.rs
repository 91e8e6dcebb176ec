//! What observers of an election are told: in simulated time, of a file and of real servers.

use super::{MS, SECOND, elected, election, is_led_by, told};
use crate::support::{at_once, begin, block_on, cluster::Cluster};
use leasehold::{ElectionState, Leaders, LockManager, LockOptions, RestartGuard, testing::World};
use leasehold_servers::{ServerSet, require_server};
use std::{sync::mpsc, thread};

#[test]
fn that_nobody_can_tell_is_told_after_a_second_and_that_it_is_the_same_leader_is_no_news() {
    let world = World::new(3);
    let election = election(&world.manager());
    let mut leaders = election.observe();
    let leadership = elected(&world, &election);
    assert!(is_led_by(told(&world, &mut leaders).as_ref(), &leadership));
    for node in 0..2 {
        world.node(node).down("no route");
    }
    assert_eq!(told(&world, &mut leaders), None);
    world.advance(900 * MS);
    assert_eq!(told(&world, &mut leaders), None, "not for a second yet");
    for node in 0..2 {
        world.node(node).up();
    }
    world.advance(3 * SECOND);
    assert_eq!(told(&world, &mut leaders), None, "it is the same leader");
    // Who waits is told a second after the nodes were lost, and not after the next look.
    let mut next = Box::pin(leaders.next());
    assert_eq!(at_once(&world, &mut next), None);
    for node in 0..2 {
        world.node(node).down("no route");
    }
    world.settle();
    assert_eq!(at_once(&world, &mut next), None);
    world.advance(SECOND);
    assert_eq!(
        at_once(&world, &mut next),
        Some(Some(ElectionState::Unknown))
    );
    drop(next);
    let seen = leaders.inspection().expect("it has looked");
    assert_eq!(seen.differing().count(), 2);
}

#[test]
fn a_leader_that_dies_is_seen_to_be_gone_when_its_keys_end() {
    let world = World::new(3);
    let options = LockOptions::new().no_renewal();
    let manager = world.manager();
    let election = manager.election_with("e", options).expect("they fit");
    let mut leaders = super::election(&world.manager()).observe();
    let leadership = elected(&world, &election);
    assert!(is_led_by(told(&world, &mut leaders).as_ref(), &leadership));
    let mut next = Box::pin(leaders.next());
    begin(&mut next);
    world.advance(leadership.remaining());
    assert!(!leadership.is_leader());
    assert!(at_once(&world, &mut next).is_none(), "its keys live on");
    // By the drift, the margin, and what a look takes.
    world.advance(200 * MS);
    assert_eq!(
        at_once(&world, &mut next),
        Some(Some(ElectionState::NoLeader))
    );
}

#[test]
fn every_change_of_a_file_is_told_in_its_order() {
    let path = std::env::temp_dir().join(format!("leasehold-election-{}", std::process::id()));
    let manager = || {
        let builder = LockManager::builder().file(&path);
        builder.build().expect("it can be opened")
    };
    let [one, two, looking] = [manager(), manager(), manager()];
    tells_every_change(&one, &two, &mut election(&looking).observe());
    // Also those of the observer's own manager.
    tells_every_change(&one, &two, &mut election(&one).observe());
    drop((one, two, looking));
    std::fs::remove_dir_all(&path).expect("it is there");
}

#[test]
fn every_change_of_servers_is_told_in_its_order_at_once() {
    let cluster = Cluster::start(3);
    let manager = || cluster.direct(LockOptions::new());
    let [one, two, looking] = [manager(), manager(), manager()];
    let mut leaders = election(&looking).observe();
    let clock = one.clock();
    let begun = clock.now();
    tells_every_change(&one, &two, &mut leaders);
    let took = clock.now().saturating_since(begun);
    // By the clock alone each of the 12 changes would take half a second on the average.
    assert!(took < 3 * SECOND, "{took:?}");
    tells_every_change(&one, &two, &mut election(&one).observe());
    drop(leaders);
    assert_eq!(cluster.copies("e"), 0);
}

/// Two candidates lead in turns, while somebody waits for each change.
fn tells_every_change(one: &LockManager, two: &LockManager, leaders: &mut Leaders) {
    let (tell, told) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(move || {
            for _ in 0..13 {
                let state = block_on(leaders.next()).expect("it goes on");
                tell.send(state).expect("the test goes on");
            }
        });
        let next = || told.recv_timeout(10 * SECOND).expect("it is told");
        assert_eq!(next(), ElectionState::NoLeader);
        let mut last = None;
        for manager in [one, two, one, two, one, two] {
            let leadership = block_on(election(manager).campaign()).expect("nobody leads");
            assert!(last < Some(leadership.term()));
            last = Some(leadership.term());
            let state = next();
            assert!(is_led_by(Some(&state), &leadership), "{state:?}");
            let remaining = state.leader().and_then(|leader| leader.remaining);
            assert!(remaining.is_some_and(|left| left <= 10 * SECOND));
            assert!(block_on(leadership.resign()).is_released());
            assert_eq!(next(), ElectionState::NoLeader);
        }
    });
}

#[test]
fn a_change_is_told_to_who_waits_for_it_though_no_time_passes() {
    let world = World::new(3);
    let [one, other] = [world.manager(), world.manager()];
    // Nodes tell a manager nothing of what it does itself.
    for looking in [&one, &other] {
        let mut leaders = election(looking).observe();
        assert_eq!(told(&world, &mut leaders), Some(ElectionState::NoLeader));
        let mut next = Box::pin(leaders.next());
        assert_eq!(at_once(&world, &mut next), None);
        let leadership = elected(&world, &election(&one));
        let state = at_once(&world, &mut next).expect("it is told");
        assert!(is_led_by(state.as_ref(), &leadership), "{state:?}");
        drop(next);
        let mut next = Box::pin(leaders.next());
        assert_eq!(at_once(&world, &mut next), None);
        drop(leadership);
        world.settle();
        let state = at_once(&world, &mut next);
        assert_eq!(state, Some(Some(ElectionState::NoLeader)));
    }
}

#[test]
fn who_waits_for_a_change_is_told_that_the_manager_was_shut_down() {
    let world = World::new(3);
    let manager = world.manager();
    let mut leaders = election(&manager).observe();
    assert_eq!(told(&world, &mut leaders), Some(ElectionState::NoLeader));
    let mut next = Box::pin(leaders.next());
    assert_eq!(at_once(&world, &mut next), None);
    assert_eq!(manager.blocking().shutdown(), Some(0));
    assert_eq!(at_once(&world, &mut next), Some(None));
    drop(next);
    assert_eq!(at_once(&world, &mut Box::pin(leaders.next())), Some(None));
    let state = at_once(&world, &mut Box::pin(election(&manager).leader()));
    assert!(
        matches!(state, Some(Ok(ElectionState::NoLeader))),
        "a look is no wait"
    );
}

#[test]
fn an_operator_observes_with_terms_and_without_a_manager() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let builder = || {
        let builder = LockManager::builder().nodes(servers.urls());
        builder.restart_guard(RestartGuard::Off)
    };
    let manager = builder().build().expect("good addresses");
    let operator = builder().operator().expect("good addresses");
    assert!(operator.observe("").is_err());
    let mut leaders = operator.observe("e").expect("there is a thread");
    assert_eq!(block_on(leaders.next()), Some(ElectionState::NoLeader));
    let election = election(&manager).labelled("10.0.0.7:80");
    let leadership = block_on(election.expect("a label").campaign()).expect("nobody leads");
    // Told again where a node that had counted further is heard later.
    loop {
        let state = block_on(leaders.next()).expect("it goes on");
        assert!(is_led_by(Some(&state), &leadership), "{state}");
        let leader = state.leader().expect("it is led");
        assert_eq!(leader.label().as_deref(), Some("10.0.0.7:80"));
        if leader.term_at_most >= Some(leadership.term()) {
            break;
        }
    }
    for server in &servers[..2] {
        server.kill().expect("it runs");
    }
    while block_on(leaders.next()) != Some(ElectionState::Unknown) {}
    let seen = leaders.inspection().expect("it has looked");
    assert!(seen.is_unclear());
}

#[test]
#[should_panic(expected = "this test waits for a change of who leads \"e\", and")]
fn who_waits_for_a_change_that_cannot_come_is_told_so() {
    let world = World::new(3);
    world.give_up_after(100 * MS);
    let election = world.manager().blocking().election("e");
    let mut leaders = election.expect("a plain name").observe();
    assert_eq!(leaders.next(), Some(ElectionState::NoLeader));
    leaders.next();
}
