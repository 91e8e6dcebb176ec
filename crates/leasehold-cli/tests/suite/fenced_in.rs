//! What doctor tells of servers that forbid, rename or hide something, and of what stands before servers.

use crate::support::User;
use leasehold_servers::{HaProxy, Managed, Nutcracker, Server, ServerSet, require_server, skip};

/// What doctor says of this address, as text and as JSON. With the guard that everybody has, or with none.
fn doctor(url: &str, is_guarded: bool) -> [String; 2] {
    let user = User::new();
    [&["doctor"][..], &["doctor", "--json"]].map(|words| {
        let run = user.run(words).env("LEASEHOLD_NODES", url);
        let run = if is_guarded { run.guarded() } else { run };
        run.end().stdout
    })
}

#[track_caller]
fn expect(told: &[String; 2], text: &[&str], json: &[&str], title: &str) {
    for (told, parts) in told.iter().zip([text, json]) {
        for part in parts {
            assert!(told.contains(part), "{title}: no {part:?} in {told}");
        }
    }
}

const GUARDED: &str = r#""mode":{"restart_guard":"quarantine","waiters":"told","scripts":"loaded","locks_per_call":"several"}"#;

/// A command that is forbidden; the line of the mode, if there is one, and what else is said.
struct Case {
    command: &'static str,
    right: &'static str,
    is_guarded: bool,
    mode: Option<&'static str>,
    lost: &'static str,
    json: &'static str,
}

const CASES: [Case; 8] = [
    Case {
        command: "INFO",
        right: "+info",
        is_guarded: true,
        mode: None,
        lost: "restart guard off, which does without INFO and sees no restart, failover or eviction\n",
        json: r#""mode":null"#,
    },
    Case {
        command: "INFO",
        right: "+info",
        is_guarded: false,
        mode: Some("mode: restart guard off, waiters are told\n"),
        lost: "nobody can see whether the server evicts locks\n",
        json: r#""mode":{"restart_guard":"off","waiters":"told","scripts":"loaded","locks_per_call":"several"}"#,
    },
    Case {
        command: "CLIENT",
        right: "+client|tracking",
        is_guarded: true,
        mode: Some("mode: restart guard quarantine, waiters poll\n"),
        lost: "nobody is told when a lock becomes free or its key is deleted: waiters poll, and a holder hears of it with its next extension\n",
        json: r#""waiters":"poll","scripts":"loaded","locks_per_call":"several"}"#,
    },
    Case {
        command: "SCRIPT",
        right: "+script|load",
        is_guarded: true,
        mode: Some("mode: restart guard quarantine, waiters are told, scripts are sent\n"),
        lost: "scripts are sent along with the first requests that need them; otherwise the same\n",
        json: r#""waiters":"told","scripts":"sent","locks_per_call":"several"}"#,
    },
    Case {
        command: "HELLO",
        right: "+hello",
        is_guarded: true,
        mode: Some("mode: restart guard quarantine, waiters poll, one lock a call\n"),
        lost: "each lock is asked for in a call of its own, in case a proxy stands there",
        json: r#""waiters":"poll","scripts":"loaded","locks_per_call":"one"}"#,
    },
    Case {
        command: "EVAL",
        right: "+eval",
        is_guarded: true,
        mode: None,
        lost: "plain locks (`build_plain`): on Valkey 9.0, Redis 8.4 or newer they need no scripts",
        json: r#""mode":null"#,
    },
    Case {
        command: "PEXPIRE",
        right: "+pexpire",
        is_guarded: true,
        mode: None,
        lost: "why: a vote needs them\n         do:  undo any rename-command on the server, and then ACL SETUSER … +pexpire\n",
        json: r#""mode":null"#,
    },
    Case {
        command: "CONFIG",
        right: "",
        is_guarded: true,
        mode: Some("mode: restart guard quarantine, waiters are told\n"),
        lost: "verdict: ",
        json: GUARDED,
    },
];

impl Case {
    #[track_caller]
    fn check(&self, url: &str, how: &str) {
        let title = format!("{} {how}", self.command);
        let told = doctor(url, self.is_guarded);
        let lacks = match self.right {
            "" => "clock as here".to_owned(),
            right => format!("its user lacks rights: {right}"),
        };
        expect(&told, &[self.lost, &lacks], &[self.json], &title);
        match self.mode {
            Some(mode) => expect(&told, &[mode], &[], &title),
            None => assert!(!told[0].contains("mode:"), "{title}: {}", told[0]),
        }
    }
}

#[test]
fn doctor_tells_the_mode_that_results_where_a_user_may_not_run_a_command_and_what_is_lost() {
    require_server();
    let server = Server::start().expect("it starts");
    // Servers let everybody greet them, whatever the rights.
    for case in CASES.iter().filter(|case| case.command != "HELLO") {
        let right = format!("-{}", case.command.to_ascii_lowercase());
        let words = ["ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "+@all"];
        let words = [&words[..], &[right.as_str()]].concat();
        server.command(&words).expect("it answers");
        let url = format!("redis://u:pw@127.0.0.1:{}", server.port());
        case.check(&url, "forbidden");
    }
}

#[test]
fn doctor_tells_the_mode_that_results_where_a_command_was_renamed_and_what_is_lost() {
    require_server();
    for case in &CASES {
        let server = Server::builder().option("rename-command", &[case.command, "\"\""]);
        let server = server.start().expect("it starts");
        case.check(&server.url(), "renamed");
    }
}

#[test]
fn doctor_names_what_a_service_hides_and_what_to_do() {
    require_server();
    let server = Server::start().expect("it starts");
    let managed = Managed::before(server.port()).shows("run_id", Some(""));
    let managed = managed.start().expect("a free port");
    let told = doctor(&managed.url(), true);
    let text = [
        "problem  ",
        "does not tell its run_id (INFO), without which nobody sees restarts; restart guard off does without\n",
        "what it hides is what the restart guard compares to see whether locks were forgotten\n",
        "`leasehold reconfigure` to restart guard off\n",
        "cannot vote",
        "verdict: broken",
    ];
    expect(
        &told,
        &text,
        &[r#""verdict":"broken""#, r#""mode":null"#],
        "hidden",
    );
    let told = doctor(&managed.url(), false);
    let json = [
        r#""mode":{"restart_guard":"off""#,
        r#""verdict":"weakened""#,
    ];
    expect(
        &told,
        &["warning  the restart guard is off\n"],
        &json,
        "off",
    );

    let managed = Managed::before(server.port()).refuses_in_scripts("INFO");
    let managed = managed.start().expect("a free port");
    let told = doctor(&managed.url(), true);
    let text = [
        "lacks rights: +info\n",
        "where a service forbids it, restart guard off",
    ];
    expect(&told, &text, &[r#""mode":null"#], "in scripts");
}

#[test]
fn servers_that_show_the_same_run_id_are_not_said_to_be_one() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let managed: Vec<_> = servers
        .iter()
        .map(|server| {
            let managed = Managed::before(server.port());
            let managed = managed.shows("run_id", Some("3f0a5d1c8b7e42961c0d4f8a2b6e9d7c5a1f3e08"));
            managed.start().expect("a free port")
        })
        .collect();
    let urls: Vec<_> = managed.iter().map(Managed::url).collect();
    let told = doctor(&urls.join(","), false);
    expect(
        &told,
        &["3 of 3 nodes vote"],
        &[r#""voting":3"#],
        "the same",
    );
}

#[test]
fn doctor_finds_two_masters_behind_one_address() {
    require_server();
    if HaProxy::find().is_none() {
        return skip("no haproxy");
    }
    let servers = ServerSet::start(2).expect("they start");
    let ports: Vec<_> = servers.iter().map(Server::port).collect();
    let haproxy = HaProxy::before(&ports).start().expect("it starts");
    let told = doctor(&haproxy.url(), false);
    let text = [
        "its address leads to 2 servers, one after the other\n",
        "each of them votes for itself: two may hold the same lock, and no lock notices\n",
        "let the balancer know one server alone",
        "verdict: weakened",
    ];
    expect(&told, &text, &[r#""leads_to_others":[""#], "two");
    let haproxy = HaProxy::before(&ports[..1]).start().expect("it starts");
    let told = doctor(&haproxy.url(), false);
    assert!(!told[0].contains("its address leads"), "{}", told[0]);
    expect(&told, &[], &[r#""leads_to_others":[]"#], "one");
}

#[test]
fn doctor_sees_through_twemproxy_and_says_what_it_costs() {
    require_server();
    if Nutcracker::find().is_none() {
        return skip("no nutcracker");
    }
    let server = Server::start().expect("it starts");
    let nutcracker = Nutcracker::start(&[server.port()]).expect("it starts");
    let url = format!("redis://127.0.0.1:{}", nutcracker.ports()[0]);
    let told = doctor(&url, true);
    let text = [
        "master, up ",
        "clock as here; votes in",
        "mode: restart guard quarantine, waiters poll, scripts are sent, one lock a call\n",
        "is behind a proxy that hangs up at what it does not know\n",
        "auto_eject_hosts: false",
    ];
    let json = [
        r#""behind_proxy":true"#,
        r#""waiters":"poll","scripts":"sent","locks_per_call":"one"}"#,
    ];
    expect(&told, &text, &json, "twemproxy");
}
