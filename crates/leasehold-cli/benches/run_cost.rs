//! What `leasehold run` costs over the bare command: `cargo bench -p leasehold-cli --bench run_cost`.
//!
//! Bare and locked runs take turns, so that whatever else the machine does falls on both alike. What is told is the
//! difference of the medians. Round trips are counted by their price: the same runs through proxies that make each
//! one longer.

use leasehold_servers::{Mode, Proxy, ServerBinary, ServerSet};
use std::{
    error::Error,
    fmt, fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const RUNS: usize = 300;
const DELAYED_RUNS: usize = 15;

/// One way; there and back is twice that.
const DELAY: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("leasehold-bench-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let bare = || Command::new("true");
    let locked = |nodes: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leasehold"));
        command
            .args([
                "run",
                "--restart-guard",
                "off",
                "--cluster",
                "bench",
                "bench",
                "--",
                "true",
            ])
            .env("XDG_STATE_HOME", &folder)
            .env_remove("LEASEHOLD_NODES");
        if let Some(nodes) = nodes {
            command.env("LEASEHOLD_NODES", nodes);
        }
        command
    };
    tell("a file on this machine", RUNS, bare, || locked(None))?;
    if ServerBinary::find().is_err() {
        say(format_args!(
            "five servers: skipped, there is no redis-server"
        ));
    } else {
        let servers = ServerSet::start(5)?;
        let nodes = servers.nodes();
        tell("five servers", RUNS, bare, || locked(Some(&nodes)))?;
        let proxies = servers.iter().map(|server| Proxy::start(server.port()));
        let proxies: Vec<_> = proxies.collect::<Result<_, _>>()?;
        let nodes: Vec<_> = proxies.iter().map(Proxy::url).collect();
        let nodes = nodes.join(",");
        let near = measure(DELAYED_RUNS, &mut || locked(Some(&nodes)))?;
        for proxy in &proxies {
            proxy.set(Mode::Delay(DELAY));
        }
        let far = measure(DELAYED_RUNS, &mut || locked(Some(&nodes)))?;
        let trips = (far.p50.saturating_sub(near.p50)).as_secs_f64() / (2 * DELAY).as_secs_f64();
        say(format_args!(
            "five servers, {} ms away: {far}; {trips:.1} round trips, connecting included",
            (2 * DELAY).as_millis()
        ));
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// How long runs took.
struct Spread {
    p50: Duration,
    p95: Duration,
}

impl fmt::Display for Spread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        write!(
            out,
            "p50 {:.2} ms, p95 {:.2} ms",
            millis(self.p50),
            millis(self.p95)
        )
    }
}

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self {
            p50: times[times.len() / 2],
            p95: times[times.len() * 95 / 100],
        }
    }
}

fn tell(
    what: &str,
    runs: usize,
    bare: impl Fn() -> Command,
    locked: impl Fn() -> Command,
) -> Result<(), Box<dyn Error>> {
    // The first makes the store, or fills the servers' caches of scripts.
    time(&mut locked())?;
    let (mut bare_times, mut locked_times) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        bare_times.push(time(&mut bare())?);
        locked_times.push(time(&mut locked())?);
    }
    let (bare, locked) = (Spread::of(bare_times), Spread::of(locked_times));
    let more = locked.p50.saturating_sub(bare.p50).as_secs_f64() * 1000.0;
    say(format_args!(
        "{what}: bare {bare}; locked {locked}; {more:.2} ms more at p50, {runs} runs"
    ));
    Ok(())
}

fn measure(runs: usize, command: &mut impl FnMut() -> Command) -> Result<Spread, Box<dyn Error>> {
    let times: Result<_, _> = (0..runs).map(|_| time(&mut command())).collect();
    Ok(Spread::of(times?))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a measurement needs a clock, and no lease stands on it"
)]
fn time(command: &mut Command) -> Result<Duration, Box<dyn Error>> {
    let started = Instant::now();
    let status = command.stderr(Stdio::null()).status()?;
    let elapsed = started.elapsed();
    if !status.success() {
        return Err(format!("{command:?} ended with {status}").into());
    }
    Ok(elapsed)
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn say(line: fmt::Arguments<'_>) {
    println!("{line}");
}
