//! Servers that are one Redis Cluster.

use crate::{
    launch::StartError,
    port,
    resp::Reply,
    server::{Server, ServerBuilder},
    wait,
};
use std::{io, ops::Deref, thread, time::Duration};

/// A Redis Cluster of one's own on loopback: masters that have a third of the slots each if there are three, and so many
/// replicas of each. Dropping it kills the processes and removes their files.
///
/// The servers stand in one list: first the masters, then the replicas, the first of each master before the second.
/// Nothing is done when a master is gone but what a test does: replicas take no place by themselves.
///
/// # Examples
/// ```
/// use leasehold_servers::{RedisCluster, ServerBinary};
///
/// if ServerBinary::find().is_ok() {
///     let cluster = RedisCluster::start(3, 0)?;
///     assert_eq!(cluster.url().matches("127.0.0.1").count(), 3);
///     let slot = cluster.slot("orders/42")?;
///     let owner = cluster.owner(slot)?;
///     cluster[owner].command(&["SET", "orders/42", "me", "NX", "PX", "10000"])?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RedisCluster {
    servers: Vec<Server>,
    masters: usize,
}

impl RedisCluster {
    /// Starts so many masters and so many replicas of each. Waits until all of them know all slots, for twenty seconds at
    /// most.
    ///
    /// # Errors
    /// The first [`StartError`]; the other servers are stopped.
    pub fn start(masters: usize, replicas: usize) -> Result<Self, StartError> {
        Self::start_with(masters, replicas, |builder| builder)
    }

    /// As [`start`](Self::start), with options for each server.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        masters: usize,
        replicas: usize,
        options: impl Fn(ServerBuilder) -> ServerBuilder + Sync,
    ) -> Result<Self, StartError> {
        let count = masters * (1 + replicas);
        let servers = thread::scope(|scope| {
            let starting: Vec<_> = (0..count)
                .map(|_| scope.spawn(|| start_one(&options)))
                .collect();
            let started: Vec<_> = starting
                .into_iter()
                .map(|thread| {
                    thread.join().unwrap_or_else(|_| {
                        Err(io::Error::other("the starting thread panicked").into())
                    })
                })
                .collect();
            started.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        let cluster = Self { servers, masters };
        cluster.join()?;
        Ok(cluster)
    }

    /// Its address, by all masters: `redis+cluster://127.0.0.1:P0,127.0.0.1:P1`.
    #[must_use]
    pub fn url(&self) -> String {
        let masters = self.servers.iter().take(self.masters);
        let hosts: Vec<_> = masters
            .map(|server| format!("127.0.0.1:{}", server.port()))
            .collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// The slot of a key.
    ///
    /// # Errors
    /// If no server answers.
    pub fn slot(&self, key: &str) -> io::Result<u16> {
        let told = self.ask(&["CLUSTER", "KEYSLOT", key])?.integer();
        let slot = told.and_then(|slot| u16::try_from(slot).ok());
        slot.ok_or_else(|| io::Error::other("no slot"))
    }

    /// Which of the servers keeps this slot, by the word of all masters that answer. Waits until they agree, for twenty
    /// seconds at most: what one has told the others may be older than what these were told since.
    ///
    /// They must agree on the current epoch too. If a slot is moved to a server of Redis 7.0 that has not heard of the latest
    /// epoch, that server takes no newer one. The claim of an earlier owner then wins for ever, since its epoch is higher.
    ///
    /// # Errors
    /// If nobody keeps it, no server answers, or they do not agree in time.
    pub fn owner(&self, slot: u16) -> io::Result<usize> {
        let agreed = || {
            let masters = self.servers.iter().take(self.masters);
            let mut told = masters.filter_map(|master| {
                let owner = self.owner_by(master, slot).ok()?;
                Some((owner, epoch_by(master).ok()?))
            });
            let first = told.next()?;
            told.all(|other| other == first).then_some(first.0)
        };
        let agreed = wait::until(PATIENCE, agreed);
        let late = || {
            let why = format!("no server that all masters name within {PATIENCE:?}");
            io::Error::new(io::ErrorKind::TimedOut, why)
        };
        agreed
            .ok_or_else(late)?
            .ok_or_else(|| io::Error::other("nobody keeps this slot"))
    }

    /// Which of the servers keeps this slot by the word of this one; none if nobody does.
    fn owner_by(&self, told_by: &Server, slot: u16) -> io::Result<Option<usize>> {
        let Reply::Array(ranges) = told_by.command(&["CLUSTER", "SLOTS"])? else {
            return Err(io::Error::other("no list of slots"));
        };
        let port = ranges.iter().find_map(|range| match range {
            Reply::Array(parts) => match &parts[..] {
                [
                    Reply::Integer(from),
                    Reply::Integer(to),
                    Reply::Array(master),
                    ..,
                ] => {
                    let is_in = (*from..=*to).contains(&i64::from(slot));
                    master.get(1).filter(|_| is_in)?.integer()
                }
                _ => None,
            },
            _ => None,
        });
        let mut servers = self.servers.iter();
        Ok(servers.position(|server| port == Some(i64::from(server.port()))))
    }

    /// Begins to move a slot from one server to another: keys that the first has not are asked for at the second.
    ///
    /// # Errors
    /// If one of them refuses.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) -> io::Result<()> {
        let slot = slot.to_string();
        let (source, target) = (self.id(from)?, self.id(to)?);
        self.servers[to].command(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source])?;
        self.servers[from].command(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target])?;
        Ok(())
    }

    /// Moves a key whose slot is being moved.
    ///
    /// # Errors
    /// If one of them refuses.
    pub fn move_key(&self, key: &str, from: usize, to: usize) -> io::Result<()> {
        let port = self.servers[to].port().to_string();
        let migrate = ["MIGRATE", "127.0.0.1", &port, key, "0", "5000"];
        self.servers[from].command(&migrate).map(drop)
    }

    /// Ends the move of a slot, all of whose keys have moved: everybody is told.
    ///
    /// # Errors
    /// If one of them refuses.
    pub fn end_move(&self, slot: u16, from: usize, to: usize) -> io::Result<()> {
        let (slot, target) = (slot.to_string(), self.id(to)?);
        let words = ["CLUSTER", "SETSLOT", &slot, "NODE", &target];
        for at in [to, from] {
            self.servers[at].command(&words)?;
        }
        for at in self
            .masters()?
            .into_iter()
            .filter(|at| ![to, from].contains(at))
        {
            self.servers[at].command(&words)?;
        }
        Ok(())
    }

    /// Moves a slot with all its keys to another server, while others use them.
    ///
    /// # Errors
    /// If one of them refuses.
    pub fn move_slot(&self, slot: u16, to: usize) -> io::Result<()> {
        let from = self.owner(slot)?;
        self.begin_move(slot, from, to)?;
        self.move_keys(slot, from, to)?;
        self.end_move(slot, from, to)
    }

    /// Moves all keys of a slot that is being moved. Those that come later are the other server's already.
    ///
    /// # Errors
    /// If one of them refuses.
    pub fn move_keys(&self, slot: u16, from: usize, to: usize) -> io::Result<()> {
        let words = ["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "10"];
        loop {
            let told = self.servers[from].command(&words)?;
            let keys = told.texts();
            if keys.is_empty() {
                return Ok(());
            }
            for key in keys {
                self.move_key(key, from, to)?;
            }
        }
    }

    /// Cuts a replica off from its master, whatever that is told from then on.
    ///
    /// # Errors
    /// If it refuses.
    pub fn cut_off(&self, replica: usize) -> io::Result<()> {
        let replica = &self.servers[replica];
        replica.command(&["CONFIG", "SET", "masterauth", "none that it knows"])?;
        replica.command(&["CLIENT", "KILL", "TYPE", "master"])?;
        Ok(())
    }

    /// A replica hears its master again, whichever that is.
    ///
    /// # Errors
    /// If it refuses.
    pub fn mend(&self, replica: usize) -> io::Result<()> {
        let words = ["CONFIG", "SET", "masterauth", ""];
        self.servers[replica].command(&words).map(drop)
    }

    /// The first replica of a master.
    #[must_use]
    pub fn replica_of(&self, master: usize) -> usize {
        self.masters + master
    }

    /// Of two servers, of which one is the other's replica, the other: where each master has one.
    #[must_use]
    pub fn partner(&self, at: usize) -> usize {
        (at + self.masters) % (2 * self.masters)
    }

    /// Who are masters now, by the word of each server.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub fn masters(&self) -> io::Result<Vec<usize>> {
        let mut masters = Vec::new();
        for at in 0..self.servers.len() {
            if self.says_of_itself(at, "role:master")? {
                masters.push(at);
            }
        }
        Ok(masters)
    }

    /// Whether a replica follows this master, and has heard all that it has told up to now.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub fn is_in_step(&self, replica: usize, master: usize) -> io::Result<bool> {
        let told = self.tells_of_copies(master, "master_repl_offset:")?;
        let heard = self.tells_of_copies(replica, "slave_repl_offset:")?;
        let follows = self.tells_of_copies(replica, "master_port:")?;
        let is_up = self.says_of_itself(replica, "master_link_status:up")?;
        let is_its = follows == Some(self.servers[master].port().into());
        Ok(is_up && is_its && told.is_some() && heard >= told)
    }

    /// The number behind this word in what a server says of its copies.
    fn tells_of_copies(&self, at: usize, word: &str) -> io::Result<Option<u64>> {
        let told = self.servers[at].command(&["INFO", "replication"])?;
        let mut lines = told.text().unwrap_or_default().lines();
        let number = lines.find_map(|line| line.trim().strip_prefix(word));
        Ok(number.and_then(|number| number.parse().ok()))
    }

    fn says_of_itself(&self, at: usize, line: &str) -> io::Result<bool> {
        let told = self.servers[at].command(&["INFO", "replication"])?;
        let mut lines = told.text().unwrap_or_default().lines();
        Ok(lines.any(|other| other.trim() == line))
    }

    /// Lets a replica take its master's place, whatever the others think of it.
    ///
    /// # Errors
    /// If it refuses.
    pub fn take_over(&self, replica: usize) -> io::Result<()> {
        let words = ["CLUSTER", "FAILOVER", "TAKEOVER"];
        self.servers[replica].command(&words).map(drop)
    }

    /// How a server is called by the others.
    fn id(&self, at: usize) -> io::Result<String> {
        let told = self.servers[at].command(&["CLUSTER", "MYID"])?;
        let id = told.text().map(str::to_owned);
        id.ok_or_else(|| io::Error::other("no id"))
    }

    fn ask(&self, words: &[&str]) -> io::Result<Reply> {
        let mut answers = self.servers.iter().map(|server| server.command(words));
        let answer = answers.find_map(Result::ok);
        answer.ok_or_else(|| io::Error::other("no server of the cluster answers"))
    }

    /// Makes one cluster of servers that know nothing of each other.
    fn join(&self) -> Result<(), StartError> {
        for (number, server) in self.servers.iter().enumerate() {
            let epoch = (number + 1).to_string();
            server.command(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch])?;
        }
        for (number, server) in self.servers.iter().take(self.masters).enumerate() {
            let first = (number * SLOTS / self.masters).to_string();
            let last = ((number + 1) * SLOTS / self.masters - 1).to_string();
            server.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last])?;
        }
        for server in self.servers.iter().skip(1) {
            let (port, bus) = (server.port().to_string(), bus_port(server)?);
            self.servers[0].command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
        }
        let count = format!("cluster_known_nodes:{}", self.servers.len());
        self.wait_for("CLUSTER", "INFO", |_, info| {
            // Without full coverage the state is good before all slots are known.
            let has_all = info.contains("cluster_slots_assigned:16384");
            info.contains(&count) && info.contains("cluster_state:ok") && has_all
        })?;
        for (number, replica) in self.servers.iter().skip(self.masters).enumerate() {
            let master = self.id(number % self.masters)?;
            replica.command(&["CLUSTER", "REPLICATE", &master])?;
        }
        self.wait_for("INFO", "replication", |number, info| {
            number < self.masters || info.contains("master_link_status:up")
        })?;
        // The first of them tells of the replicas only when it has heard of each.
        let replicas = self.servers.len() - self.masters;
        self.wait_for("CLUSTER", "NODES", |_, nodes| {
            nodes.matches("slave").count() == replicas && !nodes.contains(",fail")
        })
    }

    /// Waits until each server answers so.
    fn wait_for(
        &self,
        command: &str,
        word: &str,
        is_it: impl Fn(usize, &str) -> bool,
    ) -> Result<(), StartError> {
        let all = || {
            let mut servers = self.servers.iter().enumerate();
            let come = servers.all(|(number, server)| {
                let told = server.command(&[command, word]);
                told.is_ok_and(|told| is_it(number, told.text().unwrap_or_default()))
            });
            come.then_some(())
        };
        let late = || {
            let why = format!("the cluster was not one within {PATIENCE:?}");
            StartError::Io(io::Error::new(io::ErrorKind::TimedOut, why))
        };
        wait::until(PATIENCE, all).ok_or_else(late)
    }
}

impl Deref for RedisCluster {
    type Target = [Server];

    fn deref(&self) -> &[Server] {
        &self.servers
    }
}

fn start_one(options: impl Fn(ServerBuilder) -> ServerBuilder) -> Result<Server, StartError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let bus = port::free()?.to_string();
        let builder = Server::builder()
            .option("cluster-enabled", &["yes"])
            .option("cluster-port", &[&bus])
            .option("cluster-node-timeout", &["2000"])
            .option("repl-diskless-sync-delay", &["0"])
            // A test decides who takes whose place, and one dead master does not stop the others.
            .option("cluster-replica-no-failover", &["yes"])
            .option("cluster-require-full-coverage", &["no"]);
        match options(builder).start() {
            // Somebody took one of the two ports between our look and the server's.
            Err(StartError::PortTaken { .. }) if tries < TRIES => {}
            outcome => return outcome,
        }
    }
}

/// The highest epoch of the cluster that this server has heard of.
fn epoch_by(server: &Server) -> io::Result<u64> {
    let told = server.command(&["CLUSTER", "INFO"])?;
    let mut lines = told.text().unwrap_or_default().lines();
    let epoch = lines.find_map(|line| line.strip_prefix("cluster_current_epoch:"));
    let epoch = epoch.and_then(|epoch| epoch.parse().ok());
    epoch.ok_or_else(|| io::Error::other("no epoch"))
}

/// Where a server listens to the other servers.
fn bus_port(server: &Server) -> io::Result<String> {
    let told = server.command(&["CONFIG", "GET", "cluster-port"])?;
    let port = told.texts().get(1).map(|&port| port.to_owned());
    port.ok_or_else(|| io::Error::other("no port for the other servers"))
}

const SLOTS: usize = 16_384;
const PATIENCE: Duration = Duration::from_secs(20);
const TRIES: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::require_server;

    #[test]
    fn a_slot_moves_with_its_keys_and_a_replica_takes_its_masters_place() {
        require_server();
        let cluster = RedisCluster::start(3, 1).expect("it starts");
        let slot = cluster.slot("orders/42").expect("it answers");
        let from = cluster.owner(slot).expect("it is kept");
        let to = (from + 1) % 3;
        let says = |at: usize, words: &[&str]| match cluster[at].command(words) {
            Ok(told) => told.text().unwrap_or_default().to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(says(from, &["SET", "orders/42", "me"]), "OK");
        let moved = format!("MOVED {slot} 127.0.0.1:{}", cluster[from].port());
        assert_eq!(says(to, &["GET", "orders/42"]), moved);
        cluster.begin_move(slot, from, to).expect("both agree");
        assert_eq!(says(from, &["GET", "orders/42"]), "me");
        cluster.move_key("orders/42", from, to).expect("it moves");
        assert!(says(from, &["GET", "orders/42"]).starts_with("ASK "));
        cluster.end_move(slot, from, to).expect("all agree");
        assert_eq!(says(to, &["GET", "orders/42"]), "me");
        assert_eq!(cluster.owner(slot).expect("it is kept"), to);
        let replica = cluster.replica_of(to);
        let has_it = wait::until(PATIENCE, || {
            let size = cluster[replica].command(&["DBSIZE"]);
            size.is_ok_and(|size| size.integer() == Some(1))
                .then_some(())
        });
        assert!(has_it.is_some());
        cluster.take_over(replica).expect("it agrees");
        let taken = wait::until(PATIENCE, || {
            (says(replica, &["GET", "orders/42"]) == "me").then_some(())
        });
        assert!(taken.is_some());
    }

    #[test]
    fn all_servers_agree_on_a_slot_however_often_and_fast_it_goes_round() {
        require_server();
        let cluster = RedisCluster::start(3, 0).expect("it starts");
        for _ in 0..40 {
            let owner = cluster.owner(0).expect("they agree");
            cluster.move_slot(0, (owner + 1) % 3).expect("it moves");
        }
        cluster.owner(0).expect("they agree");
    }
}
