//! Strikes of an operator's hand: settings are changed and commands given on servers whose locks are in use. Some make nodes forget votes and some do not, and the restart guard must tell them apart (Argument S9).

use crate::{moment::Moment, nemesis::Nemesis, site::Site};
use std::time::Duration;

/// What an operator does.
#[derive(Clone, Copy, Debug)]
enum Hand {
    /// A limit of memory below what there is, for a while, with a policy that deletes keys: all go.
    Evict,
    /// The database is exchanged for an empty one.
    Swap,
    /// The log of writes is turned on or off.
    Log(&'static str),
    /// All connections are closed.
    Disconnect,
    /// The scripts that clients call by their hashes are gone.
    ForgetScripts,
}

impl Nemesis<'_> {
    pub(crate) fn operate(&mut self) -> Option<Moment> {
        let hand = self.draw.pick(&[
            Hand::Evict,
            Hand::Evict,
            Hand::Swap,
            Hand::Swap,
            Hand::Log("yes"),
            Hand::Log("no"),
            Hand::Disconnect,
            Hand::ForgetScripts,
        ]);
        let time = self.draw.share(self.site.scenario.ttl, 1..80);
        let site = self.site;
        self.forgetting(&format!("{hand:?}"), |node| {
            Ok(carry_out(hand, site, node, time))
        })
    }
}

/// Does it, and undoes it after this time if it does not stay so. False if the server did not do it: another strike may
/// have stopped it.
fn carry_out(hand: Hand, site: &Site, node: usize, time: Duration) -> bool {
    let server = site.server(node);
    let does = |words: &[&str]| server.command(words).is_ok();
    let set = |name: &str, value: &str| does(&["CONFIG", "SET", name, value]);
    match hand {
        Hand::Evict => {
            let evicts = set("maxmemory-policy", "allkeys-random") && set("maxmemory", "1");
            // Undone in any case: the caller sees that it is over.
            let _ = site.bell.rest(time);
            let is_undone = set("maxmemory", "0") && set("maxmemory-policy", "noeviction");
            evicts && is_undone
        }
        Hand::Swap => does(&["EVAL", SWAP, "0"]),
        Hand::Log(is_on) => set("appendonly", is_on),
        Hand::Disconnect => does(&["CLIENT", "KILL", "TYPE", "normal"]),
        Hand::ForgetScripts => does(&["SCRIPT", "FLUSH"]),
    }
}

/// The other database is emptied first: one that comes back with what it had is seen by no guard, and is
/// forbidden by OPERATING.md.
const SWAP: &str = "\
redis.call('SELECT', 1)
redis.call('FLUSHDB')
return redis.call('SWAPDB', 0, 1)";
