//! The client process: acquires, writes it down, holds, looks at its validity, writes down the end,
//! releases, over and over, until it is killed.

mod held;

use crate::{
    cluster,
    draw::Draw,
    group,
    journal::{Entry, Fence, Step, Writer},
    moment::Moment,
    reckless,
    scenario::{Kind, Node},
    store::Store,
};
use clap::Args;
use held::{Held, Wish};
use leasehold::{AcquireError, LockManager, LockOptions, ManagerBuilder, Mode, RestartGuard};
use leasehold_report::time;
use std::{
    convert::Infallible,
    io::{self, Read},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

/// What a client process is told.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    #[arg(long, value_parser = Kind::named)]
    pub(crate) kind: Kind,
    #[arg(long)]
    pub(crate) journal: PathBuf,
    /// Where the nodes listen on loopback.
    #[arg(long, required = true, value_delimiter = ',')]
    pub(crate) ports: Vec<u16>,
    /// What each node is: of a group, its sentinels listen there, which tell where it is; of a cluster, some of its servers.
    #[arg(long, value_parser = Node::named)]
    pub(crate) node: Node,
    /// How many replicas must have heard of a vote before it counts; none if nobody asks.
    #[arg(long)]
    pub(crate) copies: u32,
    /// Where the store listens; 0 if there is none.
    #[arg(long)]
    pub(crate) store: u16,
    #[arg(long, value_parser = time)]
    pub(crate) ttl: Duration,
    #[arg(long)]
    pub(crate) seed: u64,
}

impl Orders {
    /// The command line that says all this.
    pub(crate) fn words(&self) -> Vec<String> {
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        let mut words = vec!["client".to_owned()];
        for (name, value) in [
            ("--kind", self.kind.name().to_owned()),
            ("--journal", self.journal.display().to_string()),
            ("--ports", ports.join(",")),
            ("--node", self.node.name().to_owned()),
            ("--copies", self.copies.to_string()),
            ("--store", self.store.to_string()),
            ("--ttl", format!("{}ms", self.ttl.as_millis())),
            ("--seed", self.seed.to_string()),
        ] {
            words.extend([name.to_owned(), value]);
        }
        words
    }
}

/// What the clients contend for: fewer than they are, so that they do.
pub(crate) const RESOURCES: [&str; 3] = ["r0", "r1", "r2"];

/// Runs a client until it is killed, or until its starter is gone.
pub(crate) fn run(orders: &Orders) -> ExitCode {
    std::thread::spawn(|| {
        // The starter writes nothing; its end is the end of this.
        drop(io::stdin().read_to_end(&mut Vec::new()));
        std::process::exit(0);
    });
    let result = match orders.kind {
        Kind::Reckless(missing) => reckless::run(orders, missing),
        Kind::Plain => plain(orders),
        Kind::Careful
        | Kind::Following
        | Kind::Several
        | Kind::Readers
        | Kind::Permits
        | Kind::Trusting
        | Kind::Unguarded
        | Kind::Credulous
        | Kind::Tokenless => fenced(orders),
    };
    match result {
        Ok(never) => match never {},
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "the starter keeps it and tells it")]
fn complain(text: &str) {
    eprintln!("client: {text}");
}

type Failure = Box<dyn std::error::Error>;

/// The library with tokens: used as it is meant to be, unless the orders want something else.
fn fenced(orders: &Orders) -> Result<Infallible, Failure> {
    let guard = match orders.kind {
        Kind::Trusting => RestartGuard::TrustAof,
        Kind::Unguarded => RestartGuard::Off,
        _ => RestartGuard::Quarantine,
    };
    let mut client = Client::new(orders)?;
    loop {
        let manager = client.builder().restart_guard(guard).build()?;
        client.work(&manager)?;
    }
}

/// The library without tokens and without a guard.
fn plain(orders: &Orders) -> Result<Infallible, Failure> {
    let mut client = Client::new(orders)?;
    loop {
        let manager = client.builder().build_plain()?;
        client.work(&manager)?;
    }
}

/// A program that uses the library.
struct Client<'a> {
    orders: &'a Orders,
    options: LockOptions,
    draw: Draw,
    journal: Writer,
    store: Option<Store>,
    /// Where the nodes are, or what leads there.
    hosts: Vec<String>,
}

impl<'a> Client<'a> {
    fn new(orders: &'a Orders) -> Result<Self, Failure> {
        let mut draw = Draw::new(orders.seed);
        // A long time limit lets late answers win as well.
        let limit = draw.pick(&[LEAST_LIMIT, 50, 90]);
        let options = LockOptions::new()
            .ttl(orders.ttl)
            .node_limit(orders.ttl * limit / 100)
            .pause(Duration::from_millis(1)..=Duration::from_millis(20));
        let options = if draw.percent(50) {
            options.no_renewal()
        } else {
            options
        };
        let store = orders.kind.writes().then(|| Store::open(orders.store));
        Ok(Self {
            orders,
            options,
            draw,
            journal: Writer::create(&orders.journal)?,
            store: store.transpose()?,
            hosts: orders
                .ports
                .iter()
                .map(|port| format!("127.0.0.1:{port}"))
                .collect(),
        })
    }

    fn builder(&self) -> ManagerBuilder {
        let builder = LockManager::builder()
            .nodes(self.urls())
            .defaults(self.options.clone())
            .max_ttl(self.max_ttl())
            .clock_skew(SKEW);
        let builder = match self.orders.kind {
            Kind::Following => builder,
            // Behind proxies each has addresses of its own.
            _ => builder.cluster("chaos"),
        };
        match self.orders.copies {
            0 => builder,
            copies => {
                let within = COPYING.min(self.orders.ttl * LEAST_LIMIT / 100);
                builder.replicated(copies, within)
            }
        }
    }

    fn urls(&self) -> Vec<String> {
        let hosts = &self.hosts;
        match self.orders.node {
            Node::Server | Node::Pair => {
                hosts.iter().map(|host| format!("redis://{host}")).collect()
            }
            Node::Group => vec![self.by_sentinels(hosts)],
            Node::Cluster => {
                let clusters = hosts.chunks(cluster::MASTERS);
                clusters
                    .map(|hosts| format!("redis+cluster://{}", hosts.join(",")))
                    .collect()
            }
        }
    }

    fn by_sentinels(&self, hosts: &[String]) -> String {
        let options = match self.orders.kind {
            Kind::Credulous => "?dangerous_sentinel_minority=yes",
            _ => "",
        };
        format!(
            "redis+sentinel://{}/{}{options}",
            hosts.join(","),
            group::NAME
        )
    }

    /// A successor waits for longer than a lease lasts, by as much as the word of sentinels may be old.
    fn max_ttl(&self) -> Duration {
        match self.orders.node {
            Node::Group => self.orders.ttl + WORD,
            Node::Server | Node::Pair | Node::Cluster => self.orders.ttl,
        }
    }

    fn work<M: Mode>(&mut self, manager: &LockManager<M>) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        runtime.block_on(self.contend(manager))?;
        if self.orders.kind == Kind::Following {
            // People have changed the list by then: one that two changes have left behind is followed by nobody.
            self.hosts = manager.nodes().iter().map(ToString::to_string).collect();
        }
        Ok(())
    }

    /// Acquires and holds, until no quorum answers in time: then one starts anew, as a program under
    /// supervision would.
    ///
    /// # Errors
    /// If the journal cannot be written, or the lock failed in a way that no trouble around it explains.
    async fn contend<M: Mode>(&mut self, manager: &LockManager<M>) -> Result<(), Failure> {
        let wishes = Wish::all(self.orders.kind, manager)?;
        loop {
            let wish = &wishes[self.draw.below(wishes.len())];
            let begun = Moment::now();
            match wish.acquire_within(self.orders.ttl * 2).await {
                Ok(held) => self.hold(held, begun).await?,
                Err(error) => match what_now(&error) {
                    Now::GoOn => {}
                    Now::StartAnew => return Ok(()),
                    Now::End => return Err(error.into()),
                },
            }
        }
    }

    /// Holds for a while, writes everything down, and lets go.
    async fn hold<M: Mode>(&mut self, held: Held<M>, begun: Moment) -> io::Result<()> {
        let ttl = self.orders.ttl;
        let mut promised = held.valid_until();
        let token = held.token();
        let acquired = Step::Acquired {
            valid_until: promised,
            fence: token.map(|token| Fence { begun, token }),
        };
        note(&mut self.journal, &held, acquired)?;
        let mut registers = self.read(&held, token)?;
        let until = Moment::now().plus(hold_time(&mut self.draw, ttl));
        // Few enough that a long hold meets the end of what the last one promised.
        let mut extensions = self.draw.pick(&[0, 0, 0, 1, 2]);
        while relies(&held, promised, &mut self.journal)? && Moment::now() < until {
            tokio::time::sleep(STEP.min(until.since(Moment::now()))).await;
            // Without another look: no look helps against a pause between it and the write.
            self.write(&held, token, &mut registers)?;
            // What fails changes nothing: the lease is as valid as it was.
            if extensions > 0 && held.remaining() < ttl / 2 && held.extend().await {
                extensions -= 1;
            }
            // By this extension, or by itself.
            let now_promised = held.valid_until();
            if now_promised > promised {
                promised = now_promised;
                let extended = Step::Extended {
                    valid_until: promised,
                };
                note(&mut self.journal, &held, extended)?;
            }
        }
        // Before the release begins: from then on another may win.
        note(&mut self.journal, &held, Step::Ended)?;
        if self.draw.percent(70) {
            held.release().await;
        }
        Ok(())
    }

    /// Reads what the lock is for. A register of which the store tells nothing, since a later holder came to it, is left out.
    fn read<M: Mode>(
        &mut self,
        held: &Held<M>,
        token: Option<u64>,
    ) -> io::Result<Vec<(String, u64)>> {
        let shown = self.shown(token);
        let Some(store) = self.store.as_mut().filter(|_| !held.reads()) else {
            return Ok(Vec::new());
        };
        let mut registers = Vec::new();
        for place in held.places() {
            if let Some(number) = store.read(&place, shown)? {
                registers.push((place, number));
            }
        }
        Ok(registers)
    }

    /// Does what the lock is for: each register counts on from what was read.
    fn write<M: Mode>(
        &mut self,
        held: &Held<M>,
        token: Option<u64>,
        registers: &mut [(String, u64)],
    ) -> io::Result<()> {
        let shown = self.shown(token);
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let owner = held.owner().to_string();
        for (place, number) in registers {
            *number += u64::from(store.write(place, &owner, shown, *number)?);
        }
        Ok(())
    }

    fn shown(&self, token: Option<u64>) -> Option<u64> {
        token.filter(|_| self.orders.kind != Kind::Tokenless)
    }
}

/// What a client does when it did not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    GoOn,
    StartAnew,
    /// The library gave up, as it does after a panic of its own thread.
    End,
}

fn what_now(error: &AcquireError) -> Now {
    match error {
        AcquireError::TimedOut { last, .. } => what_now(last),
        // Who waits for nodes that do not vote keeps the connections, behind which they may restart again.
        AcquireError::Held(_) | AcquireError::Abstained(_) => Now::GoOn,
        // Too late is who won slowly, or was stopped until nothing was left: part of the game.
        AcquireError::Unreachable(_) | AcquireError::TooLate { .. } => Now::StartAnew,
        _ => Now::End,
    }
}

/// Asks the guard whether it is valid, and believes it.
///
/// A yes within what was promised claims nothing new. Every other one is written down: so a guard that
/// says yes for too long is found, and not only one that promised too much.
fn relies<M: Mode>(held: &Held<M>, promised: Moment, journal: &mut Writer) -> io::Result<bool> {
    // The clock first. The answer is then about a later moment, however long the process is stopped in
    // between, and a yes that was true of that one is true of this.
    let at = Moment::now();
    let is_valid = held.is_valid();
    if is_valid && at >= promised {
        note_at(journal, held, Step::Relied, at)?;
    }
    Ok(is_valid)
}

/// Mostly short, so that there are many hand-overs; sometimes beyond the TTL.
pub(crate) fn hold_time(draw: &mut Draw, ttl: Duration) -> Duration {
    match draw.below(8) {
        0..=3 => draw.share(ttl, 0..5),
        4 | 5 => draw.share(ttl, 5..50),
        6 => draw.share(ttl, 70..130),
        _ => draw.share(ttl, 130..250),
    }
}

/// Writes down what becomes of a lease now.
fn note<M: Mode>(journal: &mut Writer, held: &Held<M>, step: Step) -> io::Result<()> {
    note_at(journal, held, step, Moment::now())
}

/// A lease on several names is one on each of them.
fn note_at<M: Mode>(
    journal: &mut Writer,
    held: &Held<M>,
    step: Step,
    at: Moment,
) -> io::Result<()> {
    let entry = |resource| Entry {
        at,
        step,
        resource,
        owner: held.owner().to_string(),
    };
    let mut places = held.places().into_iter();
    places.try_for_each(|place| journal.write(&entry(place)))
}

/// All processes read the same clock, but nodes tell the time in whole milliseconds.
pub(crate) const SKEW: Duration = Duration::from_millis(100);
const STEP: Duration = Duration::from_millis(10);
/// How old the word of sentinels may be, and some more.
const WORD: Duration = Duration::from_millis(1_600);
/// Of the TTL, in percent, the least that a node has to answer.
const LEAST_LIMIT: u32 = 20;
/// How long replicas have to confirm a vote.
const COPYING: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold::Resource;

    fn timed_out(last: AcquireError) -> AcquireError {
        AcquireError::TimedOut {
            resource: last.resource().clone(),
            waited: Duration::ZERO,
            last: Box::new(last),
        }
    }

    #[test]
    fn a_lock_that_gave_up_ends_the_client_and_trouble_around_it_does_not() {
        let resource = || Resource::new("r0").unwrap();
        let shut_down = || AcquireError::ShutDown {
            resource: resource(),
        };
        let repeated = AcquireError::OwnerRepeated {
            resource: resource(),
        };
        let late = || AcquireError::TooLate {
            resource: resource(),
            elapsed: Duration::from_millis(2),
            ttl: Duration::from_millis(1),
        };
        for error in [shut_down(), timed_out(shut_down()), repeated] {
            assert_eq!(what_now(&error), Now::End, "{error}");
        }
        for error in [late(), timed_out(late())] {
            assert_eq!(what_now(&error), Now::StartAnew, "{error}");
        }
    }
}
