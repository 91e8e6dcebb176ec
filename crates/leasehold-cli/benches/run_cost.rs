//! What `leasehold run` costs over the bare command: `cargo bench -p leasehold-cli --bench run_cost`.
//!
//! Bare and locked runs take turns, so that whatever else the machine does falls on both alike. What is told is the
//! difference of the medians. Round trips are counted by their price: the same runs through proxies that make each
//! one longer. What they are for is told by the library doing the same, step by step. A proxy takes connections itself, so
//! the one round trip in which TCP opens a connection is in none of these counts.

use leasehold::{LockManager, Observation, RestartGuard};
use leasehold_servers::{Mode, Proxy, ServerBinary, ServerSet};
use std::{
    error::Error,
    fmt, fs,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

const RUNS: usize = 300;
const DELAYED_RUNS: usize = 15;

/// One way; there and back is twice that.
const DELAY: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("leasehold-bench-{}", std::process::id()));
    fs::create_dir(&folder)?;
    // Installing copies, too. What a linker wrote is in the system's memory in smaller pieces, and takes longer to start.
    let program = folder.join("installed");
    fs::copy(env!("CARGO_BIN_EXE_leasehold"), &program)?;
    let bare = || Command::new("true");
    let locked = |nodes: Option<&str>| {
        let mut command = Command::new(&program);
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
        round_trips(&servers, |nodes| locked(Some(nodes)))?;
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Tells how many round trips a run takes, and what for.
fn round_trips(
    servers: &ServerSet,
    locked: impl Fn(&str) -> Command,
) -> Result<(), Box<dyn Error>> {
    let proxies = servers.iter().map(|server| Proxy::start(server.port()));
    let proxies: Vec<_> = proxies.collect::<Result<_, _>>()?;
    let urls: Vec<_> = proxies.iter().map(Proxy::url).collect();
    let nodes = urls.join(",");
    let run = || measure(DELAYED_RUNS, &mut || locked(&nodes));
    let (near, near_steps) = (run()?, Steps::measure(&urls)?);
    for proxy in &proxies {
        proxy.set(Mode::Delay(DELAY));
    }
    let (far, far_steps) = (run()?, Steps::measure(&urls)?);
    let away = 2 * DELAY;
    let trips =
        |near: Duration, far: Duration| far.saturating_sub(near).as_secs_f64() / away.as_secs_f64();
    say(format_args!(
        "five servers, {} ms away: {far}; {:.1} round trips: by the library {:.1} to connect, {:.1} to lock, {:.1} to \
         release",
        away.as_millis(),
        trips(near.p50, far.p50),
        trips(near_steps.connect, far_steps.connect),
        trips(near_steps.lock, far_steps.lock),
        trips(near_steps.release, far_steps.release),
    ));
    Ok(())
}

/// How long the steps of a lock took the library, each the median.
struct Steps {
    /// Until all nodes can be asked.
    connect: Duration,
    lock: Duration,
    release: Duration,
}

impl Steps {
    fn measure(urls: &[String]) -> Result<Self, Box<dyn Error>> {
        let (mut connect, mut lock, mut release) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..DELAYED_RUNS {
            let (tell, told) = mpsc::channel();
            let begun = now();
            let manager = LockManager::builder()
                .nodes(urls)
                .cluster("bench")
                .restart_guard(RestartGuard::Off)
                .observer(move |observation: &Observation<'_>| {
                    if matches!(observation, Observation::Up { .. }) {
                        // Nobody hears of those that come up again.
                        let _ = tell.send(());
                    }
                })
                .build()?
                .blocking();
            urls.iter().try_for_each(|_| told.recv())?;
            let connected = now();
            let guard = manager.mutex("bench")?.try_acquire()?;
            let locked = now();
            if !guard.release().is_released() {
                return Err("a lock was not released".into());
            }
            let released = now();
            connect.push(connected - begun);
            lock.push(locked - connected);
            release.push(released - locked);
            manager.shutdown();
        }
        Ok(Self {
            connect: Spread::of(connect).p50,
            lock: Spread::of(lock).p50,
            release: Spread::of(release).p50,
        })
    }
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

fn time(command: &mut Command) -> Result<Duration, Box<dyn Error>> {
    let started = now();
    let status = command.stderr(Stdio::null()).status()?;
    let elapsed = started.elapsed();
    if !status.success() {
        return Err(format!("{command:?} ended with {status}").into());
    }
    Ok(elapsed)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a measurement needs a clock, and no lease stands on it"
)]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn say(line: fmt::Arguments<'_>) {
    println!("{line}");
}
