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
    texts::{
        HOLD_SEVERAL, HOLD_SHARE, RELEASE, RELEASE_SHARE, Script, VOTE_SEVERAL, VOTE_SHARE, VOTES,
    },
};
use crate::configuration::KeyFormat;
use leasehold_core::{FencingToken, Owner, Place, Request, Resource, Ticket, Ttl, Waiter};
use std::{ops::Range, time::Duration};
use words::Words;

/// What two requests have in common if they act on one key of ours, or on one place in line: the key, and the owner or the waiter
/// if there is one.
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
    // The waiter, of a place in line.
    let has_owner = kind != Kind::Inspect;
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
        if !command.is_of_a_share {
            return Some(resource);
        }
        // Where there is no owner to tell, it is all the same to the node which part it is.
        let permit = command.owner(0).and_then(|owner| owner.permit());
        let part = match permit {
            Some(permit) => Resource::permit(resource.as_str(), permit.of()),
            None => Resource::shared(resource.as_str()),
        };
        part.ok()
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
    /// What it has in common with other votes of its call: TTL and proposal.
    common: Option<Words<'a>>,
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
                common: None,
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
        if is(&VOTES) {
            return Self::of_votes(wire, parts, keys.checked_sub(1)?, behind);
        }
        // How many keys are none of a lock, and how many arguments are about all locks together, and about each.
        let is_of_a_share = is(&VOTE_SHARE) || is(&RELEASE_SHARE) || is(&HOLD_SHARE);
        let (further, common, own) = match () {
            () if is(&RELEASE) && keys > 1 => (0, 0, 1),
            () if is_of_a_share => (keys.checked_sub(1)?, 5, 7),
            () => (keys.checked_sub(1)?, 0, usize::MAX),
        };
        let locks = match is_of_a_share {
            // Parts of one name have its keys in common.
            true => parts.left?.checked_sub(keys + common)? / own,
            false => keys.checked_sub(further)?,
        };
        let before = locks.checked_sub(1 + usize::from(behind))?;
        let keys_before = if is_of_a_share { 0 } else { before };
        for _ in 0..keys_before {
            parts.next()?;
        }
        let key = parts.place(wire)?;
        let to_skip = keys - keys_before - 1 + common + own.saturating_mul(before);
        for _ in 0..to_skip {
            parts.next()?;
        }
        Some(Self {
            key,
            several: None,
            arguments: parts,
            own,
            common: None,
            is_set: false,
            is_of_a_share,
        })
    }

    /// Of a vote with so many others behind it in a call for so many locks, from their keys on.
    fn of_votes(wire: &'a [u8], mut keys: Words<'a>, locks: usize, behind: u16) -> Option<Self> {
        let number = locks.checked_sub(usize::from(behind))?;
        let mut runs = keys.clone();
        keys.by_ref().take(number.checked_sub(1)?).for_each(drop);
        let key = keys.place(wire)?;
        // From each key to its owner it is as far: keys, among them the node's own, what is about all locks, and owners.
        keys.by_ref().take(locks + 4).for_each(drop);
        runs.by_ref().take(3 * locks + 5).for_each(drop);
        let common = loop {
            let (common, _, _) = (runs.clone(), runs.next()?, runs.next()?);
            let (last, _) = digits(runs.next()?)?;
            if usize::try_from(last).is_ok_and(|last| last >= number) {
                break common;
            }
        };
        Some(Self {
            key,
            several: None,
            arguments: keys,
            own: 1,
            common: Some(common),
            is_set: false,
            is_of_a_share: false,
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
            common: None,
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
        if let (Some(common), 1 | 2) = (&self.common, at) {
            return common.clone().nth(at - 1);
        }
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
        let at = if self.is_of_a_share { 3 } else { 9 };
        let ticket = match self.argument(at + 1) {
            // Nobody queues for several names.
            _ if self.several.is_some() => return Some(None),
            None => return Some(None),
            // Nobody need queue for a share.
            Some(_) if self.argument(at) == Some(b"") => return Some(None),
            Some(b"") => None,
            Some(_) => Some(Ticket::new(self.number(at + 1)?)?),
        };
        let waiter = self.waiter(at)?;
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
pub(super) mod tests;
