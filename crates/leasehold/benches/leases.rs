//! Leases over a long time and over their end.
//!
//! `cargo bench -p leasehold --bench leases -- loss 1000` cuts holders off from all of their nodes and sees
//! how long before the end of the keys' TTL each is told of the loss.
//! `cargo bench -p leasehold --bench leases -- hold 10000 600` holds so many leases for so many seconds on
//! five real servers, and prints how many were lost, and what it cost.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use leasehold::{LeaseGuard, LockManager, LockOptions, clock::Clock};
use leasehold_servers::{Mode, Proxy, Server, ServerSet, require_server};
use std::{env, fs, time::Duration};

fn main() {
    require_server();
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| *word != "--bench")
        .collect();
    let number = |word: &str| word.parse::<usize>().expect("a number");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("a runtime");
    match words[..] {
        ["loss", trials] => runtime.block_on(loss(number(trials))),
        ["hold", leases, seconds] => {
            let seconds = Duration::from_secs(number(seconds) as u64);
            runtime.block_on(hold(number(leases), seconds));
        }
        [] => {
            runtime.block_on(loss(100));
            runtime.block_on(hold(1_000, Duration::from_secs(10)));
        }
        _ => println!("loss TRIALS, or hold LEASES SECONDS"),
    }
}

const TTL: Duration = Duration::from_secs(2);
/// What the default options take off a lease of this TTL: 1 %, 2 ms, and a margin of 5 ms.
const TAKEN_OFF: Duration = Duration::from_millis(27);
const AT_ONCE: usize = 25;

/// Every holder is told of the loss before its keys can be gone: at least the drift and the margin are left.
async fn loss(trials: usize) {
    let clock = Clock::system();
    let servers = ServerSet::start(3).expect("the servers start");
    let proxies = servers
        .iter()
        .map(|server: &Server| Proxy::start(server.port()));
    let proxies: Vec<Proxy> = proxies
        .collect::<Result<_, _>>()
        .expect("the proxies start");
    let manager = LockManager::builder()
        .restart_guard(leasehold::RestartGuard::Off)
        .nodes(proxies.iter().map(Proxy::url))
        .defaults(LockOptions::new().ttl(TTL))
        .build()
        .expect("good addresses");
    let mut left = Vec::with_capacity(trials);
    let mut late = 0;
    for round in 0..trials.div_ceil(AT_ONCE) {
        let mut guards = Vec::new();
        for number in 0..AT_ONCE.min(trials - round * AT_ONCE) {
            guards.push(acquire(&manager, round * AT_ONCE + number).await);
            tokio::time::sleep(TTL / 50).await;
        }
        for proxy in &proxies {
            proxy.set(Mode::BlackHole);
        }
        let waiting = guards.into_iter().map(|guard| {
            tokio::spawn(async move {
                // The last word before the cut, or one that was on its way.
                let mut valid_until = guard.valid_until();
                while guard.is_valid() {
                    valid_until = valid_until.max(guard.valid_until());
                    let _ = tokio::time::timeout(TTL / 10, guard.lost()).await;
                }
                guard.lost().await;
                let told = clock.now();
                let keys_end = valid_until.saturating_add(TAKEN_OFF);
                (told, keys_end)
            })
        });
        for waiting in waiting.collect::<Vec<_>>() {
            let (told, keys_end) = waiting.await.expect("it does not panic");
            late += usize::from(told >= keys_end);
            left.push(keys_end.saturating_since(told));
        }
        for proxy in &proxies {
            proxy.set(Mode::Pass);
        }
    }
    left.sort();
    println!(
        "loss: {} of {trials} told before the keys' TTL of {TTL:?} could end; left over: least {:?}, \
         median {:?}",
        trials - late,
        left[0],
        left[trials / 2]
    );
}

async fn acquire(manager: &LockManager, number: usize) -> LeaseGuard {
    let mutex = manager.mutex(&format!("lease/{number}"));
    let mutex = mutex.expect("a plain name");
    // The connections may have to be made again.
    mutex
        .acquire_within(Duration::from_secs(30))
        .await
        .expect("nobody else wants it")
}

/// Many leases extend themselves.
async fn hold(leases: usize, time: Duration) {
    let clock = Clock::system();
    let servers = ServerSet::start(5).expect("the servers start");
    let manager = LockManager::builder()
        .restart_guard(leasehold::RestartGuard::Off)
        .nodes(servers.urls())
        .build()
        .expect("good addresses");
    let mut guards = Vec::with_capacity(leases);
    for number in 0..leases {
        guards.push(acquire(&manager, number).await);
    }
    let (begun, before) = (clock.now(), processor_time());
    let mut next = Duration::from_secs(60);
    loop {
        let passed = clock.now().saturating_since(begun);
        if passed >= time {
            break;
        }
        if passed >= next {
            next += Duration::from_secs(60);
            println!("hold: {passed:.0?}, lost so far: {}", lost(&guards));
        }
        tokio::time::sleep(Duration::from_secs(1).min(time - passed)).await;
    }
    let (passed, spent) = (
        clock.now().saturating_since(begun),
        processor_time() - before,
    );
    println!(
        "hold: {leases} leases of 10 s on 5 servers for {passed:.0?}: {} lost; {:.1} % of one core, {} MB",
        lost(&guards),
        spent.as_secs_f64() / passed.as_secs_f64() * 100.0,
        resident_megabytes()
    );
}

fn lost(guards: &[LeaseGuard]) -> usize {
    guards.iter().filter(|guard| !guard.is_valid()).count()
}

/// What this process has used of the processors so far.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may contain anything: the 12th and 13th are user and system ticks.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|word| word.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn resident_megabytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1024
}
