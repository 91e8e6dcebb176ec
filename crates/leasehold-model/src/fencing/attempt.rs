//! One attempt: what its client knows.

use super::{shape::Way, site::Answer};
use leasehold_core::{
    FencingToken, NodeId, NodeSet, Quorum,
    fence::{Grants, Settling},
};
use std::hash::{Hash, Hasher};

/// How far an attempt has come.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Attempt {
    /// It has not begun.
    Waiting,
    /// All nodes were asked; no quorum has granted that the client knows of.
    Voting {
        begun: Begun,
        grants: Grants,
        turns: Turns,
    },
    /// A quorum has granted, and has to agree on the token.
    Settling(Agreeing),
    /// It has its token, and hears no more.
    Decided(Decided),
}

/// What was so when it began.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Begun {
    pub(crate) proposal: FencingToken,
    /// The largest token that others had.
    pub(crate) after: Option<FencingToken>,
}

/// The second round.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Agreeing {
    begun: Begun,
    pub(crate) settling: Settling,
    turns: Turns,
    raised: bool,
    late: bool,
}

/// An attempt with its token.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Decided {
    pub(crate) begun: Begun,
    pub(crate) token: FencingToken,
    pub(crate) standing: NodeSet,
    turns: Turns,
    /// Whether a node that was raised stands for it.
    pub(crate) raised: bool,
    /// Whether a node stands for it that granted late.
    pub(crate) late: bool,
}

/// Node by node, which of its turns with the key it was in which the attempt came to stand on it. No client
/// knows it: it is what the tokens are compared with.
type Turns = [u8; MOST_NODES];

/// How many nodes a shape has at most.
pub(crate) const MOST_NODES: usize = 5;

impl Attempt {
    /// Begins: all nodes are asked.
    pub(crate) fn begin(proposal: FencingToken, after: Option<FencingToken>) -> Self {
        Self::Voting {
            begun: Begun { proposal, after },
            grants: Grants::new(),
            turns: [0; MOST_NODES],
        }
    }

    /// What was so when it began, if it has begun.
    pub(crate) const fn begun(&self) -> Option<&Begun> {
        match self {
            Self::Waiting => None,
            Self::Voting { begun, .. } => Some(begun),
            Self::Settling(agreeing) => Some(&agreeing.begun),
            Self::Decided(decided) => Some(&decided.begun),
        }
    }

    /// Hears that a node has granted.
    pub(crate) fn hear_grant(&mut self, way: Way, quorum: Quorum, node: NodeId, answer: Answer) {
        match self {
            Self::Voting {
                begun,
                grants,
                turns,
            } => {
                // The vote counts a node's first answer only.
                if grants.iter().any(|(known, _)| *known == node) {
                    return;
                }
                grants.push((node, answer.counter));
                turns[node.index()] = answer.turn;
                let told = way.taken_for(quorum, begun.proposal, grants);
                if told.len() >= quorum.needed() {
                    let settling = Settling::new(quorum, &told).expect("there are grants");
                    *self = Self::Settling(Agreeing {
                        begun: *begun,
                        settling,
                        turns: *turns,
                        raised: false,
                        late: false,
                    });
                }
            }
            Self::Settling(agreeing) => {
                let stood = agreeing.settling.confirmed();
                agreeing.settling.granted(node, answer.counter);
                agreeing.late |= agreeing.stands_now(stood, node, answer);
            }
            Self::Waiting | Self::Decided(_) => {}
        }
        self.decide();
    }

    /// Hears that a node has raised its counter.
    pub(crate) fn hear_raise(&mut self, node: NodeId, answer: Answer) {
        if let Self::Settling(agreeing) = self {
            let stood = agreeing.settling.confirmed();
            agreeing.settling.raised(node);
            agreeing.raised |= agreeing.stands_now(stood, node, answer);
            self.decide();
        }
    }

    fn decide(&mut self) {
        if let Self::Settling(agreeing) = self
            && let Some(token) = agreeing.settling.settled()
        {
            *self = Self::Decided(Decided {
                begun: agreeing.begun,
                token,
                standing: agreeing.settling.confirmed(),
                turns: agreeing.turns,
                raised: agreeing.raised,
                late: agreeing.late,
            });
        }
    }

    /// What it knows of one node, for whoever does not want to know which node that is.
    pub(crate) fn hash_of_node(&self, node: NodeId, state: &mut impl Hasher) {
        let standing = |stands: bool, turns: &Turns| stands.then(|| turns[node.index()]);
        match self {
            Self::Waiting => {}
            Self::Voting { grants, turns, .. } => {
                let grant = grants.iter().find(|(known, _)| *known == node);
                let told = grant.map(|(_, counter)| (counter, turns[node.index()]));
                told.hash(state);
            }
            Self::Settling(agreeing) => {
                let settling = &agreeing.settling;
                standing(settling.confirmed().contains(node), &agreeing.turns).hash(state);
                settling.below().contains(node).hash(state);
            }
            Self::Decided(decided) => {
                standing(decided.standing.contains(node), &decided.turns).hash(state);
            }
        }
    }

    /// What it knows besides.
    pub(crate) fn hash_of_rest(&self, state: &mut impl Hasher) {
        std::mem::discriminant(self).hash(state);
        self.begun().hash(state);
        match self {
            Self::Waiting | Self::Voting { .. } => {}
            Self::Settling(agreeing) => {
                agreeing.settling.token().hash(state);
                (agreeing.raised, agreeing.late).hash(state);
            }
            Self::Decided(decided) => {
                decided.token.hash(state);
                (decided.raised, decided.late).hash(state);
            }
        }
    }
}

impl Agreeing {
    /// Whether the node's answer has let it stand for the token, for which others `stood` before.
    fn stands_now(&mut self, stood: NodeSet, node: NodeId, answer: Answer) -> bool {
        let is_new = !stood.contains(node) && self.settling.confirmed().contains(node);
        if is_new {
            self.turns[node.index()] = answer.turn;
        }
        is_new
    }
}

impl Decided {
    /// A node that both stand on, and on which the order of the key is not that of the tokens.
    pub(crate) fn disagrees_on(&self, other: &Self) -> Option<NodeId> {
        let mut common = self.standing.intersection(other.standing).iter();
        common.find(|node| {
            let (own, others) = (self.turns[node.index()], other.turns[node.index()]);
            own.cmp(&others) != self.token.cmp(&other.token)
        })
    }
}
