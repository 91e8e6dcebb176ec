//! Our side.

use crate::Fallible;
use leasehold::{
    AcquireError, AdoptError, ConfigError, ExtendError, Fenced, Inspection, LeaseGuard,
    LockManager, LockOptions, Mode, Mutex, Owner, Plain, ReleaseOutcome, operate::NodeAnswer,
};
use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Which of leasehold's two kinds of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Redlock and no more.
    Plain,
    /// With fencing tokens and a guard against nodes that forget. The default.
    Fenced,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Plain, Self::Fenced];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Fenced => "fenced",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What stands between names that are locked together.
pub(crate) const SEVERAL: &str = ",";

/// A manager of locks.
#[derive(Clone, Debug)]
pub(crate) enum Ours {
    Plain(LockManager<Plain>),
    Fenced(LockManager<Fenced>),
}

/// What the version before has not got, of which a shim is made of this file as well: it locks the first name. Where a library
/// has it, its own comes first.
#[expect(dead_code, reason = "this library has it")]
trait Together<M: Mode> {
    fn mutex_all_with<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        options: LockOptions,
    ) -> Result<Mutex<M>, ConfigError>;
}

impl<M: Mode> Together<M> for LockManager<M> {
    fn mutex_all_with<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        options: LockOptions,
    ) -> Result<Mutex<M>, ConfigError> {
        self.mutex_with(names.into_iter().next().unwrap_or_default(), options)
    }
}

/// A lease of ours.
#[derive(Debug)]
#[must_use = "it has to be released"]
pub(crate) enum Lease {
    Plain(LeaseGuard<Plain>),
    Fenced(LeaseGuard<Fenced>),
}

impl Ours {
    pub(crate) fn new(kind: Kind, urls: &[String]) -> Fallible<Self> {
        let builder = LockManager::builder().nodes(urls);
        Ok(match kind {
            Kind::Plain => Self::Plain(builder.build_plain()?),
            Kind::Fenced => Self::Fenced(builder.build()?),
        })
    }

    /// Waits for `patience` at most; none at all means one attempt.
    pub(crate) fn acquire(
        &self,
        resource: &str,
        options: LockOptions,
        patience: Duration,
    ) -> Result<Lease, AcquireError> {
        const FIT: &str = "names and options are chosen here, and fit";
        let names = resource.split(SEVERAL);
        match self {
            Self::Plain(manager) => {
                let mutex = manager.mutex_all_with(names, options).expect(FIT);
                block_on(mutex.acquire_within(patience)).map(Lease::Plain)
            }
            Self::Fenced(manager) => {
                let mutex = manager.mutex_all_with(names, options).expect(FIT);
                block_on(mutex.acquire_within(patience)).map(Lease::Fenced)
            }
        }
    }

    /// Goes on with a lease that another process has handed over.
    pub(crate) fn adopt(&self, text: &str) -> Result<Lease, AdoptError> {
        Ok(match self {
            Self::Plain(manager) => Lease::Plain(block_on(manager.adopt(text))?),
            Self::Fenced(manager) => Lease::Fenced(block_on(manager.adopt(text))?),
        })
    }

    /// Releases a lease that another process has left to all who know its owner. Only with fenced locks.
    pub(crate) fn finish(&self, resource: &str, owner: &str) -> Fallible<ReleaseOutcome> {
        let owner = Owner::from_bytes(owner.as_bytes()).ok_or("an owner is no empty text")?;
        match self {
            Self::Plain(_) => Err("plain locks are not left to all".into()),
            Self::Fenced(manager) => Ok(block_on(manager.detached(resource, owner)?.release())),
        }
    }

    /// What the nodes say.
    pub(crate) fn inspect(&self, resource: &str) -> Fallible<Inspection> {
        Ok(match self {
            Self::Plain(manager) => block_on(manager.inspect(resource))?,
            Self::Fenced(manager) => block_on(manager.inspect(resource))?,
        })
    }
}

impl Lease {
    pub(crate) fn owner(&self) -> &Owner {
        match self {
            Self::Plain(guard) => guard.owner(),
            Self::Fenced(guard) => guard.owner(),
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Self::Plain(guard) => guard.is_valid(),
            Self::Fenced(guard) => guard.is_valid(),
        }
    }

    pub(crate) fn remaining(&self) -> Duration {
        match self {
            Self::Plain(guard) => guard.remaining(),
            Self::Fenced(guard) => guard.remaining(),
        }
    }

    /// The fencing token, if it has one.
    pub(crate) fn token(&self) -> Option<u64> {
        match self {
            Self::Plain(_) => None,
            Self::Fenced(guard) => Some(guard.fencing_token().get()),
        }
    }

    /// Hands it over to the one process that is told this text.
    pub(crate) fn hand_over(self) -> Fallible<String> {
        Ok(match self {
            Self::Plain(guard) => block_on(guard.hand_over())?,
            Self::Fenced(guard) => block_on(guard.hand_over())?,
        })
    }

    /// Leaves it to all who know this owner. Only with fenced locks.
    pub(crate) fn detach(self) -> Fallible<String> {
        match self {
            Self::Plain(_) => Err("plain locks are not left to all".into()),
            Self::Fenced(guard) => {
                let owner = block_on(guard.detach())?;
                Ok(String::from_utf8_lossy(owner.as_bytes()).into_owned())
            }
        }
    }

    pub(crate) fn extend_to(&self, ttl: Duration) -> Result<(), ExtendError> {
        match self {
            Self::Plain(guard) => block_on(guard.extend_to(ttl)),
            Self::Fenced(guard) => block_on(guard.extend_to(ttl)),
        }
    }

    pub(crate) fn extend(&self) -> Result<(), ExtendError> {
        match self {
            Self::Plain(guard) => block_on(guard.extend()),
            Self::Fenced(guard) => block_on(guard.extend()),
        }
    }

    pub(crate) fn release(self) -> ReleaseOutcome {
        match self {
            Self::Plain(guard) => block_on(guard.release()),
            Self::Fenced(guard) => block_on(guard.release()),
        }
    }
}

/// The nodes are new: nobody can hold what they may have forgotten, and nobody has to wait.
pub(crate) fn admit(urls: &[String]) -> Fallible<()> {
    for told in block_on(LockManager::builder().nodes(urls).operator()?.admit())? {
        let NodeAnswer::Told(_) = told.answer else {
            return Err(format!("{} was not admitted", told.node).into());
        };
    }
    Ok(())
}

/// A holder in a process of its own, which can be killed.
#[derive(Debug)]
pub(crate) struct Holder {
    child: Child,
}

impl Holder {
    /// Returns when it has the lock.
    pub(crate) fn start(
        kind: Kind,
        resource: &str,
        ttl: Duration,
        urls: &[String],
    ) -> Fallible<Self> {
        let ttl = ttl.as_millis().to_string();
        let mut child = Command::new(env::current_exe()?)
            .args(["hold", kind.name(), resource, &ttl])
            .args(urls)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let holder = Self { child };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        match line.trim() {
            HELD => Ok(holder),
            other => Err(format!("a holder of ours did not get the lock: {other}").into()),
        }
    }

    /// As `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Fallible<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What the process of a [`Holder`] does: takes the lock and has it extended until its input ends.
pub(crate) fn hold(words: &[&str]) -> Fallible<()> {
    let [kind, resource, ttl, urls @ ..] = words else {
        return Err("hold needs a kind, a resource, a TTL and nodes".into());
    };
    let kind = Kind::named(kind).ok_or("there is no such kind")?;
    let ttl = Duration::from_millis(ttl.parse()?);
    let urls: Vec<String> = urls.iter().map(|&url| url.to_owned()).collect();
    let options = LockOptions::new().ttl(ttl);
    let lease = Ours::new(kind, &urls)?.acquire(resource, options, PATIENCE);
    match &lease {
        Ok(_) => println!("{HELD}"),
        Err(error) => println!("{error}"),
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// Waits for what has I/O and timers of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime
        .expect("a runtime without I/O and timers needs nothing")
        .block_on(work)
}

const HELD: &str = "held";
const PATIENCE: Duration = Duration::from_secs(5);
