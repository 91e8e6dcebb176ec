//! What all calls of one kind begin with: made once for each configuration, and copied for each request.

use super::{
    codec,
    texts::{
        EXTEND, FAIR, HOLD_SEVERAL, HOLD_SHARE, INSPECT, LEAVE, RAISE, RELEASE, RELEASE_SHARE,
        REPAIR, Script, TRANSFER, VOTE, VOTE_SEVERAL, VOTE_SHARE, VOTES,
    },
};
use leasehold_core::Request;
use std::sync::Arc;

/// The command that a request becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Redlock's own command.
    Set,
    Vote,
    /// First votes for several locks.
    Votes,
    Takeover,
    Fair,
    Repair,
    Transfer,
    Raise,
    Extend,
    Inspect,
    Release,
    /// A release that lets the key live on for a while.
    Keep,
    Leave,
    /// A vote for names that are locked together.
    VoteSeveral,
    /// What else is asked of such names.
    HoldSeveral,
    /// First votes for parts of one name.
    VoteParts,
    /// Releases of parts of one name.
    ReleaseParts,
    /// Another vote for a part of a name.
    VoteShare,
    /// What else is asked of a part.
    HoldShare,
}

impl Call {
    const ALL: [Self; 19] = [
        Self::Set,
        Self::Vote,
        Self::Votes,
        Self::Takeover,
        Self::Fair,
        Self::Repair,
        Self::Transfer,
        Self::Raise,
        Self::Extend,
        Self::Inspect,
        Self::Release,
        Self::Keep,
        Self::Leave,
        Self::VoteSeveral,
        Self::HoldSeveral,
        Self::VoteParts,
        Self::ReleaseParts,
        Self::VoteShare,
        Self::HoldShare,
    ];

    #[inline]
    pub(super) fn of(request: &Request, is_fenced: bool) -> Self {
        if request.resource().is_several() {
            return match request.is_vote() {
                true => Self::VoteSeveral,
                false => Self::HoldSeveral,
            };
        }
        match request {
            Request::Leave { .. } => Self::Leave,
            Request::Acquire { resource, .. } if resource.is_part() => Self::VoteParts,
            Request::Release {
                resource,
                keep: None,
                ..
            } if resource.is_part() => Self::ReleaseParts,
            _ if request.resource().is_part() => match request.is_vote() {
                true => Self::VoteShare,
                false => Self::HoldShare,
            },
            Request::Acquire { place: Some(_), .. } if is_fenced => Self::Fair,
            Request::Acquire { .. } if is_fenced => Self::Vote,
            Request::Transfer { .. } if is_fenced => Self::Takeover,
            Request::Repair { .. } if is_fenced => Self::Repair,
            Request::Acquire { .. } | Request::Repair { .. } => Self::Set,
            Request::Transfer { .. } => Self::Transfer,
            Request::Raise { .. } => Self::Raise,
            Request::Extend { .. } => Self::Extend,
            Request::Inspect { .. } => Self::Inspect,
            Request::Release { keep: None, .. } => Self::Release,
            Request::Release { keep: Some(_), .. } => Self::Keep,
        }
    }

    /// The call for so many of what this is for one.
    pub(super) const fn of_locks(self, locks: usize) -> Self {
        match self {
            Self::Vote if locks > 1 => Self::Votes,
            call => call,
        }
    }

    /// Whether one call can be for several locks.
    pub(super) const fn is_for_several(self) -> bool {
        matches!(self, Self::Vote | Self::Votes | Self::Release) || self.is_of_parts()
    }

    /// Whether one call can be for several parts of one name, whose keys they have in common.
    pub(super) const fn is_of_parts(self) -> bool {
        matches!(self, Self::VoteParts | Self::ReleaseParts)
    }

    /// None where a command of the node's does it.
    const fn script(self) -> Option<&'static Script> {
        match self {
            Self::Set => None,
            Self::Vote | Self::Takeover => Some(&VOTE),
            Self::Votes => Some(&VOTES),
            Self::Fair => Some(&FAIR),
            Self::Repair => Some(&REPAIR),
            Self::Transfer => Some(&TRANSFER),
            Self::Raise => Some(&RAISE),
            Self::Extend => Some(&EXTEND),
            Self::Inspect => Some(&INSPECT),
            Self::Release | Self::Keep => Some(&RELEASE),
            Self::Leave => Some(&LEAVE),
            Self::VoteSeveral => Some(&VOTE_SEVERAL),
            Self::HoldSeveral => Some(&HOLD_SEVERAL),
            Self::VoteParts | Self::VoteShare => Some(&VOTE_SHARE),
            Self::ReleaseParts => Some(&RELEASE_SHARE),
            Self::HoldShare => Some(&HOLD_SHARE),
        }
    }

    /// Whether it is about names that are locked together.
    pub(super) const fn is_of_several_names(self) -> bool {
        matches!(self, Self::VoteSeveral | Self::HoldSeveral)
    }

    /// Whether it is about a part of a name.
    pub(super) const fn is_of_a_share(self) -> bool {
        matches!(self, Self::VoteShare | Self::HoldShare) || self.is_of_parts()
    }

    /// How many keys a call for so many locks, or names, has, and how many arguments behind them; with so many runs of votes.
    const fn size(self, is_fenced: bool, (locks, runs): (usize, usize)) -> (usize, usize) {
        match self {
            Self::Set => (1, 4),
            Self::Votes => (locks + 1, 4 + 2 * locks + 3 * runs),
            Self::Release => (locks, locks),
            Self::Vote | Self::Takeover | Self::Repair => (2, 9),
            Self::Fair => (3, 11),
            Self::VoteShare | Self::HoldShare => (3, 12),
            Self::VoteParts | Self::ReleaseParts => (3, 7 * locks + 5),
            Self::Transfer => (1, 3),
            Self::Raise => (2, 4),
            Self::Extend if is_fenced => (2, 6),
            Self::Extend | Self::Keep => (1, 2),
            Self::Inspect => (1, 0),
            Self::Leave => (1, 1),
            Self::VoteSeveral | Self::HoldSeveral if is_fenced => (locks + 1, 9 + locks),
            Self::VoteSeveral | Self::HoldSeveral => (locks, 5),
        }
    }

    /// Begins the command in `wire`, up to its first key, for so many locks, and runs of votes; with the script's text instead
    /// of its hash if it goes along `in_full`.
    pub(super) fn begin(
        self,
        wire: &mut Vec<u8>,
        is_fenced: bool,
        locks: (usize, usize),
        in_full: bool,
    ) {
        let (keys, arguments) = self.size(is_fenced, locks);
        let Some(script) = self.script() else {
            return codec::encode_with(wire, &[b"SET"], keys + arguments);
        };
        let parts: [&[u8]; 2] = match in_full {
            true => [b"EVAL", script.text.as_bytes()],
            false => [b"EVALSHA", script.sha1.as_bytes()],
        };
        codec::encode_with(wire, &parts, 1 + keys + arguments);
        codec::encode_number(wire, u64::try_from(keys).unwrap_or(u64::MAX));
    }
}

/// What each call begins with, by the hash of its script.
#[derive(Clone, Debug)]
pub(super) struct Heads(Arc<[Vec<u8>; Call::ALL.len()]>);

impl Heads {
    pub(super) fn new(is_fenced: bool) -> Self {
        Self(Arc::new(Call::ALL.map(|call| {
            let mut wire = Vec::new();
            call.begin(&mut wire, is_fenced, (1, 1), false);
            wire
        })))
    }

    pub(super) fn of(&self, call: Call) -> &[u8] {
        &self.0[call as usize]
    }
}
