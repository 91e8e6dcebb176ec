//! One client: its engine, and the books of the application that uses it.

use crate::{
    clock::{self, TICK},
    shape::{Habit, Wanted},
};
use leasehold_core::{
    AcquireRequest, AttemptId, Engine, Instant, LockConfig, Operation, OperationId, Owner,
    OwnerSource, Pause, Permit, PermitCount, Quorum, RenewalPolicy, Resource, Retry, Seed,
};
use std::{
    num::NonZeroU32,
    sync::{Arc, LazyLock},
    time::Duration,
};

/// An engine and what its application knows and may still do.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Client {
    pub(crate) engine: Engine,
    /// How many operations the engine was asked to do.
    operations: u64,
    /// Operations that have not ended.
    open: Vec<Open>,
    /// Leases that the application was given. One that was released stays while something may still be asked
    /// for it.
    pub(crate) held: Vec<Held>,
    pub(crate) attempts: Vec<Attempt>,
    /// Whether it goes by the new list of nodes; and the nodes that have said that they do, one bit each.
    pub(crate) knows_the_new_list: bool,
    pub(crate) told: u8,
    /// Whether the process stands still.
    pub(crate) is_stopped: bool,
    pub(crate) left: Left,
}

/// How often the application may still do what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Left {
    pub(crate) acquires: u8,
    pub(crate) extends: u8,
    pub(crate) cancels: u8,
    pub(crate) releases_again: u8,
    pub(crate) stops: u8,
}

/// An operation that has not ended.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Open {
    pub(crate) operation: OperationId,
    pub(crate) kind: Kind,
    /// The acquisition that it is about.
    pub(crate) about: OperationId,
}

/// What kind of operation it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Acquire,
    Extend,
    Release,
    /// Of what was released before.
    ReleaseAgain,
}

/// An attempt that was begun.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Attempt {
    pub(crate) id: AttemptId,
    pub(crate) owner: Owner,
    pub(crate) is_won: bool,
}

/// A lease in the application's hands.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Held {
    pub(crate) operation: OperationId,
    pub(crate) owner: Owner,
    pub(crate) resource: Resource,
    pub(crate) valid_until: Instant,
    pub(crate) is_released: bool,
    /// Whether the holder was told that it is over.
    pub(crate) is_lost: bool,
}

impl Held {
    /// Whether another lease may be valid beside it.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let slot = |held: &Self| held.owner.permit().map(Permit::slot);
        let (one, another) = (&self.resource, &other.resource);
        let both_read = one.is_shared() && another.is_shared();
        let both_have = one.permits().is_some() && one.permits() == another.permits();
        self.is_apart(other) || both_read || (both_have && slot(self) != slot(other))
    }

    /// Whether it is of other names.
    pub(crate) fn is_apart(&self, other: &Self) -> bool {
        let is_others = |name: &str| other.resource.names().any(|theirs| theirs == name);
        !self.resource.names().any(is_others)
    }

    /// Whether the application believes in it when its clock shows `now`.
    pub(crate) fn is_believed(&self, now: Instant) -> bool {
        !self.is_released && !self.is_lost && now < self.valid_until
    }
}

impl Client {
    pub(crate) fn new(habit: &Habit, quorum: Quorum) -> Self {
        Self {
            engine: Engine::new(quorum),
            operations: 0,
            open: Vec::new(),
            held: Vec::new(),
            attempts: Vec::new(),
            knows_the_new_list: habit.knows_the_new_list,
            told: 0,
            is_stopped: false,
            left: Left {
                acquires: habit.acquires,
                extends: habit.extends,
                cancels: habit.cancels,
                releases_again: habit.releases_again,
                stops: habit.stops,
            },
        }
    }

    /// Client `number` begins an acquisition.
    pub(crate) fn acquire(&mut self, now: Instant, number: usize, habit: &Habit) {
        self.left.acquires -= 1;
        let mut seed = [0; Seed::LENGTH];
        seed[0] = u8::try_from(number).expect("clients are few");
        seed[1] = habit.acquires - self.left.acquires - 1;
        // No two share a place in a queue.
        let [client, acquisition, ..] = seed;
        seed[Seed::LENGTH - 1] = client * 16 + acquisition + 1;
        let acquire = acquire_request(habit);
        let operation = self.draw();
        self.engine.submit(
            now,
            operation,
            || Seed::new(seed),
            Operation::Acquire(acquire),
        );
        self.begun(operation, Kind::Acquire, operation);
    }

    /// Extends the lease that `about` won.
    pub(crate) fn extend(&mut self, now: Instant, about: OperationId) {
        self.left.extends -= 1;
        let operation = self.draw();
        self.engine.submit(
            now,
            operation,
            || SEED,
            Operation::Extend {
                lease: about,
                ttl: None,
            },
        );
        self.begun(operation, Kind::Extend, about);
    }

    /// Releases the lease that `about` won. From here on nobody believes in it.
    pub(crate) fn release(&mut self, now: Instant, about: OperationId) {
        let mut kind = Kind::Release;
        for held in self.held.iter_mut().filter(|held| held.operation == about) {
            if held.is_released {
                self.left.releases_again -= 1;
                kind = Kind::ReleaseAgain;
            }
            held.is_released = true;
        }
        let operation = self.draw();
        self.engine
            .submit(now, operation, || SEED, Operation::Release(about));
        self.begun(operation, kind, about);
    }

    /// Gives up the acquisition. Ends without an event of its own.
    pub(crate) fn cancel(&mut self, now: Instant, about: OperationId) {
        self.left.cancels -= 1;
        let operation = self.draw();
        self.engine
            .submit(now, operation, || SEED, Operation::Cancel(about));
    }

    fn draw(&mut self) -> OperationId {
        let operation = OperationId::new(self.operations);
        self.operations += 1;
        operation
    }

    /// The process stands still from here on.
    pub(crate) fn stop(&mut self) {
        self.left.stops -= 1;
        self.is_stopped = true;
    }

    fn begun(&mut self, operation: OperationId, kind: Kind, about: OperationId) {
        self.open.push(Open {
            operation,
            kind,
            about,
        });
    }

    /// An operation has ended; which one was it? None if it had ended before.
    pub(crate) fn ended(&mut self, operation: OperationId) -> Option<Open> {
        let mut open = self.open.iter();
        let at = open.position(|open| open.operation == operation)?;
        Some(self.open.remove(at))
    }

    /// Forgets what nobody can ask for any more.
    pub(crate) fn tidy(&mut self) {
        let left = &self.left;
        if left.extends > 0 || left.releases_again > 0 {
            return;
        }
        let open = &self.open;
        self.held.retain(|held| {
            !held.is_released || open.iter().any(|open| open.about == held.operation)
        });
    }

    pub(crate) fn has_begun(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// Whether the application waits for nothing and has nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty() && self.held.iter().all(|held| held.is_released)
    }

    /// Operations that have not ended.
    pub(crate) fn open_operations(&self) -> impl Iterator<Item = &Open> {
        self.open.iter()
    }

    /// The acquisitions that have not ended.
    pub(crate) fn acquiring(&self) -> impl Iterator<Item = OperationId> {
        let open = self.open.iter();
        open.filter(|open| open.kind == Kind::Acquire)
            .map(|open| open.operation)
    }

    /// Whether the engine wants to look at the clock.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.engine.poll_timeout().is_some_and(|at| at <= now)
    }
}

/// Operations other than acquisitions need no randomness.
const SEED: Seed = Seed::new([0; Seed::LENGTH]);

/// The resource that all want, in most shapes.
pub(crate) static RESOURCE: LazyLock<Resource> =
    LazyLock::new(|| Resource::new("r").expect("a name"));

/// Another, and both together.
static OTHER: LazyLock<Resource> = LazyLock::new(|| Resource::new("s").expect("a name"));
static BOTH: LazyLock<Resource> = LazyLock::new(|| Resource::several(["r", "s"]).expect("names"));

/// Every resource that a node can have keys of.
pub(crate) fn resources() -> [&'static Resource; 2] {
    [&RESOURCE, &OTHER]
}

/// A share of it.
static SHARE: LazyLock<Resource> = LazyLock::new(|| Resource::shared("r").expect("a name"));

/// One of two permits of it, and one of three.
static PERMITS: LazyLock<[Resource; 2]> = LazyLock::new(|| {
    [2, 3].map(|of| {
        let of = PermitCount::new(of).expect("in range");
        Resource::permit("r", of).expect("a name")
    })
});

/// Configurations by their tries, made once: the identity of one is no part of a world.
static CONFIGS: LazyLock<[Arc<LockConfig>; 3]> = LazyLock::new(|| configs(false));

/// The same for those who queue on the nodes.
static FAIR_CONFIGS: LazyLock<[Arc<LockConfig>; 3]> = LazyLock::new(|| configs(true));

fn configs(is_fair: bool) -> [Arc<LockConfig>; 3] {
    [1, 2, 3].map(|tries| {
        Arc::new(LockConfig {
            timing: clock::timing(),
            retry: Retry::default()
                .with_tries(NonZeroU32::new(tries))
                .with_pause(Pause::Between {
                    least: TICK,
                    most: TICK,
                }),
            owners: OwnerSource::new(|random| {
                // Client, acquisition, attempt: all that differs between the seeds, in words for people.
                format!("c{}.{}.{}", random[0], random[1], random[19]).into_bytes()
            }),
            is_fenced: false,
            queues: false,
            asks_one_first: false,
            is_fair,
            policy: RenewalPolicy {
                // A warning changes nothing, and would be one more moment to look at.
                danger: Some(Duration::ZERO),
                ..RenewalPolicy::default()
            },
        })
    })
}

fn acquire_request(habit: &Habit) -> AcquireRequest {
    let configs = if habit.is_fair {
        &FAIR_CONFIGS
    } else {
        &CONFIGS
    };
    let config = (habit.tries as usize)
        .saturating_sub(1)
        .min(configs.len() - 1);
    let resource: &Resource = match habit.wants {
        Wanted::Name => &RESOURCE,
        Wanted::OtherName => &OTHER,
        Wanted::BothNames => &BOTH,
        Wanted::Share => &SHARE,
        Wanted::OneOfTwo => &PERMITS[0],
        Wanted::OneOfThree => &PERMITS[1],
    };
    AcquireRequest {
        resource: resource.clone(),
        config: Arc::clone(&configs[config]),
        from: None,
        patience: habit.patience.map(|ticks| TICK * ticks),
    }
}
