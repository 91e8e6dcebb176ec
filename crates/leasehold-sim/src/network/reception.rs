//! The node's end of a connection: whom the client meets there, and who answers.

use super::{
    Parcel,
    gathered::{Sent, is_for_same_lock},
};
use crate::{
    setting::{Guard, Twin},
    time::Moment,
    world::World,
};
use leasehold_core::{Abstention, AbstentionCause, Fault, Reading, Refusal, Request, Vote};
use std::{rc::Rc, time::Duration};

impl World {
    /// Every link knows the process that serves its node now.
    pub(crate) fn meet_all(&mut self) {
        for link in 0..self.network.links() {
            self.meet(link);
        }
    }

    /// The client looks at the process at the other end.
    pub(super) fn meet(&mut self, link: usize) {
        let (_, node) = self.network.ends(link);
        let this = &mut self.nodes[node];
        this.greet(self.now);
        let connection = &mut self.network.connections[link];
        connection.met = Some(this.identity().clone());
        if let Guard::Uptime { span_ns } = self.setting.guard {
            // What the node was when the world began, nobody fears.
            let is_first = this.booted == Moment::START;
            connection.votes_from = if is_first {
                Moment::START
            } else {
                this.booted.after(span_ns)
            };
        }
    }

    /// A server that tells of changes refuses a plain acquire without a word. Parts of a name are asked for by scripts, which tell.
    fn without_facts(&self, node: usize, request: &Request, vote: Vote) -> Vote {
        let is_plain = matches!(request, Request::Acquire { proposal: None, .. })
            && !request.resource().is_part();
        match vote {
            Vote::Refused(_) if is_plain && self.setting.waits.tells(node) => {
                Vote::Refused(Refusal::default())
            }
            vote => vote,
        }
    }

    /// The first request, and those behind it that have come in the same call. Whether a client had them ready together is
    /// up to chance.
    pub(super) fn in_one_call(&mut self, link: usize) -> Vec<Rc<Parcel>> {
        let (_, node) = self.network.ends(link);
        let first = self.network.connections[link].requests.pop_front();
        let first = first.expect("somebody has looked").parcel;
        let mut parcels = vec![first];
        let this = &self.nodes[node];
        if !this.is_scripted() || !this.is_up || self.setting.twin == Twin::GrantsAgain {
            return parcels;
        }
        let mut requests = vec![parcels[0].request.clone()];
        while let Some(Sent { parcel, not_before }) =
            self.network.connections[link].requests.front()
        {
            let is_new = |other| !is_for_same_lock(other, &parcel.request);
            let is_new = requests.iter().all(is_new);
            let is_here = is_new && *not_before <= self.now;
            requests.push(parcel.request.clone());
            if !is_here || !self.nodes[node].takes_together(&requests) || self.rng.coin() {
                break;
            }
            let next = self.network.connections[link].requests.pop_front();
            parcels.extend(next.map(|next| next.parcel));
        }
        parcels
    }

    /// Lets the node at the end of the link carry out a call of one request or of several.
    pub(super) fn ask_together(
        &mut self,
        link: usize,
        parcels: &[Rc<Parcel>],
    ) -> Vec<(Vote, Option<Reading>)> {
        if let [parcel] = parcels {
            return vec![self.ask(link, parcel)];
        }
        let (_, node) = self.network.ends(link);
        let met = self.network.connections[link].met.clone();
        let answers = self.execute_call(node, parcels, met.as_ref());
        let asked = parcels[0].asked;
        let answers = parcels.iter().zip(answers).map(|(parcel, (vote, told))| {
            self.touch(node, Some(link), parcel.request.resource());
            self.watch(link, &parcel.request, &vote);
            (vote, told.map(|node| Reading { node, asked }))
        });
        answers.collect()
    }

    /// Lets the node at the end of the link carry out a request, as far as that is there.
    pub(super) fn ask(&mut self, link: usize, parcel: &Parcel) -> (Vote, Option<Reading>) {
        let (_, node) = self.network.ends(link);
        let connection = &self.network.connections[link];
        if !self.nodes[node].is_up {
            // Only a proxy can say so.
            return (Vote::Unknown(self.network.away.clone()), None);
        }
        let votes_from = connection.votes_from;
        if parcel.request.is_vote() && self.now < votes_from {
            let abstention = Abstention {
                cause: AbstentionCause::Empty,
                left: Duration::from_nanos(votes_from.since_ns(self.now)),
            };
            return (Vote::Unknown(Fault::abstained(&abstention)), None);
        }
        let met = connection.met.clone();
        let (vote, told) = self.execute(node, parcel, met.as_ref());
        let vote = self.without_facts(node, &parcel.request, vote);
        self.touch(node, Some(link), parcel.request.resource());
        self.watch(link, &parcel.request, &vote);
        let asked = parcel.asked;
        let reading = told.map(|node| Reading { node, asked });
        (vote, reading)
    }
}
