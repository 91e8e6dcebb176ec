//! What the lock protects: a store that is shown fencing tokens, and notes what was written to it and by whom.
//!
//! A server of its own, which nobody disturbs. A holder writes with its token while it believes to hold. A process may
//! be stopped between its look at the lease and its write, and write when another has long held the resource: then the
//! store refuses. Clients that show no token are believed, which spoils what they write (Argument S4 in use).
//!
//! Each resource is a register that counts. A holder reads it once, showing its token as well, and writes one more than it
//! has read, and one more again. So the register is linearizable if each write that was accepted is of the number that stood
//! there: of two that counted from the same number, one would be lost.

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
    /// What its owner believed to stand there.
    pub(crate) read: u64,
    pub(crate) is_accepted: bool,
}

/// A write of an earlier holder that was accepted after one of a later holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StaleWrite {
    pub(crate) resource: String,
    pub(crate) earlier: Claim,
    pub(crate) later: Claim,
}

/// A write that was accepted, of one who had read something else than what stood there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostUpdate {
    pub(crate) write: Write,
    pub(crate) stood: u64,
}

impl Store {
    pub(crate) fn open(port: u16) -> io::Result<Self> {
        Connection::open(port).map(Self)
    }

    /// The number that stands there. None if a newer token was shown before.
    pub(crate) fn read(&mut self, resource: &str, token: Option<u64>) -> io::Result<Option<u64>> {
        let token = shown(token);
        let read = self.0.command(&["EVAL", READ, "1", resource, &token])?;
        Ok(read.text().and_then(|number| number.parse().ok()))
    }

    /// Writes one more than what was read, in the owner's name, and tells whether it is accepted; without a token the store
    /// cannot but accept.
    pub(crate) fn write(
        &mut self,
        resource: &str,
        owner: &str,
        token: Option<u64>,
        read: u64,
    ) -> io::Result<bool> {
        let (token, read) = (shown(token), read.to_string());
        let words = ["EVAL", WRITE, "2", resource, LOG, &token, owner, &read];
        Ok(self.0.command(&words)?.integer() == Some(1))
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
                read: words.next()?.parse().ok()?,
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

/// Finds them in the order in which the store accepted.
pub(crate) fn lost(writes: &[Write]) -> Vec<LostUpdate> {
    let mut found = Vec::new();
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    for write in writes.iter().filter(|write| write.is_accepted) {
        let stands = numbers.entry(&write.resource).or_default();
        if write.read != *stands {
            found.push(LostUpdate {
                write: write.clone(),
                stood: *stands,
            });
        }
        *stands = write.read + 1;
    }
    found
}

fn shown(token: Option<u64>) -> String {
    token.map(|token| token.to_string()).unwrap_or_default()
}

/// Tells the number if the token is not older than the newest, and notes it: one step. So what was read is not changed any
/// more by a write with an older token that is still on its way.
const READ: &str = "\
local newest = redis.call('HGET', KEYS[1], 'newest')
if ARGV[1] ~= '' then
  if newest and tonumber(ARGV[1]) < tonumber(newest) then
    return false
  end
  redis.call('HSET', KEYS[1], 'newest', ARGV[1])
end
return redis.call('HGET', KEYS[1], 'number') or '0'";

/// Accepts if the token is not older than the newest, and notes it: one step.
const WRITE: &str = "\
local newest = redis.call('HGET', KEYS[1], 'newest')
local line = ' ' .. KEYS[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]
if ARGV[1] ~= '' then
  if newest and tonumber(ARGV[1]) < tonumber(newest) then
    redis.call('RPUSH', KEYS[2], 'refused' .. line)
    return 0
  end
  redis.call('HSET', KEYS[1], 'newest', ARGV[1])
end
redis.call('HSET', KEYS[1], 'number', string.format('%.0f', tonumber(ARGV[3]) + 1))
redis.call('RPUSH', KEYS[2], 'accepted' .. line)
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
                read: 0,
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
    fn of_two_who_count_from_the_same_number_one_is_lost() {
        let lost_of = |reads: &[u64]| {
            let write = |read: &u64| Write {
                resource: "r0".to_owned(),
                owner: "a".to_owned(),
                read: *read,
                is_accepted: true,
            };
            let mut writes: Vec<Write> = reads.iter().map(write).collect();
            // Neither what was refused nor another register counts.
            writes.insert(
                1,
                Write {
                    is_accepted: false,
                    ..write(&7)
                },
            );
            writes.push(Write {
                resource: "r1".to_owned(),
                ..write(&0)
            });
            let lost = lost(&writes);
            lost.iter().map(|lost| lost.stood).collect::<Vec<_>>()
        };
        assert_eq!(lost_of(&[0, 1, 2, 3]), []);
        assert_eq!(lost_of(&[0, 1, 1, 2]), [2]);
        assert_eq!(lost_of(&[0, 2]), [1]);
        assert_eq!(lost_of(&[1, 2]), [0]);
    }

    #[test]
    fn what_was_read_with_a_newer_token_is_not_changed_by_a_late_write() {
        require_server();
        let server = Server::start().unwrap();
        let mut store = Store::open(server.port()).unwrap();
        assert_eq!(store.read("r0", Some(3)).unwrap(), Some(0));
        assert!(store.write("r0", "a", Some(3), 0).unwrap());
        assert_eq!(store.read("r0", Some(4)).unwrap(), Some(1));
        assert!(!store.write("r0", "a", Some(3), 1).unwrap());
        assert_eq!(store.read("r0", Some(3)).unwrap(), None);
        assert!(store.write("r0", "b", Some(4), 1).unwrap());
        // Without tokens the same is lost.
        let (a, b) = (
            store.read("r1", None).unwrap(),
            store.read("r1", None).unwrap(),
        );
        for (owner, read) in [("a", a), ("b", b)] {
            assert!(store.write("r1", owner, None, read.unwrap()).unwrap());
        }
        let lost = lost(&store.writes().unwrap());
        assert_eq!(lost.len(), 1, "{lost:?}");
        assert_eq!((&*lost[0].write.owner, lost[0].stood), ("b", 1));
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
            store.write("r0", owner, token, 0).unwrap();
        }
        let accepted = store.writes().unwrap();
        let accepted: Vec<bool> = accepted.iter().map(|write| write.is_accepted).collect();
        assert_eq!(accepted, [true, true, false, true, true]);
    }
}
