//! One link under test, and how it is asked.

use crate::{
    clock::Clock,
    link::{Draft, Link, LinkEvent, Message},
};
use leasehold_core::{
    AttemptId, FaultKind, OperationId, Owner, Refusal, Request, Resource, Tag, Ttl, Vote,
};
use std::{collections::VecDeque, future::poll_fn, task::Poll, time::Duration};

/// How long an answer may take before it counts as missing.
const PATIENCE: Duration = Duration::from_secs(10);

/// The TTL where it must not end during a case.
pub(super) const LONG: Duration = Duration::from_secs(60);

pub(super) struct Peer<L> {
    link: L,
    pub(super) clock: Clock,
    pub(super) case: &'static str,
    name: String,
    asked: u64,
    events: Vec<LinkEvent>,
    /// What was told while something else was waited for.
    pub(super) hints: VecDeque<Option<Resource>>,
}

impl<L: Link> Peer<L> {
    /// Waits until the link says that its node can be asked.
    pub(super) async fn connect(link: L, case: &'static str, name: String) -> Self {
        let mut peer = Self {
            link,
            clock: Clock::system(),
            case,
            name,
            asked: 0,
            events: Vec::new(),
            hints: VecDeque::new(),
        };
        match peer
            .event("a new link tells that its node is up or down")
            .await
        {
            LinkEvent::Up(_) => peer,
            other => {
                panic!("{case}: a new link must tell first that its node is up, not {other:?}")
            }
        }
    }

    /// The link goes on within the runtime that runs here.
    pub(super) fn change_runtime(&mut self) {
        self.link.change_runtime();
    }

    /// The case's resource number `number`.
    pub(super) fn resource(&self, number: usize) -> Resource {
        Resource::new(&format!("{}/{number}", self.name)).expect("a plain name")
    }

    pub(super) fn acquire(&self, by: &str, ttl: Duration) -> Request {
        Request::Acquire {
            resource: self.resource(0),
            owner: owner(by),
            ttl: checked(ttl),
            proposal: None,
            place: None,
        }
    }

    pub(super) fn repair(&self, by: &str, ttl: Duration) -> Request {
        Request::Repair {
            resource: self.resource(0),
            owner: owner(by),
            ttl: checked(ttl),
            proposal: None,
        }
    }

    pub(super) fn extend(&self, by: &str, ttl: Duration) -> Request {
        Request::Extend {
            resource: self.resource(0),
            owner: owner(by),
            ttl: checked(ttl),
        }
    }

    pub(super) fn transfer(&self, from: &str, to: &str, ttl: Duration) -> Request {
        Request::Transfer {
            resource: self.resource(0),
            from: owner(from),
            owner: owner(to),
            ttl: checked(ttl),
            proposal: None,
        }
    }

    pub(super) fn inspect(&self) -> Request {
        Request::Inspect {
            resource: self.resource(0),
        }
    }

    pub(super) fn release(&self, by: &str) -> Request {
        Request::Release {
            resource: self.resource(0),
            owner: owner(by),
            keep: None,
        }
    }

    pub(super) fn release_later(&self, by: &str, keep: Duration) -> Request {
        Request::Release {
            resource: self.resource(0),
            owner: owner(by),
            keep: Some(checked(keep)),
        }
    }

    /// Gives a request to the link; the answer must carry the tag.
    #[expect(clippy::needless_pass_by_value, reason = "each is made for the call")]
    pub(super) fn send(&mut self, request: Request) -> Tag {
        self.asked += 1;
        // Numbers that would not survive a narrower field, and that tell the three from each other.
        let tag = Tag {
            attempt: AttemptId {
                operation: OperationId::new(u64::MAX - self.asked),
                number: u32::MAX,
            },
            step: u32::try_from(self.asked).expect("a case asks less often"),
        };
        let (given, mut draft) = (self.clock.now(), Draft::default());
        let message = &mut Message::new(tag, &request, given, &mut draft);
        self.link.send(message);
        tag
    }

    /// The next answer.
    pub(super) async fn reply(&mut self) -> (Tag, Vote) {
        loop {
            match self.event("every request is answered").await {
                LinkEvent::Reply(tag, vote) => return (tag, vote),
                LinkEvent::Changed(hint) => self.hints.push_back(hint),
                LinkEvent::Clock(_) => {}
                other => panic!(
                    "{}: the node stays up during the suite, not {other:?}",
                    self.case
                ),
            }
        }
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(&mut self, request: Request) -> Vote {
        let tag = self.send(request);
        let (answered, vote) = self.reply().await;
        assert_eq!(
            answered, tag,
            "{}: an answer carries the tag of its request, unchanged",
            self.case
        );
        vote
    }

    pub(super) async fn expect_granted(&mut self, request: Request, promise: &str) {
        let vote = self.ask(request).await;
        assert_eq!(vote, Vote::GRANTED, "{}: {promise}", self.case);
    }

    /// Asks, and expects a refusal that names this holder and a time that it can have left.
    pub(super) async fn expect_held(
        &mut self,
        request: Request,
        holder: &Owner,
        ttl: Duration,
        promise: &str,
    ) -> Duration {
        let vote = self.ask(request).await;
        let case = self.case;
        let Vote::Refused(refusal) = vote else {
            panic!("{case}: {promise}; the vote was {vote:?}");
        };
        assert_eq!(
            refusal.holder.as_ref(),
            Some(holder),
            "{case}: a refusal names the holder, byte for byte"
        );
        let remaining = refusal.remaining;
        let possible = remaining.is_some_and(|left| !left.is_zero() && left <= ttl);
        assert!(
            possible,
            "{case}: a refusal tells the remaining time, above zero and at most the TTL of {ttl:?}, \
             not {remaining:?}"
        );
        remaining.unwrap_or_default()
    }

    /// Asks, and expects to be told that the node has voted under another address.
    pub(super) async fn expect_twin(&mut self, request: Request, promise: &str) {
        let vote = self.ask(request).await;
        let is_twin = matches!(&vote, Vote::Unknown(fault) if fault.kind() == FaultKind::SameNode);
        assert!(is_twin, "{}: {promise}; the vote was {vote:?}", self.case);
    }

    /// Asks, and expects the refusal that there is no key.
    pub(super) async fn expect_absent(&mut self, request: Request, promise: &str) {
        let vote = self.ask(request).await;
        let absent = Vote::Refused(Refusal::default());
        assert_eq!(vote, absent, "{}: {promise}", self.case);
    }

    /// Whether nothing more comes, as far as a link that was polled until pending can tell.
    pub(super) async fn expect_silence(&mut self) {
        let late = tokio::time::timeout(Duration::from_millis(20), self.reply()).await;
        assert!(
            late.is_err(),
            "{}: a request is answered once, not again with {late:?}",
            self.case
        );
    }

    async fn event(&mut self, promise: &str) -> LinkEvent {
        self.event_within(PATIENCE, promise).await
    }

    pub(super) async fn event_within(&mut self, patience: Duration, promise: &str) -> LinkEvent {
        let (link, events) = (&mut self.link, &mut self.events);
        let next = poll_fn(|cx| {
            // One at a time: a link must not lose what it keeps back.
            while events.is_empty() && link.poll(cx, events, 1).is_ready() {}
            match events.is_empty() {
                true => Poll::Pending,
                false => Poll::Ready(events.remove(0)),
            }
        });
        match tokio::time::timeout(patience, next).await {
            Ok(event) => event,
            Err(_) => panic!("{}: {promise}; nothing came for {patience:?}", self.case),
        }
    }
}

pub(super) fn owner(name: &str) -> Owner {
    Owner::from_bytes(name.as_bytes()).expect("a short name")
}

pub(super) fn checked(ttl: Duration) -> Ttl {
    Ttl::new(ttl).expect("a TTL in range")
}
