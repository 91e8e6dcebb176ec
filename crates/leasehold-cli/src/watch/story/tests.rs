use super::*;

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
