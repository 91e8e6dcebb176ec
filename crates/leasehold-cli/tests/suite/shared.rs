//! A lock that many share, or one has alone: as with `flock -s`.

use crate::support::{Place, Running, Seen, lives, places, wait_until};

use rustix::process::Signal;

/// Whether somebody gets it now.
#[track_caller]
fn gets(place: &Place, flags: &[&str]) -> bool {
    place.gets(&[flags, &["doc"]].concat())
}

/// Somebody who shares it until their input ends.
fn hold(place: &Place) -> Running {
    let mut holder = place.run(&["hold", "--shared", "doc"]).keeping_stdin();
    assert_eq!(holder.line(), "LEASEHOLD_RESOURCE=doc");
    holder
}

/// Who has it, as those are told whom a reader keeps out: a file names the processes.
fn by(place: &Place) -> &'static str {
    match place.servers {
        Some(_) => "elsewhere, by readers, permits or another program",
        None => "by readers (pid ",
    }
}

#[test]
fn two_share_it_at_once_and_one_who_wants_it_alone_waits_for_both() {
    for place in places() {
        let script = "echo in; read line; echo out";
        let words = ["run", "--shared", "doc", "--", "sh", "-c", script];
        let mut readers = [0, 1].map(|_| place.run(&words).keeping_stdin());
        for reader in &mut readers {
            assert_eq!(reader.line(), "in");
        }
        assert!(gets(&place, &["-s"]) && !gets(&place, &[]));
        let mut writer = place
            .run(&["run", "--fair", "doc", "--", "echo", "alone"])
            .start();
        let said = writer.error_line();
        let told = format!(
            "leasehold: waiting in line for \"doc\": held {}",
            by(&place)
        );
        assert!(said.starts_with(&told), "{said}");
        // It stands in line, so nobody reads before it any more.
        wait_until(|| !gets(&place, &["--shared"]));
        let [mut one, mut other] = readers;
        one.close_stdin();
        assert_eq!((one.line().as_str(), one.end().code), ("out", 0));
        assert!(!gets(&place, &[]));
        other.close_stdin();
        assert_eq!((other.line().as_str(), other.end().code), ("out", 0));
        assert_eq!((writer.line().as_str(), writer.end().code), ("alone", 0));
        assert!(gets(&place, &["--shared"]) && gets(&place, &[]));
    }
}

#[test]
fn who_shares_it_waits_for_the_one_who_has_it_alone() {
    for place in places() {
        let mut writer = place.run(&["hold", "doc"]).keeping_stdin();
        assert_eq!(writer.line(), "LEASEHOLD_RESOURCE=doc");
        let refused = place.end(&["run", "-n", "--shared", "doc", "--", "true"]);
        refused.assert_says(121, &["leasehold: cannot lock \"doc\": held by pid "]);
        let mut reader = place
            .run(&["run", "-sv", "doc", "--", "echo", "in"])
            .start();
        let said = reader.error_line();
        assert!(
            said.starts_with("leasehold: waiting in line for \"doc\": held by pid "),
            "{said}"
        );
        writer.close_stdin();
        assert_eq!(writer.end().code, 0);
        assert_eq!(reader.line(), "in");
        reader
            .end()
            .assert_says(0, &["locked \"doc\" after ", ": shared, valid for "]);
    }
}

#[test]
fn one_who_is_refused_is_told_that_it_is_shared_and_for_how_long() {
    for place in places() {
        let mut holder = hold(&place);
        let told = format!("leasehold: cannot lock \"doc\": held {}", by(&place));
        let refused = place.end(&["run", "-n", "doc", "--", "true"]);
        refused.assert_says(121, &[&told, ", for at most "]);
        let late = place.end(&["run", "-w", "400ms", "doc", "--", "true"]);
        let told = format!("still held after 400 ms {}", by(&place));
        late.assert_says(124, &[&told, ", for at most "]);
        holder.close_stdin();
        assert_eq!(holder.end().code, 0);
    }
}

#[test]
fn a_command_that_shares_it_has_no_fencing_token_not_even_that_of_a_lock_around_it() {
    for place in [Place::on_servers(1), Place::local()] {
        let inner = env!("CARGO_BIN_EXE_leasehold");
        let script = "echo $LEASEHOLD_RESOURCE; env | grep -c -e ^LEASEHOLD_FENCING_TOKEN -e ^LEASEHOLD_TERM; \
                      env | grep -c -e ^LEASEHOLD_OWNER= -e ^LEASEHOLD_VALID_UNTIL=";
        let words = [
            "run", "doc", "--", inner, "run", "--shared", "other", "--", "sh", "-c", script,
        ];
        let seen = place.end(&words);
        assert_eq!(seen.stdout, "other\n0\n2\n", "{seen:?}");
    }
}

#[test]
fn scripts_share_it_extend_it_and_release_it() {
    let place = Place::on_servers(3);
    let owner = |seen: &Seen| {
        let lines: Vec<_> = seen.stdout.lines().collect();
        assert_eq!(
            (lines.len(), lines[0]),
            (4, "LEASEHOLD_RESOURCE=doc"),
            "{seen:?}"
        );
        assert_eq!(lines[2], "unset LEASEHOLD_FENCING_TOKEN");
        assert!(lines[3].starts_with("LEASEHOLD_VALID_UNTIL="));
        let owner = lines[1]
            .strip_prefix("LEASEHOLD_OWNER=")
            .expect("it is next");
        owner.to_owned()
    };
    let [one, other] = [0, 1].map(|_| owner(&place.end(&["acquire", "--shared", "doc"])));
    assert_ne!(one, other);
    let extend = ["extend", "--ttl", "30s", "--owner", &one, "doc"];
    place
        .end(&extend)
        .assert_says(123, &["cannot extend the lock \"doc\": "]);
    assert_eq!(
        owner(&place.end(&[&extend[..], &["--shared"]].concat())),
        one
    );
    assert!(!gets(&place, &[]));
    for (owner, is_left) in [(&one, true), (&other, false)] {
        let release = ["release", "--json", "-s", "--owner", owner, "doc"];
        let said =
            format!("{{\"resource\":\"doc\",\"owner\":\"{owner}\",\"outcome\":\"released\"}}\n");
        place.end(&release).assert(0, &said, "");
        let again = place.end(&release);
        again.assert_says(
            123,
            &["cannot release \"doc\": no lock of this owner is there"],
        );
        assert_eq!(gets(&place, &[]), !is_left);
    }
    let json = place.end(&["acquire", "--json", "--shared", "doc"]);
    assert!(
        json.stdout
            .contains("\",\"shared\":true,\"valid_until_unix_ms\":"),
        "{json:?}"
    );
}

#[test]
fn a_command_whose_share_is_lost_is_ended() {
    let place = Place::on_servers(3);
    let script = "echo $$; exec sleep 30";
    let words = [
        "run", "--shared", "--ttl", "1s", "doc", "--", "sh", "-c", script,
    ];
    let mut run = place.run(&words).start();
    let group = run.pid();
    for server in place.servers().iter() {
        let mut connection = server.connect().expect("it runs");
        connection.command(&["DEL", "doc"]).expect("it answers");
    }
    wait_until(|| !lives(group));
    run.end()
        .assert_says(123, &["lost the lock \"doc\" while the command ran: "]);
}

#[test]
fn on_this_machine_a_killed_process_shares_nothing() {
    let place = Place::local();
    let holder = hold(&place);
    assert!(!gets(&place, &[]));
    holder.signal(Signal::KILL);
    wait_until(|| gets(&place, &[]));
}

#[test]
fn a_command_that_asks_for_what_it_shares_is_refused_if_it_would_wait_for_itself() {
    for place in [Place::on_servers(3), Place::local()] {
        let inner = env!("CARGO_BIN_EXE_leasehold");
        let outer = ["run", "--shared", "doc", "--"];
        let around = ["run", "-s", "other", "--"];
        for asked in [&["run", "doc"][..], &["run", "--fair", "doc"]] {
            let words = [
                &outer,
                &[inner][..],
                &around,
                &[inner],
                asked,
                &["--", "true"],
            ]
            .concat();
            let said = "cannot lock \"doc\": this command already runs under that lock";
            place.end(&words).assert_says(2, &[said]);
        }
        let words = [&outer, &[inner][..], &outer, &["true"]].concat();
        place.end(&words).assert(0, "", "");
    }
}

#[test]
fn what_cannot_be_shared_is_told() {
    let place = Place::on_servers(1);
    let says = [
        "leasehold: several names cannot be shared together: --shared takes one name",
        "hint: leave --shared out, or share one name that stands for all of them",
    ];
    for words in [
        &["run", "--shared", "a", "b", "--", "true"][..],
        &["hold", "--shared", "a", "b"],
        &["acquire", "--shared", "a", "b"],
        &["extend", "--shared", "--owner", "x", "a", "b"],
        &["release", "--shared", "--owner", "x", "a", "b"],
    ] {
        place.end(words).assert_says(2, &says);
    }
    let elect = place.end(&["elect", "--shared", "a", "--", "true"]);
    elect.assert_says(2, &["unexpected argument '--shared'"]);
}

#[test]
fn a_sorted_set_of_another_program_is_no_lock() {
    let place = Place::on_servers(1);
    let servers = place.servers();
    let mut connection = servers[0].connect().expect("it runs");
    for end in ["-1", "60000"] {
        for words in [&["ZADD", "doc", "1", "theirs"][..], &["PERSIST", "doc"]] {
            connection.command(words).expect("it answers");
        }
        if end != "-1" {
            let ends = connection.command(&["PEXPIRE", "doc", end]);
            ends.expect("it answers");
        }
        let seen = place.end(&["run", "doc", "--", "true"]);
        seen.assert_says(2, &["\"doc\" is a sorted set, not a lock"]);
        let seen = place.end(&["list"]);
        assert_eq!((seen.code, seen.stdout.as_str()), (0, ""), "{seen:?}");
    }
}

#[test]
fn those_who_look_are_told_that_it_is_read_and_in_a_file_by_which_processes() {
    for place in places() {
        let mut holders = [hold(&place), hold(&place)];
        let [one, other] = [0, 1].map(|at: usize| {
            let pid = holders[at].process().as_raw_nonzero();
            format!("pid {pid} on ")
        });
        let named: &[&str] = match place.servers {
            Some(_) => &["readers"],
            None => &["readers (", &one, &other],
        };
        for (words, code, begins) in [
            (&["status", "doc"][..], 121, "\"doc\" is held by "),
            (&["list"], 0, "RESOURCE "),
            (&["watch", "--once"], 0, ""),
            (&["status", "--json", "doc"], 121, "{\"resource\":\"doc\""),
            (&["wait", "--wait", "1ms", "--json", "doc"], 124, "{"),
        ] {
            let seen = place.end(words);
            assert_eq!(seen.code, code, "{seen:?}");
            assert!(seen.stdout.starts_with(begins), "{seen:?}");
            for part in named {
                assert!(seen.stdout.contains(part), "no {part:?} in {seen:?}");
            }
            assert!(!seen.stdout.contains("the holder's"), "{seen:?}");
            assert!(!seen.stderr.contains("panicked"), "{seen:?}");
        }
        let waited = place.end(&["wait", "-w", "1ms", "doc"]);
        waited.assert_says(124, &[&[" is still held by "][..], named].concat());
        for holder in &mut holders {
            holder.close_stdin();
        }
        assert_eq!(holders.map(|holder| holder.end().code), [0, 0]);
        assert_eq!(place.end(&["status", "doc"]).code, 0);
    }
}

#[test]
fn readers_are_not_put_out_and_their_lock_is_not_said_to_be_gone() {
    for place in places() {
        let mut holder = hold(&place);
        let whom = match place.servers {
            Some(_) => "readers, whom servers do not name; nothing was changed",
            None => &format!("readers (pid {} on ", holder.process().as_raw_nonzero()),
        };
        let said = format!("leasehold: \"doc\" is held by {whom}");
        let way_out = "; nothing was changed\nhint: end the processes that share it";
        let refused = place.end(&["force-release", "--yes", "doc"]);
        refused.assert_says(2, &[&said, way_out]);
        assert_eq!(refused.stdout, "");
        assert!(!gets(&place, &[]));
        holder.close_stdin();
        assert_eq!(holder.end().code, 0);
    }
}
