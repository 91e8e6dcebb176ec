//! What stands behind the keys of a call for several locks.

use crate::link::redis::{codec, heads::Call};

/// The arguments of requests that leave in one call. A TTL and a proposal that successive votes have in common are sent once.
#[derive(Debug, Default)]
pub(in crate::link::redis) struct Arguments {
    /// All that each request says; of votes, their owners.
    own: Vec<u8>,
    /// Of votes, their counters.
    counters: Vec<u8>,
    /// For each run of votes with one TTL and one proposal: these, and the number of its last vote, which the last run lacks.
    runs: Vec<u8>,
    /// Where the last run begins.
    last: usize,
    count_of_runs: usize,
    votes: u64,
}

impl Arguments {
    /// Adds what a request says in a call of its own.
    #[inline]
    pub(in crate::link::redis) fn push(&mut self, call: Call, arguments: &[u8]) {
        match call {
            Call::Vote | Call::Votes => self.push_vote(arguments),
            _ => self.own.extend_from_slice(arguments),
        }
    }

    /// Adds a vote: owner, TTL, proposal, counter.
    fn push_vote(&mut self, vote: &[u8]) {
        let (owner, behind) = vote.split_at(codec::length_of_part(vote));
        let ttl = codec::length_of_part(behind);
        let proposal = codec::length_of_part(&behind[ttl..]);
        let (common, counter) = behind.split_at(ttl + proposal);
        if self.votes == 0 || self.runs[self.last..] != *common {
            if self.votes > 0 {
                codec::encode_number(&mut self.runs, self.votes);
            }
            self.last = self.runs.len();
            self.runs.extend_from_slice(common);
            self.count_of_runs += 1;
        }
        self.own.extend_from_slice(owner);
        self.counters.extend_from_slice(counter);
        self.votes += 1;
    }

    /// How many runs of votes there are.
    pub(super) const fn runs(&self) -> usize {
        self.count_of_runs
    }

    /// How many bytes they have.
    pub(in crate::link::redis) fn len(&self) -> usize {
        self.own.len() + self.counters.len() + self.runs.len()
    }

    /// Appends them to `wire` as such a call says them.
    pub(super) fn write(&self, wire: &mut Vec<u8>, call: Call) {
        wire.extend_from_slice(&self.own);
        match call {
            Call::Votes => {
                wire.extend_from_slice(&self.counters);
                wire.extend_from_slice(&self.runs);
                codec::encode_number(wire, self.votes);
            }
            // A vote alone, whose counter comes last, or what has neither runs nor counters.
            _ => {
                wire.extend_from_slice(&self.runs);
                wire.extend_from_slice(&self.counters);
            }
        }
    }

    /// Forgets them, and keeps their room for others.
    pub(in crate::link::redis) fn clear(&mut self) {
        self.own.clear();
        self.counters.clear();
        self.runs.clear();
        (self.last, self.count_of_runs, self.votes) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> Vec<u8> {
        let mut wire = Vec::new();
        for word in words {
            codec::encode_part(&mut wire, word.as_bytes());
        }
        wire
    }

    #[test]
    fn what_neighbours_have_in_common_is_said_once() {
        let mut arguments = Arguments::default();
        for _ in 0..2 {
            for vote in [
                ["me", "10", "7", "f1"],
                ["you", "10", "7", "f2"],
                ["$3\r\nme\r\n", "10", "", "f1"],
                ["them", "11", "", "f3"],
                ["you", "10", "7", "f2"],
            ] {
                arguments.push(Call::Vote, &said(&vote));
            }
            let mut wire = Vec::new();
            arguments.write(&mut wire, Call::Votes);
            let owners = ["me", "you", "$3\r\nme\r\n", "them", "you"];
            let counters = ["f1", "f2", "f1", "f3", "f2"];
            let runs = ["10", "7", "2", "10", "", "3", "11", "", "4", "10", "7", "5"];
            let expected = [&owners[..], &counters[..], &runs[..]].concat();
            assert_eq!(wire, said(&expected));
            assert_eq!((arguments.runs(), arguments.len()), (4, wire.len() - 7));
            arguments.clear();
        }
    }

    #[test]
    fn one_vote_is_said_as_it_was_given() {
        let mut arguments = Arguments::default();
        let vote = said(&["me", "10", "7", "f1"]);
        arguments.push(Call::Vote, &vote);
        let mut wire = Vec::new();
        arguments.write(&mut wire, Call::Vote);
        assert_eq!(wire, vote);
    }
}
