//! A lock as it is shown: by `status`, `list`, `watch` and `force-release`.

mod doubt;
mod json;
mod permits;
mod reading;

use doubt::FORGOTTEN;
use json::left_json;
pub(crate) use permits::{PermitsView, of_so_many};

use reading::{key_view, of_stranger, read_for};

use crate::{
    columns,
    duration::Shown,
    exit_code,
    failure::Failure,
    judgement::Judgement,
    moment::Moment,
    readers::Readers,
    whose::{Signer, Whose},
};
use leasehold::{Inspection, Owner};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// A lock, by the word of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockView {
    pub(crate) resource: String,
    pub(crate) quorum: usize,
    pub(crate) state: State,
    pub(crate) keys: Vec<(String, KeyView)>,
    /// Why nodes do not vote that answer, where that is known here.
    pub(crate) refusals: BTreeMap<String, String>,
    /// The nodes that have no key and may have forgotten one, where that makes a difference.
    pub(crate) forgetful: BTreeSet<String>,
}

/// What a quorum says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Held(Signature),
    /// Permits of it are taken.
    Permits(PermitsView),
    Free,
    /// Something of this type stands there that is no lock.
    OtherType(String),
    /// Nobody holds it, and nobody can have it: why, and how many nodes vote.
    Unusable {
        judgement: Judgement,
        count: String,
    },
    /// Neither: too few nodes answer, or they do not agree.
    Unclear,
}

/// What one node says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyView {
    Nothing,
    Lock(Signature),
    /// Permits that are taken, by their slots.
    Permits(Vec<(u16, Signature)>),
    /// A key that is no lock: of which type, if that is told.
    Other(Option<String>),
    /// It does not say, for this reason.
    Silent(String),
    /// It is a server that has said it under another address.
    Twin,
}

/// Who signed, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Only to tell one from another.
    pub(crate) value: Vec<u8>,
    pub(crate) holder: Signer,
    /// None if for ever.
    pub(crate) left: Option<Duration>,
}

impl KeyView {
    fn is_there(&self) -> bool {
        matches!(self, Self::Lock(_) | Self::Permits(_) | Self::Other(_))
    }

    /// Whether it is signed so.
    pub(crate) fn is_signed(&self, value: &[u8]) -> bool {
        self.signatures().any(|signed| signed.value == value)
    }

    /// Everybody who has signed it.
    fn signatures(&self) -> impl Iterator<Item = &Signature> {
        let (one, permits) = match self {
            Self::Lock(lock) => (Some(lock), None),
            Self::Permits(permits) => (None, Some(permits)),
            _ => (None, None),
        };
        let permits = permits.into_iter().flatten().map(|(_, signed)| signed);
        one.into_iter().chain(permits)
    }
}

impl Signature {
    pub(crate) fn new(owner: &[u8], left: Option<Duration>, whose: Whose) -> Self {
        Self {
            value: owner.to_vec(),
            holder: Signer::of(owner, whose),
            left,
        }
    }

    /// A lock that readers share; `left` is the time until the last share ends.
    fn of_readers(left: Duration) -> Self {
        Self {
            value: Vec::new(),
            holder: Signer::Readers {
                processes: Vec::new(),
            },
            left: Some(left),
        }
    }

    /// The owner, as it may be shown.
    pub(crate) fn owner(&self) -> Option<String> {
        match &self.holder {
            Signer::Peer { beginning } => Some(beginning.clone()),
            Signer::Readers { .. } => None,
            signer => signer
                .is_shown()
                .then(|| self.value.escape_ascii().to_string()),
        }
    }

    /// Whether it is nobody's alone.
    pub(crate) const fn is_of_readers(&self) -> bool {
        matches!(self.holder, Signer::Readers { .. })
    }

    /// Whether it is the mark of work that is done, and nobody's lease.
    pub(crate) fn is_done(&self) -> bool {
        let owner = Owner::from_bytes(&self.value);
        owner.is_some_and(|owner| owner.done_until().is_some())
    }

    /// `held by pid 4711 on db1`, or why it is kept if nobody holds it.
    pub(crate) fn how(&self) -> String {
        match self.is_done() {
            true => self.who(),
            false => format!("held by {}", self.holder),
        }
    }

    /// The holder, for a column of holders.
    pub(crate) fn who(&self) -> String {
        match self.is_done() {
            true => format!("kept, since its work was done by {}", self.holder),
            false => self.holder.to_string(),
        }
    }

    /// Whether it is a lock, as far as anybody may be told.
    pub(crate) fn is_shown(&self) -> bool {
        self.holder.is_shown()
    }
}

impl LockView {
    pub(crate) fn of(seen: &Inspection, whose: Whose) -> Self {
        let keys = seen.nodes().iter().map(|node| key_view(node, whose));
        let keys: Vec<_> = keys.collect();
        let sign = |owner: &[u8], left| State::Held(Signature::new(owner, left, whose));
        let state = match (seen.holder(), seen.other_type()) {
            (Some(holder), _) => sign(holder.as_bytes(), seen.remaining()),
            (None, Some(kind)) => State::OtherType(kind.to_owned()),
            (None, None) if seen.is_free() => State::Free,
            (None, None) if seen.is_read() => State::Held(Signature::of_readers(read_for(seen))),
            (None, None) => match (seen.permits(), of_stranger(seen)) {
                (Some(permits), _) if !permits.held.is_empty() => {
                    State::Permits(PermitsView::new(&permits, whose))
                }
                (_, Some((holder, left))) => sign(holder.as_bytes(), left),
                (_, None) => State::Unclear,
            },
        };
        Self {
            resource: seen.resource().as_str().to_owned(),
            quorum: seen.quorum(),
            state,
            keys,
            refusals: BTreeMap::new(),
            forgetful: BTreeSet::new(),
        }
    }

    /// Shows readers where one of them stood for all.
    pub(crate) fn be_read_by(&mut self, readers: &Readers) {
        let signature = Signature {
            value: Vec::new(),
            holder: readers.signer.clone(),
            left: Some(readers.left),
        };
        for (_, key) in &mut self.keys {
            if let KeyView::Lock(_) = key {
                *key = KeyView::Lock(signature.clone());
            }
        }
        self.state = State::Held(signature);
    }

    /// Everybody who has a lock on some node but does not hold it.
    pub(crate) fn left_over(&self) -> Vec<&Signature> {
        let holds = |other: &Signature| match &self.state {
            State::Held(holder) => holder.value == other.value,
            State::Permits(permits) => permits.has(&other.value),
            _ => false,
        };
        let mut found: Vec<&Signature> = Vec::new();
        for other in self.keys.iter().flat_map(|(_, key)| key.signatures()) {
            if other.is_shown()
                && !holds(other)
                && found.iter().all(|known| known.value != other.value)
            {
                found.push(other);
            }
        }
        found
    }

    /// What this owner has on some node, if it may be shown.
    pub(crate) fn signature_of(&self, value: &[u8]) -> Option<&Signature> {
        let mut all = self.keys.iter().flat_map(|(_, key)| key.signatures());
        all.find(|signed| signed.is_shown() && signed.value == value)
    }

    /// Whether there is a lock to be shown.
    pub(crate) fn is_shown(&self) -> bool {
        let is_held = match &self.state {
            State::Held(held) => held.is_shown(),
            State::Permits(_) => true,
            _ => false,
        };
        is_held || !self.left_over().is_empty()
    }

    /// Who has some keys but is not known to hold the lock, and what that means.
    pub(crate) fn apart(&self, signed: &Signature) -> String {
        match self.may_hold(signed) {
            true => format!("{}, which may hold it or not", signed.who()),
            false => format!("{}, left over or under way", signed.who()),
        }
    }

    /// On how many nodes it is signed so.
    pub(crate) fn count(&self, signed: &Signature) -> usize {
        let is_theirs = |key: &KeyView| key.is_signed(&signed.value);
        self.keys.iter().filter(|(_, key)| is_theirs(key)).count()
    }

    /// How many nodes have any of these permits.
    pub(crate) fn having(&self, permits: &PermitsView) -> usize {
        let has = |(_, key): &&(String, KeyView)| permits.is_on(key);
        self.keys.iter().filter(has).count()
    }

    pub(crate) fn code(&self) -> u8 {
        match self.state {
            State::Free => exit_code::SUCCESS,
            State::Held(_) | State::Permits(_) => exit_code::HELD,
            State::Unusable { judgement, .. } => judgement.code(),
            State::OtherType(_) => exit_code::USAGE,
            State::Unclear => exit_code::NO_QUORUM,
        }
    }

    /// In full, as `status` shows it. `now` is the time since 1970; leases last for `longest` at most.
    pub(crate) fn text(&self, now: Duration, longest: Duration) -> String {
        let name = &self.resource;
        let mut lines = Vec::new();
        match &self.state {
            State::Free => lines.push(format!("{name:?} is free")),
            State::Unclear => lines.push(self.doubt()),
            State::OtherType(kind) => lines.push(other(name, kind)),
            State::Unusable { judgement, count } => lines.push(self.unusable(*judgement, count)),
            State::Permits(permits) => {
                lines.push(format!("{name:?}: {}", permits.sentence()));
                lines.push(String::new());
                lines.extend(permits.lines(now).iter().map(|line| format!("  {line}")));
            }
            State::Held(held) => {
                lines.push(format!("{name:?} is {}", held.how()));
                if let Some(since) = held.holder.since() {
                    lines.push(format!("  since  {}, {}", Moment(since), ago(now, since)));
                }
                let left = match held.left {
                    None => "for ever".to_owned(),
                    Some(left) if held.is_done() => {
                        format!("{}, until the next period", Shown(left))
                    }
                    // No lease of ours is so long: only the release of a lock with --min-hold leaves such a key.
                    Some(left) if left > longest && held.holder.since().is_some() => {
                        format!(
                            "{}, kept by --min-hold: the process may have ended",
                            Shown(left)
                        )
                    }
                    Some(left) => format!("{}, unless extended", Shown(left)),
                };
                lines.push(format!("  left   {left}"));
                lines.extend(held.owner().map(|owner| format!("  owner  {owner}")));
            }
        }
        lines.push(String::new());
        let mut head = row(["NODE", "KEY", "LEFT"]);
        head.truncate(self.columns());
        let mut rows = vec![head];
        rows.extend(self.keys.iter().map(|(node, key)| self.full_row(node, key)));
        lines.extend(
            columns::lines(&rows)
                .into_iter()
                .map(|line| format!("  {line}")),
        );
        lines.join("\n")
    }

    /// Whether it is not told only because servers are listed more than once: nobody holds it then, since all nodes that
    /// are silent, together with those that have the same lock, are no quorum.
    pub(crate) fn is_unheld_by_twins(&self) -> bool {
        let locks = self.keys.iter().map(|(_, key)| match key {
            KeyView::Lock(lock) => self.count(lock),
            KeyView::Permits(_) | KeyView::Other(_) => self.keys.len(),
            KeyView::Nothing | KeyView::Silent(_) | KeyView::Twin => 0,
        });
        let most = locks.max().unwrap_or_default() + self.silent();
        self.state == State::Unclear && self.twins() > 0 && most < self.quorum
    }

    pub(crate) fn silent(&self) -> usize {
        let is_silent = |key: &KeyView| matches!(key, KeyView::Silent(_));
        self.keys.iter().filter(|(_, key)| is_silent(key)).count()
    }

    fn twins(&self) -> usize {
        let twins = self.keys.iter().filter(|(_, key)| *key == KeyView::Twin);
        twins.count()
    }

    /// Why nobody can have it, although nodes have no key of it: they may have forgotten who holds it.
    pub(crate) fn unusable(&self, judgement: Judgement, count: &str) -> String {
        let (name, nodes) = (&self.resource, self.keys.len());
        let has_key = |(_, key): &(String, KeyView)| key.is_there();
        let found = match self.keys.iter().any(has_key) {
            true => format!("no quorum of nodes has a key of {name:?}"),
            false => format!("no key of {name:?} was found"),
        };
        format!("{found}; {}: {count}", judgement.sentence(nodes))
    }

    /// What is left to each of the permits is told above the nodes.
    const fn columns(&self) -> usize {
        match self.state {
            State::Permits(_) => 2,
            _ => 3,
        }
    }

    /// What a node has, and why it does not vote.
    fn full_row(&self, node: &str, key: &KeyView) -> Vec<String> {
        let why = self.refusals.get(node);
        let Some(why) = why.map(|why| format!("does not vote: {why}")) else {
            return self.row(node, key);
        };
        if let KeyView::Silent(_) = key {
            return row([node, &why]);
        }
        let mut cells = self.row(node, key);
        cells.resize(self.columns(), String::new());
        cells.push(why);
        cells
    }

    fn row(&self, node: &str, key: &KeyView) -> Vec<String> {
        let holder = match &self.state {
            State::Held(held) => Some(&held.value),
            _ => None,
        };
        match key {
            KeyView::Nothing if self.forgetful.contains(node) => {
                row([node, &format!("none, {FORGOTTEN}")])
            }
            KeyView::Nothing => row([node, "none"]),
            KeyView::Other(None) => row([node, "a key that is no lock"]),
            KeyView::Other(Some(kind)) => row([node, &format!("{}, not a lock", named(kind))]),
            KeyView::Silent(why) if why.starts_with("no answer") => row([node, why]),
            KeyView::Silent(why) => row([node, &format!("cannot be read: {why}")]),
            KeyView::Twin => row([node, &format!("not counted: {TWIN}")]),
            KeyView::Permits(permits) => row([node, &permits::of_node(self, permits)]),
            KeyView::Lock(lock) => {
                let whose = match holder {
                    Some(_) if lock.is_of_readers() => "the readers'".to_owned(),
                    Some(owner) if *owner == lock.value => "the holder's".to_owned(),
                    _ if !lock.is_shown() => "another program's".to_owned(),
                    _ if self.may_hold(lock) => format!("of {}", lock.holder),
                    _ => format!("left over or under way, of {}", lock.holder),
                };
                row([node, &whose, &shown_left(lock.left)])
            }
        }
    }
}

fn ago(now: Duration, then: Duration) -> String {
    match now.saturating_sub(then).as_secs() {
        0 => "just now".to_owned(),
        seconds => format!("{} ago", Shown(Duration::from_secs(seconds))),
    }
}

pub(crate) fn shown_left(left: Option<Duration>) -> String {
    left.map_or_else(|| "for ever".to_owned(), |left| Shown(left).to_string())
}

/// A row of text, for [`columns`].
pub(crate) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// The end of a command that wants a lock under a name where something else stands.
pub(crate) fn no_lock(resource: &str, kind: &str) -> Failure {
    let hint = "it belongs to another program: choose another name for the lock";
    Failure::new(exit_code::USAGE, other(resource, kind)).hint(hint.to_owned())
}

/// Says what stands under a name instead of a lock.
fn other(resource: &str, kind: &str) -> String {
    format!("{resource:?} is {}, not a lock", named(kind))
}

/// A type of Redis, for people.
fn named(kind: &str) -> String {
    match kind {
        "string" => "a text".to_owned(),
        "zset" => "a sorted set".to_owned(),
        kind => format!("a {kind}"),
    }
}

/// Why a node is not counted.
const TWIN: &str = "the same server as another address of the list";
