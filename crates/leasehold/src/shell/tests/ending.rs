//! When a shell that is to end does: behind what it gave to the links and what these have in.

use super::{SlowNode, told};
use crate::{LeaseGuard, LeaseState, LockManager, LossCause, Plain, link::NodeName};
use std::time::Duration;
use tokio::runtime::{self, Runtime};

/// Drops the guards and shuts the manager down before the shell, which shares the thread, looks at either. Says how many
/// releases were not confirmed in the end.
fn end(
    runtime: &Runtime,
    manager: &LockManager<Plain>,
    guards: Vec<LeaseGuard<Plain>>,
) -> Option<usize> {
    runtime.block_on(async {
        drop(guards);
        manager.shutdown().await
    })
}

fn on_one_thread() -> Runtime {
    let built = runtime::Builder::new_current_thread().enable_all().build();
    built.expect("a runtime")
}

#[test]
fn a_manager_that_gave_its_releases_slowly_waits_for_their_answers() {
    let runtime = on_one_thread();
    // By the machine's time: in a test's nobody is waited for.
    let node = SlowNode::new(told().1, Duration::ZERO, false);
    let manager = node.built(LockManager::builder().on_runtime(runtime.handle().clone()));
    let guards = runtime.block_on(async {
        let mut guards = Vec::new();
        for number in 0..40 {
            let mutex = manager.mutex(&format!("r{number}")).expect("a name");
            guards.push(mutex.try_acquire().await.expect("the node has granted"));
        }
        guards
    });
    // Giving takes 400 ms in all, and a node that has always been quick is waited for for 250 ms.
    node.with(|desk| {
        desk.giving_takes = Duration::from_millis(10);
        desk.holds_back = 3;
    });
    assert_eq!(end(&runtime, &manager, guards), Some(0));
}

#[test]
fn an_answer_that_comes_in_while_another_is_taken_is_not_late_at_the_end() {
    let runtime = on_one_thread();
    let (clock, timeline) = told();
    let (first, second) = (
        SlowNode::new(timeline, Duration::ZERO, false),
        SlowNode::new(timeline, Duration::ZERO, false),
    );
    let node = first.clone();
    let builder = LockManager::builder().clock(clock);
    let builder = builder.link(NodeName::new("n0"), move |_| node.clone());
    let manager = second.built(builder.on_runtime(runtime.handle().clone()));
    let mutex = manager.mutex("r").expect("a name");
    let guard = runtime.block_on(mutex.try_acquire());
    let guard = guard.expect("both have granted");
    // The process is stopped for 400 ms behind the look at the first node, whose answer comes meanwhile.
    first.with(|desk| desk.is_silent = true);
    second.with(|desk| {
        desk.takes = Duration::from_millis(400);
        desk.next = Some(first.clone());
    });
    assert_eq!(end(&runtime, &manager, vec![guard]), Some(0));
}

#[test]
fn leases_that_nobody_keeps_any_more_are_lost() {
    // In a test's time no guardian looks after the shell.
    let runtime = on_one_thread();
    let (clock, timeline) = told();
    let node = SlowNode::new(timeline, Duration::ZERO, false);
    let builder = LockManager::builder().clock(clock);
    let manager = node.built(builder.on_runtime(runtime.handle().clone()));
    let mutex = manager.mutex("r").expect("a name");
    let guard = runtime.block_on(mutex.try_acquire());
    let guard = guard.expect("the node has granted");
    drop(runtime);
    let state = guard.state();
    let is_told = matches!(&state, LeaseState::Lost(lost) if lost.cause == LossCause::Stopped);
    assert!(is_told, "{state:?}");
}
