//! Which rights an operator is told that a node's user lacks.

use crate::{
    examine::{builder, examine},
    support::block_on,
};
use leasehold::operate::NodeAnswer;
use leasehold_servers::{Server, require_server};

/// What docs/OPERATING.md asks for.
const ALL: [&str; 19] = [
    "+hello",
    "+auth",
    "+select",
    "+client|tracking",
    "+client|caching",
    "+script|load",
    "+eval",
    "+evalsha",
    "+info",
    "+time",
    "+get",
    "+mget",
    "+set",
    "+del",
    "+pttl",
    "+pexpire",
    "+hget",
    "+hmget",
    "+hset",
];

#[test]
fn rights_that_are_missing_are_told_as_they_would_be_given() {
    require_server();
    let server = Server::start().expect("it starts");
    let url = format!("redis://u:p@127.0.0.1:{}", server.port());
    let lacking = |rights: &[&str], keys: &str| {
        let words = ["ACL", "SETUSER", "u", "reset", "on", ">p", keys];
        server
            .command(&[&words, rights].concat())
            .expect("it is taken");
        match &examine(&builder(std::slice::from_ref(&url)))[..] {
            [NodeAnswer::Told(seen)] => seen.lacking.clone(),
            other => panic!("{other:?}"),
        }
    };
    // What the operator's page asks for is enough, and CONFIG is not needed to look.
    assert_eq!(lacking(&ALL, "~*"), Some(Vec::new()));
    for right in [
        "+hset",
        "+set",
        "+pexpire",
        "+del",
        "+get",
        "+mget",
        "+pttl",
        "+hget",
        "+hmget",
        "+info",
        "+time",
        "+evalsha",
        "+script|load",
        "+client|tracking",
    ] {
        let others: Vec<_> = ALL.into_iter().filter(|other| *other != right).collect();
        assert_eq!(
            lacking(&others, "~*"),
            Some(vec![right.to_owned()]),
            "{right}"
        );
    }
    let others: Vec<_> = ALL.into_iter().filter(|other| *other != "+eval").collect();
    assert_eq!(lacking(&others, "~*"), Some(vec!["+eval".to_owned()]));
    let no_keys = lacking(&ALL, "~leasehold/*").expect("it can be told");
    assert_eq!(no_keys, ["~leasehold:node"]);
}

#[test]
fn a_key_is_lacking_where_the_lock_that_was_asked_about_needs_it() {
    require_server();
    let server = Server::start().expect("it starts");
    let url = format!("redis://u:p@127.0.0.1:{}", server.port());
    let looked = |keys: &[&str], rights: &[&str], lock: Option<&str>| {
        let words = ["ACL", "SETUSER", "u", "reset", "on", ">p"];
        let words = [&words, keys, rights].concat();
        server.command(&words).expect("it is taken");
        let operator = builder(std::slice::from_ref(&url)).operator();
        let mut operator = operator.expect("good addresses");
        if let Some(lock) = lock {
            operator = operator.about(lock).expect("a name");
        }
        let told = block_on(operator.examine_votes()).expect("good addresses");
        match &told[0].answer {
            NodeAnswer::Told(seen) => seen.clone(),
            other => panic!("{other:?}"),
        }
    };
    let orders = &["~orders:*"][..];
    let narrowed = &["~orders:*", "~leasehold:node"][..];
    let others: Vec<_> = ALL.into_iter().filter(|right| *right != "+pttl").collect();
    let (all, others) = (&ALL[..], &others[..]);
    let cases: [(_, _, _, &[&str]); 7] = [
        (narrowed, all, None, &[]),
        (narrowed, all, Some("orders:1"), &[]),
        (narrowed, all, Some("deploy"), &["~deploy"]),
        // The commands are tried on a key that is in reach.
        (narrowed, others, None, &["+pttl"]),
        (narrowed, others, Some("deploy"), &["~deploy", "+pttl"]),
        (
            orders,
            others,
            Some("orders:1"),
            &["~leasehold:node", "+pttl"],
        ),
        (orders, all, None, &["~leasehold:node"]),
    ];
    for (keys, rights, lock, expected) in cases {
        let seen = looked(keys, rights, lock);
        let expected: Vec<_> = expected.iter().copied().map(str::to_owned).collect();
        assert_eq!(seen.lacking, Some(expected), "{keys:?} {lock:?}");
        let trial = lock.is_none().then_some("leasehold/doctor");
        assert_eq!(seen.out_of_reach.as_deref(), trial, "{keys:?} {lock:?}");
    }
    let words = ["CONFIG", "SET", "maxmemory", "1"];
    server.command(&words).expect("it is taken");
    for lock in [None, Some("orders:1"), Some("deploy")] {
        let why = looked(narrowed, all, lock).refuses_writes;
        assert!(why.is_some_and(|why| why.starts_with("OOM")), "{lock:?}");
    }
}

#[test]
fn rights_that_fair_locks_readers_and_permits_alone_need_are_told_apart() {
    require_server();
    let server = Server::start().expect("it starts");
    let url = format!("redis://u:p@127.0.0.1:{}", server.port());
    let looks = |keys: &[&str], further: &[&str]| {
        let words = ["ACL", "SETUSER", "u", "reset", "on", ">p"];
        let words = [&words, keys, &ALL, further].concat();
        server.command(&words).expect("it is taken");
        match &examine(&builder(std::slice::from_ref(&url)))[..] {
            [NodeAnswer::Told(seen)] => (seen.lacking.clone(), seen.lacking_for_fair.clone()),
            other => panic!("{other:?}"),
        }
    };
    let shares = ["zadd", "zrem", "zscore", "zrange", "zremrangebyscore"];
    let shares: Vec<_> = shares.iter().map(|command| format!("+{command}")).collect();
    let shares: Vec<_> = shares
        .iter()
        .map(|right| &**right)
        .chain(["+pexpireat"])
        .collect();
    let looked = |keys: &[&str]| looks(keys, &shares);
    let (none, queues) = (
        Some(Vec::new()),
        Some(vec!["~leasehold:queue:*".to_owned()]),
    );
    let usual = ["~leasehold:node", "~leasehold/*"];
    assert_eq!(looked(&usual), (none.clone(), queues.clone()));
    // Whoever may read them only cannot queue.
    let reads = [&usual[..], &["%R~leasehold:queue:*"]].concat();
    assert_eq!(looked(&reads), (none.clone(), queues));
    let all = [&usual[..], &["~leasehold:queue:*"]].concat();
    assert_eq!(looked(&all), (none.clone(), none.clone()));
    for lacking in &shares {
        let others: Vec<_> = shares
            .iter()
            .copied()
            .filter(|right| right != lacking)
            .collect();
        let expected = Some(vec![(*lacking).to_owned()]);
        assert_eq!(looks(&all, &others), (none.clone(), expected));
    }
    let keys = server.command(&["DBSIZE"]).expect("it answers");
    assert_eq!(keys.integer(), Some(0), "nothing was written");
}
