//! A few nodes and a time of their own.

mod permits;
mod readers;

use super::node::{Node, name, nothing};
use crate::{builder::ManagerBuilder, clock::Clock, link::NodeName, manager::LockManager};
use leasehold_core::{Owner, Quorum, Resource};
use std::{collections::BTreeSet, future::poll_fn, task::Poll, time::Duration};

/// Nodes in memory, and a time that stands still until [`advance`](Self::advance). See the [module](super).
///
/// # Examples
/// ```
/// # use std::time::Duration;
/// use leasehold::testing::World;
///
/// let world = World::new(3);
/// let manager = world.manager().blocking();
/// let guard = manager.mutex("report").unwrap().acquire().unwrap();
/// // It extends itself as long as its nodes let it.
/// world.advance(Duration::from_secs(10 * 60));
/// assert!(guard.is_valid());
/// // Two of three nodes hang: nobody confirms it any more.
/// world.node(0).hang();
/// world.node(1).hang();
/// world.advance(Duration::from_secs(10));
/// assert!(!guard.is_valid());
/// ```
#[derive(Debug)]
pub struct World {
    clock: Clock,
    nodes: Vec<Node>,
    quorum: Quorum,
}

impl World {
    /// So many nodes: 1 to 32.
    ///
    /// # Panics
    /// If there are to be none, or more.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let quorum = Quorum::majority(nodes).expect("a world has 1 to 32 nodes");
        let clock = Clock::told();
        let new = |_| Node::new(clock);
        Self {
            clock,
            nodes: (0..nodes).map(new).collect(),
            quorum,
        }
    }

    /// Options for a manager in this world: its clock, and its nodes, of which none is left out. Everything else is as with
    /// [`LockManager::builder`] and servers. So no TTL may be longer than [`max_ttl`](ManagerBuilder::max_ttl), 30 s by
    /// default: what is refused on servers is refused here.
    pub fn builder(&self) -> ManagerBuilder {
        let mut builder = ManagerBuilder::default().clock(self.clock).limited();
        for (number, node) in self.nodes.iter().enumerate() {
            let (name, node) = (format!("node #{number}"), node.clone());
            builder = builder.link(NodeName::new(&name), move |_| node.link());
        }
        builder
    }

    /// A manager with the default options. Another one is as good as another process: they exclude each other.
    ///
    /// # Panics
    /// If the system has no thread to give.
    #[must_use]
    pub fn manager(&self) -> LockManager {
        let manager = self.builder().build();
        manager.expect("the default options go together, and there is a thread to be had")
    }

    /// One of the nodes, counted from 0.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn node(&self, number: usize) -> &Node {
        let node = self.nodes.get(number);
        node.expect("a test names a node that its world has")
    }

    /// The clock of this world.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Waits until the managers of this world have done all that is to be done at this moment, and told those who wait for
    /// it. Never call it on a manager's thread, nor on the runtime of one that was built
    /// [`on_runtime`](ManagerBuilder::on_runtime), since it waits for that.
    ///
    /// # Panics
    /// If a manager does not come to rest for as long as [`give_up_after`](Self::give_up_after) says.
    pub fn settle(&self) {
        self.timeline().settle();
    }

    /// Lets so much time pass, moment by moment: the managers extend, try again and give up as they would. Returns when
    /// all of that is done. Never call it on a manager's thread.
    ///
    /// A future that nobody has polled yet has not begun to wait: a task that is to wait while time passes must have run
    /// before, and must be able to run at the same time, as by `tokio::join!`.
    ///
    /// Blocks the calling thread, for as long as the managers' work takes: for an hour of one lease about half a second.
    ///
    /// # Panics
    /// As [`settle`](Self::settle).
    pub fn advance(&self, by: Duration) {
        self.timeline().advance(by);
    }

    /// How long a test may wait for something of this world while nothing happens in it: 10 s of the machine's time by
    /// default. Then a waiter panics, with a sentence that names what it waits for. Give more if the test does slow
    /// work of its own while it waits.
    ///
    /// # Examples
    /// ```should_panic
    /// # use std::time::Duration;
    /// use leasehold::testing::World;
    ///
    /// let world = World::new(3);
    /// world.give_up_after(Duration::from_millis(200));
    /// let mutex = world.manager().blocking().mutex("report").unwrap();
    /// let guard = mutex.acquire().unwrap();
    /// // Nobody lets time pass, and nobody releases: this panics, and does not hang.
    /// let other = mutex.acquire();
    /// # drop((guard, other));
    /// ```
    pub fn give_up_after(&self, patience: Duration) {
        self.timeline().give_up_after(patience);
    }

    /// Who holds the lock now, by the keys of a quorum of nodes, those that cannot be reached included. A task that
    /// waits for the lock may not have been given its guard yet: wait for something that the holder does before you take it
    /// away again.
    ///
    /// # Panics
    /// If the name is not one that a resource can have.
    #[must_use]
    pub fn holder(&self, resource: &str) -> Option<Owner> {
        self.holder_of(&name(resource))
    }

    fn holder_of(&self, resource: &Resource) -> Option<Owner> {
        let holders: Vec<_> = self
            .nodes
            .iter()
            .map(|node| node.holder(resource))
            .collect();
        let mut owners = holders.iter().flatten();
        let has_quorum = |owner: &&Owner| {
            let same = holders.iter().flatten().filter(|other| other == owner);
            same.count() >= self.quorum.needed()
        };
        owners.find(has_quorum).cloned()
    }

    /// Waits until somebody holds the lock, and tells who: for a test that is to take it away again. Time does not pass
    /// meanwhile, unless somebody lets it.
    ///
    /// When it returns, the holder's manager has handed out the lease, and other tasks of the same thread have had a turn
    /// with it. A lock that was held for a moment only may be missed. Settles as [`settle`](Self::settle) does.
    ///
    /// # Panics
    /// If nothing happens in this world for as long as [`give_up_after`](Self::give_up_after) says, as where the job that is
    /// to take the lock has failed or was never begun; as [`settle`](Self::settle); or if the name is not one that a
    /// resource can have.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    /// ```
    /// use leasehold::{LockManager, testing::World};
    ///
    /// /// Somebody's job.
    /// async fn lead(manager: &LockManager) -> Result<(), leasehold::Error> {
    ///     let guard = manager.mutex("leader")?.acquire().await?;
    ///     Err(guard.lost().await.into())
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let world = World::new(3);
    /// let manager = world.manager();
    /// let test = async {
    ///     world.until_held("leader").await;
    ///     world.lose("leader");
    /// };
    /// let (led, ()) = tokio::join!(lead(&manager), test);
    /// assert!(led.unwrap_err().to_string().starts_with("lost the lock \"leader\""));
    /// # })
    /// ```
    pub async fn until_held(&self, resource: &str) -> Owner {
        let resource = name(resource);
        let held = poll_fn(|cx| {
            // Before they are asked: what changes in between wakes.
            for node in &self.nodes {
                node.watch(cx.waker());
            }
            match self.holder_of(&resource) {
                Some(owner) => Poll::Ready(owner),
                None => Poll::Pending,
            }
        });
        let what = || format!("somebody to hold the lock {}", resource.quoted());
        let owner = self.clock.wait_for(what, held).await;
        self.settle();
        // Twice: `tokio::join!` polls in turns, and may begin with this task.
        yield_once().await;
        yield_once().await;
        owner
    }

    /// The holder of the lock loses it now, and so do all who read it: the keys are gone from all nodes, which say so. A lease
    /// that extends itself finds out before this returns, but for those of readers, who find out with their next extension. One with [`no_renewal`](crate::LockOptions::no_renewal) or
    /// [`max_extensions`](crate::LockOptions::max_extensions) finds out with its next extension, or at its end; so
    /// does any that cannot reach a quorum.
    ///
    /// Lets 40 ms pass, half of them before and half behind it: a manager that has just looked looks again within 20 ms.
    ///
    /// # Panics
    /// If no node has a key of the lock, so that a name that is misspelt is no test that passes; as
    /// [`settle`](Self::settle); or if the name is not one that a resource can have.
    pub fn lose(&self, resource: &str) {
        let resource = name(resource);
        let has_key = || self.nodes.iter().any(|node| node.is_held(&resource));
        let was_held = has_key();
        self.advance(CALM);
        assert!(
            was_held || has_key(),
            "this World has {}",
            nothing(&resource, &self.locked())
        );
        // All of them before any tells: a waiter that looks too early finds a quorum, and does not look again so soon.
        for node in &self.nodes {
            node.forget(&resource);
        }
        for node in &self.nodes {
            node.hint(Some(&resource));
        }
        self.advance(CALM);
    }

    /// What any node has a key of.
    fn locked(&self) -> BTreeSet<Resource> {
        self.nodes.iter().flat_map(Node::locked).collect()
    }

    fn timeline(&self) -> &'static crate::clock::Timeline {
        let timeline = self.clock.timeline();
        timeline.expect("the clock of a world is told the time")
    }
}

/// Lets the other tasks of this thread have a turn.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A manager that has just looked looks again within this time, if it is told to.
const CALM: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LockOptions, RestartGuard};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn impatient() -> World {
        let world = World::new(3);
        world.give_up_after(Duration::from_millis(100));
        world
    }

    fn sentence<T>(work: impl FnOnce() -> T) -> String {
        let panicked = catch_unwind(AssertUnwindSafe(work)).err();
        let said = panicked.expect("it cannot end otherwise");
        *said.downcast::<String>().expect("it says something")
    }

    /// Its manager looks after the keys when a node is back, which it may do just before they are taken away.
    #[test]
    fn a_holder_that_has_just_looked_finds_out_as_well() {
        for _ in 0..200 {
            let world = World::new(3);
            let mutex = world.manager().blocking().mutex("report").expect("a name");
            let guard = mutex.acquire().expect("it is free");
            world.node(0).down("no route");
            world.advance(Duration::from_secs(60));
            assert!(guard.is_valid());
            world.node(0).up();
            world.lose("report");
            assert!(!guard.is_valid(), "{:?}", guard.remaining());
        }
    }

    #[test]
    fn who_waits_for_what_cannot_come_is_told_so_and_does_not_hang() {
        let world = impatient();
        let mutex = world.manager().blocking().mutex("report").expect("a name");
        let guard = mutex.acquire().expect("it is free");
        let told = sentence(|| mutex.acquire());
        assert!(
            told.starts_with("this test waits for the lock \"report\", and"),
            "{told}"
        );
        let told = sentence(|| guard.lost());
        assert!(
            told.starts_with("this test waits for the loss of the lock"),
            "{told}"
        );
        assert!(guard.is_valid());
    }

    #[test]
    fn who_waits_for_nodes_that_hang_is_told_so_whatever_it_asked_of_them() {
        let world = impatient();
        let manager = world.manager().blocking();
        let held = |name| {
            manager
                .mutex(name)
                .expect("a name")
                .acquire()
                .expect("it is free")
        };
        let (mut guard, other) = (held("a"), held("b"));
        let text = held("d").hand_over().expect("it is held");
        world.node(0).hang();
        world.node(1).hang();
        let waits = |work: &mut dyn FnMut(), what: &str| {
            let told = sentence(work);
            let begin = format!("this test waits for {what}, and nothing can bring it");
            assert!(told.starts_with(&begin), "{told}");
        };
        waits(
            &mut || drop(guard.extend()),
            "an extension of the lock \"a\"",
        );
        waits(
            &mut || drop(guard.release_in_place()),
            "the release of the lock \"a\"",
        );
        waits(
            &mut || drop(manager.inspect("a")),
            "what the nodes say about the lock \"a\"",
        );
        waits(&mut || drop(manager.adopt(&text)), "the lock \"d\"");
        // Time passes, and it is over.
        std::thread::scope(|scope| {
            let release = scope.spawn(|| other.release());
            while !release.is_finished() {
                world.advance(Duration::from_millis(10));
            }
        });
    }

    #[test]
    fn a_call_that_blocks_panics_at_the_line_that_calls() {
        static LINE: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);
        let world = impatient();
        let mutex = world.manager().blocking().mutex("line").expect("a name");
        let guard = mutex.acquire().expect("it is free");
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic
                .payload_as_str()
                .is_some_and(|said| said.contains("the lock \"line\""))
            {
                *LINE.lock().expect("nobody panics") =
                    panic.location().map(|at| at.file().to_owned());
            }
            usual(panic);
        }));
        drop(sentence(|| mutex.acquire()));
        drop(guard);
        assert_eq!(
            LINE.lock().expect("nobody panics").as_deref(),
            Some(file!())
        );
    }

    #[test]
    fn who_waits_for_a_holder_that_never_comes_is_told_so() {
        let world = impatient();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let told = sentence(|| runtime.block_on(world.until_held("report")));
        let begin = "this test waits for somebody to hold the lock \"report\", and";
        assert!(told.starts_with(begin), "{told}");
    }

    #[test]
    fn a_holder_that_is_waited_for_has_its_guard() {
        let world = World::new(3);
        let manager = world.manager();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            let mutex = manager.mutex("report").expect("a name");
            let held = std::cell::Cell::new(false);
            let job = async {
                let guard = mutex.acquire().await.expect("it is free");
                held.set(true);
                guard.lost().await
            };
            let test = async {
                let owner = world.until_held("report").await;
                assert!(held.get());
                assert_eq!(world.holder("report"), Some(owner));
                world.lose("report");
            };
            tokio::join!(job, test);
        });
    }

    #[test]
    fn a_ttl_that_servers_refuse_is_refused() {
        let world = World::new(3);
        let minute = LockOptions::new().ttl(Duration::from_secs(60));
        let refused = |manager: LockManager| {
            let mutex = manager.mutex_with("report", minute.clone());
            mutex.is_err_and(|error| error.to_string().contains("or raise max_ttl"))
        };
        assert!(refused(world.manager()));
        let build = |builder: ManagerBuilder| builder.build().expect("the defaults fit");
        assert!(refused(build(
            world.builder().max_ttl(Duration::from_secs(20))
        )));
        assert!(!refused(build(
            world.builder().max_ttl(Duration::from_secs(70))
        )));
        let unguarded = world.builder().restart_guard(RestartGuard::Off);
        assert!(!refused(build(unguarded)), "nobody waits for its end");
        let plain = world.builder().build_plain().expect("the defaults fit");
        assert!(plain.mutex_with("report", minute).is_ok());
    }

    #[test]
    fn a_lock_that_nobody_holds_cannot_be_lost() {
        let world = World::new(3);
        let told = sentence(|| world.lose("reports"));
        assert!(told.contains("nothing is locked at all"), "{told}");
        let mutex = world.manager().blocking().mutex("report").expect("a name");
        let guard = mutex.acquire().expect("it is free");
        let names = "no key of the lock \"reports\" to lose: what is locked is \"report\"";
        let told = sentence(|| world.lose("reports"));
        assert!(told.contains(names), "{told}");
        let told = sentence(|| world.node(1).lose_key("reports"));
        assert!(told.contains(names), "{told}");
        world.node(1).lose_key("report");
        assert!(guard.is_valid(), "two of three have it");
    }

    #[test]
    fn a_manager_that_waits_for_the_thread_that_waits_for_it_is_told() {
        let world = impatient();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime");
        let manager = world.builder().on_runtime(runtime.handle().clone()).build();
        let manager = manager.expect("three nodes");
        let told = sentence(|| runtime.block_on(async { world.advance(Duration::from_secs(1)) }));
        assert!(
            told.starts_with("a manager of this World has not come to rest"),
            "{told}"
        );
        drop((manager, runtime));
    }

    #[test]
    fn who_waits_while_something_happens_is_let_wait() {
        let world = impatient();
        let mutex = world.manager().blocking().mutex("report").expect("a name");
        let guard = mutex.acquire().expect("it is free");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| mutex.acquire_within(Duration::from_secs(60)));
            world.advance(Duration::from_secs(1));
            drop(guard);
            while !other.is_finished() {
                world.advance(Duration::from_millis(10));
            }
            assert!(other.join().expect("it does not panic").is_ok());
        });
    }
}
