//! Attempts and nodes at one moment.

use super::{
    attempt::{Attempt, Decided},
    flaw::Flaw,
    shape::{Budget, Shape, Way},
    site::{Message, NAMES, Site},
    step::Step,
};
use crate::{part::Part, story::Story};
use leasehold_core::{FencingToken, NodeId, NodeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Everything that decides what can happen from here on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct World {
    sites: Vec<Part<Site>>,
    attempts: Vec<Part<Attempt>>,
    pub(crate) left: Budget,
    /// Follows from the attempts.
    pub(crate) flaw: Option<Flaw>,
}

/// Nodes are alike: worlds in which they have but changed places are the same.
impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut places = [0; super::attempt::MOST_NODES];
        for (node, place) in places.iter_mut().enumerate().take(self.sites.len()) {
            let mut hasher = DefaultHasher::new();
            self.sites[node].hash(&mut hasher);
            for attempt in &self.attempts {
                attempt.hash_of_node(node_id(node), &mut hasher);
            }
            *place = hasher.finish();
        }
        places.sort_unstable();
        places.hash(state);
        for attempt in &self.attempts {
            attempt.hash_of_rest(state);
        }
        self.left.hash(state);
    }
}

impl World {
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            sites: vec![Part::new(Site::new(shape.attempts)); shape.nodes],
            attempts: vec![Part::new(Attempt::Waiting); shape.attempts],
            left: shape.budget,
            flaw: None,
        }
    }

    pub(crate) fn attempt(&self, number: usize) -> &Attempt {
        &self.attempts[number]
    }

    pub(crate) fn attempts(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().map(|attempt| &**attempt)
    }

    pub(crate) fn site(&self, node: usize) -> &Site {
        &self.sites[node]
    }

    pub(crate) fn sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().map(|site| &**site)
    }

    /// Takes a step. False if it leads to nothing that is worth a world of its own.
    pub(crate) fn take(&mut self, shape: &Shape, step: Step, story: &mut Story) -> bool {
        match step {
            Step::Begin(number, proposal) => self.begin(number, proposal, story),
            Step::CarryOut(number, node, message) => {
                return self.carry_out(shape.way, number, node, message, story);
            }
            Step::Hear(number, node, message) => self.hear(shape, number, node, message, story),
            Step::Vanish(node) => {
                self.left.vanishings -= 1;
                let site = self.sites[node].open();
                story.note(|| match site.holder() {
                    Some(owner) => format!("n{node} loses the key of {owner}"),
                    None => format!("n{node} loses its key"),
                });
                site.vanish(shape.way);
                self.sites[node].seal();
            }
            Step::Forget(node) => {
                self.left.losses -= 1;
                self.sites[node].open().forget();
                self.sites[node].seal();
                story.note(|| format!("n{node} restarts without its data"));
            }
        }
        true
    }

    fn begin(&mut self, number: usize, proposal: FencingToken, story: &mut Story) {
        let after = self.decided().map(|(_, decided)| decided.token).max();
        self.attempts[number] = Part::new(Attempt::begin(proposal, after));
        for site in &mut self.sites {
            site.open().ask(number, Message::Acquire);
            site.seal();
        }
        let name = NAMES[number];
        story.note(|| format!("{name} begins: it asks all nodes, and proposes {proposal}"));
    }

    fn carry_out(
        &mut self,
        way: Way,
        number: usize,
        node: usize,
        message: Message,
        story: &mut Story,
    ) -> bool {
        let attempt = &self.attempts[number];
        let proposal = attempt.begun().expect("who asks has begun").proposal;
        let is_repeated = !self.sites[node].is_asked(number, message);
        self.left.doubles -= u8::from(is_repeated);
        let is_decided = matches!(**attempt, Attempt::Decided(_));
        let site = self.sites[node].open();
        let before = (site.holder().cloned(), site.counter());
        let answer = site.carry_out(way, number, message, proposal);
        let has_changed = before != (site.holder().cloned(), site.counter());
        if is_decided {
            site.drop_answers(number);
        }
        self.sites[node].seal();
        let (name, again) = (NAMES[number], if is_repeated { "once more " } else { "" });
        story.note(|| match (message, answer) {
            (_, Some(_)) if way == Way::TimeAlone => format!("n{node} sets the key for {name}"),
            (Message::Acquire | Message::AcquireAgain, Some(answer)) => format!(
                "n{node} {again}sets the key for {name}: its counter is {}",
                answer.counter
            ),
            (Message::Raise(token) | Message::RaiseAgain(token), Some(answer)) => {
                let whose = match &before.0 {
                    Some(owner) if owner.as_bytes() != name.as_bytes() => {
                        format!(", though the key is {owner}'s")
                    }
                    _ => String::new(),
                };
                let counter = answer.counter;
                format!(
                    "n{node} {again}is raised to {token} by {name}{whose}: its counter is {counter}"
                )
            }
            (_, None) => format!("n{node} refuses what {name} asks"),
        });
        let is_raise = matches!(message, Message::Raise(_) | Message::RaiseAgain(_));
        answer.is_some() || is_raise || has_changed
    }

    fn hear(
        &mut self,
        shape: &Shape,
        number: usize,
        node: usize,
        message: Message,
        story: &mut Story,
    ) {
        let answer = self.sites[node].open().take_answer(number, message);
        let answer = answer.expect("it is on its way");
        self.sites[node].seal();
        let (quorum, name) = (shape.quorum(), NAMES[number]);
        let attempt = self.attempts[number].open();
        match message {
            Message::Acquire | Message::AcquireAgain => {
                attempt.hear_grant(shape.way, quorum, node_id(node), answer);
                story.note(|| match shape.way {
                    Way::TimeAlone => format!("{name} hears that n{node} has set its key"),
                    _ => format!("{name} hears the {} of n{node}", answer.counter),
                });
            }
            Message::Raise(_) | Message::RaiseAgain(_) => {
                attempt.hear_raise(node_id(node), answer);
                story.note(|| format!("{name} hears that n{node} was raised"));
            }
        }
        self.attempts[number].seal();
        self.raise_those_below(number, story);
        self.look_for_an_end(number, story);
    }

    /// Asks the nodes below the token to raise their counters.
    fn raise_those_below(&mut self, number: usize, story: &mut Story) {
        let Attempt::Settling(agreeing) = &*self.attempts[number] else {
            return;
        };
        let (below, token) = (agreeing.settling.below(), agreeing.settling.token());
        let message = Message::Raise(token);
        for node in below.iter().map(NodeId::index) {
            if self.sites[node].is_idle(number, message) {
                self.sites[node].open().ask(number, message);
                self.sites[node].seal();
                let name = NAMES[number];
                story.note(|| format!("{name} asks n{node} to raise its counter to {token}"));
            }
        }
    }

    /// Looks whether an attempt has just got its token, and whether it may have it.
    fn look_for_an_end(&mut self, number: usize, story: &mut Story) {
        let Attempt::Decided(decided) = *self.attempts[number] else {
            return;
        };
        for site in &mut self.sites {
            if site.has_answers(number) {
                site.open().drop_answers(number);
                site.seal();
            }
        }
        let (name, token) = (NAMES[number], decided.token);
        let nodes = list(decided.standing);
        story.note(|| format!("{name} HAS TOKEN {token}, which stands on {nodes}"));
        let others = self.decided().filter(|(other, _)| *other != number);
        let broken: Vec<_> = others
            .filter_map(|(other, others)| clash((name, &decided), (NAMES[other], others)))
            .collect();
        for (flaw, what) in broken {
            story.note(|| format!("BROKEN: {}: {what}", flaw.property()));
            self.flaw = self.flaw.or(Some(flaw));
        }
    }

    fn decided(&self) -> impl Iterator<Item = (usize, &Decided)> {
        let attempts = self.attempts.iter().enumerate();
        attempts.filter_map(|(number, attempt)| match &**attempt {
            Attempt::Decided(decided) => Some((number, decided)),
            _ => None,
        })
    }
}

/// What is wrong between one that has its token since now and one that had it before.
fn clash(
    (name, last): (&str, &Decided),
    (other, first): (&str, &Decided),
) -> Option<(Flaw, String)> {
    if last.token == first.token {
        let what = format!("{other} and {name} both have {}", last.token);
        return Some((Flaw::Twins, what));
    }
    // Also against what was the largest when it began, whoever had it.
    if let Some(after) = last.begun.after.filter(|after| *after >= last.token) {
        let what = format!("{name} began after {after}, and has {}", last.token);
        return Some((Flaw::Time, what));
    }
    let node = last.disagrees_on(first)?.index();
    let (small, large) = if last.token < first.token {
        (name, other)
    } else {
        (other, name)
    };
    let what = format!("{small} had the key of n{node} after {large}, and has the smaller token");
    Some((Flaw::Node, what))
}

fn list(nodes: NodeSet) -> String {
    let names: Vec<String> = nodes
        .iter()
        .map(|node| format!("n{}", node.index()))
        .collect();
    names.join(" and ")
}

fn node_id(node: usize) -> NodeId {
    NodeId::new(node).expect("nodes are few")
}
