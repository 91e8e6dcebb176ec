//! What fencing tokens and the restart guard cost over plain locks.
//!
//! `cargo bench -p leasehold --bench fencing` starts real servers, and lets a plain and a fenced manager take turns
//! on them. It prints the ratio of their medians to acquire a lock; how many second rounds the tokens needed; and
//! how much of a server's time a vote takes: plain, fenced, and fenced without the rule by which a node looks at its
//! own past once in a millisecond at most. Only ratios say anything: absolute times are the machine's.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use leasehold::{LockManager, LockOptions, Mode, clock::Clock};
use leasehold_servers::{Connection, Reply, Server, ServerSet, require_server};
use std::{env, time::Duration};

const ROUNDS: usize = 9;
const CYCLES: usize = 1_000;
const VOTES: usize = 20_000;

fn main() {
    require_server();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let rounds = env::var("ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    let rounds = rounds.unwrap_or(ROUNDS);
    println!("p50 of acquire, median of {rounds} interleaved rounds of {CYCLES} locks");
    println!("| nodes | plain | fenced | ratio (worst and best round) | second rounds |");
    println!("|---|---|---|---|---|");
    for nodes in [1, 3, 5] {
        let servers = ServerSet::start(nodes).expect("the servers start");
        runtime.block_on(compare(&servers, rounds));
    }
    println!("\ntime of the server for a vote, in microseconds (one node, {VOTES} votes in a row)");
    println!("| plain | fenced | fenced, looking each time |");
    println!("|---|---|---|");
    let server = Server::start().expect("the server starts");
    runtime.block_on(server_time(&server));
}

async fn compare(servers: &ServerSet, rounds: usize) {
    let options = || {
        let builder = LockManager::builder()
            .max_ttl(TTL)
            .clock_skew(Duration::ZERO);
        builder
            .nodes(servers.urls())
            .defaults(LockOptions::new().ttl(TTL).no_renewal())
    };
    let plain = options().build_plain().expect("good addresses");
    let fenced = options().build().expect("good addresses");
    warm(&fenced).await;
    let (mut theirs, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let before = raises(servers);
    for round in 0..=rounds {
        let one = acquires(&plain).await;
        let other = acquires(&fenced).await;
        // The first round warms up.
        if round > 0 {
            ratios.push(other.as_secs_f64() / one.as_secs_f64());
            theirs.push(one);
            ours.push(other);
        }
    }
    let raised = raises(servers) - before;
    ratios.sort_by(f64::total_cmp);
    theirs.sort();
    ours.sort();
    let (best, middle, worst) = (ratios[0], ratios[rounds / 2], ratios[rounds - 1]);
    println!(
        "| {} | {:?} | {:?} | {middle:.2} ({worst:.2}, {best:.2}) | {raised} of {} |",
        servers.iter().count(),
        theirs[rounds / 2],
        ours[rounds / 2],
        (rounds + 1) * CYCLES
    );
}

/// Waits for the end of the quarantine of new servers.
async fn warm(fenced: &LockManager) {
    let mutex = fenced.mutex("warm-up").expect("a plain name");
    let guard = mutex.acquire().await.expect("the quarantine ends");
    assert!(guard.release().await.is_released());
}

/// The median time to acquire.
async fn acquires<M: Mode>(manager: &LockManager<M>) -> Duration {
    let clock = Clock::system();
    let mut times = Vec::with_capacity(CYCLES);
    for cycle in 0..CYCLES {
        let mutex = manager
            .mutex(&format!("bench:{cycle}"))
            .expect("a plain name");
        let started = clock.now();
        let guard = mutex.acquire().await.expect("nobody else is here");
        times.push(clock.now().saturating_since(started));
        assert!(guard.release().await.is_released(), "nobody else is here");
    }
    times.sort();
    times[CYCLES / 2]
}

/// How often the servers have raised a counter: that and nothing else reads one by itself.
fn raises(servers: &ServerSet) -> u64 {
    servers
        .iter()
        .map(|server| calls(server, "hget").unwrap_or_default())
        .sum()
}

fn stat(server: &Server, command: &str, name: &str) -> Option<f64> {
    let stats = server
        .command(&["INFO", "commandstats"])
        .expect("it answers");
    let line = stats
        .text()?
        .lines()
        .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:")))?
        .to_owned();
    let value = line
        .split(',')
        .find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    value?.parse().ok()
}

fn calls(server: &Server, command: &str) -> Option<u64> {
    let calls = stat(server, command, "calls")?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count below 2^53"
    )]
    let calls = calls as u64;
    Some(calls)
}

async fn server_time(server: &Server) {
    let set = ["CONFIG", "SET", "slowlog-log-slower-than", "0"];
    server.command(&set).expect("it answers");
    let builder = LockManager::builder()
        .max_ttl(TTL)
        .clock_skew(Duration::ZERO)
        .nodes([server.url()])
        .defaults(LockOptions::new().ttl(TTL));
    let fenced = builder.build().expect("a good address");
    warm(&fenced).await;
    // The words of the last vote, as the server heard them.
    let log = server
        .command(&["SLOWLOG", "GET", "50"])
        .expect("it answers");
    let vote = vote_in(&log).expect("there was a vote");
    let set = ["CONFIG", "SET", "slowlog-log-slower-than", "-1"];
    server.command(&set).expect("it answers");
    let mut wire = server.connect().expect("it answers");
    let mut connection =
        |words: Vec<String>, command: &str| time(server, &mut wire, &words, command);
    let plain = ["SET", "KEY", "OWNER", "NX", "PX", "30000"].map(str::to_owned);
    let plain = connection(plain.to_vec(), "set");
    let fenced = connection(vote.clone(), "evalsha");
    let mut looking = vote;
    // Whom the client met is not known: the node looks.
    looking.last_mut().expect("it has words").clear();
    let looking = connection(looking, "evalsha");
    println!("| {plain:.1} | {fenced:.1} | {looking:.1} |");
}

/// The mean time of a vote for ever new keys.
fn time(server: &Server, wire: &mut Connection, words: &[String], command: &str) -> f64 {
    server
        .command(&["CONFIG", "RESETSTAT"])
        .expect("it answers");
    for number in 0..VOTES {
        let key = format!(
            "{command}:{}:{number}",
            words.len() + words.last().map_or(0, String::len)
        );
        let place = if command == "set" { 1 } else { 3 };
        let words: Vec<&str> = words
            .iter()
            .enumerate()
            .map(|(at, word)| {
                if at == place {
                    key.as_str()
                } else {
                    word.as_str()
                }
            })
            .collect();
        wire.send(&words).expect("it is connected");
        if number % 100 == 99 {
            for _ in 0..100 {
                wire.receive().expect("it answers");
            }
        }
    }
    stat(server, command, "usec_per_call").unwrap_or(f64::NAN)
}

/// The last call in the log with as many words as a vote has.
fn vote_in(log: &Reply) -> Option<Vec<String>> {
    let Reply::Array(entries) = log else {
        return None;
    };
    entries.iter().find_map(|entry| match entry {
        Reply::Array(parts) => {
            let words: Vec<String> = parts
                .get(3)?
                .texts()
                .iter()
                .map(|word| (*word).to_owned())
                .collect();
            let is_vote = words.first().is_some_and(|word| word == "EVALSHA") && words.len() == 14;
            is_vote.then_some(words)
        }
        _ => None,
    })
}

const TTL: Duration = Duration::from_secs(2);
