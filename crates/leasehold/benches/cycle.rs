//! What a lock and an unlock cost over the bare wire.
//!
//! `cargo bench -p leasehold --bench cycle` starts real servers, takes turns between a client that does
//! nothing but write `SET … NX PX` and `EVALSHA` to every node and read the answers, and a manager, and
//! prints the ratio of their medians. Only the ratio says anything: absolute times are the machine's.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use leasehold::{LockManager, LockOptions, Plain, clock::Clock};
use leasehold_servers::{Connection, ServerSet, require_server};
use std::time::Duration;

const ROUNDS: usize = 9;
const CYCLES: usize = 2_000;
const RELEASE: &str = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) \
                       else return 0 end";

fn main() {
    require_server();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    println!("p50 of lock + unlock, median of {ROUNDS} interleaved rounds of {CYCLES} cycles");
    println!("| nodes | bare SET + EVALSHA | leasehold | ratio (worst and best round) |");
    println!("|---|---|---|---|");
    for nodes in [1, 3, 5] {
        let servers = ServerSet::start(nodes).expect("the servers start");
        let mut bare = Bare::new(&servers);
        let manager = LockManager::builder()
            .nodes(servers.urls())
            .defaults(LockOptions::new().ttl(Duration::from_secs(30)))
            .build_plain()
            .expect("good addresses");
        let (mut theirs, mut ours, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let one = median(|cycle| bare.cycle(cycle));
            let other = runtime.block_on(ours_in(&manager));
            // The first round warms up.
            if round > 0 {
                ratios.push(other.as_secs_f64() / one.as_secs_f64());
                theirs.push(one);
                ours.push(other);
            }
        }
        ratios.sort_by(f64::total_cmp);
        theirs.sort();
        ours.sort();
        let (best, middle, worst) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
        println!(
            "| {nodes} | {:?} | {:?} | {middle:.2} ({worst:.2}, {best:.2}) |",
            theirs[ROUNDS / 2],
            ours[ROUNDS / 2]
        );
    }
}

async fn ours_in(manager: &LockManager<Plain>) -> Duration {
    let clock = Clock::system();
    let mut times = Vec::with_capacity(CYCLES);
    for cycle in 0..CYCLES {
        let started = clock.now();
        let mutex = manager
            .mutex(&format!("bench:{cycle}"))
            .expect("a plain name");
        let guard = mutex.acquire().await.expect("nobody else is here");
        assert!(guard.release().await.is_released(), "nobody else is here");
        times.push(clock.now().saturating_since(started));
    }
    times.sort();
    times[CYCLES / 2]
}

fn median(mut cycle: impl FnMut(usize)) -> Duration {
    let clock = Clock::system();
    let mut times: Vec<_> = (0..CYCLES)
        .map(|number| {
            let started = clock.now();
            cycle(number);
            clock.now().saturating_since(started)
        })
        .collect();
    times.sort();
    times[CYCLES / 2]
}

/// The bare wire: every node is written to before the first is read.
struct Bare {
    connections: Vec<Connection>,
    sha: String,
}

impl Bare {
    fn new(servers: &ServerSet) -> Self {
        let mut connections: Vec<_> = servers
            .iter()
            .map(|server| server.connect().expect("it answers"))
            .collect();
        let mut sha = String::new();
        for connection in &mut connections {
            let reply = connection
                .command(&["SCRIPT", "LOAD", RELEASE])
                .expect("it answers");
            reply.text().expect("it is a hash").clone_into(&mut sha);
        }
        Self { connections, sha }
    }

    fn cycle(&mut self, number: usize) {
        let key = format!("bare:{number}");
        let owner = format!("{number:040x}");
        self.all(&["SET", &key, &owner, "NX", "PX", "30000"]);
        let sha = self.sha.clone();
        self.all(&["EVALSHA", &sha, "1", &key, &owner]);
    }

    fn all(&mut self, words: &[&str]) {
        for connection in &mut self.connections {
            connection.send(words).expect("it is connected");
        }
        for connection in &mut self.connections {
            connection.receive().expect("it answers");
        }
    }
}
