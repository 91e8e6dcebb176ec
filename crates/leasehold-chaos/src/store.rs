//! What the lock protects: a store that is shown fencing tokens, and notes what was written to it and by whom.
//!
//! A server of its own, which nobody disturbs. A holder writes with its token while it believes to hold. A process may
//! be stopped between its look at the lease and its write, and write when another has long held the resource: then the
//! store refuses. Clients that show no token are believed, which spoils what they write (Argument S4 in use).

use crate::checker::Claim;
use leasehold_servers::Connection;
use std::{
    collections::{BTreeMap, HashMap},
    io,
};

/// A client's connection to the store.
#[derive(Debug)]
pub(crate) struct Store(Connection);

/// What was tried, in the order in which the store came to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) resource: String,
    pub(crate) owner: String,
    pub(crate) is_accepted: bool,
}

/// A write of an earlier holder that was accepted after one of a later holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StaleWrite {
    pub(crate) resource: String,
    pub(crate) earlier: Claim,
    pub(crate) later: Claim,
}

impl Store {
    pub(crate) fn open(port: u16) -> io::Result<Self> {
        Connection::open(port).map(Self)
    }

    /// Writes in the owner's name; without a token the store cannot but accept.
    pub(crate) fn write(
        &mut self,
        resource: &str,
        owner: &str,
        token: Option<u64>,
    ) -> io::Result<()> {
        let token = token.map(|token| token.to_string()).unwrap_or_default();
        self.0
            .command(&["EVAL", WRITE, "2", resource, LOG, &token, owner])
            .map(drop)
    }

    /// Everything that was tried.
    pub(crate) fn writes(&mut self) -> io::Result<Vec<Write>> {
        let log = self.0.command(&["LRANGE", LOG, "0", "-1"])?;
        let writes = log.texts().into_iter().filter_map(|line| {
            let mut words = line.split(' ');
            Some(Write {
                is_accepted: words.next()? == "accepted",
                resource: words.next()?.to_owned(),
                owner: words.next()?.to_owned(),
            })
        });
        Ok(writes.collect())
    }
}

/// Finds them by when the writers held. One that never held has no place in that order.
pub(crate) fn stale(writes: &[Write], claims: &BTreeMap<String, Vec<Claim>>) -> Vec<StaleWrite> {
    let mut found = Vec::new();
    for (resource, claims) in claims {
        // In the order in which they began.
        let places = claims.iter().enumerate();
        let places: HashMap<&str, usize> = places
            .map(|(place, claim)| (&*claim.owner, place))
            .collect();
        let accepted = writes
            .iter()
            .filter(|write| write.is_accepted && write.resource == *resource);
        let mut latest = 0;
        for place in accepted.filter_map(|write| places.get(&*write.owner)) {
            if *place < latest {
                found.push(StaleWrite {
                    resource: resource.clone(),
                    earlier: claims[*place].clone(),
                    later: claims[latest].clone(),
                });
            }
            latest = latest.max(*place);
        }
    }
    found
}

/// Accepts if the token is not older than the newest, and notes it: one step.
const WRITE: &str = "\
local newest = redis.call('HGET', KEYS[1], 'newest')
if ARGV[1] ~= '' and newest and tonumber(ARGV[1]) < tonumber(newest) then
  redis.call('RPUSH', KEYS[2], 'refused ' .. KEYS[1] .. ' ' .. ARGV[2])
  return 0
end
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], 'newest', ARGV[1])
end
redis.call('HSET', KEYS[1], 'value', ARGV[2])
redis.call('RPUSH', KEYS[2], 'accepted ' .. KEYS[1] .. ' ' .. ARGV[2])
return 1";
const LOG: &str = "log";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        checker::{self, Journal},
        journal,
        moment::Moment,
    };
    use leasehold_servers::{Server, require_server};

    fn stale_of(writes: &[&str]) -> usize {
        let text = "10 acquired r0 a 20\n30 acquired r0 b 40\n50 acquired r0 late 45\n";
        let journals = [Journal {
            name: "client-0.1".to_owned(),
            entries: journal::parse(text).unwrap(),
            death: None,
        }];
        let writes: Vec<Write> = writes
            .iter()
            .map(|owner| Write {
                resource: "r0".to_owned(),
                owner: owner.trim_start_matches('!').to_owned(),
                is_accepted: !owner.starts_with('!'),
            })
            .collect();
        let findings = checker::check_with(&journals, &writes, Moment::NEVER);
        assert_eq!(findings.writes.0 + findings.writes.1, writes.len());
        findings.stale_writes.len()
    }

    #[test]
    fn an_earlier_holder_that_writes_after_a_later_one_is_found() {
        assert_eq!(stale_of(&["a", "b", "a"]), 1);
        assert_eq!(stale_of(&["a", "a", "b", "b"]), 0);
        assert_eq!(stale_of(&["a", "b", "!a", "b"]), 0);
        assert_eq!(stale_of(&["b", "late", "b", "unknown"]), 0);
    }

    #[test]
    fn the_store_refuses_an_older_token_and_accepts_the_newest_again() {
        require_server();
        let server = Server::start().unwrap();
        let mut store = Store::open(server.port()).unwrap();
        // Neighbours that only all digits tell apart.
        let tokens = [9_007_199_254_740_990, 9_007_199_254_740_991];
        for (owner, token) in [
            ("a", Some(tokens[0])),
            ("b", Some(tokens[1])),
            ("a", Some(tokens[0])),
            ("b", Some(tokens[1])),
            ("c", None),
        ] {
            store.write("r0", owner, token).unwrap();
        }
        let accepted = store.writes().unwrap();
        let accepted: Vec<bool> = accepted.iter().map(|write| write.is_accepted).collect();
        assert_eq!(accepted, [true, true, false, true, true]);
    }
}
