//! Plain locks where nobody may run scripts, on real servers of every kind that there is.

use crate::support::{
    block_on,
    driven::{Driven, MINUTE, acquire, by, extend, fault, inspect, release, transfer, unguarded},
};
use leasehold::{
    LeaseState, LockManager, LockOptions, Plain, ReleaseOutcome,
    clock::Clock,
    configuration::Configuration,
    conformance,
    link::{LinkEvent, redis::RedisLink},
};
use leasehold_core::{FaultKind, Refusal, Vote};
use leasehold_servers::{Reply, Server, ServerBinary, skip};
use std::time::Duration;

/// A server, and the command by which it deletes what it has compared; none if it has none.
struct Kind {
    server: Server,
    title: String,
    delete: Option<&'static str>,
}

/// One of each program that is there.
fn kinds() -> Vec<Kind> {
    let binaries = ServerBinary::find_all().expect("this test needs a real server");
    let start = |binary: &ServerBinary| {
        let server = Server::builder().binary(binary).start();
        let server = server.expect("the server starts");
        let has = |words: &[&str]| server.command(words).is_ok();
        let deletes = [
            ("delifeq", has(&["DELIFEQ", "k", "v"])),
            ("delex", has(&["DELEX", "k", "IFEQ", "v"])),
        ];
        let sets = has(&["SET", "k", "v", "IFEQ", "v", "PX", "1"]);
        let delete = deletes.into_iter().find(|(_, has)| *has && sets);
        let title = binary.version().expect("it tells its version").to_string();
        Kind {
            delete: delete.map(|(word, _)| word),
            server,
            title,
        }
    };
    binaries.iter().map(start).collect()
}

/// Those that compare by themselves; says so if there is none.
fn natives() -> Vec<Kind> {
    let (natives, others): (Vec<_>, Vec<_>) =
        kinds().into_iter().partition(|kind| kind.delete.is_some());
    if natives.is_empty() {
        let others: Vec<_> = others.iter().map(|kind| &*kind.title).collect();
        skip(&format!(
            "no server that sets and deletes by comparison (Valkey 9.0, Redis 8.4), only {}; LEASEHOLD_MORE_SERVERS=path:path \
             names others",
            others.join(", ")
        ));
    }
    natives
}

impl Kind {
    /// The address of a user who has these rights.
    fn user(&self, rights: &[&str]) -> String {
        let words = [&["ACL", "SETUSER", "u", "reset", "on", ">pw", "~*"], rights].concat();
        self.server.command(&words).expect("it answers");
        format!("redis://u:pw@127.0.0.1:{}", self.server.port())
    }

    /// The address of a user who may do everything but run scripts.
    fn scriptless(&self) -> String {
        self.user(&["+@all", "-@scripting"])
    }

    fn link(&self) -> Driven {
        Driven::with(&self.scriptless(), &Configuration::plain())
    }

    /// For how many milliseconds `r` lives.
    fn life(&self) -> i64 {
        let life = self.server.command(&["PTTL", "r"]).expect("it answers");
        life.integer().expect("a time in ms")
    }

    fn holder(&self) -> Option<String> {
        let holder = self.server.command(&["GET", "r"]).expect("it answers");
        holder.text().map(str::to_owned)
    }

    /// How often a command was called.
    fn calls(&self, command: &str) -> usize {
        let told = self.server.command(&["INFO", "commandstats"]);
        let Ok(Reply::Text(told)) = told else {
            panic!("{told:?}");
        };
        let line = format!("cmdstat_{command}:calls=");
        let found = told.lines().find_map(|other| other.strip_prefix(&line));
        let digits = found.and_then(|rest| rest.split(',').next());
        digits.map_or(0, |digits| digits.parse().expect("a number"))
    }
}

#[tokio::test]
async fn a_node_that_compares_by_itself_conforms_without_scripts() {
    for kind in natives() {
        let url = kind.scriptless();
        let configuration = Configuration::plain();
        let link = || {
            let url = url.parse().expect("a server's own address");
            RedisLink::new(url, Clock::system(), &configuration)
        };
        conformance::check(link).await;
        conformance::check_hints(link).await;
        assert_eq!(
            kind.calls("evalsha") + kind.calls("eval"),
            0,
            "{}",
            kind.title
        );
    }
}

#[test]
fn the_rights_that_are_asked_for_are_enough_without_scripts() {
    for kind in natives() {
        let delete = format!("+{}", kind.delete.expect("it has one"));
        let rights = [
            "+hello",
            "+auth",
            "+select",
            "+client|tracking",
            "+client|caching",
            "+set",
            "+get",
            "+pttl",
            &delete,
        ];
        let mut link = Driven::with(&kind.user(&rights), &Configuration::plain());
        assert_eq!(link.hint(), None, "there are hints");
        for request in [
            acquire("r", "us", MINUTE),
            extend("r", "us", MINUTE),
            transfer("r", "us", "them", MINUTE),
            release("r", "them"),
            inspect("r"),
        ] {
            assert_eq!(link.ask(&request), Vote::GRANTED, "{request:?}");
        }
        for without in ["+set", "+get", "+pttl", &delete] {
            let rest: Vec<_> = rights
                .into_iter()
                .filter(|right| *right != without)
                .collect();
            let why = Driven::of(&kind.user(&rest), &Configuration::plain()).down();
            let needed = format!("allow +eval +evalsha +script|load, or +set +get +pttl {delete}");
            assert!(why.contains(&needed) && why.contains("NOPERM"), "{why}");
        }
    }
}

#[test]
fn keys_that_may_not_be_touched_hide_no_command() {
    for kind in natives() {
        kind.scriptless();
        let narrow = ["resetkeys", "~r", "+@all", "-@scripting"];
        let mut link = Driven::with(&kind.user(&narrow), &Configuration::plain());
        assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
        let (kind, text) = fault(&link.ask(&acquire("s", "us", MINUTE)));
        assert!(
            kind == FaultKind::Rejected && text.starts_with("NOPERM"),
            "{text}"
        );
        assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
    }
}

#[test]
fn scripts_are_preferred_where_they_can_be_run() {
    for kind in natives() {
        let mut link = Driven::with(&kind.server.url(), &Configuration::plain());
        for request in [
            acquire("r", "us", MINUTE),
            extend("r", "us", MINUTE),
            release("r", "us"),
        ] {
            assert_eq!(link.ask(&request), Vote::GRANTED, "{request:?}");
        }
        let delete = kind.delete.expect("it has one");
        // Once by this test, to find it.
        assert_eq!((kind.calls(delete), kind.calls("evalsha")), (1, 3));
    }
}

#[test]
fn a_node_that_compares_only_in_scripts_says_what_would_help() {
    let mut found = false;
    for kind in kinds().iter().filter(|kind| kind.delete.is_none()) {
        found = true;
        for rights in [
            &["+@all", "-@scripting"][..],
            &["+@all", "-eval", "-evalsha"],
            &["+@all", "-evalsha"],
        ] {
            let why = Driven::of(&kind.user(rights), &Configuration::plain()).down();
            assert!(
                why.starts_with("lets us run no scripts, and has no commands that do without")
                    && why.contains("allow +eval +evalsha")
                    && why.contains("NOPERM"),
                "{}: {why}",
                kind.title
            );
        }
        // Loaded scripts are enough.
        let url = kind.user(&["+@all", "-eval"]);
        let mut link = Driven::with(&url, &Configuration::plain());
        assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
        assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
    }
    if !found {
        skip(
            "every server sets and deletes by comparison; an older one would say that it does not",
        );
    }
}

#[test]
fn locks_with_tokens_need_scripts_and_say_so() {
    for kind in kinds() {
        for rights in [
            &["+@all", "-@scripting"][..],
            &["+@all", "-evalsha"],
            &["+@all", "-eval"],
        ] {
            let why = Driven::of(&kind.user(rights), &unguarded()).down();
            assert!(
                why.starts_with("lets us run no scripts, which locks with fencing tokens need: allow +eval +evalsha")
                    && why.contains("plain locks"),
                "{}: {why}",
                kind.title
            );
        }
    }
}

#[test]
fn what_waits_for_the_first_connection_is_said_without_scripts_too() {
    for kind in natives() {
        let mut link = Driven::of(&kind.scriptless(), &Configuration::plain());
        let requests = [
            acquire("r", "us", MINUTE),
            acquire("r", "them", MINUTE),
            release("r", "us"),
            inspect("r"),
        ];
        let sent = requests.each_ref().map(|request| link.send(request));
        assert!(matches!(link.event(), LinkEvent::Up(_)));
        for (request, sent) in requests.iter().zip(sent) {
            let (answered, vote) = link.reply();
            assert_eq!(answered, sent);
            let is_granted = *request != requests[1];
            assert_eq!(vote.is_granted(), is_granted, "{request:?}: {vote:?}");
        }
    }
}

#[test]
fn an_extension_without_scripts_is_the_owners_and_takes_nothing_away() {
    for kind in natives() {
        let mut link = kind.link();
        assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
        let second = Duration::from_secs(1);
        assert_eq!(link.ask(&extend("r", "us", second)), Vote::GRANTED);
        assert!(kind.life() > 50_000, "{}: {}", kind.title, kind.life());
        assert_eq!(link.ask(&extend("r", "us", 2 * MINUTE)), Vote::GRANTED);
        assert!(kind.life() > 110_000, "{}: {}", kind.title, kind.life());
        let Vote::Refused(refusal) = link.ask(&extend("r", "them", 3 * MINUTE)) else {
            panic!("it is not theirs");
        };
        assert_eq!(refusal.holder, Some(by("us")));
        assert!(kind.life() <= 120_000, "{}: {}", kind.title, kind.life());
        let vote = link.ask(&release("r", "them"));
        assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
        assert_eq!(kind.holder().as_deref(), Some("us"));
        assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
        let gone = Vote::Refused(Refusal::default());
        assert_eq!(link.ask(&extend("r", "us", MINUTE)), gone);
        assert_eq!(kind.holder(), None, "what is gone is not set again");
    }
}

#[test]
fn no_longer_extension_follows_one_that_may_still_arrive() {
    for kind in natives() {
        let mut link = kind.link();
        assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
        kind.server.pause().expect("it can be stopped");
        let sent = link.send(&extend("r", "us", MINUTE));
        link.flush();
        kind.server.kill().expect("it can be killed");
        let (answered, vote) = link.reply();
        assert_eq!((answered, fault(&vote).0), (sent, FaultKind::Disconnected));
        link.down();
        kind.server.restart_empty().expect("it starts again");
        // Rights are gone with the rest; this is another server in the same place.
        kind.scriptless();
        while !matches!(link.event(), LinkEvent::Up(_)) {}
        assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
        let vote = link.ask(&extend("r", "us", 2 * MINUTE));
        let (kind, text) = fault(&vote);
        assert!(
            kind == FaultKind::Rejected && text.contains("may still arrive"),
            "{text}"
        );
        assert_eq!(link.ask(&extend("r", "us", MINUTE)), Vote::GRANTED);
        assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
    }
}

#[test]
fn a_key_of_another_type_is_held_by_others_without_scripts_too() {
    for kind in natives() {
        let mut link = kind.link();
        kind.server
            .command(&["SADD", "r", "x"])
            .expect("it answers");
        for request in [
            acquire("r", "us", MINUTE),
            extend("r", "us", MINUTE),
            transfer("r", "them", "us", MINUTE),
            release("r", "us"),
            inspect("r"),
        ] {
            let foreign = Vote::Refused(Refusal::default());
            assert_eq!(link.ask(&request), foreign, "{}: {request:?}", kind.title);
        }
    }
}

#[test]
fn the_older_protocol_does_without_scripts_too() {
    for kind in natives() {
        let url = kind.user(&["+@all", "-@scripting", "-hello"]);
        let mut link = Driven::with(&url, &Configuration::plain());
        assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
        let vote = link.ask(&acquire("r", "them", MINUTE));
        let Vote::Refused(refusal) = vote else {
            panic!("{vote:?}");
        };
        assert_eq!(refusal.holder, Some(by("us")));
        assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
        assert_eq!(link.ask(&inspect("r")), Vote::GRANTED);
    }
}

fn manager(urls: Vec<String>, defaults: LockOptions) -> LockManager<Plain> {
    let builder = LockManager::builder().nodes(urls).defaults(defaults);
    builder.build_plain().expect("good addresses")
}

#[test]
fn a_lease_without_scripts_is_extended_handed_over_waited_for_and_released() {
    for kind in natives() {
        let options = LockOptions::new().ttl(Duration::from_secs(30));
        let managers = [(), ()].map(|()| manager(vec![kind.scriptless()], options.clone()));
        let [ours, theirs] = managers
            .each_ref()
            .map(|manager| manager.mutex("r").expect("good"));
        let guard = block_on(ours.acquire()).expect("it is free");
        let held = block_on(theirs.try_acquire()).expect_err("it is held");
        assert_eq!(held.holder(), Some(guard.owner()));
        block_on(guard.extend_to(Duration::from_secs(60))).expect("it is ours");
        assert!(kind.life() > 50_000);
        block_on(guard.extend_to(Duration::from_secs(10))).expect("it is ours");
        assert!(kind.life() > 50_000);
        assert_eq!(guard.state(), LeaseState::Held);
        let text = block_on(guard.hand_over()).expect("it is ours");
        let guard = block_on(managers[1].adopt(&text)).expect("it is handed over");
        assert_eq!(kind.holder(), Some(guard.owner().to_string()));
        let waiting = std::thread::spawn(move || block_on(ours.acquire()));
        let outcome = block_on(guard.release());
        assert!(outcome.is_released(), "{outcome}");
        let guard = waiting.join().expect("it only waits").expect("it is free");
        let holder = kind.holder();
        assert_eq!(holder, Some(guard.owner().to_string()));
        kind.server
            .command(&["SET", "r", "somebody"])
            .expect("it answers");
        let outcome = block_on(guard.release());
        assert!(
            matches!(outcome, ReleaseOutcome::TakenByAnother { .. }),
            "{outcome:?}"
        );
        assert_eq!(kind.holder().as_deref(), Some("somebody"));
    }
}

#[test]
fn servers_with_and_without_scripts_make_one_quorum() {
    let natives = natives();
    if natives.is_empty() {
        return;
    }
    let others = kinds();
    let urls = natives.iter().map(Kind::scriptless);
    let urls = urls
        .chain(others.iter().map(|kind| kind.server.url()))
        .collect();
    let options = LockOptions::new().ttl(Duration::from_secs(60));
    let mutex = manager(urls, options).mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("all are free");
    block_on(guard.extend()).expect("it is ours");
    for kind in natives.iter().chain(&others) {
        let holder = || kind.holder() == Some(guard.owner().to_string());
        crate::support::eventually("each has the key", holder);
    }
    assert!(block_on(guard.release()).is_released());
    for kind in natives.iter().chain(&others) {
        crate::support::eventually("none has the key", || kind.holder().is_none());
    }
}

#[test]
fn several_names_need_a_script_and_it_is_told() {
    for kind in natives() {
        let builder = LockManager::builder().nodes([kind.scriptless()]);
        let manager = builder.build_plain().expect("a good address");
        let alone = manager.mutex("a").expect("a good name");
        let guard = block_on(alone.acquire()).expect("one name needs none");
        assert!(block_on(guard.release()).is_released());
        let both = manager.mutex_all(["a", "b"]).expect("good names");
        let error = block_on(both.try_acquire()).expect_err("it cannot be had");
        let error = error.to_string();
        assert!(
            error.contains("several names can only be locked together by a script"),
            "{error}"
        );
    }
}
