//! Which servers stand behind the nodes that granted one request.

use crate::{few::Few, node_set::NodeId};

/// A server as far as it can be told from others: the fingerprint of its identity. In bytes, so that it needs no room
/// beside a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServerId([u8; 8]);

impl ServerId {
    pub(crate) const fn new(fingerprint: u64) -> Self {
        Self(fingerprint.to_le_bytes())
    }
}

/// The servers that have granted one request, each with the node by which it was asked first.
///
/// An identity counts as of the moment of the grant: it does not matter in which order connections come up, nor which of
/// them are lost meanwhile.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Servers(Few<(NodeId, ServerId)>);

impl Servers {
    /// None yet.
    pub(crate) const NONE: Self = Self(Few::NONE);

    /// Forgets them all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether a grant of this node counts: not if its server has granted the same request as another node. A server that
    /// is not known is taken for one of its own.
    pub(crate) fn admit(&mut self, node: NodeId, server: Option<ServerId>) -> bool {
        let Some(server) = server else {
            return true;
        };
        // Argument S7: servers are counted, not addresses.
        let mut known = self.0.as_slice().iter();
        match known.find(|(_, other)| *other == server) {
            Some((first, _)) => *first == node,
            None => {
                self.0.push((node, server));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_admitted_once_whichever_of_its_addresses_is_heard_first() {
        let [a, b, c] = [0, 1, 2].map(|index| NodeId::new(index).expect("below 32"));
        let (one, two) = (ServerId::new(1), ServerId::new(2));
        for [first, second] in [[a, b], [b, a]] {
            let mut servers = Servers::NONE;
            assert!(servers.admit(first, Some(one)));
            assert!(!servers.admit(second, Some(one)));
            assert!(servers.admit(first, Some(one)), "the same answer again");
            assert!(servers.admit(c, Some(two)));
        }
        let mut servers = Servers::NONE;
        assert!(servers.admit(a, None) && servers.admit(b, None));
    }
}
