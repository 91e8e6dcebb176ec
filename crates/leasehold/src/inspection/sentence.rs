//! What the nodes say about a lock, as a sentence.

use super::{Inspection, Key, NodeKey};
use crate::{error::Span, holder::Holder};
use std::{fmt, time::Duration};

/// `lock "orders/42": held by pid 4711 on app1 on 2 of 3 nodes (quorum 2)`, and what the other nodes say.
impl fmt::Display for Inspection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "lock {:?}: ", self.resource.as_str())?;
        let (needed, nodes) = (self.quorum.needed(), self.nodes.len());
        let (agree, others): (_, Vec<_>) = match self.holder() {
            Some(holder) => {
                write!(out, "held by {}", Holder::of(holder))?;
                let agree = self.count(|key| key.holder() == Some(holder));
                (agree, self.differing().collect())
            }
            None if self.is_free() => {
                out.write_str("free")?;
                let agree = self.count(|key| *key == Key::Free);
                (agree, self.differing().collect())
            }
            None if self.is_read() => {
                out.write_str("read")?;
                let is_read = |key: &Key| matches!(key, Key::Read { .. });
                let others = self.nodes.iter().filter(|node| !is_read(&node.key));
                (self.count(is_read), others.collect())
            }
            None => match self.permits() {
                Some(permits) => {
                    permits.fmt(out)?;
                    let has_none = |node: &&NodeKey| node.key.permits().is_none();
                    let others = self.nodes.iter().filter(has_none);
                    (self.count(|key| key.permits().is_some()), others.collect())
                }
                None => {
                    write!(out, "no quorum ({needed} of {nodes} nodes) says the same")?;
                    return list(out, self.nodes.iter());
                }
            },
        };
        write!(out, " on {agree} of {nodes} nodes (quorum {needed})")?;
        list(out, others)
    }
}

fn list<'a>(
    out: &mut fmt::Formatter<'_>,
    nodes: impl IntoIterator<Item = &'a NodeKey>,
) -> fmt::Result {
    nodes
        .into_iter()
        .try_for_each(|node| write!(out, "; {node}"))
}

/// `db1:6379: free`.
impl fmt::Display for NodeKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            // It names the node.
            Key::Unknown(fault) => fault.fmt(out),
            key => write!(out, "{}: {key}", self.node),
        }
    }
}

/// `free`, `held by pid 4711 on app1 (for at most 8.2 s unless extended)`.
impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => out.write_str("free"),
            Self::Held { holder, remaining } => {
                write!(
                    out,
                    "held by {}{}",
                    Holder::of(holder),
                    Remaining(*remaining)
                )
            }
            Self::Read { remaining } => write!(out, "read{}", Remaining(Some(*remaining))),
            Self::Permits(permits) => {
                permits.fmt(out)?;
                permits.first_end().map_or(Ok(()), |left| {
                    let left = Span(left);
                    write!(
                        out,
                        " (the first of them for at most {left} unless extended)"
                    )
                })
            }
            Self::Foreign {
                redisson: Some(holder),
                remaining,
                ..
            } => write!(out, "held by {holder} of Redisson{}", Remaining(*remaining)),
            Self::Foreign {
                kind: Some(kind), ..
            } => write!(out, "a key that is no lock, of the type {kind}"),
            // Those who read or have permits have an end, and a node tells no more of them.
            Self::Foreign {
                remaining: Some(_), ..
            } => out.write_str("read, or permits are taken, or a key that is no lock"),
            Self::Foreign { .. } => out.write_str("a key that is no lock"),
            Self::Unknown(fault) => write!(out, "unknown: {fault}"),
        }
    }
}

/// How long a key lives.
struct Remaining(Option<Duration>);

impl fmt::Display for Remaining {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(left) => write!(out, " (for at most {} unless extended)", Span(left)),
            None => out.write_str(" (for ever)"),
        }
    }
}
