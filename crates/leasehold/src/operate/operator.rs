//! What an operator of the nodes can do.

#[cfg(doc)]
use super::NodeAnswer;
use super::{
    Examination, Former, Listing, Reconfiguration, Search, Survey, Told, Watcher, ask_all, begin,
    elsewhere,
    examination::{self, Extent, Limits},
    listing, onlooking, procedure, survey_of, watcher,
};
use crate::{
    builder::Operated,
    election::Leaders,
    error::{ConfigError, ReconfigureError},
    inspection::Inspection,
    link::redis::admin_client::AdminClient,
};
use leasehold_core::Resource;
use std::{future::Future, time::Duration};
use tokio::sync::watch;

/// What an operator of the nodes can do with them. Made by
/// [`ManagerBuilder::operator`](crate::ManagerBuilder::operator); making one asks nobody. Clones are cheap, and each call
/// visits the nodes anew.
///
/// Of a Redis Cluster the locks can be looked at ([`list`](Self::list), [`search`](Self::search), [`look`](Self::look),
/// [`until_free`](Self::until_free), [`look_on`](Self::look_on)) and its masters ([`examine`](Self::examine),
/// [`examine_votes`](Self::examine_votes)). It is looked at once a second, and is not listed in part where one of its masters is
/// silent. All else is about what a node keeps for fencing tokens and the restart guard.
#[derive(Clone, Debug)]
pub struct Operator {
    pub(super) operated: Operated,
    limits: Limits,
    /// The lock in mind.
    lock: Option<Resource>,
}

impl Operator {
    pub(super) const fn new(operated: Operated) -> Self {
        let (whole, answer, lock) = (None, None, None);
        let limits = Limits { whole, answer };
        Self {
            operated,
            limits,
            lock,
        }
    }

    /// The same nodes, with this time limit for each call: what a node has not told by then is
    /// [`Silent`](NodeAnswer::Silent). Without one, a call ends when the connections give up, after half a minute or a whole.
    ///
    /// A node that is silent for this reason may have done what it was asked, or do it later. The limit counts for
    /// [`survey`](Self::survey), [`examine`](Self::examine), [`examine_votes`](Self::examine_votes), [`list`](Self::list),
    /// [`search`](Self::search), [`admit`](Self::admit) and [`admit_new`](Self::admit_new). [`until_free`](Self::until_free) has a limit of its own,
    /// and [`reconfigure`](Self::reconfigure) must not stop in the middle.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, operate::NodeAnswer};
    /// use std::time::Duration;
    ///
    /// // Nobody listens there.
    /// let operator = LockManager::builder().nodes(["redis://127.0.0.1:1"]).operator()?;
    /// let told = operator.within(Duration::from_secs(2)).survey().await?;
    /// assert!(matches!(told[0].answer, NodeAnswer::Silent(_)));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        let whole = Some(limit);
        Self {
            limits: Limits {
                whole,
                ..self.limits
            },
            ..self.clone()
        }
    }

    /// The same nodes, with this time limit for each answer of a node: one that leaves anything unanswered for so long is
    /// [`Silent`](NodeAnswer::Silent), and one that is far away is heard to the end. Without one it is five seconds. The
    /// limit counts for [`examine`](Self::examine) and [`examine_votes`](Self::examine_votes), beside that of
    /// [`within`](Self::within); [`Search`] has one of its own.
    #[must_use]
    pub fn answer_within(&self, limit: Duration) -> Self {
        let answer = Some(limit);
        Self {
            limits: Limits {
                answer,
                ..self.limits
            },
            ..self.clone()
        }
    }

    /// The same nodes, with the lock on `resource` in mind: [`examine`](Self::examine) and
    /// [`examine_votes`](Self::examine_votes) ask whether that one can be had. A user whose keys are narrowed may have one
    /// lock and not another. Asks nobody.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] for a name that cannot be used.
    pub fn about(&self, resource: &str) -> Result<Self, ConfigError> {
        let lock = Some(Resource::new(resource)?);
        Ok(Self {
            lock,
            ..self.clone()
        })
    }

    /// How many of these nodes must agree.
    #[must_use]
    pub const fn quorum(&self) -> usize {
        self.operated.quorum.needed()
    }

    /// Whether one of these nodes is a Redis Cluster, so that locks on them are [plain](crate::Plain).
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.operated.fenced().is_err()
    }

    /// What each server says of itself: whether it can be reached, what runs there, whether it votes, and for which
    /// configuration. Changes nothing. Other nodes are not asked, whatever state they are in:
    /// [`NeedsNone`](NodeAnswer::NeedsNone).
    ///
    /// Waits for all nodes at once, for about half a minute at most.
    ///
    /// # Errors
    /// [`ConfigError::Thread`] if there is no thread to be had, [`ConfigError::FencedCluster`] if a node is a Redis Cluster.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers and nothing else.
    pub async fn survey(&self) -> Result<Vec<Told<Survey>>, ConfigError> {
        let configuration = self.operated.configuration.clone();
        self.ask(move |mut admin_client| {
            let configuration = configuration.clone();
            async move { survey_of(&mut admin_client, &configuration).await }
        })
        .await
    }

    /// Everything that each node tells of itself and that matters to locks: how far away it is, how it keeps its
    /// data, what its user may do, what its clock shows, and its [`Survey`]. Changes nothing on a server; in a file it sets
    /// a lock of its own and takes it back in one transaction, since only that tells whether a lock can be had. What a node
    /// does not tell, because its service forbids the question, is none and no failure. A Redis Cluster tells by its masters
    /// ([`Examination::cluster`]); where one of the nodes is such a cluster, locks are plain, and nobody is asked for its
    /// survey. Where another server has taken the place of a node ([`reconfigure`](Self::reconfigure)) and locks go by that, it is
    /// looked at instead ([`Told::former`]), after the others have said so.
    ///
    /// Waits for all nodes at once, for about a minute at most, or as [`within`](Self::within) says; where a node was replaced,
    /// twice.
    ///
    /// # Errors
    /// [`ConfigError::Thread`] if there is no thread to be had.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers and nothing else.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, operate::NodeAnswer};
    ///
    /// for told in LockManager::builder().nodes(["redis://db1"]).operator()?.examine().await? {
    ///     if let NodeAnswer::Told(examination) = told.answer {
    ///         println!("{}: {:?} away", told.node, examination.round_trip());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn examine(&self) -> Result<Vec<Told<Examination>>, ConfigError> {
        self.look_at(Extent::Everything).await
    }

    /// As [`examine`](Self::examine), but only what decides whether a node votes, in few round trips: for somebody who
    /// wants to know whether a lock can be had, on nodes however far away. One round trip is measured. The clock, the rights
    /// for fair locks and the server's settings are not told.
    ///
    /// # Errors
    /// As [`examine`](Self::examine).
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers and nothing else.
    pub async fn examine_votes(&self) -> Result<Vec<Told<Examination>>, ConfigError> {
        self.look_at(Extent::Votes).await
    }

    async fn look_at(&self, extent: Extent) -> Result<Vec<Told<Examination>>, ConfigError> {
        let (operated, lock) = (self.operated.clone(), self.lock.clone());
        elsewhere(examination::examine(operated, extent, lock, self.limits)).await
    }

    /// All locks on these nodes whose names begin with `prefix`, each as
    /// [`inspect`](crate::LockManager::inspect) tells it, in the order of their names. Changes nothing. Of each node
    /// `most` are read.
    ///
    /// A server knows keys and not locks: every text of 255 bytes at most under a key of the [key format](crate::KeyFormat)
    /// that lives for a limited time is taken for one. With the usual format, on servers that keep other things too, that is much. The
    /// locks' names are read first and then what stands under them, which is over already when it is told.
    ///
    /// Nodes in memory, those of a test's `World` among them, have no list, and say so:
    /// [`CannotBeListed`](NodeAnswer::CannotBeListed).
    ///
    /// Waits for all nodes at once. Servers go through all their keys for it (`SCAN`), which takes them a second or so
    /// per million, in small steps.
    ///
    /// # Errors
    /// [`ConfigError::Thread`] if there is no thread to be had. What a single node said is in [`Listing::nodes`].
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers and nothing else.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::LockManager;
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let listing = LockManager::builder().nodes(nodes).operator()?.list("orders/", 10_000).await?;
    /// for lock in &listing.locks {
    ///     println!("{}: {:?}", lock.resource().as_str(), lock.holder());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list(&self, prefix: &str, most: usize) -> Result<Listing, ConfigError> {
        self.search(Search::new(prefix).most(most)).await
    }

    /// As [`list`](Self::list), with more to say about what is looked for.
    ///
    /// # Errors
    /// [`ConfigError::Thread`] if there is no thread to be had. What a single node said is in [`Listing::nodes`].
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers and nothing else.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, operate::Search};
    /// use std::time::Duration;
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let search = Search::new("orders/").answer_within(Duration::from_millis(500));
    /// let listing = LockManager::builder().nodes(nodes).operator()?.search(search).await?;
    /// println!("{} locks", listing.locks.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn search(&self, search: Search) -> Result<Listing, ConfigError> {
        elsewhere(listing::list(
            self.operated.clone(),
            search,
            self.limits.whole,
        ))
        .await
    }

    /// What each node has under the resource's name, as [`inspect`](crate::LockManager::inspect) tells it, and of what is
    /// no lock ([`Key::Foreign`](crate::Key::Foreign)) also the type. Changes nothing. One node that does not answer costs
    /// five seconds or so. Nodes in memory, those of a test's `World` among them, are
    /// [`Unknown`](crate::Key::Unknown) here: ask a manager of their process by `inspect`.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] for a name that cannot be used, [`ConfigError::Thread`] if there is no thread to be had.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers and nothing else.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{Key, LockManager};
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let seen = LockManager::builder().nodes(nodes).operator()?.look("cart:1").await?;
    /// for node in seen.nodes() {
    ///     if let Key::Foreign { kind: Some(kind), .. } = &node.key {
    ///         println!("{}: a {kind}", node.node);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn look(&self, resource: &str) -> Result<Inspection, ConfigError> {
        let resource = Resource::new(resource)?;
        elsewhere(listing::look(self.operated.clone(), resource)).await
    }

    /// Waits until nobody holds the lock on `resource`, for `limit` at most, and takes nothing: a caller that wants the lock
    /// acquires it. It may be held again before this returns. Tells what the nodes had at the end:
    /// [`is_free`](crate::Inspection::is_free) says which end it was.
    ///
    /// Servers push that the key has changed, if the user may ask for that (`CLIENT TRACKING`); the others are asked
    /// once a second and when the key's time should be over, a file twenty times a second. It gives up early where for
    /// three seconds too few nodes have answered to know anything, and at once where the key is no lock
    /// ([`other_type`](crate::Inspection::other_type)).
    ///
    /// # Errors
    /// [`ConfigError::Resource`] for a name that cannot be used, [`ConfigError::Thread`] if there is no thread to be had.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing on the nodes, and ends the wait within a few seconds.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::LockManager;
    /// use std::time::Duration;
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let limit = Some(Duration::from_secs(60));
    /// let seen = LockManager::builder().nodes(nodes).operator()?.until_free("deploy", limit).await?;
    /// println!("{}", if seen.is_free() { "free" } else { "still held" });
    /// # Ok(())
    /// # }
    /// ```
    pub async fn until_free(
        &self,
        resource: &str,
        limit: Option<Duration>,
    ) -> Result<Inspection, ConfigError> {
        let resource = Resource::new(resource)?;
        watcher::wait(self.operated.clone(), resource, limit).await
    }

    /// Looks on at the lock on `resource` while it changes hands, and takes nothing: for programs that want to know who has it.
    /// Sends nothing before it returns; what is seen is told by [`Watcher::next`].
    ///
    /// It learns of changes as [`until_free`](Self::until_free) does: servers push them, and are looked at once a second
    /// all the same; what cannot push is looked at once a second, a file twenty times. A holder of a few milliseconds may be
    /// missed. While the lock changes hands, some nodes tell of the one and some of the other, or of those who tried.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] for a name that cannot be used, [`ConfigError::Thread`] if there is no thread to be had. A node that does not answer is
    /// part of what is seen, and tried again once a second.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::LockManager;
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let mut watcher = LockManager::builder().nodes(nodes).operator()?.look_on("scheduler")?;
    /// while let Some(seen) = watcher.next().await {
    ///     println!("{:?}", seen.holder());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn look_on(&self, resource: &str) -> Result<Watcher, ConfigError> {
        let resource = Resource::new(resource)?;
        let operated = self.operated.clone();
        let (watcher, work) = Watcher::begin(operated, resource);
        begin(work)?;
        Ok(watcher)
    }

    /// Tells who leads this election, now and after every change, to somebody who is no candidate and has no manager. As
    /// [`Election::observe`](crate::Election::observe), but over connections of its own, to servers and files, and with what the
    /// leader's term is at most, where nodes count: [`Leader::term_at_most`](crate::Leader::term_at_most). That may grow
    /// within the first second of a leader, and is told again then.
    ///
    /// It learns of changes as [`look_on`](Self::look_on) does, and waits for no node: what the others say is told.
    ///
    /// # Errors
    /// As [`look_on`](Self::look_on).
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::LockManager;
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let mut leaders = LockManager::builder().nodes(nodes).operator()?.observe("scheduler")?;
    /// while let Some(state) = leaders.next().await {
    ///     println!("{state}"); // led by pid 4711 on db1, term 1767225600125 at most
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe(&self, election: &str) -> Result<Leaders, ConfigError> {
        let resource = Resource::new(election)?;
        let (watcher, work) = Watcher::begin(self.operated.clone(), resource);
        let (tell, told) = watch::channel(None);
        begin(async move {
            // It ends with the thread.
            drop(tokio::spawn(work));
            onlooking::tell(watcher, tell).await;
        })?;
        Ok(Leaders::told(told))
    }

    pub(super) async fn ask<T, F>(
        &self,
        ask: impl Fn(AdminClient) -> F + Clone + Send + Sync + 'static,
    ) -> Result<Vec<Told<T>>, ConfigError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, String>> + Send + 'static,
    {
        let (operated, limit) = (self.operated.fenced()?, self.limits.whole);
        elsewhere(ask_all(operated, limit, ask)).await
    }

    /// Makes the configuration of this operator (its nodes, quorum, maximum TTL, restart guard …) the one that the
    /// nodes agree on, while clients of the old one may still run. They lose their leases in their time, and are
    /// told of a disagreement from then on. Start clients of the new configuration afterwards: new nodes that are a quorum of the new
    /// list take the word of one that comes before, and let it lock while the old configuration goes on.
    ///
    /// It waits for no lease to end; the nodes do, and say so to the first who want a lock. Waits for all nodes at
    /// once, four times, for about a minute at most. Doing it again is harmless: what was done stays, what was not
    /// reached is tried again. Two different changes must not be made at the same time.
    ///
    /// # What it does
    /// 1. It looks at all nodes. If too few can be reached, or the lists cannot be right, it stops.
    /// 2. It marks every node, old or new: a marked node votes for nobody and extends nothing. At least n − q + 1
    ///    of the n old nodes must be marked (q the old quorum), and a quorum of the new ones.
    /// 3. It then tells the marked nodes the new configuration, the counters of the old nodes, and to abstain for
    ///    the quarantine of the old or of the new configuration, or for as long as the change before lets an old node wait,
    ///    whichever is longest.
    ///
    /// # Why it is safe
    /// * *Nothing old begins after step 2.* The old nodes without a mark are at most q − 1. Every round of an old
    ///   client that succeeds, acquiring or extending, needs an answer of a node from before its mark, so it had
    ///   begun before the end of step 2 (argument [S1](crate::safety#s1)). Its lease is over the old maximum TTL later, wherever its
    ///   keys are, also if they are on nodes that nobody reached (argument [S2](crate::safety#s2)).
    /// * *Nothing new begins before that.* Of any new quorum at least one node was marked in step 2. It votes when
    ///   its abstention has ended, which began after step 2 and lasts for longer than the old maximum TTL, drift and
    ///   clock skew included (argument [S9](crate::safety#s9)). Leases of a configuration that ended before have ended by then as well:
    ///   of those nodes that wait for them, which are a quorum, at least one is looked at in step 1. A restart on the way makes it
    ///   no shorter; a restart without data does, where it leaves no quorum that waits.
    /// * *A run that ends in the middle* leaves marks, which let nobody in. The next run begins with step 1. Nodes that
    ///   are of the new configuration already are left alone only if n − q + 1 of the old ones are: then an earlier run
    ///   had come to step 3.
    /// * *Tokens go on growing*: each old token is on a quorum of the old nodes, at least one of which was marked and
    ///   has told its counters after it was (argument [S4](crate::safety#s4)).
    ///
    /// # Replacing a node
    /// If one node takes the place of another, and the configuration is the same in everything else, leases go on and nobody has to
    /// wait: [`Reconfiguration::goes_on`]. Then the nodes that stay are not marked in step 2, but vote for clients of the new list from
    /// that moment on, and only the new node abstains. Managers learn the new list from the nodes, if nodes are called by their
    /// addresses: they reach the new one with the login, the database and the TLS of the one that it replaces.
    ///
    /// What it cannot know: with the restart guard off, clients may have chosen TTLs above the maximum; wait for the longest of
    /// them yourself. An old node that was not reached and comes back, together with marked ones that have lost their data, may be an old
    /// quorum again: stop the old clients, or run it again until [`Reconfiguration::is_complete`].
    ///
    /// Where the new restart guard is off, clients ask no node for how long it abstains. So the nodes keep their mark until the
    /// time is over, and it has to be run again then: [`Reconfiguration::waits`].
    ///
    /// # Errors
    /// A [`ReconfigureError`], which says whether anything was changed.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answer; the change goes on to its end.
    ///
    /// # Examples
    /// Two more nodes for locks that are in use:
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, operate::Former};
    ///
    /// let old = ["redis://db1", "redis://db2", "redis://db3"];
    /// let new = ["redis://db1", "redis://db2", "redis://db3", "redis://db4", "redis://db5"];
    /// let done = LockManager::builder().nodes(new).operator()?.reconfigure(Former::nodes(old)).await?;
    /// assert!(done.is_complete());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Source
    /// Arguments [S1](crate::safety#s1), [S2](crate::safety#s2), [S4](crate::safety#s4) and [S9](crate::safety#s9).
    pub async fn reconfigure(&self, former: Former) -> Result<Reconfiguration, ReconfigureError> {
        let (operated, former) = (self.operated.fenced()?, former.read()?);
        elsewhere(procedure::run(operated, former)).await?
    }

    /// As far as [`reconfigure`](Self::reconfigure) goes without changing anything: its first step, and what it
    /// would do with each node.
    ///
    /// # Errors
    /// As [`reconfigure`](Self::reconfigure).
    ///
    /// # Cancel safety
    /// Dropping the future loses the answer and nothing else.
    pub async fn rehearse(&self, former: Former) -> Result<Reconfiguration, ReconfigureError> {
        let (operated, former) = (self.operated.fenced()?, former.read()?);
        elsewhere(procedure::rehearse(operated, former)).await?
    }
}
