//! Several names that are locked together: all or none, on servers and on this machine alone.

use crate::support::{Place, Running, Seen, User, lives, places, wait_until};
use leasehold_servers::{HaProxy, Nutcracker, Server, require_server, skip};
use rustix::process::Signal;
use std::{fs, thread};

/// Somebody who holds these names until their input ends.
fn hold(place: &Place, names: &[&str]) -> Running {
    let words = [&["hold"], names].concat();
    let mut holder = place.run(&words).keeping_stdin();
    let line = holder.line();
    assert!(line.starts_with("LEASEHOLD_RESOURCE="), "{line}");
    holder
}

/// What the lines for the shell say of one variable.
#[track_caller]
fn value<'a>(seen: &'a Seen, name: &str) -> &'a str {
    let line = seen.stdout.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|line| line.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {seen:?}"))
}

#[test]
fn who_has_several_names_keeps_out_all_who_want_one_of_them() {
    for site in places() {
        let mut holder = hold(&site, &["b", "a"]);
        for names in [&["a"][..], &["b"], &["a", "b"], &["b", "c"]] {
            assert!(!site.gets(names), "{names:?}");
        }
        // Who was refused has left nothing, and who wants others is in nobody's way.
        assert!(site.gets(&["c", "d"]));
        let refused = site.end(&["run", "-n", "c", "b", "--", "true"]);
        let which = "; of these names it has \"b\"\n";
        let told = "leasehold: cannot lock \"b\", \"c\": held by pid ";
        refused.assert_says(121, &[told, which]);
        let late = site.end(&["run", "-w", "300ms", "c", "b", "--", "true"]);
        late.assert_says(
            124,
            &[
                "cannot lock \"b\", \"c\": still held after 300 ms by pid ",
                which,
            ],
        );
        holder.close_stdin();
        let seen = holder.end();
        assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
        assert!(site.gets(&["a", "b"]));
    }
}

#[test]
fn who_has_one_name_keeps_out_all_who_want_it_among_others() {
    for site in places() {
        let mut holder = hold(&site, &["b"]);
        assert!(!site.gets(&["a", "b", "c"]));
        assert!(site.gets(&["a", "c"]), "something was left behind");
        // All or none: who waits for the rest has nothing.
        let waiting = site
            .run(&["run", "a", "b", "c", "--", "echo", "done"])
            .start();
        let mut waiting = waiting;
        let said = waiting.error_line();
        let told = "leasehold: waiting for \"a\", \"b\", \"c\": held by pid ";
        assert!(said.starts_with(told), "{said}");
        assert!(site.gets(&["a", "c"]), "a part is kept");
        holder.close_stdin();
        assert_eq!(waiting.line(), "done");
        assert_eq!(waiting.end().code, 0);
        assert_eq!(holder.end().code, 0);
    }
}

#[test]
fn a_command_is_told_its_names_one_a_line() {
    for site in places() {
        let script =
            "sleep 0.4; printf '%s|' \"$LEASEHOLD_RESOURCE\"; env | grep -c ^LEASEHOLD_OWNER=";
        let words = ["c", "it's $(x)", "a", "c", "--", "sh", "-c", script];
        let seen = site.end(&[&["run", "-v", "--ttl", "600ms"], &words[..]].concat());
        assert_eq!(seen.stdout, "a\nc\nit's $(x)|1\n", "{seen:?}");
        let quoted = "\"a\", \"c\", \"it's $(x)\"";
        for (before, behind) in [
            ("locked ", " after "),
            ("extended ", ": valid for "),
            ("released ", "\n"),
        ] {
            seen.assert_says(0, &[&format!("leasehold: {before}{quoted}{behind}")]);
        }
    }
}

#[test]
fn a_name_that_is_said_twice_is_one_name() {
    let site = Place::local();
    let words = [
        "run",
        "-v",
        "a",
        "a",
        "--",
        "printenv",
        "LEASEHOLD_RESOURCE",
    ];
    let seen = site.end(&words);
    assert_eq!(seen.stdout, "a\n");
    seen.assert_says(0, &["locked \"a\" after "]);
}

#[test]
fn overlapping_names_of_many_processes_end_and_count_exactly() {
    for site in [Place::on_servers(1), Place::on_servers(3), Place::local()] {
        contend(&site, || {});
    }
}

#[test]
fn one_of_five_servers_may_die_while_many_contend_for_several_names() {
    let site = Place::on_servers(5);
    let servers = site.servers();
    contend(&site, || servers[2].kill().expect("it runs"));
}

/// Each name has a counter that is read, and written a moment later. Six processes lock two or three names at a time, in
/// every order, and a seventh one of them alone.
fn contend(site: &Place, half_way: impl FnOnce()) {
    const ROUNDS: usize = 6;
    let sets = ["a b", "b c", "c a", "c b a", "d a", "b d", "b"];
    for name in ["a", "b", "c", "d"] {
        fs::write(site.path(name), "0").expect("it is ours");
    }
    let script = "cd \"$0\"; counts=; for name in $LEASEHOLD_RESOURCE; do counts=\"$counts $name:$(cat $name)\"; done; \
                  sleep 0.01; for one in $counts; do echo $((${one#*:} + 1)) > ${one%:*}; done";
    let here = site.path("");
    let one = |names: &[&str]| {
        let words = [&["run"], names, &["--", "sh", "-c", script, &here]].concat();
        let seen = site.end(&words);
        assert_eq!(seen.code, 0, "{names:?}: {seen:?}");
    };
    let counted = |name: &str| {
        let count = fs::read_to_string(site.path(name)).expect("it was written");
        count.trim().parse::<usize>().ok()
    };
    let wanted = |name: &str| sets.iter().filter(|set| set.contains(name)).count() * ROUNDS;
    thread::scope(|scope| {
        for set in sets {
            let names: Vec<&str> = set.split(' ').collect();
            scope.spawn(move || (0..ROUNDS).for_each(|_| one(&names)));
        }
        // A counter that is being written is empty.
        wait_until(|| counted("b").is_some_and(|count| count >= wanted("b") / 2));
        half_way();
    });
    for name in ["a", "b", "c", "d"] {
        assert_eq!(counted(name), Some(wanted(name)), "{name}");
    }
}

#[test]
fn what_a_shell_is_told_of_several_names_is_what_others_take() {
    let site = Place::on_servers(3);
    let names = ["plain", "it's $(false)", "%s -n", "back\\slash"];
    let seen = site.end(&[&["acquire"], &names[..]].concat());
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
    assert_eq!(seen.stdout.lines().count(), 4, "a line each: {seen:?}");
    // By `eval`, by a file, by an environment variable, and by `$(…)`.
    let file = site.path("lease");
    fs::write(&file, &seen.stdout).expect("it is ours");
    let script = "eval \"$(cat \"$1\")\"; export LEASEHOLD_RESOURCE\n\
                  printenv LEASEHOLD_RESOURCE > \"$1.names\"\n\
                  \"$0\" extend --ttl 30s --owner \"$LEASEHOLD_OWNER\" \"$LEASEHOLD_RESOURCE\" > /dev/null || exit 1\n\
                  \"$0\" extend --ttl 30s --owner \"$LEASEHOLD_OWNER\" \"$(cat \"$1.names\")\" || exit 2\n\
                  printf '%s' \"$LEASEHOLD_RESOURCE\" > \"$1.here\"";
    let shell = site.user.run_in(
        "sh",
        &["-c", script, env!("CARGO_BIN_EXE_leasehold"), &file],
        &[],
    );
    let nodes = site.servers().nodes();
    let extended = shell.env("LEASEHOLD_NODES", nodes).end();
    assert_eq!(extended.code, 0, "{extended:?}");
    let mut sorted = names;
    sorted.sort_unstable();
    let kept = fs::read_to_string(format!("{file}.here")).expect("it was written");
    assert_eq!(kept, sorted.join("\n"));
    let until = |seen: &Seen| value(seen, "LEASEHOLD_VALID_UNTIL").parse::<f64>();
    let (until, more) = (
        until(&seen).expect("a number"),
        until(&extended).expect("a number"),
    );
    assert!(more > until + 10.0, "{until} {more}");
    for name in names {
        assert!(!site.gets(&[name]), "{name}");
    }
    // As words, in another order.
    let owner = value(&seen, "LEASEHOLD_OWNER");
    let words = [&["release", "--owner", owner], &names[1..], &names[..1]].concat();
    site.end(&words).assert(0, "", "");
    assert!(site.gets(&names));
}

#[test]
fn a_program_is_told_several_names_as_one_text() {
    let site = Place::on_servers(1);
    let seen = site.end(&["acquire", "--json", "b", "a"]);
    let start = "{\"resource\":\"a\\u000ab\",\"owner\":\"";
    let rest = seen.stdout.strip_prefix(start).expect(&seen.stdout);
    let (owner, _) = rest.split_once('"').expect("it ends");
    let release = site.end(&["release", "--json", "--owner", owner, "a\nb"]);
    let expected = format!("{start}{owner}\",\"outcome\":\"released\"}}\n");
    release.assert(0, &expected, "");
}

#[test]
fn a_lock_without_one_of_its_names_is_not_extended_or_released_as_a_whole_and_the_name_is_told() {
    let site = Place::on_servers(3);
    let seen = site.end(&["acquire", "a", "b"]);
    let owner = value(&seen, "LEASEHOLD_OWNER");
    let gone = site.end(&["force-release", "--yes", "b"]);
    assert_eq!(gone.code, 0, "{gone:?}");
    let extend = site.end(&["extend", "--owner", owner, "a", "b"]);
    extend.assert_says(
        123,
        &[
            "cannot extend the lock \"a\", \"b\": ",
            "no longer have it",
            "; of these names its owner has \"a\"\n",
        ],
    );
    assert!(site.gets(&["b"]), "it was taken back");
    let release = site.end(&["release", "--owner", owner, "b", "a"]);
    release.assert_says(
        123,
        &[
            "cannot release \"a\", \"b\": this owner did not have \"b\" any more; it had \"a\", which was released\n",
        ],
    );
    assert!(site.gets(&["a", "b"]), "a rest is left");
    let extend = site.end(&["extend", "--owner", owner, "a", "b"]);
    extend.assert_says(123, &["; its owner has none of these names\n"]);
    let release = site.end(&["release", "--owner", owner, "b", "a"]);
    release.assert_says(
        123,
        &["cannot release \"a\", \"b\": no lock of this owner is there"],
    );
}

#[test]
fn each_name_is_shown_with_the_one_owner() {
    for site in [Place::on_servers(3), Place::local()] {
        let mut holder = hold(&site, &["x/a", "x/b"]);
        let owner = holder.line();
        let owner = owner
            .strip_prefix("LEASEHOLD_OWNER=")
            .expect("it is next")
            .trim_matches('\'');
        for name in ["x/a", "x/b"] {
            let seen = site.end(&["status", name]);
            assert_eq!(seen.code, 121, "{seen:?}");
            assert!(seen.stdout.contains(owner), "{owner} in {seen:?}");
        }
        let seen = site.end(&["list", "x/"]);
        let shown = seen.stdout.lines().filter(|line| line.starts_with("x/"));
        assert_eq!(shown.count(), 2, "{seen:?}");
        holder.close_stdin();
        assert_eq!(holder.end().code, 0);
    }
}

#[test]
fn a_command_whose_lock_loses_one_name_is_ended() {
    let site = Place::on_servers(3);
    let script = "echo $$; exec sleep 30";
    let words = ["run", "--ttl", "2s", "a", "b", "--", "sh", "-c", script];
    let mut run = site.run(&words).start();
    let group = run.pid();
    assert_eq!(site.end(&["force-release", "--yes", "b"]).code, 0);
    wait_until(|| !lives(group));
    run.end()
        .assert_says(123, &["lost the lock \"a\", \"b\" while the command ran: "]);
    assert!(site.gets(&["a", "b"]));
}

#[test]
fn who_ends_the_command_of_a_killed_run_says_all_its_names() {
    let site = Place::on_servers(1);
    let script = "echo $$; exec sleep 30";
    let words = ["run", "--ttl", "2s", "b", "a", "--", "sh", "-c", script];
    let mut run = site.run(&words).start();
    let group = run.pid();
    run.signal(Signal::KILL);
    wait_until(|| !lives(group));
    let said = run.error_line();
    assert!(
        said.contains(", which held \"a\", \"b\", was killed"),
        "{said}"
    );
    // Nobody was there to release it.
    wait_until(|| site.gets(&["a", "b"]));
}

#[test]
fn a_command_that_asks_for_one_of_the_names_around_it_is_refused() {
    for site in [Place::on_servers(1), Place::local()] {
        let mut other = hold(&site, &["a"]);
        let inner = env!("CARGO_BIN_EXE_leasehold");
        for asked in [&["b"][..], &["a", "b"], &["b", "z"]] {
            let words = [
                &["run", "b", "c", "--", inner, "run"],
                asked,
                &["--", "true"],
            ]
            .concat();
            let seen = site.end(&words);
            let quoted: Vec<_> = asked.iter().map(|name| format!("{name:?}")).collect();
            let text = format!(
                "cannot lock {}: this command already runs under that lock",
                quoted.join(", ")
            );
            seen.assert_says(2, &[&text]);
        }
        other.close_stdin();
        assert_eq!(other.end().code, 0);
    }
}

#[test]
fn other_data_under_one_of_the_names_is_no_lock() {
    let site = Place::on_servers(1);
    let servers = site.servers();
    let mut connection = servers[0].connect().expect("it runs");
    connection
        .command(&["HSET", "b", "field", "value"])
        .expect("it answers");
    for flags in [&["run"][..], &["run", "-n"], &["run", "-w", "5s"]] {
        let seen = site.end(&[flags, &["a", "b", "--", "true"]].concat());
        seen.assert_says(2, &["\"b\" is a hash, not a lock"]);
    }
    assert!(site.gets(&["a"]));
}

#[test]
fn a_proxy_that_may_spread_names_is_told_and_a_balancer_before_one_server_is_no_hindrance() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = User::new();
    let run = |url: &str, names: &[&str]| {
        let words = [&["run", "-n"], names, &["--", "true"]].concat();
        user.run(&words).env("LEASEHOLD_NODES", url).end()
    };
    if Nutcracker::find().is_none() {
        skip("no nutcracker");
    } else {
        let nutcracker = Nutcracker::start(&[server.port()]).expect("it starts");
        let url = format!("redis://127.0.0.1:{}", nutcracker.ports()[0]);
        assert_eq!(run(&url, &["a"]).code, 0);
        let says = [
            "leasehold: cannot lock \"a\", \"b\": ",
            "several names cannot be locked together behind a proxy",
            "hint: give the servers' own addresses, or lock one name that stands for all",
        ];
        run(&url, &["a", "b"]).assert_says(122, &says);
    }
    if HaProxy::find().is_none() {
        return skip("no haproxy");
    }
    // The first one is agreed to have another address.
    let server = Server::start().expect("it starts");
    let haproxy = HaProxy::before(&[server.port()])
        .start()
        .expect("it starts");
    run(&haproxy.url(), &["a", "b"]).assert(0, "", "");
}
