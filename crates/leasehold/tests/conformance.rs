//! Every link of this crate passes the suite that it publishes.

#[path = "conformance/broken.rs"]
mod broken;

use broken::{Broken, How};
use leasehold::{
    clock::Clock,
    conformance,
    link::{
        Draft, Link, LinkEvent, Message,
        memory::{MemoryLink, MemoryNode},
    },
};
use leasehold_core::{AttemptId, Instant, OperationId, Request, Resource, Tag, Ttl, Vote};
use std::{
    collections::VecDeque,
    panic::catch_unwind,
    sync::Arc,
    task::{Context, Poll, ready},
};

#[tokio::test]
async fn a_node_in_memory_conforms() {
    let node = MemoryNode::new();
    conformance::check(|| node.link(Clock::system())).await;
    conformance::check_tokens(|| node.link(Clock::system())).await;
    conformance::check_hints(|| node.link(Clock::system())).await;
    conformance::check_several(|| node.link(Clock::system())).await;
    conformance::check_several_hints(|| node.link(Clock::system())).await;
    conformance::check_readers(|| node.link(Clock::system())).await;
    conformance::check_readers_hints(|| node.link(Clock::system())).await;
    conformance::check_permits(|| node.link(Clock::system())).await;
    conformance::check_permits_hints(|| node.link(Clock::system())).await;
    // It ends a counter, which other names share.
    conformance::check_last_token(|| node.link(Clock::system())).await;
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
    conformance::check_hints(link).await;
    conformance::check_several(link).await;
    conformance::check_several_hints(link).await;
    conformance::check_readers(link).await;
    conformance::check_readers_hints(link).await;
    conformance::check_permits(link).await;
    conformance::check_permits_hints(link).await;
    // It ends a counter, which other names share.
    conformance::check_last_token(link).await;
    drop(node);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn a_link_that_breaks_a_promise_does_not_conform() {
    for how in [
        How::AnyoneReleases,
        How::AnyoneExtends,
        How::RepeatingMovesTheEnd,
        How::VotesTwice,
        How::TakesOverTwice,
        How::RepairsNothing,
        How::EndsEarly,
        How::CutsNames,
        How::CutsOwners,
        How::AnswersTwice,
        How::AnswersFromTheBack,
        How::TellsNoHolder,
        How::CutsTags,
        How::StartsDown,
        How::StaysInItsRuntime,
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

#[test]
fn a_link_that_breaks_a_promise_about_several_names_does_not_conform() {
    for how in [
        How::TakesOneByOne,
        How::TakesTheFirst,
        How::ExtendsOneByOne,
        How::CountsTheFirst,
    ] {
        assert!(is_found(how, Checks::Several), "{how:?} was not found");
    }
}

#[test]
fn a_link_that_breaks_a_promise_about_readers_does_not_conform() {
    for how in [How::ReadsOneByOne, How::ReadsAnywhere] {
        assert!(is_found(how, Checks::Readers), "{how:?} was not found");
    }
}

#[test]
fn a_link_that_breaks_a_promise_about_permits_does_not_conform() {
    for how in [
        How::CountsPermits,
        How::IgnoresOtherCounts,
        How::ForgetsSlots,
        How::CountsNoPermits,
        How::TellsNoPermits,
    ] {
        assert!(is_found(how, Checks::Permits), "{how:?} was not found");
    }
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
    fn send(&mut self, message: &mut Message<'_>) {
        self.asked = Some(message.request().clone());
        self.link.send(message);
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, _: usize) -> Poll<()> {
        events.push(ready!(self.next(cx)));
        Poll::Ready(())
    }
}

impl Misleading {
    fn ask_again(&mut self, request: &Request) {
        let mut draft = Draft::default();
        let message = &mut Message::new(AGAIN, request, Instant::ORIGIN, &mut draft);
        self.link.send(message);
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        if let Some(event) = self.more.pop_front() {
            return Poll::Ready(event);
        }
        let mut events = Vec::new();
        loop {
            let polled = self.link.poll(cx, &mut events, 1);
            let Some(event) = events.pop() else {
                ready!(polled);
                continue;
            };
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
                        self.ask_again(&request);
                    }
                    LinkEvent::Changed(hint)
                }
                (Misled::TellsOfEverything, reply @ LinkEvent::Reply(..)) => {
                    let name = resource.expect("a reply has a request");
                    let case = name.as_str().strip_suffix("/0");
                    let beside = case.map_or(name.clone(), |case| {
                        Resource::new(&format!("{case}/1")).expect("a name")
                    });
                    let look = Request::Inspect { resource: beside };
                    self.ask_again(&look);
                    reply
                }
                (_, event) => event,
            });
        }
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
    Several,
    Readers,
    Permits,
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
                Checks::Several => conformance::check_several(make).await,
                Checks::Readers => conformance::check_readers(make).await,
                Checks::Permits => conformance::check_permits(make).await,
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
    conformance::check_hints(link).await;
    conformance::check_several(link).await;
    conformance::check_several_hints(link).await;
    conformance::check_readers(link).await;
    conformance::check_readers_hints(link).await;
    conformance::check_permits(link).await;
    conformance::check_permits_hints(link).await;
    // It ends a counter, which other names share.
    conformance::check_last_token(link).await;
}
