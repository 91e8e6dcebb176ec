//! A node that is a master with two replicas, whose place real sentinels give to one of them.

use leasehold_servers::{Sentinel, Server, ServerBinary};
use std::{io, time::Duration};

/// Three servers, one of which is the master, and three sentinels that say which.
#[derive(Debug)]
pub(crate) struct Group {
    servers: [Server; 3],
    pub(crate) sentinels: [Sentinel; 3],
}

/// What the sentinels call the master.
pub(crate) const NAME: &str = "locks";

/// How long a master may be silent.
pub(crate) const DOWN_AFTER: Duration = Duration::from_millis(500);

impl Group {
    /// Starts all of them, and waits until they know each other. If `is_split`, the first sentinel never hears of the
    /// others, nor they of it.
    pub(crate) fn start(binary: &ServerBinary, is_split: bool) -> Result<Self, String> {
        let told = |error: leasehold_servers::StartError| error.to_string();
        let start = |number: usize| {
            let replicator = format!("replicator{number}");
            let mut builder = Server::builder()
                .binary(binary)
                .option("repl-diskless-sync-delay", &["0"])
                .option("masteruser", &[&replicator])
                .option("masterauth", &[PASSWORD]);
            let everything =
                |builder: leasehold_servers::ServerBuilder, user: &str, right: &str| {
                    let secret = format!(">{PASSWORD}");
                    builder.option("user", &[user, "on", &secret, "~*", "&*", "+@all", right])
                };
            for number in 0..3 {
                builder = everything(builder, &format!("replicator{number}"), "+@all");
            }
            builder = everything(everything(builder, LONE, "-@pubsub"), MOST, "+@all");
            builder.start().map_err(told)
        };
        let servers = [start(0)?, start(1)?, start(2)?];
        let group_of = |user: &str| {
            let builder = Sentinel::builder(NAME, &servers[0])
                .binary(binary)
                .quorum(2);
            let builder = builder.down_after(DOWN_AFTER).as_user((user, PASSWORD));
            builder.start().map_err(told)
        };
        let first = if is_split { LONE } else { MOST };
        let sentinels = [group_of(first)?, group_of(MOST)?, group_of(MOST)?];
        let group = Self { servers, sentinels };
        group.follow(0).map_err(|error| error.to_string())?;
        Ok(group)
    }

    /// All of its servers.
    pub(crate) fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Which server most sentinels call the master; none if they do not agree.
    pub(crate) fn master(&self) -> Option<usize> {
        let named = |sentinel: &Sentinel| {
            let port = sentinel.master(NAME).ok()??;
            self.servers.iter().position(|server| server.port() == port)
        };
        let [_, second, third] = self.sentinels.each_ref().map(named);
        second.filter(|_| second == third)
    }

    /// Whether this server is the master, its replicas have heard everything but what is on its way, and the sentinels know
    /// them well enough to give one of them its place.
    pub(crate) fn is_in_step(&self, master: usize) -> bool {
        let mut replicas = (0..3).filter(|number| *number != master);
        let follows = |number: usize| {
            let info = self.servers[number].command(&["INFO", "replication"]);
            let port = format!("master_port:{}", self.servers[master].port());
            info.is_ok_and(|info| {
                let text = info.text().unwrap_or_default();
                let says = |line: &str| text.lines().map(str::trim).any(|other| other == line);
                says("master_link_status:up") && says(&port)
            })
        };
        // What they know of the replicas' data may be ten seconds old; they ask anew when the master is away.
        let knows = |sentinel: &Sentinel| {
            let told = sentinel.command(&["SENTINEL", "REPLICAS", NAME]);
            let usable = sentinel.command(&["SENTINEL", "CKQUORUM", NAME]);
            let is_up = "Text(\"flags\"), Text(\"slave\")";
            let up = told.is_ok_and(|told| format!("{told:?}").matches(is_up).count() == 2);
            up && usable.is_ok()
        };
        replicas.all(follows) && self.sentinels[1..].iter().all(knows)
    }

    /// Has both others follow this server.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub(crate) fn follow(&self, master: usize) -> io::Result<()> {
        let port = self.servers[master].port().to_string();
        let others = (0..3).filter(|number| *number != master);
        for number in others {
            self.servers[number].command(&["REPLICAOF", "127.0.0.1", &port])?;
        }
        Ok(())
    }

    /// From now on these replicas hear nothing from the master.
    ///
    /// # Errors
    /// If it does not answer.
    pub(crate) fn cut(&self, master: usize, replicas: &[usize]) -> io::Result<()> {
        for replica in replicas {
            let user = format!("replicator{replica}");
            self.servers[master].command(&["ACL", "SETUSER", &user, "off"])?;
            let kill = ["CLIENT", "KILL", "USER", &user, "TYPE", "replica"];
            self.servers[master].command(&kill)?;
        }
        Ok(())
    }

    /// The replicas hear this server again.
    ///
    /// # Errors
    /// If it does not answer.
    pub(crate) fn mend(&self, master: usize) -> io::Result<()> {
        for number in 0..3 {
            let user = format!("replicator{number}");
            self.servers[master].command(&["ACL", "SETUSER", &user, "on"])?;
        }
        Ok(())
    }

    /// Has the sentinels prefer this replica to the other, whatever each of them has heard.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub(crate) fn prefer(&self, replica: usize) -> io::Result<()> {
        for (number, server) in self.servers.iter().enumerate() {
            let priority = if number == replica { "1" } else { "100" };
            server.command(&["CONFIG", "SET", "replica-priority", priority])?;
        }
        Ok(())
    }

    /// From here on all sentinels but the first do not reach this master, which answers everybody else.
    ///
    /// # Errors
    /// If it does not answer.
    pub(crate) fn hide(&self, master: usize) -> io::Result<()> {
        let master = &self.servers[master];
        // Whose login fails is what everybody is.
        let everybody = [
            "ACL",
            "SETUSER",
            "default",
            "-ping",
            "-slaveof",
            "-replicaof",
        ];
        for words in [&["ACL", "SETUSER", MOST, "off"][..], &everybody] {
            master.command(words)?;
        }
        for kind in ["normal", "pubsub"] {
            master.command(&["CLIENT", "KILL", "USER", MOST, "TYPE", kind])?;
        }
        Ok(())
    }

    /// Sets the first sentinel up anew, for this master: nobody tells it.
    ///
    /// # Errors
    /// If it does not answer.
    pub(crate) fn set_up_first(&self, master: usize) -> io::Result<()> {
        let port = self.servers[master].port().to_string();
        let down_after = DOWN_AFTER.as_millis().to_string();
        let first = &self.sentinels[0];
        first.command(&["SENTINEL", "REMOVE", NAME])?;
        first.command(&["SENTINEL", "MONITOR", NAME, "127.0.0.1", &port, "2"])?;
        for (name, value) in [
            ("auth-user", LONE),
            ("auth-pass", PASSWORD),
            ("down-after-milliseconds", &down_after),
        ] {
            first.command(&["SENTINEL", "SET", NAME, name, value])?;
        }
        Ok(())
    }
}

/// The user as which a sentinel logs in that is to hear nothing of others, and that of all others.
const LONE: &str = "lone";
const MOST: &str = "most";
const PASSWORD: &str = "secret";
