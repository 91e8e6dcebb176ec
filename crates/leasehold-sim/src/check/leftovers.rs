//! No key outlives its TTL, and none that could be taken back is left.

use super::{Property, Violation};
use crate::{node::Node, time::Moment};
use leasehold_core::{Owner, Request, Resource, Vote, table::Key};
use std::{borrow::Borrow, collections::BTreeMap, time::Duration};

/// What stood on a node before a request.
#[derive(Debug)]
pub(crate) struct Before {
    key: Option<Key>,
    /// All that has shares and permits of its name, if it is about one.
    parts: Vec<Key>,
}

impl Before {
    pub(crate) fn of(now: Moment, node: &Node, request: &Request) -> Self {
        Self {
            key: node.key_for(now, request),
            parts: parts(now, node, request),
        }
    }

    /// Whether a granted request of a call has left what it should, and nothing is otherwise that is none of the call's.
    pub(crate) fn is_kept(
        &self,
        now: Moment,
        node: &Node,
        request: &Request,
        call: &[Request],
    ) -> Result<(), Violation> {
        after_grant(now, node, self.key.as_ref(), request)?;
        let after = parts(now, node, request);
        if others(&after, call).eq(others(&self.parts, call)) {
            return Ok(());
        }
        Err(violation(format!(
            "a part of its own has changed others: {:?} were {:?}",
            after, self.parts
        )))
    }
}

/// The shares and permits of the name, if the request is about one.
fn parts(now: Moment, node: &Node, request: &Request) -> Vec<Key> {
    match request.resource().is_part() {
        true => node.keys(now, &request.resource().whole()),
        false => Vec::new(),
    }
}

/// Those that no request of the call is about.
fn others<'a>(parts: &'a [Key], call: &'a [Request]) -> impl Iterator<Item = &'a Key> {
    let is_about = |request: &Request, owner: &Owner| {
        let is_from = matches!(request, Request::Transfer { from, .. } if from == owner);
        is_from || request.owner() == Some(owner)
    };
    let is_other = move |key: &&Key| !call.iter().any(|request| is_about(request, &key.owner));
    parts.iter().filter(is_other)
}

/// What a granted request has left on the node: a key that is its owner's, for its TTL at most. `before`
/// is the key that stood there.
pub(crate) fn after_grant(
    now: Moment,
    node: &Node,
    before: Option<&Key>,
    request: &Request,
) -> Result<(), Violation> {
    are_beside(now, node, &request.resource().whole())?;
    let key = node.key_for(now, request);
    let ttl = match request {
        Request::Release { keep: None, .. } if key.is_some() => {
            return Err(violation("a released key is still there".to_owned()));
        }
        Request::Release { keep: None, .. }
        | Request::Raise { .. }
        | Request::Inspect { .. }
        | Request::Leave { .. } => return Ok(()),
        Request::Release {
            keep: Some(ttl), ..
        }
        | Request::Acquire { ttl, .. }
        | Request::Repair { ttl, .. }
        | Request::Transfer { ttl, .. }
        | Request::Extend { ttl, .. } => ttl.as_duration(),
    };
    let ours = key.filter(|key| Some(&key.owner) == request.owner());
    let Some(key) = ours else {
        return Err(violation("a granted key is not there".to_owned()));
    };
    let left = key.expires_at.saturating_since(node.time(now));
    let is_wrong = match (request, before) {
        // A vote that finds its own key changes nothing, whatever the clock did meanwhile.
        (
            Request::Acquire { .. } | Request::Repair { .. } | Request::Transfer { .. },
            Some(before),
        ) if Some(&before.owner) == request.owner() => match request.resource().is_several() {
            // Of several names, those that are there live on as those do that are set again.
            true => before.expires_at > key.expires_at || left < ttl,
            false => *before != key,
        },
        (Request::Extend { owner, .. }, before)
            if before.is_none_or(|before| before.owner != *owner) =>
        {
            return Err(violation("an extension has revived a key".to_owned()));
        }
        (Request::Extend { .. }, Some(before)) if before.expires_at > key.expires_at => {
            return Err(violation("an extension has shortened a key".to_owned()));
        }
        // An extension takes nothing away.
        (Request::Extend { .. }, Some(before)) if before.expires_at == key.expires_at => left < ttl,
        _ => left != ttl,
    };
    if is_wrong {
        let what = format!("a key lives for {left:?}, its TTL is {ttl:?}");
        return Err(violation(what));
    }
    Ok(())
}

/// Whether all who have keys of the name may have them beside each other.
fn are_beside(now: Moment, node: &Node, name: &Resource) -> Result<(), Violation> {
    if name.is_several() || !node.is_torn(now, name) {
        return Ok(());
    }
    let what = format!("{name} has keys that exclude each other");
    Err(violation(what))
}

/// A release was reported as done: a quorum must be free of the key. What a node that
/// died since then will remember does not count.
pub(crate) fn after_release(
    now: Moment,
    nodes: &[impl Borrow<Node>],
    needed: usize,
    resource: &Resource,
    owner: &Owner,
) -> Result<(), Violation> {
    let nodes: Vec<&Node> = nodes.iter().map(Borrow::borrow).collect();
    let is_ours = |node: &Node, name: &Resource| node.key_of(now, name, owner).is_some();
    let carries = |node: &&&Node| {
        let mut names = resource.each();
        node.is_up
            && match resource.is_part() {
                true => is_ours(node, resource),
                false => names.any(|name| is_ours(node, &name)),
            }
    };
    let free = nodes.len() - nodes.iter().filter(carries).count();
    if free >= needed {
        return Ok(());
    }
    Err(violation(format!(
        "{resource} is told to be released, but {free} nodes are free of it, not {needed}"
    )))
}

/// The releases that a node was asked for and did not carry out: of each owner, when it first was, and when it last was.
#[derive(Clone, Debug, Default)]
pub(crate) struct InVain(BTreeMap<Owner, (Moment, Moment)>);

impl InVain {
    pub(crate) fn add(&mut self, now: Moment, owner: &Owner) {
        let (_, last) = self.0.entry(owner.clone()).or_insert((now, now));
        *last = now;
    }

    /// Until when this owner may wait before it asks again. Its first pause is the nodes' time limit and each one is
    /// twice the one before, so the next is as long as all of them together, and that limit once more. Clocks drift and
    /// answers travel: it may be a little later.
    pub(crate) fn asks_until(&self, owner: &Owner, node_limit: Duration) -> Moment {
        let Some((first, last)) = self.0.get(owner) else {
            return Moment::START;
        };
        let asked = last.since_ns(*first);
        let limit = u64::try_from(node_limit.as_nanos()).expect("less than a second");
        last.after(asked + asked / 50 + 2 * limit)
    }
}

/// A key that stands on a node that its owner, who has let go of everything, could have reached.
pub(crate) fn left(node: usize, resource: &Resource, remaining: Duration) -> Violation {
    violation(format!(
        "a key of {resource} is left on n{node} for another {remaining:?}, though its owner has let go"
    ))
}

/// Whether a vote is one that leaves a key or takes it away.
pub(crate) fn acts(vote: &Vote) -> bool {
    vote.is_granted()
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Leftovers,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{node::broken::Sharing, rng::Rng, time::SECOND};
    use leasehold_core::Ttl;

    fn resource() -> Resource {
        Resource::new("r").expect("a name")
    }

    fn owner(name: &[u8]) -> Owner {
        Owner::from_bytes(name).expect("a few bytes")
    }

    fn acquire(name: &[u8], ttl: u64) -> Request {
        Request::Acquire {
            resource: resource(),
            owner: owner(name),
            ttl: Ttl::new(Duration::from_secs(ttl)).expect("in range"),
            proposal: None,
            place: None,
        }
    }

    fn node() -> Node {
        Node::new(&mut Rng::new(1), 0)
    }

    #[test]
    fn a_key_that_lives_longer_than_its_ttl_is_found() {
        let (now, mut node) = (Moment::from_ns(SECOND), node());
        node.execute(now, &acquire(b"a", 5));
        assert_eq!(after_grant(now, &node, None, &acquire(b"a", 5)), Ok(()));
        assert!(after_grant(now, &node, None, &acquire(b"a", 4)).is_err());
        assert!(after_grant(now, &node, None, &acquire(b"b", 5)).is_err());
        // Said to be there before, and to live on by the repetition.
        let key = node.key(now, &resource());
        let later = now.after(SECOND);
        node.execute(
            later,
            &Request::Release {
                resource: resource(),
                owner: owner(b"a"),
                keep: None,
            },
        );
        node.execute(later, &acquire(b"a", 5));
        assert!(after_grant(later, &node, key.as_ref(), &acquire(b"a", 5)).is_err());
    }

    #[test]
    fn an_owner_that_was_refused_four_times_may_wait_as_long_again_and_no_other() {
        let (mut in_vain, limit) = (InVain::default(), Duration::from_millis(250));
        let at = |ms: u64| Moment::from_ns(ms * SECOND / 1_000);
        for ms in [12_000, 12_250, 12_750, 13_750] {
            in_vain.add(at(ms), &owner(b"a"));
        }
        let until = in_vain.asks_until(&owner(b"a"), limit);
        assert!(at(15_750) < until && until < at(16_050), "{until:?}");
        assert_eq!(in_vain.asks_until(&owner(b"b"), limit), Moment::START);
    }

    #[test]
    fn a_release_that_leaves_a_quorum_of_keys_is_found() {
        let now = Moment::from_ns(SECOND);
        let mut nodes = [node(), node(), node()];
        let free = |nodes: &[Node]| after_release(now, nodes, 2, &resource(), &owner(b"a"));
        nodes[0].execute(now, &acquire(b"a", 5));
        assert_eq!(free(&nodes), Ok(()));
        nodes[1].execute(now, &acquire(b"a", 5));
        assert!(free(&nodes).is_err());
    }

    #[test]
    fn a_share_that_changes_others_is_found() {
        let (now, mut node) = (Moment::from_ns(SECOND), node());
        node.sharing = Sharing::Together;
        let reads = |name: &[u8]| Request::Acquire {
            resource: Resource::shared("r").expect("a name"),
            owner: owner(name),
            ttl: Ttl::DEFAULT,
            proposal: None,
            place: None,
        };
        let mut does = |call: &[Request]| {
            let before = Before::of(now, &node, &call[0]);
            assert!(call.iter().all(|it| node.execute(now, it).is_granted()));
            before.is_kept(now, &node, &call[0], call)
        };
        assert_eq!(does(&[reads(b"a")]), Ok(()));
        assert_eq!(does(&[reads(b"b")]), Ok(()));
        assert_eq!(does(&[reads(b"c"), reads(b"d")]), Ok(()));
        let release = Request::Release {
            resource: Resource::shared("r").expect("a name"),
            owner: owner(b"a"),
            keep: None,
        };
        assert!(does(&[release]).is_err());
    }

    fn extend(name: &[u8], ttl: u64) -> Request {
        Request::Extend {
            resource: resource(),
            owner: owner(name),
            ttl: Ttl::new(Duration::from_secs(ttl)).expect("in range"),
        }
    }

    #[test]
    fn an_extension_that_revives_or_shortens_is_found() {
        let (now, mut node) = (Moment::from_ns(SECOND), node());
        node.execute(now, &acquire(b"b", 9));
        let another = node.key(now, &resource());
        node = self::node();
        node.execute(now, &acquire(b"a", 5));
        let key = node.key(now, &resource());
        let after = |before: Option<&Key>| after_grant(now, &node, before, &extend(b"a", 5));
        assert_eq!(after(key.as_ref()), Ok(()));
        assert!(after(None).is_err(), "there was none");
        assert!(after(another.as_ref()).is_err(), "it was another's");
        let longer = key.map(|key| Key {
            expires_at: key.expires_at.saturating_add(Duration::from_secs(4)),
            ..key
        });
        assert!(after(longer.as_ref()).is_err(), "it lived longer");
    }
}
