//! The operator's work on real servers, while clients lock.

use crate::support::{block_on, eventually, rivals::Rivals};
use leasehold::{
    AcquireError, LockManager, LockOptions, ManagerBuilder, NodeList, ReconfigureError,
    RestartGuard,
    operate::{Admission, Former, Membership, NodeAnswer, Outcome, Reconfiguration, Survey, Told},
};
use leasehold_servers::{Server, ServerSet, require_server};
use std::{sync::atomic::Ordering::SeqCst, time::Duration};

const MS: Duration = Duration::from_millis(1);

fn builder(urls: &[String], max_ttl_ms: u32) -> ManagerBuilder {
    LockManager::builder()
        .max_ttl(max_ttl_ms * MS)
        .clock_skew(Duration::ZERO)
        .nodes(urls)
        // A single try has to do on a busy machine.
        .defaults(LockOptions::new().ttl(max_ttl_ms * MS).node_limit(200 * MS))
}

fn admit(builder: &ManagerBuilder) -> Vec<NodeAnswer<Admission>> {
    let told =
        block_on(builder.operator().expect("good addresses").admit()).expect("good addresses");
    told.into_iter().map(|told| told.answer).collect()
}

fn survey(builder: &ManagerBuilder) -> Vec<Told<Survey>> {
    let operator = builder.operator().expect("good addresses");
    block_on(operator.survey()).expect("there is a thread")
}

fn change(builder: &ManagerBuilder, from: Former) -> Result<Reconfiguration, ReconfigureError> {
    block_on(builder.operator()?.reconfigure(from))
}

fn tries(builder: ManagerBuilder) -> Result<(), AcquireError> {
    let manager = builder.build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.try_acquire())?;
    assert!(block_on(guard.release()).is_released());
    Ok(())
}

/// Clients of `old` lock, the nodes are changed, clients of `new` lock.
fn changes_under_load(
    old: impl Fn() -> ManagerBuilder,
    new: impl Fn() -> ManagerBuilder,
    from: Former,
) -> Reconfiguration {
    admit(&old());
    let mut rivals = Rivals::default();
    let wins = rivals.join(old(), 10);
    rivals.join(old(), 10);
    eventually("the old ones lock", || wins.load(SeqCst) > 2);
    // One holds on for as long as it may.
    let held = rivals.join(old(), usize::MAX);
    eventually("it has it", || held.load(SeqCst) == 1);
    let done = change(&new(), from).expect("all are there");
    let wins = rivals.join(new(), 10);
    rivals.join(new(), 10);
    eventually("the new ones lock", || wins.load(SeqCst) > 2);
    eventually("the old ones are told", || rivals.disagreements() > 2);
    assert_eq!(rivals.lost(), 1);
    rivals.end();
    done
}

fn servers(count: usize) -> (ServerSet, Vec<String>) {
    require_server();
    let servers = ServerSet::start(count).expect("they start");
    let urls = servers.urls();
    (servers, urls)
}

#[test]
fn three_nodes_become_five_while_clients_lock() {
    let (_servers, urls) = servers(5);
    let done = changes_under_load(
        || builder(&urls[..3], 400),
        || builder(&urls, 400),
        Former::nodes(&urls[..3]),
    );
    assert!(done.is_complete(), "{done:?}");
    assert_eq!(done.quarantine, 406 * MS);
    assert_eq!(done.from.len(), 1);
}

#[test]
fn five_nodes_become_three_of_them_while_clients_lock() {
    let (_servers, urls) = servers(5);
    let done = changes_under_load(
        || builder(&urls, 400),
        || builder(&urls[2..], 400),
        Former::nodes(&urls),
    );
    assert!(done.is_complete(), "{done:?}");
    assert_eq!(done.nodes.len(), 5);
}

#[test]
fn all_nodes_are_replaced_while_clients_lock() {
    let (_servers, urls) = servers(4);
    let done = changes_under_load(
        || builder(&urls[..3], 400),
        || builder(&urls[3..], 400),
        Former::nodes(&urls[..3]),
    );
    assert!(done.is_complete(), "{done:?}");
}

#[test]
fn the_maximum_ttl_is_raised_and_lowered_while_clients_lock() {
    for (old, new) in [(400, 800), (800, 400)] {
        let (_servers, urls) = servers(3);
        let done = changes_under_load(
            || builder(&urls, old),
            || builder(&urls, new),
            Former::same(),
        );
        assert!(done.is_complete(), "{done:?}");
        assert_eq!(done.quarantine, 810 * MS, "the longer of the two");
    }
}

#[test]
fn a_minority_that_is_away_is_told_later() {
    let (servers, urls) = servers(3);
    admit(&builder(&urls, 400));
    servers[0].pause().expect("it runs");
    servers[0].kill().expect("it runs");
    let done = change(&builder(&urls, 800), Former::same()).expect("a quorum is there");
    assert!(!done.is_complete());
    assert!(matches!(done.nodes[0].outcome, Outcome::Missed { .. }));
    tries(builder(&urls, 400)).expect_err("no quorum is left");
    servers[0].restart_empty().expect("it starts again");
    let done = change(&builder(&urls, 800), Former::same()).expect("all are there");
    assert!(done.is_complete(), "{done:?}");
    assert_eq!(done.nodes[1].outcome, Outcome::Already);
    eventually("it votes", || tries(builder(&urls, 800)).is_ok());
}

#[test]
fn a_majority_that_is_away_stops_it_before_anything_is_changed() {
    let (servers, urls) = servers(5);
    let (old, new) = (&urls[..3], &urls[2..]);
    admit(&builder(old, 400));
    for server in &servers[..2] {
        server.kill().expect("it runs");
    }
    let error = change(&builder(new, 400), Former::nodes(old)).expect_err("one of three is there");
    let ReconfigureError::OutOfReach {
        list: NodeList::Former,
        needed: 2,
        reached: 1,
        nodes: 3,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert!(error.to_string().contains("nothing was changed"), "{error}");
    for server in &servers[..2] {
        server.restart_empty().expect("it starts again");
    }
    admit(&builder(old, 400));
    tries(builder(old, 400)).expect("all is as before");
    for server in &servers[3..] {
        server.kill().expect("it runs");
    }
    let error = change(&builder(new, 400), Former::nodes(old)).expect_err("one of three is there");
    assert!(
        error
            .to_string()
            .contains("1 of 3 new nodes can be reached"),
        "{error}"
    );
}

#[test]
fn what_was_done_is_left_alone_by_the_next_run() {
    let (_servers, urls) = servers(5);
    let (old, new) = (&urls[..3], &urls[..]);
    admit(&builder(old, 400));
    let again = || change(&builder(new, 400), Former::nodes(old)).expect("all are there");
    assert!(again().is_complete());
    eventually("it votes", || tries(builder(new, 400)).is_ok());
    let mut rivals = Rivals::default();
    let wins = rivals.join(builder(new, 400), 10);
    for _ in 0..3 {
        let done = again();
        let is_left = |node: &leasehold::operate::Reconfigured| node.outcome == Outcome::Already;
        assert!(done.nodes.iter().all(is_left), "{done:?}");
        let before = wins.load(SeqCst);
        eventually("it goes on", || wins.load(SeqCst) > before);
    }
    rivals.end();
}

/// What a server keeps of itself under this name.
fn kept(server: &Server, field: &str) -> String {
    let kept = server.command(&["HGET", "leasehold:node", field]);
    kept.expect("it answers")
        .text()
        .expect("it is there")
        .to_owned()
}

#[test]
fn a_change_that_was_begun_lets_nobody_in_until_it_is_made() {
    let (servers, urls) = servers(3);
    admit(&builder(&urls, 400));
    let fingerprint = |server| kept(server, "cfg");
    let before = fingerprint(&servers[0]);
    let survey = survey(&builder(&urls, 800));
    assert!(matches!(
        &survey[0].answer,
        NodeAnswer::Told(told) if matches!(told.membership, Membership::Others { .. })
    ));
    // As a run leaves them that ends in the middle.
    for server in &servers[..2] {
        let was = kept(server, "about");
        let words = [
            "HSET",
            "leasehold:node",
            "cfg",
            "pending:0123",
            "about",
            "begun",
            "was",
            &was,
        ];
        server.command(&words).expect("it answers");
    }
    for max_ttl in [400, 800] {
        let error = tries(builder(&urls, max_ttl)).expect_err("it is not finished");
        assert!(
            matches!(error, AcquireError::Disagreement { .. }),
            "{error}"
        );
        let told = admit(&builder(&urls, max_ttl));
        assert!(matches!(
            told[0],
            NodeAnswer::Told(Admission::Disagrees { .. })
        ));
    }
    // It can be taken back as well as finished.
    let done = change(&builder(&urls, 400), Former::same()).expect("all are there");
    assert!(done.is_complete(), "{done:?}");
    assert_eq!(fingerprint(&servers[0]), before);
    eventually("it votes", || tries(builder(&urls, 400)).is_ok());
}

#[test]
fn a_node_that_was_marked_alone_stops_the_new_and_not_the_old() {
    let (servers, urls) = servers(3);
    admit(&builder(&urls, 400));
    let mut rivals = Rivals::default();
    let wins = rivals.join(builder(&urls, 400), 10);
    let was = kept(&servers[0], "about");
    let mark = [
        "HSET",
        "leasehold:node",
        "cfg",
        "pending:0123",
        "about",
        "begun",
        "was",
        &was,
    ];
    servers[0].command(&mark).expect("it answers");
    // The single node of the new configuration: it must not vote while the others may.
    let new = rivals.join(builder(&urls[..1], 400), 10);
    let before = wins.load(SeqCst);
    eventually("the old ones go on", || wins.load(SeqCst) > before + 20);
    assert_eq!(new.load(SeqCst), 0);
    change(&builder(&urls[..1], 400), Former::nodes(&urls)).expect("all are there");
    eventually("the new ones lock", || new.load(SeqCst) > 2);
    rivals.end();
}

#[test]
fn a_node_that_was_flushed_is_changed_with_the_others() {
    let (servers, urls) = servers(3);
    admit(&builder(&urls, 400));
    // As a vote leaves it, before anybody connects again.
    let forget = ["HDEL", "leasehold:node", "about", "id", "until"];
    servers[0].command(&forget).expect("it answers");
    let done = change(&builder(&urls, 800), Former::same()).expect("all are there");
    assert!(done.is_complete(), "{done:?}");
    for server in &servers[..] {
        let odd = [
            "HSET",
            "leasehold:node",
            "cfg",
            "odd",
            "about",
            "\u{1b}[2Jodd",
        ];
        server.command(&odd).expect("it answers");
    }
    let error = change(&builder(&urls, 800), Former::same()).expect_err("nobody knows it");
    assert!(
        matches!(error, ReconfigureError::Unreadable { .. }),
        "{error}"
    );
    assert!(!error.to_string().contains(char::is_control), "{error}");
}

#[test]
fn without_a_guard_the_marks_keep_clients_out_until_the_time_is_over() {
    let (_servers, urls) = servers(3);
    admit(&builder(&urls, 400));
    let off = || builder(&urls, 400).restart_guard(RestartGuard::Off);
    let done = change(&off(), Former::same()).expect("all are there");
    assert!(done.waits().expect("not yet") <= 406 * MS);
    assert!(tries(off()).is_err());
    eventually("the time is over", || {
        change(&off(), Former::same()).is_ok_and(|done| done.is_complete())
    });
    tries(off()).expect("it votes at once");
}

#[test]
fn a_list_of_old_nodes_that_is_not_in_use_is_found_out() {
    let (_servers, urls) = servers(5);
    admit(&builder(&urls[..3], 400));
    // One of as many others is used with two more: these are a quorum.
    let others = [&urls[..1], &urls[3..]].concat();
    for (list, former) in [(&urls, None), (&others, None), (&others, Some(&others))] {
        let former = former.map_or(Former::same(), Former::nodes);
        let error = change(&builder(list, 400), former).expect_err("three are in use");
        let is_told =
            matches!(error, ReconfigureError::FormerNodes { given, .. } if given == list.len());
        assert!(is_told, "{error}");
    }
    admit(&builder(&urls[3..4], 400));
    let error = change(&builder(&urls, 400), Former::nodes(&urls[..3])).expect_err("one is taken");
    assert!(matches!(error, ReconfigureError::Foreign { .. }), "{error}");
    let port = urls[0].rsplit(':').next().expect("there is one");
    let twice = [urls[0].clone(), format!("redis://localhost:{port}")];
    let error = change(&builder(&twice, 400), Former::same()).expect_err("one server");
    assert!(
        matches!(error, ReconfigureError::SameServer { .. }),
        "{error}"
    );
    tries(builder(&urls[..3], 400)).expect("nothing was changed");
}

#[test]
fn a_restart_does_not_shorten_what_is_to_be_waited_for() {
    require_server();
    let server = Server::builder()
        .option("appendonly", &["yes"])
        .option("appendfsync", &["always"])
        .start()
        .expect("it starts");
    let urls = [server.url()];
    admit(&builder(&urls, 60_000));
    change(&builder(&urls, 400), Former::same()).expect("it is there");
    server.restart().expect("it starts again");
    drop(tries(builder(&urls, 400)));
    let survey = survey(&builder(&urls, 400));
    let NodeAnswer::Told(told) = &survey[0].answer else {
        panic!("{survey:?}");
    };
    let left = told.abstains.as_ref().expect("a minute is not over").left;
    assert!(left > 30_000 * MS, "{left:?}");
}

#[test]
fn a_new_node_votes_at_once_when_the_operator_says_so() {
    let (servers, urls) = servers(3);
    let look = || survey(&builder(&urls, 30_000));
    for told in look() {
        let NodeAnswer::Told(told) = told.answer else {
            panic!("{told:?}");
        };
        assert_eq!(told.membership, Membership::Nobodys);
        assert_eq!(told.abstains.as_ref().expect("it is new").left, 30_302 * MS);
    }
    assert!(
        servers[0]
            .command(&["EXISTS", "leasehold:node"])
            .is_ok_and(|reply| reply.integer() == Some(0)),
        "a look changes nothing"
    );
    for answer in admit(&builder(&urls, 30_000)) {
        let NodeAnswer::Told(Admission::Admitted { was: Some(was) }) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(was.left, 30_302 * MS);
    }
    tries(builder(&urls, 30_000)).expect("they vote");
    let again = admit(&builder(&urls, 30_000));
    assert!(matches!(
        again[0],
        NodeAnswer::Told(Admission::Admitted { was: None })
    ));
    let NodeAnswer::Told(told) = look().remove(0).answer else {
        panic!("it is there");
    };
    assert_eq!(told.membership, Membership::Ours);
    assert_eq!((told.abstains, told.role.as_str()), (None, "master"));
    assert!(told.largest_counter > 0);
    let told = admit(&builder(&urls, 400));
    assert!(matches!(
        &told[0],
        NodeAnswer::Told(Admission::Disagrees { .. })
    ));
    servers[0].kill().expect("it runs");
    let told = admit(&builder(&urls, 30_000));
    assert!(matches!(&told[0], NodeAnswer::Silent(_)), "{told:?}");
}

#[test]
fn nodes_in_memory_need_no_operator() {
    let told = admit(&LockManager::builder().memory(3));
    assert_eq!(told, vec![NodeAnswer::NeedsNone; 3]);
    let survey = survey(&LockManager::builder().memory(1));
    assert_eq!(survey[0].answer, NodeAnswer::NeedsNone);
}

/// Lets a node's clock be set back by three days, as far as its own hash shows that: all that was written is as far ahead.
fn set_back(server: &Server) {
    let ahead = "local ends = tonumber(redis.call('HGET', KEYS[1], 'until')) + 259200000
        local span = string.match(redis.call('HGET', KEYS[1], 'wait') or '', ' (%d+)$')
        redis.call('HSET', KEYS[1], 'until', string.format('%.0f', ends))
        if span then
            redis.call('HSET', KEYS[1], 'wait', string.format('%.0f ', ends) .. span)
        end";
    let done = server.command(&["EVAL", ahead, "1", "leasehold:node"]);
    done.expect("it answers");
}

/// For how long the only node does not vote, by what an operator is told.
fn surveyed_wait(builder: &ManagerBuilder) -> Duration {
    match &survey(builder)[0].answer {
        NodeAnswer::Told(survey) => survey.abstains.as_ref().expect("it waits").left,
        other => panic!("it must tell: {other:?}"),
    }
}

/// For how long the only node does not vote.
fn waits(builder: ManagerBuilder) -> Duration {
    match tries(builder) {
        Err(AcquireError::Abstained(abstained)) => abstained.left,
        other => panic!("it must not vote: {other:?}"),
    }
}

#[test]
fn a_clock_that_is_set_back_lengthens_no_reconfiguration_by_more_than_its_wait() {
    let (servers, urls) = servers(1);
    let (old, new) = (|| builder(&urls, 60_000), || builder(&urls, 30_000));
    // Behind a reconfiguration: as long as the longer quarantine of the two, and no longer.
    admit(&old());
    assert!(
        change(&new(), Former::same())
            .expect("it is there")
            .is_complete()
    );
    set_back(&servers[0]);
    let surveyed = surveyed_wait(&new());
    let left = waits(new());
    assert!((55_000 * MS..=60_602 * MS).contains(&left), "{left:?}");
    assert!(
        (left..=left + 5_000 * MS).contains(&surveyed),
        "{surveyed:?}"
    );
    // Before the next one: what it finds is cut as well, but not what the node waits for already.
    set_back(&servers[0]);
    let next = || builder(&urls, 20_000);
    assert!(
        change(&next(), Former::same())
            .expect("it is there")
            .is_complete()
    );
    let left = waits(next());
    assert!((50_000 * MS..=60_602 * MS).contains(&left), "{left:?}");
}

#[test]
fn a_clock_that_is_set_back_before_a_reconfiguration_does_not_lengthen_it() {
    let (servers, urls) = servers(1);
    let (old, new) = (|| builder(&urls, 30_000), || builder(&urls, 20_000));
    // In the quarantine of a new node.
    assert!(waits(old()) <= 30_302 * MS);
    set_back(&servers[0]);
    assert!(
        change(&new(), Former::same())
            .expect("it is there")
            .is_complete()
    );
    let left = waits(new());
    assert!((25_000 * MS..=30_302 * MS).contains(&left), "{left:?}");
}
