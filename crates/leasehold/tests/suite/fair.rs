//! Fair locks: who is next, on real servers and on every link.

use crate::support::{
    begin, block_on,
    cluster::{calls, manager},
};
use leasehold::{
    ConfigError, Instant, LockManager, LockOptions, RestartGuard,
    clock::Clock,
    configuration::Configuration,
    conformance,
    link::{
        Draft, Link, LinkEvent, Message,
        memory::{MemoryLink, MemoryNode},
        redis::RedisLink,
    },
};
use leasehold_core::{Barrier, Fault, FaultKind, FencingToken, Quorum, Request, Ticket, Ttl, Vote};
use leasehold_servers::{Server, ServerSet, require_server};
use std::{
    env,
    panic::catch_unwind,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    thread,
    time::Duration,
};

#[tokio::test]
async fn a_node_in_memory_serves_in_order() {
    let node = MemoryNode::new();
    conformance::check_fair(|| node.link(Clock::system())).await;
    conformance::check_last_fair_token(|| node.link(Clock::system())).await;
}

#[cfg(all(feature = "file", unix))]
#[tokio::test]
async fn a_node_in_a_file_serves_in_order() {
    use leasehold::link::file::FileNode;

    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("fair-{}", std::process::id()));
    let node = FileNode::open(&folder).expect("a folder of our own");
    conformance::check_fair(|| node.link(Clock::system())).await;
    conformance::check_last_fair_token(|| node.link(Clock::system())).await;
    drop(node);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[tokio::test]
async fn a_server_serves_in_order() {
    require_server();
    let server = Server::start().expect("the server starts");
    let quorum = Quorum::majority(1).expect("one node");
    let (guard, skew) = (RestartGuard::Off, Duration::ZERO);
    let configuration = Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew);
    let link = || {
        let url = server.url().parse().expect("a server's own address");
        RedisLink::new(url, Clock::system(), &configuration)
    };
    conformance::check_fair(link).await;
    conformance::check_last_fair_token(link).await;
    let left = server.command(&["KEYS", "leasehold:queue:*"]);
    assert_eq!(left.expect("it answers").texts().len(), 0, "queues end");
}

/// A link that takes fair locks for others.
struct Careless(MemoryLink, Mistake);

#[derive(Clone, Copy, Debug)]
enum Mistake {
    KeepsNoQueue,
    DrawsAnew,
    HearsNobodyLeave,
    FollowsWildProposals,
    TellsAllOfTheEnd,
}

impl Link for Careless {
    fn send(&mut self, message: &mut Message<'_>) {
        let mut request = message.request().clone();
        match (self.1, &mut request) {
            (Mistake::KeepsNoQueue, Request::Acquire { place, .. }) => *place = None,
            (
                Mistake::DrawsAnew,
                Request::Acquire {
                    place: Some(place), ..
                },
            ) => {
                place.ticket = None;
            }
            // What it draws from it is shown to be so.
            (
                Mistake::FollowsWildProposals,
                Request::Acquire {
                    place: Some(place),
                    proposal: Some(FencingToken::LAST),
                    ..
                },
            ) => {
                place.ticket = Some(Ticket::LAST);
            }
            (Mistake::HearsNobodyLeave, Request::Leave { waiter, .. }) => {
                *waiter = leasehold_core::Waiter::new(u64::MAX);
            }
            _ => {}
        }
        let (tag, given, mut draft) = (message.tag(), message.given(), Draft::default());
        let message = &mut Message::new(tag, &request, given, &mut draft);
        self.0.send(message);
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        let polled = self.0.poll(cx, events, most);
        for event in events {
            if let (Mistake::TellsAllOfTheEnd, LinkEvent::Reply(_, vote)) = (self.1, event)
                && let Vote::Refused(told) = vote
                && told.queued.is_some_and(|it| it.barrier == Barrier::Queue)
            {
                *vote = Vote::Unknown(Fault::new(FaultKind::Rejected, "no number is left"));
            }
        }
        polled
    }
}

#[test]
fn a_link_that_does_not_queue_as_it_should_does_not_conform() {
    for mistake in [
        Mistake::KeepsNoQueue,
        Mistake::DrawsAnew,
        Mistake::HearsNobodyLeave,
        Mistake::FollowsWildProposals,
        Mistake::TellsAllOfTheEnd,
    ] {
        let check = || {
            let node = MemoryNode::new();
            let make = || Careless(node.link(Clock::system()), mistake);
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .expect("a runtime");
            match mistake {
                Mistake::TellsAllOfTheEnd => {
                    runtime.block_on(conformance::check_last_fair_token(make));
                }
                _ => runtime.block_on(conformance::check_fair(make)),
            }
        };
        assert!(catch_unwind(check).is_err(), "{mistake:?} was not found");
    }
}

#[test]
fn a_plain_lock_cannot_be_fair() {
    let fair = LockOptions::new().fair();
    let refused = LockManager::builder()
        .memory(3)
        .defaults(fair.clone())
        .build_plain();
    let error = refused.expect_err("its nodes keep no queue");
    assert!(matches!(error, ConfigError::Unfair), "{error:?}");
    let plain = LockManager::builder()
        .memory(3)
        .build_plain()
        .expect("it need not be fair");
    let error = plain.mutex_with("r", fair).expect_err("nor can this one");
    assert!(error.to_string().contains("a plain lock cannot be fair"));
}

/// Somebody wanted the lock from `began` on, and had it from then on.
#[derive(Clone, Copy, Debug)]
struct Turn {
    who: usize,
    began: Instant,
    from: Instant,
}

/// Lets so many managers want one lock all the time, until it was had so often, and tells who had it when.
fn contest(urls: &[String], rivals: usize, count: usize) -> Vec<Turn> {
    let turns = Arc::new(Mutex::new(Vec::new()));
    let clock = Clock::system();
    let compete = |who| {
        let manager = manager(urls.iter().cloned(), LockOptions::new().fair());
        let turns = Arc::clone(&turns);
        thread::spawn(move || {
            let mutex = manager.mutex("r").expect("a plain name");
            loop {
                let began = clock.now();
                let guard = block_on(mutex.acquire_within(PATIENCE)).expect("its turn comes");
                let from = clock.now();
                pause(HOLD);
                let mut turns = turns.lock().expect("none panicked");
                turns.push(Turn { who, began, from });
                let is_over = turns.len() >= count;
                drop(turns);
                drop(block_on(guard.release()));
                if is_over {
                    return;
                }
            }
        })
    };
    let threads: Vec<_> = (0..rivals).map(compete).collect();
    for thread in threads {
        thread.join().expect("it only waits for its turn");
    }
    let turns = turns.lock().expect("none panicked").clone();
    turns.into_iter().take(count).collect()
}

/// How many turns others had at most while somebody waited.
fn longest(turns: &[Turn]) -> usize {
    let waited = |turn: &Turn| {
        let meanwhile = |other: &&Turn| other.from > turn.began && other.from < turn.from;
        turns.iter().filter(meanwhile).count()
    };
    turns.iter().map(waited).max().unwrap_or(0)
}

/// Jain's index of the turns that each has had: 1 if all have had as many.
fn jain(turns: &[Turn], rivals: usize) -> f64 {
    let mut counts = vec![0_u32; rivals];
    for turn in turns {
        counts[turn.who] += 1;
    }
    let counts = || counts.iter().map(|count| f64::from(*count));
    let (sum, squares): (f64, f64) = (counts().sum(), counts().map(|it| it * it).sum());
    sum * sum / (squares * f64::from(u32::try_from(rivals).expect("a few")))
}

#[test]
fn eight_managers_are_served_in_the_order_of_their_coming() {
    require_server();
    let servers = ServerSet::start(5).expect("the servers start");
    let before = calls(&servers);
    let turns = contest(&servers.urls(), 8, TURNS);
    let each = (calls(&servers) - before) / TURNS;
    let (share, longest) = (jain(&turns, 8), longest(&turns));
    let told = format!("Jain {share:.4}, {longest} turns while one waited, {each} requests each");
    assert!(share >= 0.99, "{told}");
    // Seven others come before whoever comes last; without queues it was more than a hundred turns.
    assert!(longest <= 16, "{told}");
    // Each of the others asks one node when the lock changes hands; who comes, wins and goes asks all.
    assert!(each < 120, "{told}");
}

/// Not a test of its own: the process that waits until it is killed.
#[test]
fn waiter() {
    if let Ok(nodes) = env::var("LEASEHOLD_FAIR_NODES") {
        let manager = manager(
            nodes.split(',').map(str::to_owned),
            LockOptions::new().fair(),
        );
        let mutex = manager.mutex("r").expect("a plain name");
        drop(block_on(mutex.acquire_within(PATIENCE)));
    }
}

fn waiter_process(servers: &ServerSet) -> Child {
    Command::new(env::current_exe().expect("this program has a path"))
        .args(["--exact", "fair::waiter"])
        .env("LEASEHOLD_FAIR_NODES", servers.urls().join(","))
        .stdout(Stdio::null())
        .spawn()
        .expect("a process starts")
}

#[test]
fn whoever_is_killed_as_the_next_delays_the_others_for_three_seconds_at_most() {
    require_server();
    let servers = ServerSet::start(3).expect("the servers start");
    let fair = |urls| manager(urls, LockOptions::new().fair());
    let [one, other] = [fair(servers.urls()), fair(servers.urls())];
    let [one, other] = [one, other].map(|manager| manager.mutex("r").expect("a plain name"));
    let guard = block_on(one.acquire()).expect("it is free");
    let mut dying = waiter_process(&servers);
    wait_for(&servers, 1);
    let waiting = thread::spawn(move || {
        let guard = block_on(other.acquire_within(PATIENCE)).expect("its turn comes");
        (Clock::system().now(), guard)
    });
    wait_for(&servers, 2);
    dying.kill().expect("it is ours");
    dying.wait().expect("it is killed");
    let freed = Clock::system().now();
    drop(block_on(guard.release()));
    let (won, _guard) = waiting.join().expect("it only waits");
    let delay = won.saturating_since(freed);
    assert!(
        delay > Duration::from_secs(1),
        "it was not the next: {delay:?}"
    );
    assert!(delay < Duration::from_millis(3_600), "{delay:?}");
}

#[test]
fn whoever_gives_up_as_the_next_delays_nobody() {
    require_server();
    let servers = ServerSet::start(3).expect("the servers start");
    let fair = || manager(servers.urls(), LockOptions::new().fair());
    let managers = [fair(), fair(), fair()];
    let [one, two, three] = managers.map(|manager| manager.mutex("r").expect("a plain name"));
    let guard = block_on(one.acquire()).expect("it is free");
    let mut impatient = Box::pin(two.acquire_within(PATIENCE));
    begin(&mut impatient);
    wait_for(&servers, 1);
    let mut patient = Box::pin(three.acquire_within(PATIENCE));
    begin(&mut patient);
    wait_for(&servers, 2);
    let dropped = Clock::system().now();
    drop(impatient);
    wait_for(&servers, 1);
    let freed = Clock::system().now();
    // By itself its place would end after two seconds at least.
    let stood = freed.saturating_since(dropped);
    assert!(stood < Duration::from_secs(1), "{stood:?}");
    drop(block_on(guard.release()));
    let guard = block_on(patient).expect("its turn comes");
    let delay = Clock::system().now().saturating_since(freed);
    assert!(delay < Duration::from_secs(1), "{delay:?}");
    drop(block_on(guard.release()));
    wait_for(&servers, 0);
}

#[test]
fn whoever_is_refused_is_told_how_many_come_first_and_of_what_is_free_that_it_is() {
    require_server();
    let servers = ServerSet::start(3).expect("the servers start");
    let fair = || manager(servers.urls(), LockOptions::new().fair());
    let [one, other] = [fair(), fair()].map(|manager| manager.mutex("r").expect("a plain name"));
    let guard = block_on(one.acquire()).expect("it is free");
    let try_once = || block_on(other.try_acquire()).expect_err("it is not for us");
    let first = try_once();
    assert_eq!(
        first.held().map(|held| held.ahead),
        Some(Some(0)),
        "{first}"
    );
    // What was refused leaves its place, which must not be taken for another's.
    wait_for(&servers, 0);
    let mut dying = waiter_process(&servers);
    wait_for(&servers, 1);
    let behind = try_once();
    let held = behind.held().expect("it is held");
    assert_eq!((held.kept_on.len(), held.ahead), (0, Some(1)), "{behind}");
    assert_eq!(held.holder.as_ref(), Some(guard.owner()));
    dying.kill().expect("it is ours");
    dying.wait().expect("it is killed");
    assert!(block_on(guard.release()).is_released());
    // A quorum has released, and the last server may still be about to.
    wait_until_free(&servers);
    let kept = try_once();
    let held = kept.held().expect("it is kept for the other");
    assert!(held.kept_on.len() >= 2, "{kept}");
    assert_eq!(
        (held.ahead, held.holder.as_ref()),
        (Some(1), None),
        "{kept}"
    );
    assert_eq!(held.remaining, None, "nobody holds it");
    let told = kept.to_string();
    assert!(
        told.contains(": free on ") && told.contains(", but another waits and comes first after "),
        "{told}"
    );
}

/// Waits until so many stand in the queue of every server.
fn wait_for(servers: &ServerSet, count: usize) {
    let stand = |server: &Server| {
        let queue = server.command(&["GET", "leasehold:queue:r"]);
        let queue = queue.expect("it answers");
        queue.text().map_or(0, |text| text.matches(';').count()) == count
    };
    assert!(soon(servers, stand), "{count} never stood in all queues");
}

/// Waits until no server has the key of the lock.
fn wait_until_free(servers: &ServerSet) {
    let is_free = |server: &Server| {
        let key = server.command(&["GET", "r"]).expect("it answers");
        key.text().is_none()
    };
    assert!(soon(servers, is_free), "it was never free everywhere");
}

/// Whether this becomes true of every server.
fn soon(servers: &ServerSet, is_true: impl Fn(&Server) -> bool) -> bool {
    (0..500).any(|_| {
        let is_true = servers.iter().all(&is_true);
        if !is_true {
            pause(Duration::from_millis(10));
        }
        is_true
    })
}

const TURNS: usize = 400;
const PATIENCE: Duration = Duration::from_secs(60);
const HOLD: Duration = Duration::from_millis(2);

#[expect(
    clippy::disallowed_methods,
    reason = "somebody holds the lock for so long"
)]
fn pause(span: Duration) {
    thread::sleep(span);
}
