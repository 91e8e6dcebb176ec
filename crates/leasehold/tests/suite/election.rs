//! Leaders and candidates: in simulated time, in memory, and on real servers.

mod observed;

use crate::support::{at_once, begin, block_on, cluster::Cluster, eventually};
use leasehold::{
    AcquireError, ConfigError, Election, ElectionState, Holder, Leaders, Leadership, LockManager,
    LockOptions, LossCause, Mode, blocking, testing::World,
};
use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::Poll,
    thread,
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn memory() -> LockManager {
    let builder = LockManager::builder().memory(3);
    builder.build().expect("three nodes")
}

fn election(manager: &LockManager) -> Election {
    manager.election("e").expect("a plain name")
}

/// What is told at this moment of a world's time; none if nothing is.
fn told(world: &World, leaders: &mut Leaders) -> Option<ElectionState> {
    at_once(world, &mut Box::pin(leaders.next())).map(|told| told.expect("it goes on"))
}

fn elected(world: &World, election: &Election) -> Leadership {
    let elected = at_once(world, &mut Box::pin(election.campaign()));
    // Others are told as well.
    world.settle();
    elected.expect("nobody leads").expect("nobody leads")
}

/// Lets time pass until this candidate is elected: it rests between its attempts, and extensions that hung may land late.
fn succeeds<C>(world: &World, campaign: &mut C) -> Leadership
where
    C: Future<Output = Result<Leadership, AcquireError>> + Unpin,
{
    for _ in 0..1_500 {
        if let Some(elected) = at_once(world, campaign) {
            return elected.expect("nobody leads");
        }
        world.advance(10 * MS);
    }
    panic!("nobody was elected for fifteen seconds");
}

fn is_led_by<M: Mode>(state: Option<&ElectionState>, leadership: &Leadership<M>) -> bool {
    let leader = state.and_then(ElectionState::leader);
    leader.is_some_and(|leader| leader.owner == *leadership.owner())
}

#[test]
fn a_leader_that_is_deposed_is_told_and_its_successor_has_a_larger_term() {
    let world = World::new(3);
    let [one, two] = [world.manager(), world.manager()].map(|manager| election(&manager));
    let mut leaders = election(&world.manager()).observe();
    assert_eq!(told(&world, &mut leaders), Some(ElectionState::NoLeader));
    let first = elected(&world, &one);
    assert!(first.is_leader());
    assert!(is_led_by(told(&world, &mut leaders).as_ref(), &first));
    let mut campaign = Box::pin(two.campaign());
    assert!(at_once(&world, &mut campaign).is_none(), "the first leads");
    assert_eq!(told(&world, &mut leaders), None, "nothing has changed");

    world.lose("e");
    assert!(!first.is_leader());
    let lost = block_on(first.lost());
    assert!(matches!(lost.cause, LossCause::Gone { .. }), "{lost}");
    let second = succeeds(&world, &mut campaign);
    assert!(second.is_leader());
    assert!(first.term() < second.term());
    // That nobody led was seen before, unless the next one was faster.
    let mut state = told(&world, &mut leaders);
    if state == Some(ElectionState::NoLeader) {
        state = told(&world, &mut leaders);
    }
    assert!(is_led_by(state.as_ref(), &second), "{state:?}");
}

#[test]
fn a_leader_that_is_cut_off_has_stopped_when_its_successor_is_elected() {
    let world = World::new(3);
    let [one, two] = [world.manager(), world.manager()].map(|manager| election(&manager));
    let first = elected(&world, &one);
    let mut campaign = Box::pin(two.campaign());
    begin(&mut campaign);
    world.settle();
    for node in 0..2 {
        world.node(node).hang();
    }
    // Its keys live for longer than it leads, by the drift and the margin.
    world.advance(first.remaining());
    assert!(!first.is_leader());
    let lost = block_on(first.lost());
    assert!(matches!(lost.cause, LossCause::TimedOut { .. }), "{lost}");
    for node in 0..2 {
        world.node(node).resume();
    }
    let second = succeeds(&world, &mut campaign);
    assert!(first.term() < second.term());
}

#[test]
fn many_candidates_have_one_leader_at_a_time_and_their_terms_grow() {
    let manager = memory();
    let (election, leading) = (election(&manager), AtomicU32::new(0));
    let terms = std::sync::Mutex::new(Vec::new());
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..10 {
                    let led = block_on(election.lead(async |leadership| {
                        assert_eq!(leading.fetch_add(1, Ordering::SeqCst), 0);
                        terms.lock().expect("nobody panics").push(leadership.term());
                        tokio::task::yield_now().await;
                        assert_eq!(leading.fetch_sub(1, Ordering::SeqCst), 1);
                    }));
                    let done = led.expect("others resign");
                    assert_eq!(done.work, Ok(()));
                    assert!(done.release.is_released());
                }
            });
        }
    });
    let terms = terms.into_inner().expect("nobody panics");
    assert_eq!(terms.len(), 40);
    assert!(terms.is_sorted_by(|one, next| one < next), "{terms:?}");
}

#[test]
fn a_lease_of_the_same_name_is_the_leadership() {
    let manager = memory();
    let election = election(&manager);
    let guard = block_on(manager.mutex("e").expect("a plain name").acquire());
    let leadership = Leadership::from(guard.expect("it is free"));
    let refused = block_on(election.try_campaign()).expect_err("somebody leads");
    assert_eq!(refused.holder(), Some(leadership.owner()));
    let text = block_on(leadership.into_guard().hand_over()).expect("it leads");
    let heir = Leadership::from(block_on(manager.adopt(&text)).expect("it was handed over"));
    let state = block_on(election.leader()).expect("the manager runs");
    assert!(is_led_by(Some(&state), &heir));
    let refused = block_on(election.campaign_within(20 * MS)).expect_err("somebody leads");
    assert!(
        matches!(refused, AcquireError::TimedOut { .. }),
        "{refused}"
    );
    assert!(block_on(heir.resign()).is_released());
    let state = block_on(election.leader()).expect("the manager runs");
    assert_eq!(state, ElectionState::NoLeader);
}

#[test]
fn a_name_or_a_label_that_cannot_be_used_is_told_before_anything_is_sent() {
    let manager = memory();
    let wrong = manager.election("").expect_err("no name");
    assert!(matches!(wrong, ConfigError::Resource(_)), "{wrong}");
    let wrong = manager.election_with("e", LockOptions::new().ttl(Duration::ZERO));
    assert!(matches!(wrong, Err(ConfigError::Timing(_))));
    let election = election(&manager);
    let wrong = election.with(|options| options.tries(0));
    assert!(matches!(wrong, Err(ConfigError::NoTries)));
    for label in ["", "a\tb", "a\"b", &"x".repeat(Holder::LONGEST_LABEL + 1)] {
        let wrong = election.labelled(label).expect_err("it cannot be used");
        assert!(matches!(wrong, ConfigError::Label(_)), "{label:?}: {wrong}");
    }
}

#[test]
fn a_plain_election_has_no_terms_and_is_observed_all_the_same() {
    let manager = LockManager::builder().memory(3).build_plain();
    let election = manager.expect("three nodes").election("e");
    let election = election.expect("a plain name");
    let mut leaders = election.observe();
    let leadership = block_on(election.campaign()).expect("nobody leads");
    assert_eq!(leadership.token(), None);
    assert!(is_led_by(block_on(leaders.next()).as_ref(), &leadership));
    let done = block_on(leadership.run(async { 7 }));
    assert_eq!((done.work, done.release.is_released()), (Ok(7), true));
    assert_eq!(block_on(leaders.next()), Some(ElectionState::NoLeader));
}

/// What happens in `work`, each time that it is done: a word, and how it goes on.
type Course = (&'static str, ControlFlow<&'static str>);

#[test]
fn who_leads_repeatedly_campaigns_again_after_a_loss_and_a_resignation_until_somebody_says_break() {
    let world = World::new(3);
    let manager = world.manager();
    let election = election(&manager);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let courses: [Course; 3] = [
        ("wait", ControlFlow::Continue(())),
        ("done", ControlFlow::Continue(())),
        ("done", ControlFlow::Break("the work said so")),
    ];
    let (mut terms, mut losses) = (Vec::new(), Vec::new());
    let leading = election.lead_repeatedly(
        async |leadership| {
            let (word, next) = courses[terms.len()];
            terms.push(leadership.term());
            if word == "wait" {
                std::future::pending::<()>().await;
            }
            next
        },
        |lost| {
            losses.push(lost);
            ControlFlow::Continue(())
        },
    );
    let test = async {
        world.until_held("e").await;
        world.lose("e");
    };
    let (ended, ()) = runtime.block_on(async { tokio::join!(leading, test) });
    assert_eq!(ended.expect("nobody shuts down"), "the work said so");
    assert!(terms.len() == 3 && terms.is_sorted_by(|one, next| one < next));
    assert_eq!(losses.len(), 1, "{losses:?}");

    let leading = election.lead_repeatedly(
        async |_| std::future::pending::<ControlFlow<_>>().await,
        |lost| ControlFlow::Break(lost.to_string()),
    );
    let (ended, ()) = runtime.block_on(async {
        let test = async {
            world.until_held("e").await;
            world.lose("e");
        };
        tokio::join!(leading, test)
    });
    let ended = ended.expect("nobody shuts down");
    assert!(ended.starts_with("lost the lock \"e\""), "{ended}");
}

/// Leads until the task is dropped, and counts how often.
async fn lead(election: Election, count: Arc<AtomicU32>) -> Result<(), AcquireError> {
    let end = election.lead_repeatedly(
        async move |leadership| {
            count.fetch_add(1, Ordering::SeqCst);
            leadership.lost().await;
            ControlFlow::Continue(())
        },
        |_| ControlFlow::Continue(()),
    );
    end.await
}

#[test]
fn a_task_that_leads_repeatedly_ends_with_its_manager_and_one_that_is_dropped_resigns() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let manager = memory();
        let (election, count) = (election(&manager), Arc::new(AtomicU32::new(0)));
        let first = tokio::spawn(lead(election.clone(), Arc::clone(&count)));
        let mut leaders = election.observe();
        let led = async |leaders: &mut Leaders| {
            while leaders
                .next()
                .await
                .is_none_or(|state| state.leader().is_none())
            {}
        };
        led(&mut leaders).await;
        let (other, more, name) = (election.clone(), Arc::clone(&count), "e");
        let once = tokio::spawn(async move {
            let work = async move |leadership: &Leadership| {
                assert_eq!(leadership.resource().as_str(), name);
                more.fetch_add(1, Ordering::SeqCst)
            };
            other.lead(work).await
        });
        first.abort();
        assert!(first.await.is_err_and(|end| end.is_cancelled()));
        let done = once
            .await
            .expect("it does not panic")
            .expect("nobody leads");
        assert!(done.work.is_ok(), "{done:?}");
        while leaders.next().await != Some(ElectionState::NoLeader) {}
        let second = tokio::spawn(lead(election.clone(), Arc::clone(&count)));
        led(&mut leaders).await;
        let third = tokio::spawn(lead(election.clone(), Arc::clone(&count)));
        assert_eq!(manager.shutdown().await, Some(0));
        let told = third.await.expect("it does not panic");
        assert!(
            matches!(told, Err(AcquireError::ShutDown { .. })),
            "{told:?}"
        );
        assert_eq!(leaders.next().await, None, "nothing more is told");
        second.abort();
        // Those that were ended may not have begun.
        assert!((1..=3).contains(&count.load(Ordering::SeqCst)));
    });
}

#[test]
fn threads_lead_as_tasks_do() {
    let world = World::new(3);
    let manager = world.manager().blocking();
    let election = manager.election("e").expect("a plain name");
    let mut leaders = election.observe();
    assert_eq!(leaders.next(), Some(ElectionState::NoLeader));
    let (mut terms, mut losses) = (Vec::new(), 0);
    let ended = election.lead_repeatedly(
        |leadership| {
            terms.push(leadership.term());
            if terms.len() == 2 {
                assert!(leadership.lost_within(Duration::ZERO).is_none());
                return ControlFlow::Break("twice");
            }
            world.lose("e");
            assert!(!leadership.is_leader());
            leadership.lost();
            ControlFlow::Continue(())
        },
        |_| {
            losses += 1;
            ControlFlow::Continue(())
        },
    );
    assert_eq!((ended.expect("nobody else"), losses), ("twice", 1));
    assert!(terms[0] < terms[1]);
    let leadership = election.try_campaign().expect("it has resigned");
    assert!(matches!(leaders.next(), Some(ElectionState::Led(_))));
    assert_eq!(leaders.next_within(Duration::ZERO), Poll::Pending);
    assert!(election.campaign_within(Duration::ZERO).is_err());
    assert!(leadership.resign().is_released());
    assert_eq!(leaders.next(), Some(ElectionState::NoLeader));
    let observed = blocking::Leaders::from(election.as_async().observe());
    assert_eq!(observed.take(1).last(), Some(ElectionState::NoLeader));
    assert_eq!(manager.shutdown(), Some(0));
    assert_eq!(leaders.next(), None);
}

#[test]
fn a_resignation_hands_over_at_once() {
    let cluster = Cluster::start(3);
    let options = LockOptions::new().ttl(30 * SECOND);
    let [one, two] = [cluster.direct(options.clone()), cluster.direct(options)];
    let first = block_on(election(&one).campaign()).expect("nobody leads");
    let second = election(&two);
    thread::scope(|threads| {
        let campaign = threads.spawn(|| {
            let second = block_on(second.campaign()).expect("the first resigns");
            (second.term(), two.clock().now())
        });
        eventually("the second was refused", || {
            block_on(second.try_campaign()).is_err_and(|error| error.holder().is_some())
        });
        let (term, resigned) = (first.term(), one.clock().now());
        assert!(block_on(first.resign()).is_released());
        let (next, elected) = campaign.join().expect("it does not panic");
        assert!(term < next);
        let took = elected.saturating_since(resigned);
        assert!(took < 2 * SECOND, "{took:?}");
    });
}

#[test]
fn a_campaign_that_is_dropped_leaves_nothing_behind() {
    let cluster = Cluster::start(3);
    let manager = cluster.direct(LockOptions::new().ttl(60 * SECOND));
    let election = election(&manager);
    let mut campaign = Box::pin(election.campaign());
    begin(&mut campaign);
    eventually("a vote is under way", || cluster.copies("e") > 0);
    drop(campaign);
    eventually("nobody leads", || cluster.copies("e") == 0);
    let leadership = block_on(election.try_campaign()).expect("nobody leads");
    // A leader that is dropped has resigned.
    drop(leadership);
    assert_eq!(block_on(manager.shutdown()), Some(0));
    assert_eq!(cluster.copies("e"), 0);
}
