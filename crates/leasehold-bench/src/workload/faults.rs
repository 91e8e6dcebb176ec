//! One node of five is dead, hung or late: what a lock costs from the first call on, against the same client in health.

use crate::{
    Fallible,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::{Moment, rest},
    sample::Sample,
    subject::{self, LIBRARIES, Locker, Subject},
};
use leasehold_servers::{Mode, Proxy, Server, ServerSet};
use std::time::Duration;
use tokio::runtime::Runtime;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    let site = Site::start(&runtime)?;
    for round in 0..effort.rounds {
        for fault in [Fault::Late, Fault::Hung, Fault::Dead] {
            for subject in rotated(round, &LIBRARIES) {
                site.trial(&runtime, fault, *subject, effort.faulty, ledger)?;
                site.start_with(&runtime, fault, *subject, ledger)?;
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Dead,
    Hung,
    Late,
}

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Hung => "hung",
            Self::Late => "+20 ms",
        }
    }
}

/// Five nodes; the last one is behind a proxy, which is late when it is told so.
struct Site {
    servers: ServerSet,
    proxy: Proxy,
    urls: Vec<String>,
}

impl Site {
    fn start(runtime: &Runtime) -> Fallible<Self> {
        let servers = ServerSet::start(5)?;
        let proxy = Proxy::start(servers[4].port())?;
        let mut urls = servers.urls();
        urls[4] = proxy.url();
        runtime.block_on(subject::admit(&urls))?;
        Ok(Self {
            servers,
            proxy,
            urls,
        })
    }

    fn victim(&self) -> &Server {
        &self.servers[3]
    }

    fn begin(&self, fault: Fault) -> Fallible<()> {
        match fault {
            Fault::Dead => self.victim().kill()?,
            Fault::Hung => self.victim().pause()?,
            Fault::Late => self.proxy.set(Mode::Delay(Duration::from_millis(10))),
        }
        Ok(())
    }

    /// Makes everything well again, and waits until it is.
    fn end(&self, fault: Fault, runtime: &Runtime) -> Fallible<()> {
        match fault {
            Fault::Dead => self.victim().restart()?,
            Fault::Hung => self.victim().resume()?,
            Fault::Late => self.proxy.set(Mode::Pass),
        }
        runtime.block_on(subject::admit(&self.urls))?;
        rest(SETTLED);
        Ok(())
    }

    /// A connected client, in health and then from the first call after the fault.
    fn trial(
        &self,
        runtime: &Runtime,
        fault: Fault,
        subject: Subject,
        count: usize,
        ledger: &mut Ledger,
    ) -> Fallible<()> {
        let manager = runtime.block_on(async { subject.manager(&self.urls) })?;
        runtime.block_on(locks(&manager, count))?;
        let mut healthy = runtime.block_on(locks(&manager, count))?;
        self.begin(fault)?;
        let faulty = runtime.block_on(locks(&manager, count));
        self.end(fault, runtime)?;
        let mut faulty = faulty?;
        let (setting, name) = (fault.name(), subject.name());
        let mut add = |figure, value| ledger.add(setting, name, figure, value);
        add("healthy p50 µs", healthy.percentile(0.5));
        add("healthy p99 µs", healthy.percentile(0.99));
        add(
            "first µs",
            faulty
                .iter()
                .next()
                .map_or(f64::NAN, |time| time.as_secs_f64() * 1e6),
        );
        add("p50 µs", faulty.percentile(0.5));
        add("p99 µs", faulty.percentile(0.99));
        add("max µs", faulty.max());
        Ok(())
    }

    /// A client that is started while the node is ill: the time until its first lock.
    fn start_with(
        &self,
        runtime: &Runtime,
        fault: Fault,
        subject: Subject,
        ledger: &mut Ledger,
    ) -> Fallible<()> {
        self.begin(fault)?;
        let start = || {
            runtime.block_on(async {
                let started = Moment::now();
                let manager = subject.manager(&self.urls)?;
                let held = manager.acquire("start").await?;
                let time = started.elapsed();
                held.release().await;
                Fallible::Ok(time)
            })
        };
        let time = start();
        self.end(fault, runtime)?;
        let time = time?.as_secs_f64() * 1e3;
        ledger.add(fault.name(), subject.name(), "start ms", time);
        Ok(())
    }
}

/// What each of so many locks took to acquire; fewer, if that takes too long.
async fn locks(manager: &Locker, count: usize) -> Fallible<Sample> {
    let begun = Moment::now();
    let mut times = Sample::default();
    while times.len() < count && begun.elapsed() < LONG {
        let name = format!("faults:{}", times.len());
        let started = Moment::now();
        let held = manager.acquire(&name).await?;
        times.push(started.elapsed());
        held.release().await;
    }
    Ok(times)
}

const SETTLED: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(2);
