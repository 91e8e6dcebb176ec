//! A node that is a server: a model of one, on which the scripts that ship run.
//!
//! What is simulated here is the server and nothing else. A request becomes the bytes that the link of the library
//! sends, Lua runs the texts that the library ships, and the library's parser reads the answer.

use super::Data;
use leasehold::{
    RestartGuard,
    configuration::Configuration,
    link::redis::wire::{self, RemoteProcess, Wire},
};
use leasehold_core::{
    Drift, Identity, Quorum, Refusal, Request, Resource, Ttl, Vote,
    quarantine::{Disk, Log},
};
use leasehold_fake_redis::{Interpreter, Reply, Server, Time};
use std::{rc::Rc, time::Duration};

/// Which texts run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    Shipped,
    /// The guard looks, and sees nothing: for a control.
    Blind,
}

thread_local! {
    // Each script is compiled once for all worlds of a thread. A state keeps nothing of a run.
    static SHIPPED: Interpreter = with_scripts(Interpreter::new());
    static BLIND: Interpreter = with_scripts(Interpreter::spoiled(blinded));
}

fn with_scripts(lua: Interpreter) -> Interpreter {
    for (sha1, text) in wire::scripts() {
        lua.load(sha1, text);
    }
    lua
}

/// The script without the comparison that the restart guard rests on.
fn blinded(text: &str) -> String {
    // Greetings and votes have the guard in them, the others have not.
    let is_guarded = text.contains("local function abstains(");
    let is_looking = text.contains(LOOK);
    assert!(is_looking || !is_guarded, "`{LOOK}` is how guard.lua looks");
    text.replace(LOOK, "false")
}

const LOOK: &str = "id ~= current";

/// What all servers of a world have in common.
#[derive(Debug)]
pub(crate) struct Fleet {
    wire: Wire,
    configuration: Configuration,
    texts: Texts,
    disk: Disk,
}

impl Fleet {
    /// Of so many nodes, which abstain for `span`, if anybody guards them.
    pub(crate) fn new(
        texts: Texts,
        nodes: usize,
        is_fenced: bool,
        guard: Option<(Duration, bool)>,
    ) -> Self {
        let trusts_disk = guard.is_some_and(|(_, trusts_disk)| trusts_disk);
        let configuration = match guard {
            None if !is_fenced => Configuration::plain(),
            None => configuration(nodes, RestartGuard::Off, Duration::ZERO),
            Some((span, true)) => configuration(nodes, RestartGuard::TrustAof, span),
            Some((span, false)) => configuration(nodes, RestartGuard::Quarantine, span),
        };
        Self {
            wire: Wire::new(&configuration),
            configuration,
            texts,
            disk: if trusts_disk {
                Disk::Trusted
            } else {
                Disk::Ignored
            },
        }
    }
}

/// A configuration with a quarantine of `span`, whatever the longest TTL is.
fn configuration(nodes: usize, guard: RestartGuard, span: Duration) -> Configuration {
    let quorum = Quorum::majority(nodes).expect("1 to 32 nodes");
    let of_the_ttl = Ttl::SHORTEST.as_duration() + Drift::DEFAULT.allowance(Ttl::SHORTEST);
    let skew = span.saturating_sub(of_the_ttl);
    Configuration::new("leasehold", "simulated", quorum, guard, Ttl::SHORTEST, skew)
}

/// A server of a fleet.
#[derive(Debug)]
pub(crate) struct Scripted {
    fleet: Rc<Fleet>,
    server: Server,
    /// Whether its settings say that the disk has a write before it is answered.
    is_synced: bool,
}

impl Scripted {
    pub(crate) fn new(fleet: &Rc<Fleet>) -> Self {
        Self {
            fleet: Rc::clone(fleet),
            server: Server::new("", ""),
            is_synced: true,
        }
    }

    /// Another process serves, or the same with another history of its data.
    pub(crate) fn serve(&mut self, id: &Identity, was_replica: bool) {
        let (run_id, replid) = id.as_str().split_once('/').expect("run and history");
        let replid2 = was_replica.then(|| "1".repeat(40));
        self.server = Server {
            replid2,
            ..Server::new(run_id, replid)
        };
    }

    /// Whether it has a limit and a policy that evicts, and how many keys it has evicted.
    pub(crate) fn limit(&mut self, may_evict: bool, evicted: u64) {
        self.server.maxmemory = u64::from(may_evict);
        let policy = if may_evict {
            "volatile-ttl"
        } else {
            "noeviction"
        };
        policy.clone_into(&mut self.server.maxmemory_policy);
        self.server.evicted_keys = evicted;
    }

    /// What becomes of its writes.
    pub(crate) fn log(&mut self, (log, has_rewritten): (Log, bool), is_synced: bool) {
        self.server.has_rewritten = has_rewritten;
        self.server.has_log = log != Log::Off;
        self.server.is_rewriting = log == Log::Rewriting;
        self.is_synced = is_synced;
    }

    /// What clients rely on its disk for, that know the settings.
    fn disk(&self) -> Disk {
        match self.fleet.disk {
            Disk::Trusted if !self.is_synced => Disk::Distrusted,
            disk => disk,
        }
    }

    /// Whether it has written down that its log has everything.
    pub(crate) fn says_that_all_is_logged(&self, data: &Data) -> bool {
        let key = self.fleet.configuration.node_key();
        data.keys.field(key.as_bytes(), b"logged") == Some(b"1")
    }

    /// Whether it has written down that it is this process.
    pub(crate) fn is_vouched_for(&self, data: &Data, id: &Identity) -> bool {
        let key = self.fleet.configuration.node_key();
        data.keys.field(key.as_bytes(), b"id") == Some(id.as_str().as_bytes())
    }

    /// The next look is made in any case.
    pub(crate) fn forget_look(&mut self, data: &mut Data, us: u64) {
        let key = self.fleet.configuration.node_key();
        self.run(data, us, &[b"HDEL", key.as_bytes(), b"fit"]);
    }

    pub(crate) const fn starve(&mut self, is_out_of_memory: bool) {
        self.server.is_out_of_memory = is_out_of_memory;
    }

    /// Carries out a request that came over a connection to `met`. What the node's clock showed, if it was told.
    pub(crate) fn vote(
        &mut self,
        data: &mut Data,
        us: u64,
        request: &Request,
        met: Option<&Identity>,
    ) -> (Vote, Option<Duration>) {
        let met = met.map_or("", Identity::as_str);
        let peer = RemoteProcess::new(met, self.disk());
        let wire = self.fleet.wire.request(request, &peer);
        let reply = self.answer(data, us, &wire);
        self.fleet.wire.vote(request, &reply)
    }

    /// Whether these requests leave in one call.
    pub(crate) fn takes_together(&self, requests: &[Request]) -> bool {
        let peer = RemoteProcess::default();
        self.fleet.wire.call(requests, &peer).is_some()
    }

    /// Carries out requests that came in one call, likewise.
    pub(crate) fn vote_together(
        &mut self,
        data: &mut Data,
        us: u64,
        requests: &[Request],
        met: Option<&Identity>,
    ) -> Vec<(Vote, Option<Duration>)> {
        let met = met.map_or("", Identity::as_str);
        let peer = RemoteProcess::new(met, self.disk());
        let wire = self.fleet.wire.call(requests, &peer);
        let wire = wire.expect("they leave together");
        let reply = self.answer(data, us, &wire);
        self.fleet.wire.votes(requests, &reply)
    }

    /// A connection begins.
    pub(crate) fn greet(&mut self, data: &mut Data, us: u64) {
        let disk = self.disk();
        if let Some(greeting) = self.fleet.wire.greeting(disk, None) {
            let reply = self.answer(data, us, &greeting);
            let identity = self.fleet.wire.greeted(&reply, disk);
            let (run_id, replid) = (&self.server.run_id, &self.server.replid);
            // One that may evict is no node to keep locks on, which a link would say; here it is asked all the same.
            let is_fit = self.server.maxmemory == 0;
            assert!(
                !is_fit || identity == Ok(format!("{run_id}/{replid}")),
                "it tells who it is"
            );
        }
    }

    /// The operator's word that the node may vote.
    pub(crate) fn admit(&mut self, data: &mut Data, us: u64) {
        let texts = wire::texts();
        let admit = texts.iter().find(|(name, _)| *name == "admit");
        let (_, text) = admit.expect("an operator can admit");
        let fleet = Rc::clone(&self.fleet);
        let configuration = &fleet.configuration;
        let (key, fingerprint) = (configuration.node_key(), configuration.fingerprint());
        let quarantine = configuration.quarantine().as_millis().to_string();
        let words = [
            "EVAL",
            text,
            "1",
            &key,
            &fingerprint,
            configuration.text(),
            &quarantine,
        ];
        let reply = self.run(data, us, &words.map(str::as_bytes));
        let is_done =
            matches!(&reply, Reply::List(parts) if parts.first() == Some(&Reply::Integer(1)));
        assert!(is_done, "the node is admitted: {reply:?}");
    }

    /// Another program takes the lock by `SET NX PX`.
    pub(crate) fn lock(&mut self, data: &mut Data, us: u64, request: &Request) -> Vote {
        let Request::Acquire {
            resource,
            owner,
            ttl,
            ..
        } = request
        else {
            unreachable!("other programs only lock");
        };
        let (key, ttl_ms) = (resource.as_str().as_bytes(), ttl.as_millis().to_string());
        let words = [
            &b"SET"[..],
            key,
            owner.as_bytes(),
            b"NX",
            b"PX",
            ttl_ms.as_bytes(),
        ];
        match self.run(data, us, &words) {
            Reply::Nil => Vote::Refused(Refusal::default()),
            _ => Vote::GRANTED,
        }
    }

    /// Another program deletes the key.
    pub(crate) fn delete(&mut self, data: &mut Data, us: u64, resource: &Resource) {
        self.run(data, us, &[b"DEL", resource.as_str().as_bytes()]);
    }

    /// Another program keeps a list there.
    pub(crate) fn put_a_list(&mut self, data: &mut Data, us: u64, resource: &Resource) {
        self.run(data, us, &[b"LPUSH", resource.as_str().as_bytes(), b"x"]);
    }

    fn answer(&mut self, data: &mut Data, us: u64, wire: &[u8]) -> Vec<u8> {
        let (server, keys) = (&mut self.server, &mut data.keys);
        self.fleet
            .texts
            .with(|lua| server.answer(keys, lua, Time::at(us), wire))
    }

    fn run(&mut self, data: &mut Data, us: u64, words: &[&[u8]]) -> Reply {
        let (server, keys) = (&mut self.server, &mut data.keys);
        self.fleet
            .texts
            .with(|lua| server.run(keys, lua, Time::at(us), words))
    }
}

impl Texts {
    fn with<R>(self, run: impl FnOnce(&Interpreter) -> R) -> R {
        match self {
            Self::Shipped => SHIPPED.with(run),
            Self::Blind => BLIND.with(run),
        }
    }
}
