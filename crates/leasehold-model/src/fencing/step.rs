//! What can happen next.

use super::{
    attempt::Attempt,
    shape::{Shape, Way},
    site::Message,
    world::World,
};
use leasehold_core::FencingToken;

/// One thing that happens. The checker tries all that can, in every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An attempt begins, and asks all nodes.
    Begin(usize, FencingToken),
    /// A node carries out a request.
    CarryOut(usize, usize, Message),
    /// An attempt hears a node's answer.
    Hear(usize, usize, Message),
    /// The key on a node is gone.
    Vanish(usize),
    /// A node loses its key and its counter.
    Forget(usize),
}

impl Step {
    /// The steps that are possible in `world`.
    pub(crate) fn all(shape: &Shape, world: &World, steps: &mut Vec<Self>) {
        if world.flaw.is_some() {
            return;
        }
        for number in 0..shape.attempts {
            match world.attempt(number) {
                Attempt::Waiting => {
                    // Those that have not begun are alike: the first of them is the next.
                    begin(shape, number, steps);
                    break;
                }
                attempt => {
                    for node in 0..shape.nodes {
                        of_attempt(world, number, attempt, node, steps);
                    }
                }
            }
        }
        for node in 0..shape.nodes {
            if world.left.vanishings > 0 && world.site(node).holder().is_some() {
                steps.push(Self::Vanish(node));
            }
            if world.left.losses > 0 && world.site(node).counter().is_some() {
                steps.push(Self::Forget(node));
            }
        }
    }
}

fn begin(shape: &Shape, number: usize, steps: &mut Vec<Step>) {
    let proposals = match shape.way {
        // A clock that all share, and that never shows the same time twice.
        Way::TimeAlone => number as u64 + 1..=number as u64 + 1,
        _ => shape.proposals.clone(),
    };
    steps.extend(proposals.map(|proposal| {
        let proposal = FencingToken::new(proposal).expect("proposals are from 1");
        Step::Begin(number, proposal)
    }));
}

fn of_attempt(world: &World, number: usize, attempt: &Attempt, node: usize, steps: &mut Vec<Step>) {
    let site = world.site(node);
    for message in messages(attempt) {
        let may_come_twice = world.left.doubles > 0 && site.may_repeat(number, message);
        if site.is_asked(number, message) || may_come_twice {
            steps.push(Step::CarryOut(number, node, message));
        }
        if site.answer(number, message).is_some() {
            steps.push(Step::Hear(number, node, message));
        }
    }
}

/// What the attempt may have asked of the node.
fn messages(attempt: &Attempt) -> impl Iterator<Item = Message> {
    let token = match attempt {
        Attempt::Settling(agreeing) => Some(agreeing.settling.token()),
        Attempt::Decided(decided) => Some(decided.token),
        Attempt::Waiting | Attempt::Voting { .. } => None,
    };
    let raise = token.map(|token| [Message::Raise(token), Message::RaiseAgain(token)]);
    let acquire = [Message::Acquire, Message::AcquireAgain];
    acquire.into_iter().chain(raise.into_iter().flatten())
}
