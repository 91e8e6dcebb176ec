//! Servers that are too far away for a vote: nobody calls them usable.

use crate::support::{Seen, User};
use leasehold_servers::{Mode, Proxy, ServerSet, require_server};
use std::time::Duration;

/// What each of them says of servers whose round trip is so long; none says that a lock can be acquired.
fn asked<const N: usize>(round_trip: Duration, max_ttl: &str, all: [&[&str]; N]) -> [Seen; N] {
    let servers = ServerSet::start(3).expect("they start");
    let proxies = [0, 1, 2].map(|number: usize| {
        let proxy = Proxy::start(servers[number].port()).expect("a free port");
        proxy.set(Mode::Delay(round_trip / 2));
        proxy
    });
    let nodes = proxies.each_ref().map(Proxy::url).join(",");
    let user = User::new();
    all.map(|words| {
        let test = user.run(words).env("LEASEHOLD_NODES", &nodes);
        let seen = test.env("LEASEHOLD_MAX_TTL", max_ttl).end();
        assert_eq!(seen.code, 122, "{words:?}: {seen:?}");
        seen
    })
}

#[test]
fn servers_that_answer_later_than_a_vote_waits_are_usable_to_nobody() {
    require_server();
    let run = ["run", "-w", "400ms", "demo", "--", "echo", "never"];
    let wait = ["wait", "--wait", "5s", "demo"];
    let all = [&["doctor"][..], &run, &["status", "demo"], &wait];
    let [doctor, run, ..] = asked(Duration::from_millis(520), "30s", all);
    let hint = "hint: `leasehold doctor` tells which nodes hang or are too far away\n";
    run.assert_says(122, &[hint]);
    for part in [
        "; too late for a vote\n",
        " ms, and has 500 ms to answer\n",
        "do:  use nodes that are nearer: a longer TTL gives them no more time\n",
        "verdict: broken: 0 of 3 nodes vote, 2 must; no lock can be acquired\n",
    ] {
        assert!(doctor.stdout.contains(part), "no {part:?} in {doctor:?}");
    }
}

#[test]
fn servers_that_are_late_only_for_a_short_ttl_are_late_to_all_who_ask() {
    require_server();
    let words = "run --ttl 1s -w 400ms demo -- echo never";
    let run: Vec<_> = words.split(' ').collect();
    let [list, status] = [&["list"][..], &["status", "demo"]];
    let [wait, watch] = [&["wait", "demo"][..], &["watch", "--once"]];
    let all = [&["doctor"][..], &run, watch, list, status, wait];
    let [doctor, run, watch, ..] = asked(Duration::from_millis(80), "1s", all);
    run.assert_says(122, &["; a longer --ttl leaves them more time\n"]);
    let longer = "do:  use nodes that are nearer, or a longer --max-ttl, for all";
    assert!(doctor.stdout.contains(longer), "{doctor:?}");
    let late = watch.stdout.matches("no: it answers too late\n").count();
    assert_eq!(late, 3, "{watch:?}");
}
