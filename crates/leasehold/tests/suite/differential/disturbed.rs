//! What becomes of the server, in both: its settings, its log, its memory, its role and its replicas.

use super::{Both, forgive_the_end, kept};
use crate::support::{eventually, real::encoded};
use leasehold::link::redis::wire;
use leasehold_fake_redis::{Data, Time};

impl Both {
    /// The server becomes another one.
    pub(super) fn disturb(&mut self) {
        let is_scheduled = self.model.is_rewrite_scheduled;
        match self.dice.roll(13) {
            // It would end the snapshot that the rewriting waits for.
            0 | 1 if !self.model.is_replica && !is_scheduled => self.flush(),
            2..4 => self.starve(!self.model.is_out_of_memory),
            4 if self.dice.roll(10) == 0 => self.restart(),
            4..7 if !self.model.is_replica => {
                self.replicate(false);
                self.real.command(&["REPLICAOF", "127.0.0.1", "1"]);
            }
            7 | 8 => self.log(),
            9 if !self.model.is_out_of_memory => self.limit(),
            10 if !self.model.is_out_of_memory && !self.model.is_replica => self.evict(),
            11 => self.replicate(self.model.replicas == 0),
            _ => {
                self.real.command(&["REPLICAOF", "NO", "ONE"]);
            }
        }
        self.meet();
    }

    fn flush(&mut self) {
        self.real.command(&["FLUSHALL"]);
        self.data = Data::default();
    }

    fn set(&mut self, name: &str, value: &str) {
        self.real.command(&["CONFIG", "SET", name, value]);
    }

    fn set_limit(&mut self, bytes: u64, policy: &str) {
        self.set("maxmemory-policy", policy);
        self.set("maxmemory", &bytes.to_string());
        self.model.maxmemory = bytes;
        policy.clone_into(&mut self.model.maxmemory_policy);
    }

    fn starve(&mut self, is_starved: bool) {
        self.set_limit(u64::from(is_starved), "noeviction");
        self.model.is_out_of_memory = is_starved;
    }

    /// A limit that is far away, or none.
    fn limit(&mut self) {
        let bytes = self.dice.pick(&[0, 1 << 30]);
        let policy = self
            .dice
            .pick(&["noeviction", "volatile-ttl", "allkeys-lru"]);
        self.set_limit(bytes, policy);
    }

    /// It evicts all that it may. Which keys these are, and how many, is taken from the server.
    fn evict(&mut self) {
        let policy = self.dice.pick(&["volatile-random", "allkeys-random"]);
        self.set_limit(1, policy);
        self.real.command(&["TIME"]);
        self.set_limit(0, policy);
        self.model.evicted_keys = self.number("evicted_keys");
        let real = self.real.answer(&encoded(&[b"TIME"]));
        self.adopt(&real);
    }

    fn number(&mut self, name: &str) -> u64 {
        self.real.says(name).parse().expect("a number")
    }

    /// The log is turned off, or on; then it is rewritten at once, or for long, or is to be later.
    fn log(&mut self) {
        if self.model.has_log {
            return self.log_off();
        }
        let sync = self.dice.pick(&["always", "no"]);
        self.set("appendfsync", sync);
        // A server without memory takes no key at which a child could sleep, and may have no other.
        let how = match self.model.is_out_of_memory {
            true => 0,
            false => self.dice.roll(3),
        };
        if how > 0 {
            // A child that writes a snapshot or the log sleeps for so many microseconds at each key.
            self.real.command(&["SET", "kept", "x"]);
            self.set("rdb-key-save-delay", "20000000");
        }
        if how == 2 && !self.model.is_replica {
            self.real.command(&["BGSAVE"]);
        }
        self.set("appendonly", "yes");
        self.set("rdb-key-save-delay", "0");
        self.model.has_log = true;
        self.model.is_rewriting = self.real.says("aof_rewrite_in_progress") == "1";
        self.model.is_rewrite_scheduled = self.real.says("aof_rewrite_scheduled") == "1";
        if how == 0 {
            let is_whole = |both: &mut Self| both.real.says("aof_rewrite_in_progress") == "0";
            eventually("the log is whole", || is_whole(self));
            self.model.is_rewriting = false;
            self.log = None;
        }
        self.look_for_rewrites();
    }

    fn log_off(&mut self) {
        self.set("appendonly", "no");
        if self.log.is_none() {
            self.log = Some(self.data.replicated());
        }
        let has_child = |both: &mut Self, name| both.real.says(name) == "1";
        eventually("the log is rewritten by nobody", || {
            !has_child(self, "aof_rewrite_in_progress")
        });
        if has_child(self, "rdb_bgsave_in_progress") {
            // Nothing else ends it.
            self.real.command(&["REPLICAOF", "NO", "ONE"]);
            self.meet();
            self.flush();
            eventually("the snapshot is written by nobody", || {
                !has_child(self, "rdb_bgsave_in_progress")
            });
        }
        self.model.has_log = false;
        self.model.is_rewriting = false;
        self.model.is_rewrite_scheduled = false;
        self.look_for_rewrites();
    }

    /// Another server becomes its replica, or is one no longer.
    fn replicate(&mut self, has_replica: bool) {
        let is_busy = self.model.is_rewriting || self.model.is_rewrite_scheduled;
        let is_so = has_replica == (self.model.replicas > 0);
        if is_so || has_replica && (self.model.is_replica || is_busy) {
            return;
        }
        let port = self.real.server.port().to_string();
        let words = match has_replica {
            true => ["REPLICAOF", "127.0.0.1", &port],
            false => ["REPLICAOF", "NO", "ONE"],
        };
        self.other.command(&words).expect("it listens");
        self.model.replicas = u64::from(has_replica);
        let count = self.model.replicas.to_string();
        eventually("the server knows", || {
            self.real.says("connected_slaves") == count
                && (is_busy || self.real.says("rdb_bgsave_in_progress") == "0")
        });
    }

    /// It restarts with its log, which is an old one where the log was off or has not been rewritten.
    fn restart(&mut self) {
        self.replicate(false);
        if self.model.is_rewriting || self.model.is_rewrite_scheduled {
            // No child is to outlive it.
            self.log_off();
        }
        self.real.restart();
        self.data = match self.log.take() {
            Some(log) => log,
            None => self.data.replicated(),
        };
        self.meet();
        self.model.has_log = true;
        self.model.evicted_keys = 0;
        self.model.is_out_of_memory = false;
        (self.model.maxmemory, self.model.maxmemory_policy) = (0, "noeviction".to_owned());
        for (_, text) in wire::scripts() {
            self.real.command(&["SCRIPT", "LOAD", text]);
        }
        self.find();
    }

    /// What stood in the log is there, but for the millisecond of the last look, which a rewritten log has.
    fn find(&mut self) {
        let mut real = self.real.answer(&encoded(&[b"TIME"]));
        let time = Time::at(real.after_us);
        let mut model = kept(&mut self.model, &mut self.data, &self.lua, time);
        forgive_the_end(&mut model, &real);
        let fit = |kept: &mut super::Kept| kept.hash.as_mut().ok()?.remove("fit");
        let looked = fit(&mut real.kept);
        fit(&mut model);
        assert_eq!(model, real.kept, "model, server: the log was read");
        if let (Ok(fields), Some(looked)) = (&mut real.kept.hash, looked) {
            fields.insert("fit".to_owned(), looked);
        }
        self.adopt(&real);
    }
}
