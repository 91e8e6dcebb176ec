//! Every link of this crate passes the suite that it publishes.

use leasehold::{
    clock::Clock,
    conformance,
    link::{
        Link, LinkEvent, Parcel,
        memory::{MemoryLink, MemoryNode},
    },
};
use leasehold_core::{
    AttemptId, FencingToken, Instant, OperationId, Owner, Request, Resource, Table, Tag, Ttl, Vote,
};
use std::{
    collections::VecDeque,
    panic::catch_unwind,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

#[tokio::test]
async fn a_node_in_memory_conforms() {
    let node = MemoryNode::new();
    conformance::check(|| node.link(Clock::system())).await;
    conformance::check_tokens(|| node.link(Clock::system())).await;
    conformance::check_last_token(|| node.link(Clock::system())).await;
    conformance::check_hints(|| node.link(Clock::system())).await;
}

#[cfg(all(feature = "file", unix))]
#[tokio::test]
async fn a_node_in_a_file_conforms() {
    use leasehold::link::file::FileNode;

    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("conformance-{}", std::process::id()));
    let node = FileNode::open(&folder).expect("a folder of our own");
    // Opened anew for each link: all of them are one node.
    let link = || {
        let again = FileNode::open(&folder).expect("the store is open");
        again.link(Clock::system())
    };
    conformance::check(link).await;
    conformance::check_tokens(link).await;
    conformance::check_last_token(link).await;
    conformance::check_hints(link).await;
    drop(node);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

/// A link that breaks one promise.
struct Broken {
    how: How,
    table: Arc<Mutex<Table>>,
    answers: VecDeque<LinkEvent>,
}

#[derive(Clone, Copy, Debug)]
enum How {
    AnyoneReleases,
    AnyoneExtends,
    RepeatingMovesTheEnd,
    EndsEarly,
    CutsNames,
    CutsOwners,
    AnswersTwice,
    AnswersFromTheBack,
    TellsNoHolder,
    CutsTags,
    StartsDown,
    TellsNoCounter,
    IgnoresProposals,
    FollowsWildProposals,
    RoundsCounters,
    CountsAgain,
    CountsRefusals,
    CountsNoTransfers,
    KeepsTheCounterInTheKey,
    AnyoneRaises,
    RaisesNothing,
    GoesOnAtTheEnd,
}

impl Broken {
    fn new(how: How, table: &Arc<Mutex<Table>>) -> Self {
        Self {
            how,
            table: table.clone(),
            answers: VecDeque::from([match how {
                How::StartsDown => LinkEvent::Down("it is broken".to_owned()),
                _ => LinkEvent::Up(None),
            }]),
        }
    }

    /// The request as this node mistakes it.
    fn mistaken(&self, now: Instant, mut request: Request) -> Request {
        let holder = |resource: &Resource| {
            let table = self.table.lock().expect("nobody panics with it");
            table.key(now, resource).map(|key| key.owner.clone())
        };
        match (self.how, &mut request) {
            (
                How::AnyoneReleases,
                Request::Release {
                    resource, owner, ..
                },
            )
            | (
                How::AnyoneExtends,
                Request::Extend {
                    resource, owner, ..
                },
            ) => *owner = holder(resource).unwrap_or_else(|| owner.clone()),
            (
                How::RepeatingMovesTheEnd,
                Request::Acquire {
                    resource,
                    owner,
                    ttl,
                    ..
                },
            ) if holder(resource).as_ref() == Some(owner) => {
                return Request::Extend {
                    resource: resource.clone(),
                    owner: owner.clone(),
                    ttl: *ttl,
                };
            }
            (How::EndsEarly, Request::Acquire { ttl, .. }) => {
                *ttl = Ttl::new(ttl.as_duration() / 2).expect("still in range");
            }
            (
                How::CutsNames,
                Request::Acquire { resource, .. }
                | Request::Extend { resource, .. }
                | Request::Release { resource, .. },
            ) if resource.as_str().len() == Resource::LONGEST => {
                *resource = Resource::new(&resource.as_str()[..1000]).expect("still a name");
            }
            (
                How::CutsOwners,
                Request::Acquire { owner, .. }
                | Request::Extend { owner, .. }
                | Request::Release { owner, .. },
            ) => {
                let text = owner.as_bytes().split(|byte| *byte == 0).next();
                *owner = text
                    .and_then(Owner::from_bytes)
                    .unwrap_or_else(|| owner.clone());
            }
            _ => {}
        }
        request
    }

    /// The request as this node miscounts it.
    fn miscounted(&self, now: Instant, mut request: Request) -> Request {
        match (self.how, &mut request) {
            (
                How::AnyoneRaises,
                Request::Raise {
                    resource, owner, ..
                },
            ) => {
                let table = self.table.lock().expect("nobody panics with it");
                let key = table.key(now, resource);
                *owner = key.map_or_else(|| owner.clone(), |key| key.owner.clone());
            }
            (How::IgnoresProposals, Request::Acquire { proposal, .. }) => {
                *proposal = proposal.and(Some(FencingToken::FIRST));
            }
            _ => {}
        }
        match self.how {
            How::FollowsWildProposals => request,
            _ => request.as_seen_at(Clock::system().wall()),
        }
    }

    /// What this node does before it carries out a request.
    fn spoil(&self, now: Instant, request: &Request) {
        let mut table = self.table.lock().expect("nobody panics with it");
        let (resource, owner) = (request.resource().clone(), request.owner());
        let holder = table.key(now, &resource).map(|key| key.owner.clone());
        match (self.how, request, holder) {
            (How::CountsAgain, Request::Acquire { .. }, Some(holder)) if Some(&holder) == owner => {
                table.apply(now, &release(resource, holder));
            }
            (
                How::CountsRefusals,
                Request::Acquire {
                    proposal: Some(token),
                    ..
                },
                Some(owner),
            ) => {
                let token = *token;
                table.apply(
                    now,
                    &Request::Raise {
                        resource,
                        owner,
                        token,
                    },
                );
            }
            (How::KeepsTheCounterInTheKey, Request::Acquire { .. }, None) => *table = Table::new(),
            _ => {}
        }
    }

    fn spoiled(&self, request: &Request, vote: Vote) -> Vote {
        match (self.how, request, vote) {
            (How::TellsNoCounter, _, Vote::Granted { .. }) => Vote::GRANTED,
            (
                How::RoundsCounters,
                _,
                Vote::Granted {
                    counter: Some(counter),
                },
            ) => Vote::Granted {
                counter: FencingToken::new(counter.get() / 100 * 100),
            },
            (
                How::CountsNoTransfers,
                Request::Transfer { .. },
                Vote::Granted {
                    counter: Some(counter),
                },
            ) => Vote::Granted {
                counter: FencingToken::new(counter.get() - 1),
            },
            (How::GoesOnAtTheEnd, Request::Acquire { .. }, Vote::Unknown(_)) => Vote::Granted {
                counter: Some(FencingToken::LAST),
            },
            (_, _, vote) => vote,
        }
    }
}

fn release(resource: Resource, owner: Owner) -> Request {
    Request::Release {
        resource,
        owner,
        keep: None,
    }
}

impl Link for Broken {
    fn send(&mut self, parcel: &Parcel) {
        let now = Clock::system().now();
        let request = self.mistaken(now, parcel.request.clone());
        let request = self.miscounted(now, request);
        self.spoil(now, &request);
        let vote = match (self.how, &request) {
            (How::RaisesNothing, Request::Raise { .. }) => Vote::GRANTED,
            _ => self
                .table
                .lock()
                .expect("nobody panics with it")
                .apply(now, &request),
        };
        let mut vote = self.spoiled(&request, vote);
        let mut tag = parcel.tag;
        match (self.how, &mut vote) {
            (How::TellsNoHolder, Vote::Refused(refusal)) => refusal.holder = None,
            (How::CutsTags, _) => tag.attempt.number &= 0xffff,
            _ => {}
        }
        let reply = || LinkEvent::Reply(tag, vote.clone());
        match self.how {
            How::AnswersFromTheBack => self.answers.push_front(reply()),
            How::AnswersTwice => self.answers.extend([reply(), reply()]),
            _ => self.answers.push_back(reply()),
        }
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<LinkEvent> {
        // Nothing comes later, so nobody needs to be woken.
        self.answers.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

#[test]
fn a_link_that_breaks_a_promise_does_not_conform() {
    for how in [
        How::AnyoneReleases,
        How::AnyoneExtends,
        How::RepeatingMovesTheEnd,
        How::EndsEarly,
        How::CutsNames,
        How::CutsOwners,
        How::AnswersTwice,
        How::AnswersFromTheBack,
        How::TellsNoHolder,
        How::CutsTags,
        How::StartsDown,
    ] {
        assert!(is_found(how, Checks::All), "{how:?} was not found");
    }
}

#[test]
fn a_link_that_breaks_a_promise_about_counters_does_not_conform() {
    for how in [
        How::TellsNoCounter,
        How::IgnoresProposals,
        How::FollowsWildProposals,
        How::RoundsCounters,
        How::CountsAgain,
        How::CountsRefusals,
        How::CountsNoTransfers,
        How::KeepsTheCounterInTheKey,
        How::AnyoneRaises,
        How::RaisesNothing,
    ] {
        assert!(is_found(how, Checks::Tokens), "{how:?} was not found");
    }
    let how = How::GoesOnAtTheEnd;
    assert!(is_found(how, Checks::LastToken), "{how:?} was not found");
}

/// A link to a node in memory that breaks one promise about hints.
struct Misleading {
    how: Misled,
    link: MemoryLink,
    asked: Option<Request>,
    more: VecDeque<LinkEvent>,
}

#[derive(Clone, Copy, Debug)]
enum Misled {
    BeginsWithNone,
    TellsNothing,
    TellsNoName,
    TellsTwice,
    TellsItsOwn,
    TellsOfEverything,
    TellsNoHolder,
    TellsAgain,
    TellsBefore,
}

impl Link for Misleading {
    fn send(&mut self, parcel: &Parcel) {
        self.asked = Some(parcel.request.clone());
        self.link.send(parcel);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        if let Some(event) = self.more.pop_front() {
            return Poll::Ready(event);
        }
        while let Poll::Ready(event) = self.link.poll(cx) {
            let asked = self.asked.as_ref();
            let resource = asked.map(|request| request.resource().clone());
            let is_holder = matches!(asked, Some(Request::Extend { .. }));
            let is_refused = matches!(event, LinkEvent::Reply(_, Vote::Refused(_)));
            return Poll::Ready(match (self.how, event) {
                (Misled::BeginsWithNone, LinkEvent::Changed(None))
                | (Misled::TellsNothing, LinkEvent::Changed(Some(_)))
                | (Misled::TellsAgain | Misled::TellsOfEverything, LinkEvent::Reply(AGAIN, _)) => {
                    continue;
                }
                (Misled::TellsNoHolder, LinkEvent::Changed(Some(_))) if is_holder => continue,
                (Misled::TellsNoName, LinkEvent::Changed(_)) => LinkEvent::Changed(None),
                (Misled::TellsTwice, LinkEvent::Changed(hint)) => {
                    self.more.push_back(LinkEvent::Changed(hint.clone()));
                    LinkEvent::Changed(hint)
                }
                (Misled::TellsItsOwn, reply @ LinkEvent::Reply(_, Vote::Granted { .. }))
                    if !matches!(asked, Some(Request::Inspect { .. })) =>
                {
                    self.more.push_back(LinkEvent::Changed(resource));
                    reply
                }
                (Misled::TellsBefore, reply) if is_refused => {
                    self.more.push_back(LinkEvent::Changed(resource));
                    reply
                }
                // As if it watched again and again.
                (Misled::TellsAgain, LinkEvent::Changed(hint)) => {
                    if let Some(request) = hint.as_ref().and(self.asked.clone()) {
                        let tag = AGAIN;
                        self.link.send(&Parcel::new(tag, request, Instant::ORIGIN));
                    }
                    LinkEvent::Changed(hint)
                }
                (Misled::TellsOfEverything, reply @ LinkEvent::Reply(..)) => {
                    let name = resource.map(|name| name.as_str().replace("/0", "/1"));
                    let beside = Resource::new(&name.unwrap_or_default()).expect("a name");
                    let look = Request::Inspect { resource: beside };
                    self.link.send(&Parcel::new(AGAIN, look, Instant::ORIGIN));
                    reply
                }
                (_, event) => event,
            });
        }
        Poll::Pending
    }
}

/// The tag of what nobody has asked.
const AGAIN: Tag = Tag {
    attempt: AttemptId {
        operation: OperationId::new(0),
        number: 0,
    },
    step: 0,
};

#[test]
fn a_link_that_breaks_a_promise_about_hints_does_not_conform() {
    for how in [
        Misled::BeginsWithNone,
        Misled::TellsNothing,
        Misled::TellsNoName,
        Misled::TellsTwice,
        Misled::TellsItsOwn,
        Misled::TellsOfEverything,
        Misled::TellsNoHolder,
        Misled::TellsAgain,
        Misled::TellsBefore,
    ] {
        let check = || {
            let node = MemoryNode::new();
            let make = || Misleading {
                how,
                link: node.link(Clock::system()),
                asked: None,
                more: VecDeque::new(),
            };
            run(conformance::check_hints(make));
        };
        assert!(catch_unwind(check).is_err(), "{how:?} was not found");
    }
}

fn run(suite: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(suite);
}

#[derive(Clone, Copy)]
enum Checks {
    All,
    Tokens,
    LastToken,
}

fn is_found(how: How, checks: Checks) -> bool {
    let check = || {
        let table = Arc::default();
        let make = || Broken::new(how, &table);
        run(async {
            match checks {
                Checks::All => conformance::check(make).await,
                Checks::Tokens => conformance::check_tokens(make).await,
                Checks::LastToken => conformance::check_last_token(make).await,
            }
        });
    };
    // On a machine that is busy with the other tests, a moment may be missed once.
    (0..5).any(|_| catch_unwind(check).is_err())
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn a_node_on_a_real_server_conforms() {
    use leasehold::link::redis::RedisLink;
    use leasehold::{RestartGuard, configuration::Configuration};
    use leasehold_core::Quorum;
    use leasehold_servers::{Server, require_server};
    use std::time::Duration;

    require_server();
    let server = Server::start().expect("the server starts");
    let configuration = Configuration::new(
        "leasehold",
        "n",
        Quorum::majority(1).expect("one node"),
        RestartGuard::Off,
        Ttl::DEFAULT,
        Duration::ZERO,
    );
    let link = || {
        let url = server.url().parse().expect("a server's own address");
        RedisLink::new(url, Clock::system(), &configuration)
    };
    conformance::check(link).await;
    conformance::check_tokens(link).await;
    conformance::check_last_token(link).await;
    conformance::check_hints(link).await;
}
