//! A Redis Cluster as one node: what one link does while slots move and masters change.

use crate::support::{
    driven::{Driven, MINUTE, acquire, extend, fault, inspect, name, release, transfer},
    eventually,
};
use leasehold::{configuration::Configuration, link::LinkEvent};
use leasehold_core::{FaultKind, Owner, Refusal, Request, Resource, Ttl, Vote};
use leasehold_servers::{RedisCluster, Server, require_server};
use std::time::Duration;

fn cluster(masters: usize, replicas: usize) -> RedisCluster {
    require_server();
    RedisCluster::start(masters, replicas).expect("the cluster starts")
}

fn link(cluster: &RedisCluster) -> Driven {
    Driven::with(&cluster.url(), &Configuration::plain())
}

/// A key with its slot, the master that keeps it, and another.
struct Moving {
    slot: u16,
    from: usize,
    to: usize,
}

impl Moving {
    fn of(cluster: &RedisCluster, key: &str) -> Self {
        let slot = cluster.slot(key).expect("it answers");
        let from = cluster.owner(slot).expect("somebody keeps it");
        let to = (from + 1) % 3;
        Self { slot, from, to }
    }

    fn begin(&self, cluster: &RedisCluster) {
        let begun = cluster.begin_move(self.slot, self.from, self.to);
        begun.expect("both agree");
    }

    fn end(&self, cluster: &RedisCluster) {
        let ended = cluster.end_move(self.slot, self.from, self.to);
        ended.expect("all agree");
    }
}

/// Who has `key` on which server, in whatever state its slot is.
fn holders(cluster: &RedisCluster, key: &str) -> Vec<(usize, String)> {
    let each = cluster.iter().take(3).enumerate();
    let holder = |(at, server): (usize, &Server)| {
        let mut connection = server.connect().ok()?;
        connection.command(&["ASKING"]).ok()?;
        let value = connection.command(&["GET", key]).ok()?;
        Some((at, value.text()?.to_owned()))
    };
    each.filter_map(holder).collect()
}

/// Waits until a replica has heard of a key.
fn await_copy(replica: &Server) {
    eventually("the replica has the key", || {
        let size = replica.command(&["DBSIZE"]);
        size.is_ok_and(|size| size.integer() == Some(1))
    });
}

fn holder(vote: &Vote) -> Option<&str> {
    match vote {
        Vote::Refused(Refusal { holder, .. }) => {
            let owner = holder.as_ref().map(Owner::as_bytes);
            owner.map(|owner| std::str::from_utf8(owner).expect("a text"))
        }
        other => panic!("a refusal was expected: {other:?}"),
    }
}

#[test]
fn a_cluster_tells_of_what_anybody_does_to_the_key_of_a_lock_that_was_refused() {
    let cluster = cluster(3, 0);
    let (mut holder, mut waiter) = (link(&cluster), link(&cluster));
    assert_eq!(waiter.hint(), None, "some may have been missed");
    for key in ["a", "b", "c", "d"] {
        assert_eq!(holder.ask(&acquire(key, "us", MINUTE)), Vote::GRANTED);
        let keeper = &cluster[Moving::of(&cluster, key).from];
        for command in [&["PEXPIRE", key, "50000"][..], &["DEL", key]] {
            let vote = waiter.ask(&acquire(key, "them", MINUTE));
            assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
            keeper.command(command).expect("it answers");
            // Each master that was not asked before begins with a hint about all keys.
            while waiter.hint() != Some(name(key)) {}
        }
    }
}

#[test]
fn each_lock_is_kept_by_the_master_of_its_slot_under_its_own_name() {
    let cluster = cluster(3, 0);
    let mut link = link(&cluster);
    let mut keepers = [0; 3];
    for number in 0..30 {
        let key = format!("orders/{number}");
        assert_eq!(link.ask(&acquire(&key, "us", MINUTE)), Vote::GRANTED);
        let keeper = Moving::of(&cluster, &key).from;
        let kept = cluster[keeper]
            .command(&["GET", &key])
            .expect("it is there");
        assert_eq!(kept.text(), Some("us"));
        keepers[keeper] += 1;
        // Whoever sets it by the same command is refused.
        let theirs = ["SET", &key, "them", "NX", "PX", "1000"];
        let theirs = cluster[keeper].command(&theirs).expect("it answers");
        assert_eq!(theirs.text(), None);
        assert_eq!(link.ask(&release(&key, "us")), Vote::GRANTED);
        let theirs = ["SET", &key, "them", "NX", "PX", "60000"];
        cluster[keeper].command(&theirs).expect("it answers");
        assert!(matches!(
            link.ask(&acquire(&key, "us", MINUTE)),
            Vote::Refused(_)
        ));
        assert_eq!(holder(&link.ask(&inspect(&key))), Some("them"));
    }
    assert!(keepers.iter().all(|count| *count > 0), "{keepers:?}");
}

#[test]
fn a_lock_is_held_once_at_each_step_of_the_move_of_its_slot() {
    let cluster = cluster(3, 0);
    let moving = Moving::of(&cluster, "r");
    let (mut ours, mut theirs) = (link(&cluster), link(&cluster));
    assert_eq!(ours.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    let mut check = |step: &str, at: usize| {
        let rival = theirs.ask(&acquire("r", "them", MINUTE));
        assert!(matches!(rival, Vote::Refused(_)), "{step}: {rival:?}");
        assert_eq!(holder(&theirs.ask(&inspect("r"))), Some("us"), "{step}");
        let rival = theirs.ask(&release("r", "them"));
        assert!(matches!(rival, Vote::Refused(_)), "{step}: {rival:?}");
        let extended = ours.ask(&extend("r", "us", 2 * MINUTE));
        assert_eq!(extended, Vote::GRANTED, "{step}");
        assert_eq!(holders(&cluster, "r"), [(at, "us".to_owned())], "{step}");
    };
    check("before", moving.from);
    moving.begin(&cluster);
    check("the slot moves and the key has not yet", moving.from);
    cluster
        .move_key("r", moving.from, moving.to)
        .expect("it moves");
    check("the key has moved", moving.to);
    moving.end(&cluster);
    check("the slot has moved", moving.to);
    assert_eq!(ours.ask(&release("r", "us")), Vote::GRANTED);
    assert_eq!(holders(&cluster, "r"), []);
}

#[test]
fn a_lock_of_a_slot_that_moves_is_had_where_the_slot_goes() {
    let cluster = cluster(3, 0);
    let moving = Moving::of(&cluster, "r");
    let (mut ours, mut theirs) = (link(&cluster), link(&cluster));
    moving.begin(&cluster);
    assert_eq!(ours.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    assert_eq!(holders(&cluster, "r"), [(moving.to, "us".to_owned())]);
    let rival = theirs.ask(&acquire("r", "them", MINUTE));
    assert!(matches!(rival, Vote::Refused(_)), "{rival:?}");
    let (again, given) = (
        acquire("r", "us", MINUTE),
        transfer("r", "us", "me", MINUTE),
    );
    let twin = fault(&ours.ask(&again));
    assert_eq!(twin.0, FaultKind::SameNode, "{twin:?}");
    assert_eq!(ours.ask(&given), Vote::GRANTED);
    // The script is brought along where the server has forgotten it, and the word before it as well.
    for server in cluster.iter() {
        server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
    }
    assert_eq!(ours.ask(&extend("r", "me", MINUTE)), Vote::GRANTED);
    assert_eq!(ours.ask(&release("r", "me")), Vote::GRANTED);
    assert_eq!(holders(&cluster, "r"), []);
    moving.end(&cluster);
    assert_eq!(theirs.ask(&acquire("r", "them", MINUTE)), Vote::GRANTED);
}

#[test]
fn an_acquire_that_is_redirected_behind_its_own_release_is_not_given_again() {
    let cluster = cluster(3, 0);
    let moving = Moving::of(&cluster, "r");
    let mut link = link(&cluster);
    // The link knows where the slot was.
    assert_eq!(link.ask(&inspect("r")), Vote::GRANTED);
    moving.begin(&cluster);
    let sent = [acquire("r", "us", MINUTE), release("r", "us")].map(|it| link.send(&it));
    let mut answers = [link.reply(), link.reply()];
    answers.sort_by_key(|(number, _)| *number);
    assert_eq!(answers.each_ref().map(|(number, _)| *number), sent);
    let (kind, words) = fault(&answers[0].1);
    assert_eq!(kind, FaultKind::Rejected);
    assert!(words.contains("was not asked again"), "{words}");
    assert!(matches!(answers[1].1, Vote::Refused(_)), "{answers:?}");
    assert_eq!(holders(&cluster, "r"), []);
}

#[test]
fn several_names_of_one_slot_wait_for_the_end_of_its_move_and_of_several_are_refused() {
    let cluster = cluster(3, 0);
    let mut link = link(&cluster);
    let both = |names: [&str; 2]| Request::Acquire {
        resource: Resource::several(names).expect("two names"),
        owner: Owner::from_bytes(b"us").expect("an owner"),
        ttl: Ttl::new(MINUTE).expect("in range"),
        proposal: None,
        place: None,
    };
    let (kind, words) = fault(&link.ask(&both(["a", "b"])));
    assert_eq!(kind, FaultKind::Rejected);
    assert!(
        words.contains("such as {orders}/1 and {orders}/2"),
        "{words}"
    );
    let moving = Moving::of(&cluster, "{s}a");
    assert_eq!(link.ask(&acquire("{s}a", "them", MINUTE)), Vote::GRANTED);
    moving.begin(&cluster);
    // One of the keys is here and the other may be there.
    let (kind, words) = fault(&link.ask(&both(["{s}a", "{s}b"])));
    assert_eq!(kind, FaultKind::Rejected);
    let place = format!("127.0.0.1:{}: TRYAGAIN", cluster[moving.from].port());
    assert!(
        words.starts_with(&place) && words.contains(" (asked "),
        "{words}"
    );
    assert_eq!(holders(&cluster, "{s}b"), []);
    // While it is asked again, the move ends.
    link.send(&both(["{s}a", "{s}b"]));
    link.flush();
    cluster
        .move_key("{s}a", moving.from, moving.to)
        .expect("it moves");
    moving.end(&cluster);
    let (_, vote) = link.reply();
    assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
    assert_eq!(link.ask(&release("{s}a", "them")), Vote::GRANTED);
    assert_eq!(link.ask(&both(["{s}a", "{s}b"])), Vote::GRANTED);
    assert_eq!(holders(&cluster, "{s}b"), [(moving.to, "us".to_owned())]);
}

#[test]
fn one_server_of_a_cluster_that_is_taken_for_a_node_tells_the_way_out() {
    let cluster = cluster(3, 0);
    let elsewhere = &cluster[Moving::of(&cluster, "r").to];
    let mut link = Driven::with(&elsewhere.url(), &Configuration::plain());
    for request in [acquire("r", "us", MINUTE), release("r", "us")] {
        let (kind, words) = fault(&link.ask(&request));
        assert_eq!(kind, FaultKind::Rejected);
        let way_out = words.contains("whose address begins with redis+cluster://");
        assert!(words.starts_with("MOVED ") && way_out, "{words}");
    }
}

#[test]
fn a_slot_that_nobody_keeps_costs_its_locks_alone_until_somebody_does() {
    let cluster = cluster(3, 0);
    let moving = Moving::of(&cluster, "r");
    let mut link = link(&cluster);
    let slot = moving.slot.to_string();
    for server in cluster.iter() {
        let gone = server.command(&["CLUSTER", "DELSLOTS", &slot]);
        gone.expect("it knows who keeps it");
    }
    let (kind, words) = fault(&link.ask(&acquire("r", "us", MINUTE)));
    assert_eq!(kind, FaultKind::Rejected);
    assert!(
        words.contains("CLUSTERDOWN Hash slot not served (asked "),
        "{words}"
    );
    assert_eq!(link.ask(&acquire("s", "us", MINUTE)), Vote::GRANTED);
    let again = cluster[moving.to].command(&["CLUSTER", "ADDSLOTS", &slot]);
    again.expect("nobody keeps it");
    eventually("it is found where it is now", || {
        link.ask(&acquire("r", "us", MINUTE)) == Vote::GRANTED
    });
    assert_eq!(holders(&cluster, "r"), [(moving.to, "us".to_owned())]);
}

#[test]
fn a_replica_that_takes_its_masters_place_is_asked_from_then_on() {
    let cluster = cluster(3, 1);
    let moving = Moving::of(&cluster, "r");
    let (mut ours, mut theirs) = (link(&cluster), link(&cluster));
    assert_eq!(ours.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    let replica = cluster.replica_of(moving.from);
    await_copy(&cluster[replica]);
    cluster.take_over(replica).expect("it agrees");
    eventually("the former master follows", || {
        let role = cluster[moving.from].command(&["ROLE"]);
        role.is_ok_and(|role| role.texts().first() == Some(&"slave"))
    });
    assert_eq!(ours.ask(&extend("r", "us", 2 * MINUTE)), Vote::GRANTED);
    assert!(matches!(
        theirs.ask(&acquire("r", "them", MINUTE)),
        Vote::Refused(_)
    ));
    assert_eq!(ours.ask(&release("r", "us")), Vote::GRANTED);
    assert_eq!(theirs.ask(&acquire("r", "them", MINUTE)), Vote::GRANTED);
    let kept = cluster[replica].command(&["GET", "r"]).expect("it answers");
    assert_eq!(kept.text(), Some("them"));
}

#[test]
fn a_master_that_hangs_is_left_when_a_replica_has_taken_its_place() {
    let cluster = cluster(3, 1);
    let moving = Moving::of(&cluster, "r");
    let mut link = link(&cluster);
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    await_copy(&cluster[cluster.replica_of(moving.from)]);
    cluster[moving.from].pause().expect("it runs");
    let lost = link.send(&extend("r", "us", MINUTE));
    link.flush();
    cluster
        .take_over(cluster.replica_of(moving.from))
        .expect("it agrees");
    let (number, vote) = link.reply();
    let (kind, words) = fault(&vote);
    assert_eq!((number, kind), (lost, FaultKind::Disconnected), "{words}");
    assert!(
        words.contains("another server has taken its place"),
        "{words}"
    );
    assert_eq!(link.ask(&extend("r", "us", 2 * MINUTE)), Vote::GRANTED);
    cluster[moving.from].resume().expect("it is there");
}

#[test]
fn who_waits_is_told_of_a_release_before_and_after_the_slot_has_moved() {
    let cluster = cluster(3, 0);
    let moving = Moving::of(&cluster, "r");
    let (mut holder, mut waiter) = (link(&cluster), link(&cluster));
    let refuse = |waiter: &mut Driven| {
        let vote = waiter.ask(&acquire("r", "them", MINUTE));
        assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
    };
    let release = release("r", "us");
    let mut hold = || assert_eq!(holder.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    hold();
    refuse(&mut waiter);
    moving.begin(&cluster);
    cluster
        .move_key("r", moving.from, moving.to)
        .expect("it moves");
    // The key is gone from where it was. A connection to another master may be new, and what it has missed is told first.
    while waiter.hint() != Some(name("r")) {}
    moving.end(&cluster);
    refuse(&mut waiter);
    // The connection to its new master has come up, and the map has changed.
    let mut other = link(&cluster);
    assert_eq!(other.ask(&release), Vote::GRANTED);
    while waiter.hint() != Some(name("r")) {}
}

#[test]
fn a_cluster_that_nobody_tells_of_is_down_with_the_reason() {
    require_server();
    let alone = Server::start().expect("it starts");
    let guarded = RedisCluster::start_with(1, 0, |builder| builder.password("hunter2"));
    let guarded = guarded.expect("the cluster starts");
    let wrong = guarded.url().replace("://", "://:wrong@");
    for (url, expected) in [
        (
            format!("redis+cluster://127.0.0.1:{}", alone.port()),
            "cluster support disabled",
        ),
        (guarded.url(), "NOAUTH"),
        (wrong, "WRONGPASS"),
    ] {
        let mut link = Driven::of(&url, &Configuration::plain());
        link.send(&acquire("r", "us", MINUTE));
        let (_, vote) = link.reply();
        let (kind, words) = fault(&vote);
        assert_eq!(kind, FaultKind::Down, "{words}");
        assert!(words.contains(expected), "{words}");
        assert!(!words.contains("wrong"), "{words}");
        assert_eq!(link.down(), words);
        assert_eq!(fault(&link.ask(&inspect("r"))).0, FaultKind::Down);
    }
    let right = guarded.url().replace("://", "://:hunter2@");
    let mut link = Driven::with(&right, &Configuration::plain());
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
}

#[test]
fn a_cluster_that_comes_back_is_up_again() {
    let cluster = cluster(1, 0);
    let mut link = link(&cluster);
    assert_eq!(
        link.ask(&acquire("r", "us", Duration::from_millis(50))),
        Vote::GRANTED
    );
    cluster[0].kill().expect("it runs");
    assert!(link.down().contains("no server of the cluster"));
    cluster[0].restart().expect("it starts again");
    eventually("it is up", || matches!(link.event(), LinkEvent::Up(_)));
    eventually("it keeps locks", || {
        link.ask(&acquire("s", "us", MINUTE)) == Vote::GRANTED
    });
}
