//! The node's end of a connection: whom the client meets there, and who answers.

use super::Parcel;
use crate::{setting::Guard, time::Moment, world::World};
use leasehold_core::{Abstention, AbstentionCause, Fault, Reading, Refusal, Request, Vote};
use std::time::Duration;

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

    /// A server that tells of changes refuses a plain acquire without a word.
    fn without_facts(&self, node: usize, request: &Request, vote: Vote) -> Vote {
        let is_plain = matches!(request, Request::Acquire { proposal: None, .. });
        match vote {
            Vote::Refused(_) if is_plain && self.setting.waits.tells(node) => {
                Vote::Refused(Refusal::default())
            }
            vote => vote,
        }
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
        let is_vote = matches!(
            parcel.request,
            Request::Acquire { .. } | Request::Transfer { .. }
        );
        if is_vote && self.now < votes_from {
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
