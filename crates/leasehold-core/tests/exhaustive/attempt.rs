//! Every order of answers to one attempt on three nodes, whatever each node does with it.

use core::{num::NonZeroU32, time::Duration};
use leasehold_core::{
    AcquireRequest, Drift, Engine, Event, Fault, FaultKind, Instant, LinkChange, LockConfig,
    NodeId, NodeSet, Operation, OperationId, Owner, OwnerSource, Quorum, RenewalPolicy, Request,
    Resource, Retry, Seed, Table, Tag, Timing, Ttl, Vote,
};
use std::{collections::VecDeque, sync::Arc};

/// What a node does with the acquire request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Grants,
    Refuses,
    /// There is no connection until the end.
    Down,
    /// The connection is lost, before the request took effect or after it.
    Lost {
        happened: bool,
    },
    /// The request lands when the vote is over, before the release or overtaken by it.
    Late {
        overtaken: bool,
    },
}

const FATES: [Fate; 7] = [
    Fate::Grants,
    Fate::Refuses,
    Fate::Down,
    Fate::Lost { happened: false },
    Fate::Lost { happened: true },
    Fate::Late { overtaken: false },
    Fate::Late { overtaken: true },
];

#[test]
fn however_three_nodes_answer_the_attempt_ends_once_and_leaves_nothing() {
    let (mut won, mut lost) = (0_u32, 0_u32);
    // Nodes differ by their fates alone, so the order of the three does not matter.
    for (i, one) in FATES.iter().enumerate() {
        for (j, two) in FATES.iter().enumerate().skip(i) {
            for three in &FATES[j..] {
                for_every_order(|order| {
                    if Run::new([*one, *two, *three]).play(order) {
                        won += 1;
                    } else {
                        lost += 1;
                    }
                });
            }
        }
    }
    assert!(
        won > 20 && lost > 10_000,
        "{won} won, {lost} lost: too few orders"
    );
}

/// Choices that are counted through: each run says how many there are at each place.
struct Order {
    chosen: Vec<(usize, usize)>,
    place: usize,
}

impl Order {
    fn choose(&mut self, from: usize) -> usize {
        if self.place == self.chosen.len() {
            self.chosen.push((0, from));
        }
        self.place += 1;
        self.chosen[self.place - 1].0
    }
}

fn for_every_order(mut run: impl FnMut(&mut Order)) {
    let mut order = Order {
        chosen: Vec::new(),
        place: 0,
    };
    loop {
        order.place = 0;
        run(&mut order);
        while order
            .chosen
            .pop_if(|(choice, from)| *choice + 1 == *from)
            .is_some()
        {}
        let Some((choice, _)) = order.chosen.last_mut() else {
            return;
        };
        *choice += 1;
    }
}

struct Run {
    now: Instant,
    engine: Engine,
    fates: [Fate; 3],
    tables: [Table; 3],
    open: [VecDeque<(Tag, Request)>; 3],
    granted: NodeSet,
    asked_back: NodeSet,
    healed: bool,
    told: Vec<Event>,
}

impl Run {
    fn new(fates: [Fate; 3]) -> Self {
        let now = Instant::from_origin(Duration::from_secs(9));
        let foreign = Request::Acquire {
            resource: resource(),
            owner: Owner::from_bytes(b"bob").expect("a name"),
            ttl: Ttl::LONGEST,
            proposal: None,
            place: None,
        };
        let tables = fates.map(|fate| {
            let mut table = Table::new();
            if fate == Fate::Refuses {
                table.apply(now, &foreign);
            }
            table
        });
        Self {
            now,
            engine: Engine::new(Quorum::majority(3).expect("three")),
            fates,
            tables,
            open: Default::default(),
            granted: NodeSet::EMPTY,
            asked_back: NodeSet::EMPTY,
            healed: false,
            told: Vec::new(),
        }
    }

    /// Plays one order to its end; says whether the attempt won.
    fn play(mut self, order: &mut Order) -> bool {
        let seed = Seed::new([3; Seed::LENGTH]);
        let id = OperationId::new(0);
        self.engine
            .submit(self.now, id, || seed, Operation::Acquire(acquire_request()));
        self.drain();
        self.answer_all(order);
        assert_eq!(self.told.len(), 1, "told once: {:?}", self.told);
        let won = match self.told.pop().expect("told once") {
            Event::Acquired(lease) => {
                assert!(self.granted.len() >= 2, "{:?} won", self.granted);
                assert!(self.asked_back.is_empty(), "a winner's keys stay");
                assert!(self.now < lease.valid_until);
                let release = OperationId::new(1);
                self.engine
                    .submit(self.now, release, || seed, Operation::Release(id));
                self.drain();
                self.answer_all(&mut Order {
                    chosen: Vec::new(),
                    place: 0,
                });
                true
            }
            event => {
                assert!(matches!(event, Event::NotAcquired(_)), "{event:?}");
                false
            }
        };
        self.heal();
        self.ends_empty();
        won
    }

    /// Lets every node answer what it has, and time pass, in any order.
    fn answer_all(&mut self, order: &mut Order) {
        loop {
            let mut ready: Vec<_> = (0..3).filter(|node| self.ready(*node)).collect();
            // While the vote is open the time may be up at any moment; later only waiting is left.
            if self.told.is_empty()
                && self.engine.releases() == 0
                && self.engine.poll_timeout().is_some()
            {
                ready.push(3);
            }
            if ready.is_empty() {
                return;
            }
            match ready[order.choose(ready.len())] {
                3 => {
                    self.now = self.engine.poll_timeout().expect("looked at above");
                    self.engine.handle_timeout(self.now);
                }
                node => self.answer(node),
            }
            self.drain();
        }
    }

    fn ready(&self, node: usize) -> bool {
        let voting = self.told.is_empty() && self.asked_back.is_empty();
        let late = matches!(self.fates[node], Fate::Late { .. });
        let hangs = late && voting && !self.healed;
        !hangs && !self.open[node].is_empty()
    }

    fn answer(&mut self, node: usize) {
        self.now = self.now.saturating_add(Duration::from_millis(1));
        let overtaken = self.fates[node] == Fate::Late { overtaken: true };
        let next = if overtaken {
            self.open[node].pop_back()
        } else {
            self.open[node].pop_front()
        };
        let (tag, request) = next.expect("the node is ready");
        let fault = |kind| Vote::Unknown(Fault::new(kind, "fault"));
        let id = NodeId::new(node).expect("three nodes");
        let first = tag.step == 0;
        let vote = match self.fates[node] {
            Fate::Down if !self.healed => fault(FaultKind::Down),
            Fate::Lost { happened } if !self.healed => {
                if first && happened {
                    self.tables[node].apply(self.now, &request);
                }
                fault(FaultKind::Disconnected)
            }
            _ => self.tables[node].apply(self.now, &request),
        };
        if vote == Vote::GRANTED && first {
            self.granted.insert(id);
        }
        self.engine.handle_reply(self.now, id, tag, vote);
    }

    /// All connections come back, and what is asked then is answered.
    fn heal(&mut self) {
        self.healed = true;
        for node in NodeSet::first(3).iter() {
            self.engine
                .handle_link(self.now, node, LinkChange::Up(None));
        }
        self.drain();
        self.answer_all(&mut Order {
            chosen: Vec::new(),
            place: 0,
        });
    }

    fn drain(&mut self) {
        while let Some(send) = self.engine.poll_send() {
            for node in send.nodes.iter() {
                self.open[node.index()].push_back((send.tag, send.request.clone()));
            }
            if matches!(send.request, Request::Release { .. }) {
                self.asked_back = self.asked_back.union(send.nodes);
            }
        }
        while let Some((_, event)) = self.engine.poll_event() {
            self.told.push(event);
        }
    }

    fn ends_empty(&self) {
        assert_eq!(
            self.asked_back,
            NodeSet::first(3),
            "every node was asked to release"
        );
        assert_eq!(self.engine.releases(), 0, "{:?}", self.fates);
        assert_eq!(self.engine.poll_timeout(), None, "{:?}", self.fates);
        let bob = Owner::from_bytes(b"bob").expect("a name");
        for table in &self.tables {
            let key = table.key(self.now, &resource());
            assert!(
                key.is_none_or(|key| key.owner == bob),
                "{:?} left {key:?}",
                self.fates
            );
        }
    }
}

fn resource() -> Resource {
    Resource::new("r").expect("a plain name")
}

fn acquire_request() -> AcquireRequest {
    AcquireRequest {
        resource: resource(),
        config: Arc::new(LockConfig {
            timing: Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("defaults fit"),
            retry: Retry::default().with_tries(NonZeroU32::new(1)),
            owners: OwnerSource::default(),
            policy: RenewalPolicy::default(),
            is_fenced: false,
            queues: false,
            asks_one_first: false,
            is_fair: false,
        }),
        from: None,
        patience: None,
    }
}
