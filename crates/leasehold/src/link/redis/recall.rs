//! A request that is on its way, read back from the bytes that it leaves in.
//!
//! Most requests are answered in a word, and nobody asks again what they were. So a link remembers of a request what it
//! needs to understand that word, and keeps the bytes until then. Where more is wanted, because somebody waits for the
//! key, say, or because the node has forgotten its scripts, they tell it.

mod words;

use super::{
    codec::digits,
    kind::Kind,
    scripts::Encoder,
    texts::{HOLD_SEVERAL, HOLD_SHARE, RELEASE, Script, VOTE_SEVERAL, VOTE_SHARE, VOTES},
};
use crate::configuration::KeyFormat;
use leasehold_core::{FencingToken, Owner, Place, Request, Resource, Ticket, Ttl, Waiter};
use std::{ops::Range, time::Duration};
use words::Words;

/// What two requests have in common if they act on one key of ours: the key, and the owner if there is one.
#[derive(Debug)]
pub(super) struct KeyAndOwner<'a> {
    /// Where the key stands in the bytes of the request; the first, if it has several.
    pub(super) key: Range<usize>,
    /// All of them, if it has several.
    pub(super) several: Option<Words<'a>>,
    pub(super) owner: Option<&'a [u8]>,
}

/// What a request wants, and how many others are behind it in the call that it is in.
pub(super) type CallMember = (Kind, u16);

/// The lock that a request is about, whose command `wire` begins with; none if it does not.
pub(super) fn lock((kind, behind): CallMember, wire: &[u8]) -> Option<KeyAndOwner<'_>> {
    let command = CommandWords::of(wire, behind)?;
    let has_owner = !matches!(kind, Kind::Inspect | Kind::Leave);
    let owner = has_owner.then(|| command.argument(0)).flatten();
    let (key, several) = (command.key, command.several);
    Some(KeyAndOwner {
        key,
        several,
        owner,
    })
}

/// What was looked at by the look that `wire` begins with; none if that is no resource.
pub(super) fn looked_at(wire: &[u8], format: &KeyFormat) -> Option<Resource> {
    let mut keys = Words::of(wire)?;
    keys.next()?;
    resource(&keys, format)
}

/// The resource that has these keys.
fn resource(keys: &Words<'_>, format: &KeyFormat) -> Option<Resource> {
    let each = keys.clone().map(|key| format.resource(key));
    let each = each.collect::<Option<Vec<_>>>()?;
    match &*each {
        [resource] => Some(resource.clone()),
        several => Resource::several(several.iter().map(Resource::as_str)).ok(),
    }
}

impl Encoder {
    /// The request whose command `wire` begins with, as this encoder has written it; none if it does not.
    pub(super) fn recall(&self, (kind, behind): CallMember, wire: &[u8]) -> Option<Request> {
        let command = CommandWords::of(wire, behind).filter(CommandWords::is_whole)?;
        let resource = self.resource_of(&command, kind, wire)?;
        Some(match kind {
            Kind::Acquire | Kind::AcquireSeveral => Request::Acquire {
                resource,
                owner: command.owner(0)?,
                ttl: command.ttl()?,
                proposal: command.proposal()?,
                place: command.place()?,
            },
            Kind::Repair | Kind::RepairSeveral => Request::Repair {
                resource,
                owner: command.owner(0)?,
                ttl: command.ttl()?,
                proposal: command.proposal()?,
            },
            Kind::Transfer => Request::Transfer {
                resource,
                from: command.owner(match self.is_fenced() {
                    _ if command.several.is_some() => 3,
                    true => 6,
                    false => 2,
                })?,
                owner: command.owner(0)?,
                ttl: command.ttl()?,
                proposal: match self.is_fenced() {
                    true => command.proposal()?,
                    false => None,
                },
            },
            Kind::Raise => Request::Raise {
                resource,
                owner: command.owner(0)?,
                token: FencingToken::new(command.number(2)?)?,
            },
            Kind::Extend | Kind::ExtendShare => Request::Extend {
                resource,
                owner: command.owner(0)?,
                ttl: command.ttl()?,
            },
            Kind::Inspect => Request::Inspect { resource },
            Kind::Release => Request::Release {
                resource,
                owner: command.owner(0)?,
                keep: match command.argument(1) {
                    None | Some(b"") => None,
                    Some(_) => Some(command.ttl()?),
                },
            },
            Kind::Leave => Request::Leave {
                resource,
                waiter: command.waiter(0)?,
            },
        })
    }

    /// What the request is about.
    fn resource_of(&self, command: &CommandWords<'_>, kind: Kind, wire: &[u8]) -> Option<Resource> {
        if let Some(keys) = &command.several {
            return resource(keys, self.key_format());
        }
        let key = &wire[command.key.clone()];
        let key = match kind {
            Kind::Leave => key.strip_prefix(self.queues().as_bytes())?,
            _ => key,
        };
        let resource = self.key_format().resource(key)?;
        match command.is_of_a_share {
            true => Resource::shared(resource.as_str()).ok(),
            false => Some(resource),
        }
    }
}

/// A request in the words of a command, as they lie in its bytes.
struct CommandWords<'a> {
    /// The first, if it has several.
    key: Range<usize>,
    several: Option<Words<'a>>,
    /// What stands behind the keys, from the first word on that is about the request.
    arguments: Words<'a>,
    /// How many of these are about it.
    own: usize,
    /// Whether it is Redlock's own command, which has words between owner and TTL.
    is_set: bool,
    is_of_a_share: bool,
}

impl<'a> CommandWords<'a> {
    /// Of the request with so many others behind it in the same call.
    fn of(wire: &'a [u8], behind: u16) -> Option<Self> {
        let mut parts = Words::of(wire)?;
        if parts.next()? == b"SET" {
            return Some(Self {
                key: parts.place(wire)?,
                several: None,
                arguments: parts,
                own: usize::MAX,
                is_set: true,
                is_of_a_share: false,
            });
        }
        let (script, keys) = (parts.next()?, digits(parts.next()?)?.0);
        let keys = usize::try_from(keys).ok()?;
        let is = |other: &Script| {
            [other.sha1, other.text]
                .map(str::as_bytes)
                .contains(&script)
        };
        if is(&VOTE_SEVERAL) || is(&HOLD_SEVERAL) {
            return Self::of_several(wire, &parts, keys);
        }
        // How many keys are none of a lock, and how many arguments are about all locks together, and about each.
        let (further, common, own) = match () {
            () if is(&VOTES) => (1, 4, 4),
            () if is(&RELEASE) && keys > 1 => (0, 0, 1),
            () => (keys.checked_sub(1)?, 0, usize::MAX),
        };
        let locks = keys.checked_sub(further)?;
        let before = locks.checked_sub(1 + usize::from(behind))?;
        for _ in 0..before {
            parts.next()?;
        }
        let key = parts.place(wire)?;
        let to_skip = keys - before - 1 + common + own.saturating_mul(before);
        for _ in 0..to_skip {
            parts.next()?;
        }
        Some(Self {
            key,
            several: None,
            arguments: parts,
            own,
            is_set: false,
            is_of_a_share: is(&VOTE_SHARE) || is(&HOLD_SHARE),
        })
    }

    /// Of a request about names that are locked together, from its keys on.
    fn of_several(wire: &'a [u8], keys: &Words<'a>, count: usize) -> Option<Self> {
        let mut arguments = keys.clone();
        let key = arguments.place(wire)?;
        for _ in 1..count {
            arguments.next()?;
        }
        // Where there are more arguments, the last key is the node's own.
        let names = match arguments.left? {
            OF_PLAIN_NAMES => count,
            _ => count.checked_sub(1)?,
        };
        let left = Some(names);
        Some(Self {
            key,
            several: Some(Words { left, ..*keys }),
            arguments,
            own: usize::MAX,
            is_set: false,
            is_of_a_share: false,
        })
    }

    /// Whether none of it is missing.
    fn is_whole(&self) -> bool {
        let mut rest = self.arguments.clone();
        rest.by_ref().for_each(drop);
        rest.left == Some(0)
    }

    fn argument(&self, at: usize) -> Option<&'a [u8]> {
        let at = if self.is_set { at * 3 } else { at };
        self.arguments.clone().nth(at).filter(|_| at < self.own)
    }

    fn text(&self, at: usize) -> Option<&'a str> {
        std::str::from_utf8(self.argument(at)?).ok()
    }

    fn number(&self, at: usize) -> Option<u64> {
        self.text(at)?.parse().ok()
    }

    fn owner(&self, at: usize) -> Option<Owner> {
        Owner::from_bytes(self.argument(at)?)
    }

    fn ttl(&self) -> Option<Ttl> {
        Ttl::new(Duration::from_millis(self.number(1)?)).ok()
    }

    /// What a vote proposes for the counter, if anything; none if it is no proposal.
    fn proposal(&self) -> Option<Option<FencingToken>> {
        match self.argument(2) {
            None | Some(b"") => Some(None),
            Some(_) => FencingToken::new(self.number(2)?).map(Some),
        }
    }

    /// Who asks for a fair lock, if it is one; none if it is nobody.
    fn place(&self) -> Option<Option<Place>> {
        let ticket = match self.argument(10) {
            // Nobody queues for several names.
            _ if self.several.is_some() => return Some(None),
            None => return Some(None),
            // Nobody need queue for a share.
            Some(_) if self.argument(9) == Some(b"") => return Some(None),
            Some(b"") => None,
            Some(_) => Some(Ticket::new(self.number(10)?)?),
        };
        let waiter = self.waiter(9)?;
        Some(Some(Place { waiter, ticket }))
    }

    fn waiter(&self, at: usize) -> Option<Waiter> {
        u64::from_str_radix(self.text(at)?, 16)
            .ok()
            .map(Waiter::new)
    }
}

/// How many arguments a request about several names has where locks are plain.
const OF_PLAIN_NAMES: usize = 5;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        configuration::{Configuration, KeyFormat, RestartGuard},
        link::redis::scripts::ServerInfo,
    };
    use leasehold_core::{Quorum, Resource, quarantine::Disk};

    pub(in super::super) fn requests() -> Vec<Request> {
        let one = Resource::new("{a}\u{e9} b").expect("a name");
        let several = Resource::several(["b", "{a}\u{e9} c", "a"]).expect("good names");
        let share = Resource::shared(one.as_str()).expect("a name");
        let mut shares = requests_about(&share);
        // Who leaves the queue of a name leaves it, whatever it wanted.
        shares.retain(|request| !matches!(request, Request::Leave { .. }));
        [requests_about(&one), requests_about(&several), shares].concat()
    }

    fn requests_about(resource: &Resource) -> Vec<Request> {
        let owner = |bytes: &[u8]| Owner::from_bytes(bytes).expect("an owner");
        let [me, you] = [b"me\r\n\0".as_slice(), b"2"].map(owner);
        let ttl = Ttl::LONGEST;
        let place = |ticket| {
            let waiter = Waiter::new(0xab);
            Some(Place { waiter, ticket })
        };
        let acquire = |proposal, place| Request::Acquire {
            resource: resource.clone(),
            owner: me.clone(),
            ttl,
            proposal,
            place,
        };
        let queues = vec![
            acquire(None, place(None)),
            acquire(Some(FencingToken::FIRST), place(Some(Ticket::LAST))),
            Request::Leave {
                resource: resource.clone(),
                waiter: Waiter::new(u64::MAX),
            },
        ];
        let others = others_about(resource, [&me, &you], ttl);
        // Nobody queues for several names.
        let queues = queues.into_iter().filter(|_| !resource.is_several());
        queues.chain(others).collect()
    }

    fn others_about(resource: &Resource, [me, you]: [&Owner; 2], ttl: Ttl) -> Vec<Request> {
        let acquire = |proposal| Request::Acquire {
            resource: resource.clone(),
            owner: me.clone(),
            ttl,
            proposal,
            place: None,
        };
        let release = |keep| Request::Release {
            resource: resource.clone(),
            owner: me.clone(),
            keep,
        };
        vec![
            acquire(None),
            acquire(Some(FencingToken::LAST)),
            Request::Repair {
                resource: resource.clone(),
                owner: me.clone(),
                ttl: Ttl::SHORTEST,
                proposal: Some(FencingToken::FIRST),
            },
            Request::Transfer {
                resource: resource.clone(),
                from: you.clone(),
                owner: me.clone(),
                ttl,
                proposal: Some(FencingToken::FIRST),
            },
            Request::Raise {
                resource: resource.clone(),
                owner: me.clone(),
                token: FencingToken::LAST,
            },
            Request::Extend {
                resource: resource.clone(),
                owner: me.clone(),
                ttl,
            },
            Request::Inspect {
                resource: resource.clone(),
            },
            release(None),
            release(Some(ttl)),
        ]
    }

    /// The request as plain locks have it, which know neither counters nor queues.
    fn plainly(request: Request) -> Option<Request> {
        Some(match request {
            Request::Acquire {
                resource,
                owner,
                ttl,
                ..
            } => Request::Acquire {
                resource,
                owner,
                ttl,
                proposal: None,
                place: None,
            },
            Request::Repair {
                resource,
                owner,
                ttl,
                ..
            } => Request::Repair {
                resource,
                owner,
                ttl,
                proposal: None,
            },
            Request::Transfer {
                resource,
                from,
                owner,
                ttl,
                ..
            } => Request::Transfer {
                resource,
                from,
                owner,
                ttl,
                proposal: None,
            },
            Request::Raise { .. } => return None,
            other => other,
        })
    }

    /// What the key of such a request begins with, before that of the lock.
    fn prefix(kind: Kind, encoder: &Encoder) -> &[u8] {
        match kind {
            Kind::Leave => encoder.queues().as_bytes(),
            _ => b"",
        }
    }

    #[test]
    fn a_request_is_read_back_as_it_was_given() {
        let quorum = Quorum::majority(1).expect("one node");
        let (guard, skew) = (RestartGuard::Off, Duration::ZERO);
        let fenced = Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew);
        let plain = Configuration::plain().with_key_format(KeyFormat::php_lock_2());
        let met = ServerInfo::new("id".to_owned(), Disk::Trusted);
        for configuration in [&fenced, &plain] {
            let encoder = Encoder::new(configuration);
            let is_said =
                |request: &Request| encoder.is_fenced() || !request.resource().is_shared();
            for request in requests().into_iter().filter(is_said) {
                let expected = match encoder.is_fenced() {
                    true => Some(request.clone()),
                    false => plainly(request.clone()),
                };
                let kind = Kind::of(&request);
                let in_full = [1, 2].map(|several| {
                    let mut wire = Vec::new();
                    encoder.say_in_full(&mut wire, &request, several, &met);
                    wire
                });
                let by_hash = encoder.said(&request, &met);
                for mut wire in in_full.into_iter().chain([by_hash]) {
                    let length = wire.len();
                    assert_eq!(encoder.recall((kind, 0), &wire[..length - 1]), None);
                    wire.extend_from_slice(b"*1\r\n$4\r\nPING\r\n");
                    assert_eq!(encoder.recall((kind, 0), &wire), expected, "{request:?}");
                    let lock = lock((kind, 0), &wire).expect("it has a key");
                    let owner = request.owner().map(Owner::as_bytes);
                    assert_eq!(lock.owner, owner, "{request:?}");
                    let key = wire[lock.key].strip_prefix(prefix(kind, &encoder));
                    let named = key.and_then(|key| encoder.key_format().resource(key));
                    assert_eq!(named, request.resource().each().next());
                    let several = lock
                        .several
                        .and_then(|keys| resource(&keys, encoder.key_format()));
                    let expected = Some(request.resource()).filter(|it| it.is_several());
                    assert_eq!(several.as_ref(), expected);
                }
            }
        }
    }
}
