use super::*;
use crate::child::Start;
use leasehold::{LockManager, LockOptions, testing::World};
use rustix::process::{WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid};
use tokio::runtime::{Builder, Runtime};

const TTL: Duration = Duration::from_secs(10);

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("there are threads to be had")
}

fn rules(on_loss: OnLoss) -> Rules {
    Rules {
        policy: HoldPolicy::new(TTL, None),
        max_hold: None,
        on_loss,
        verbose: false,
    }
}

/// A lease of a world whose time stands still, and which nobody extends.
async fn lease(world: &World) -> HeldLease {
    let options = LockOptions::new().ttl(TTL).no_renewal();
    let mutex = world.manager().mutex_with("demo", options);
    let guard = mutex.expect("it is a name").acquire().await;
    HeldLease::Whole(guard.expect("nobody else knows it"))
}

/// A shell that has stopped once, and is taken for a command that is behind its gate.
fn stopped_shell(script: &str) -> Child {
    let words = ["sh", "-c", script].map(Into::into);
    let child = Child::start(&words, [], Start::AtOnce).expect("there is a shell");
    assert!(is_stopped(&child, WaitIdOptions::STOPPED));
    child.behind_a_gate()
}

/// Whether it is stopped. Takes the news of it away from nobody.
fn is_stopped(child: &Child, options: WaitIdOptions) -> bool {
    let seen = waitid(WaitId::Pid(child.group()), options | WaitIdOptions::NOWAIT);
    seen.expect("it is ours").is_some()
}

#[test]
fn a_command_whose_lease_has_ended_before_it_begins_does_not_begin() {
    runtime().block_on(async {
        // Suspended for so long, between the acquisition and the gate.
        for (on_loss, millis) in [
            (OnLoss::Term, 8_000),
            (OnLoss::Term, 9_500),
            (OnLoss::Term, 11_000),
            (OnLoss::Kill, 9_500),
            (OnLoss::Kill, 11_000),
            (OnLoss::Warn, 11_000),
        ] {
            let world = World::new(3);
            let guard = lease(&world).await;
            let child = stopped_shell("trap '' TERM; kill -STOP $$; exit 3");
            world.advance(Duration::from_millis(millis));
            let (rules, mut signals) = (
                rules(on_loss),
                Signals::listen().expect("there are signals"),
            );
            let mut watch = Watch::new(&guard, &rules, &mut signals, child, Post::Unmanned);
            let end = watch.until_the_end().await.expect("it is ours");
            let case = format!("{on_loss:?}, {millis} ms: {end:?}");
            assert!(watch.child.waits(), "{case}");
            assert_eq!(
                watch.ended.and_then(|status| status.signal()),
                Some(9),
                "{case}"
            );
            let End::Lost(why) = end else {
                panic!("{case}");
            };
            assert!(
                why.starts_with("lost the lock \"demo\" before the command began: "),
                "{case}"
            );
        }
    });
}

#[test]
fn a_command_whose_lease_is_held_begins() {
    runtime().block_on(async {
        for on_loss in [OnLoss::Term, OnLoss::Kill, OnLoss::Warn] {
            let world = World::new(3);
            let guard = lease(&world).await;
            let child = stopped_shell("kill -STOP $$; exit 3");
            let (rules, mut signals) = (
                rules(on_loss),
                Signals::listen().expect("there are signals"),
            );
            let mut watch = Watch::new(&guard, &rules, &mut signals, child, Post::Unmanned);
            let end = watch.until_the_end().await.expect("it is ours");
            assert!(
                matches!(end, End::Free(status) if status.code() == Some(3)),
                "{end:?}"
            );
        }
    });
}

#[test]
fn no_foreign_signal_opens_the_gate() {
    runtime().block_on(async {
        let world = World::new(3);
        let guard = lease(&world).await;
        // A stop that came before the gate's own.
        let child = stopped_shell("kill -TSTP $$; kill -STOP $$; exit 3");
        let (rules, mut signals) = (
            rules(OnLoss::Term),
            Signals::listen().expect("there are signals"),
        );
        let mut watch = Watch::new(&guard, &rules, &mut signals, child, Post::Unmanned);
        watch.look().expect("it is ours");
        watch.open_gate();
        assert!(watch.child.waits(), "it was not at its gate");
        assert!(
            is_stopped(&watch.child, WaitIdOptions::STOPPED),
            "it has come to its gate"
        );
        watch.pass(Signal::CONT);
        let now = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        assert!(is_stopped(&watch.child, now), "it has begun");
        let end = watch.until_the_end().await.expect("it is ours");
        assert!(
            matches!(end, End::Free(status) if status.code() == Some(3)),
            "{end:?}"
        );
    });
}

#[test]
fn a_command_that_cannot_be_watched_is_ended_with_its_group() {
    runtime().block_on(async {
        let manager = LockManager::builder().memory(1).build().expect("it is one");
        let mutex = manager.mutex("demo").expect("it is a name");
        let guard = mutex.acquire().await.map(HeldLease::Whole);
        let guard = guard.expect("nobody else knows it");
        let mut signals = Signals::listen().expect("there are signals");
        let script = "sleep 30 >/dev/null 2>&1 & kill -STOP $$";
        let words = ["sh", "-c", script].map(Into::into);
        let child = Child::start(&words, [], Start::AtOnce).expect("there is a shell");
        let group = child.group();
        // The first process of a container may never notice whom it was left with.
        child.adopt_orphans();
        // Once it has stopped, it has started the other. Then its end is taken away from us.
        waitpid(Some(group), WaitOptions::UNTRACED).expect("it is ours");
        kill_process(group, Signal::KILL).expect("it is there");
        waitpid(Some(group), WaitOptions::empty()).expect("it is ours");
        let rules = rules(OnLoss::Warn);
        let mut watch = Watch::new(&guard, &rules, &mut signals, child, Post::Unmanned);
        assert!(watch.has_group(), "the other runs on");
        watch
            .until_the_end()
            .await
            .expect_err("nobody can tell how it ended");
        assert!(!watch.has_group());
    });
}
