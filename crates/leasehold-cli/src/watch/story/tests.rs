use super::*;
use leasehold::{LockOptions, testing::World};
use tokio::runtime::Builder;

const TTL: Duration = Duration::from_secs(10);

#[test]
fn who_is_told_of_trouble_is_told_when_the_command_is_signalled() {
    let policy = HoldPolicy::new(TTL, None);
    let asked = Ending::CommandEnded(Signal::TERM, policy.terminate_before());
    let killed = Ending::CommandEnded(Signal::KILL, policy.kill_before());
    for (ending, millis, told) in [
        (
            asked,
            5_900,
            "trying again; if that fails, the command gets SIGTERM in 3.4 s",
        ),
        (
            killed,
            5_900,
            "trying again; if that fails, the command gets SIGKILL in 4.9 s",
        ),
        (asked, 2_500, "the command is ended now"),
        (Ending::CommandRanOn, 5_900, "trying again for 5.9 s"),
        (Ending::NoCommand, 5_900, "trying again for 5.9 s"),
    ] {
        assert_eq!(ending.prospect(Duration::from_millis(millis)), told);
    }
}

/// A lease that extends itself, in a world whose time stands still, and its story.
async fn story(world: &World) -> (HeldLease, Story) {
    let options = LockOptions::new().ttl(TTL);
    let mutex = world.manager().mutex_with("demo", options);
    let guard = mutex.expect("it is a name").acquire().await;
    let guard = HeldLease::Whole(guard.expect("nobody else knows it"));
    let policy = HoldPolicy::new(TTL, None);
    let ending = Ending::CommandEnded(Signal::TERM, policy.terminate_before());
    let story = Story::new(&guard, policy, None, false, ending);
    (guard, story)
}

/// Lets time pass until the story has come so far.
fn pass(world: &World, guard: &HeldLease, story: &mut Story, until: impl Fn(&Story) -> bool) {
    while !until(story) {
        assert!(!story.is_lost(), "{story:?}");
        world.advance(Duration::from_millis(10));
        story.note(guard);
    }
}

#[test]
fn a_lease_whose_keys_are_gone_is_not_lost_for_what_was_wrong_before() {
    let runtime = Builder::new_current_thread().build();
    runtime.expect("it needs nothing").block_on(async {
        let world = World::new(3);
        let (guard, mut story) = story(&world).await;
        (0..3).for_each(|node| world.node(node).down("connection refused"));
        pass(&world, &guard, &mut story, |story| story.trouble.is_some());
        for node in 0..3 {
            world.node(node).lose_everything();
            world.node(node).up();
        }
        pass(&world, &guard, &mut story, Story::is_lost);
        assert_eq!(
            story.why(&guard),
            "lost the lock \"demo\" while the command ran: 2 of 3 nodes no longer have it (quorum 2); the command was ended"
        );
    });
}
