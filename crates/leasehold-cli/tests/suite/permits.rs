//! So many at the same time, each with a number of its own.

use crate::support::{Place, Running, Seen, lives, places, wait_until};
use rustix::process::Signal;
use std::{collections::BTreeSet, fs};

/// A job that tells its slot, and ends with its input.
fn begin(place: &Place, flags: &[&str]) -> (Running, u32) {
    let script = "echo $LEASEHOLD_SLOT; read line; true";
    let words = [&["run"], flags, &["gpu", "--", "sh", "-c", script]].concat();
    let mut job = place.run(&words).keeping_stdin();
    let slot = job.line();
    let slot = slot.parse().unwrap_or_else(|_| panic!("no slot: {slot:?}"));
    (job, slot)
}

/// Two jobs of two permits.
fn two(place: &Place) -> [Running; 2] {
    let [(one, first), (other, second)] = [0, 1].map(|_| begin(place, &["--permits", "2"]));
    assert_eq!(BTreeSet::from([first, second]), BTreeSet::from([0, 1]));
    [one, other]
}

/// Whether somebody gets it now.
#[track_caller]
fn gets(place: &Place, flags: &[&str]) -> bool {
    place.gets(&[flags, &["gpu"]].concat())
}

#[track_caller]
fn end(mut job: Running) {
    job.close_stdin();
    assert_eq!(job.end().code, 0);
}

/// Jobs that tell when they begin and end, three at a time; half-way, something happens to the place.
fn crowd(place: &Place, flags: &[&str], half_way: impl FnOnce(&Place)) {
    let log = place.user.path("log");
    let script =
        format!("echo + $LEASEHOLD_SLOT >> {log}; sleep 0.2; echo - $LEASEHOLD_SLOT >> {log}");
    let flags = [&["run", "--permits", "3"], flags].concat();
    let words = [&flags[..], &["gpu", "--", "sh", "-c", &script]].concat();
    let jobs: Vec<_> = (0..9).map(|_| place.run(&words).start()).collect();
    let lines = || fs::read_to_string(&log).unwrap_or_default();
    wait_until(|| lines().lines().count() >= 6);
    half_way(place);
    for job in jobs {
        let seen = job.end();
        assert_eq!(seen.code, 0, "{seen:?}");
    }
    let (mut running, mut most) = (BTreeSet::new(), 0);
    for line in lines().lines() {
        let (what, slot) = line.split_once(' ').expect("a sign and a slot");
        let slot: u32 = slot.parse().expect("a number");
        match what {
            "+" => assert!(running.insert(slot), "two have slot {slot}"),
            _ => assert!(running.remove(&slot)),
        }
        assert!(slot < 3);
        most = most.max(running.len());
    }
    assert_eq!(lines().lines().count(), 18);
    assert!((2..=3).contains(&most), "{most} at once");
}

#[test]
fn no_more_jobs_run_at_once_than_there_are_permits() {
    crowd(&Place::local(), &[], |_| ());
    for flags in [&[][..], &["--fair"]] {
        crowd(&Place::on_servers(5), flags, |place| {
            let servers = place.servers();
            servers[0].kill().expect("it runs");
        });
    }
}

#[test]
fn all_that_are_taken_are_waited_for_or_refused() {
    for place in places() {
        let [one, other] = two(&place);
        let told = "all 2 permits are taken, the next for at most ";
        let refused = place.end(&["run", "-n", "--permits", "2", "gpu", "--", "true"]);
        refused.assert_says(121, &["leasehold: cannot lock \"gpu\": ", told]);
        let words = ["run", "-w", "300ms", "--permits", "2", "gpu", "--", "true"];
        let told = "leasehold: cannot lock \"gpu\": all 2 permits are still taken after 300 ms, the next for ";
        place.end(&words).assert_says(124, &[told]);
        let words = ["run", "-v", "--permits", "2", "gpu", "--", "echo", "in"];
        let mut third = place.run(&words).start();
        // A machine that is busy may leave the first question without an answer.
        let mut said = third.error_line();
        while said.contains("no quorum") {
            said = third.error_line();
        }
        let told = "leasehold: waiting for \"gpu\": all 2 permits are taken, the next for at most ";
        assert!(said.starts_with(told), "{said}");
        end(one);
        assert_eq!(third.line(), "in");
        let told = ["locked \"gpu\" after ", ": slot ", " of 2, token "];
        third.end().assert_says(0, &told);
        end(other);
    }
}

#[test]
fn another_number_is_a_mistake_that_is_told_at_once() {
    for place in places() {
        let (job, _) = begin(&place, &["--permits", "4"]);
        for flags in [&["-n"][..], &["-w", "1h"], &[], &["--fair"]] {
            let words = [&["run"], flags, &["--permits", "8", "gpu", "--", "true"]].concat();
            let says = [
                "leasehold: cannot lock \"gpu\": a permit of 8 was wanted, but others have permits of 4",
                "hint: say the same --permits everywhere",
            ];
            place.end(&words).assert_says(2, &says);
        }
        assert!(gets(&place, &["--permits", "4"]));
        end(job);
        wait_until(|| {
            place
                .end(&["run", "-n", "--permits", "8", "gpu", "--", "true"])
                .code
                == 0
        });
    }
}

#[test]
fn who_wants_all_of_it_waits_for_every_permit_and_is_told_of_them() {
    for place in places() {
        let [one, other] = two(&place);
        let told = "leasehold: cannot lock \"gpu\": all 2 permits are taken, the last for at most ";
        let refused = place.end(&["run", "-n", "gpu", "--", "true"]);
        refused.assert_says(121, &[told]);
        assert!(!gets(&place, &["--shared"]));
        for flags in [&["-v"][..], &["-v", "--fair"]] {
            let words = [&["run", "-w", "500ms"], flags, &["gpu", "--", "true"]].concat();
            let told = "all 2 permits are taken, the last for at most ";
            place
                .end(&words)
                .assert_says(124, &["leasehold: waiting ", told]);
        }
        end(one);
        assert!(!gets(&place, &[]));
        end(other);
        assert!(gets(&place, &[]));
    }
}

#[test]
fn a_permit_of_a_process_that_was_killed_is_free_again() {
    let place = Place::local();
    let (job, slot) = begin(&place, &["--permits", "1"]);
    assert_eq!(slot, 0);
    job.signal(Signal::KILL);
    wait_until(|| gets(&place, &["--permits", "1"]));
    let place = Place::on_servers(3);
    let (job, _) = begin(&place, &["--permits", "1", "--ttl", "2s"]);
    job.signal(Signal::KILL);
    let words = ["run", "-w", "1m", "--permits", "1", "gpu", "--", "true"];
    assert_eq!(place.end(&words).code, 0);
}

#[test]
fn a_command_whose_permit_is_lost_is_ended() {
    let place = Place::on_servers(3);
    let script = "echo $$; exec sleep 30";
    let words = [
        "run",
        "--permits",
        "2",
        "--ttl",
        "1s",
        "gpu",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut run = place.run(&words).start();
    let group = run.pid();
    for server in place.servers().iter() {
        server.command(&["DEL", "gpu"]).expect("it answers");
    }
    wait_until(|| !lives(group));
    let told = "lost the lock \"gpu\" while the command ran: ";
    run.end().assert_says(123, &[told]);
}

#[test]
fn scripts_acquire_a_permit_extend_it_and_release_it_by_its_owner() {
    let place = Place::on_servers(3);
    let lines = |seen: &Seen| {
        let lines = seen.stdout.lines().map(|line| line.split_once('='));
        let lines: Option<Vec<(String, String)>> = lines
            .map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect();
        lines.unwrap_or_else(|| panic!("{seen:?}"))
    };
    let [one, other] = [0, 1].map(|_| {
        let told = lines(&place.end(&["acquire", "--permits", "2", "gpu"]));
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "LEASEHOLD_RESOURCE",
            "LEASEHOLD_OWNER",
            "LEASEHOLD_FENCING_TOKEN",
            "LEASEHOLD_VALID_UNTIL",
            "LEASEHOLD_SLOT",
        ];
        assert_eq!(names, expected);
        (told[1].1.clone(), told[4].1.clone())
    });
    assert_ne!(one.1, other.1);
    assert!(!gets(&place, &["--permits", "2"]));
    let extend = ["extend", "--ttl", "30s", "--owner", &one.0, "gpu"];
    let told = lines(&place.end(&extend));
    assert_eq!(told.last(), Some(&("LEASEHOLD_SLOT".to_owned(), one.1)));
    let says = ["leasehold: this owner has a permit, and shares nothing"];
    place
        .end(&[&extend[..], &["-s"]].concat())
        .assert_says(2, &says);
    let says = ["leasehold: several names have no permits together"];
    place
        .end(&[&extend[..], &["b"]].concat())
        .assert_says(2, &says);
    for owner in [&one.0, &other.0] {
        let release = ["release", "--owner", owner, "gpu"];
        place.end(&release).assert(0, "", "");
        let says = ["cannot release \"gpu\": no lock of this owner is there"];
        place.end(&release).assert_says(123, &says);
        assert!(gets(&place, &["--permits", "2"]));
    }
    let json = place.end(&["acquire", "--json", "--permits", "1", "gpu"]);
    let told = "\",\"slot\":0,\"permits\":1,\"fencing_token\":";
    assert!(json.stdout.contains(told), "{json:?}");
}

#[test]
fn those_who_look_are_told_which_are_taken_and_by_whom() {
    for place in places() {
        let mut jobs = [0, 1].map(|_| {
            let mut job = place
                .run(&["hold", "--permits", "3", "gpu"])
                .keeping_stdin();
            let lines = [0; 5].map(|_| job.line());
            assert!(lines[4].starts_with("LEASEHOLD_SLOT="), "{lines:?}");
            job
        });
        let status = place.end(&["status", "gpu"]);
        assert_eq!(status.code, 121);
        let told = "\"gpu\": 2 of 3 permits are taken\n\n  SLOT  LEFT ";
        assert!(status.stdout.starts_with(told), "{status:?}");
        for job in &jobs {
            let pid = format!("  pid {} on ", job.process().as_raw_nonzero());
            assert!(status.stdout.contains(&pid), "{status:?}");
        }
        assert!(!status.stdout.contains("another program"), "{status:?}");
        let json = place.end(&["status", "--json", "gpu"]).stdout;
        let told = "\"state\":\"permits\",\"holder\":null,";
        assert!(
            json.contains(told) && json.contains("\"of\":3,\"taken\":[{\"slot\":"),
            "{json}"
        );
        for words in [&["list"][..], &["watch", "--once"]] {
            let seen = place.end(words);
            let line = seen.stdout.lines().find(|line| line.starts_with("gpu "));
            let line = line.unwrap_or_else(|| panic!("{seen:?}"));
            assert!(line.ends_with("2 of 3 permits are taken"), "{line}");
        }
        let seen = place.end(&["wait", "--wait", "100ms", "gpu"]);
        let told = "leasehold: after 100 ms, \"gpu\": 2 of 3 permits are still taken";
        seen.assert_says(124, &[told]);
        let mut waiting = place.run(&["wait", "--wait", "1m", "gpu"]).start();
        jobs.iter_mut().for_each(Running::close_stdin);
        for job in jobs {
            assert_eq!(job.end().code, 0);
        }
        waiting.close_stdin();
        assert_eq!(waiting.end().code, 0);
        assert_eq!(place.end(&["status", "gpu"]).code, 0);
    }
}

#[test]
fn who_waits_for_a_permit_without_taking_it_is_told_when_one_can_be_had() {
    for place in places() {
        let wait = ["wait", "--wait", "1m", "--permits", "2", "gpu"];
        place.end(&wait).assert(0, "", "");
        let [one, other] = two(&place);
        let seen = place.end(&["wait", "--wait", "100ms", "--permits", "2", "gpu"]);
        let told = "leasehold: after 100 ms, \"gpu\": all 2 permits are still taken";
        seen.assert_says(124, &[told]);
        let seen = place.end(&["wait", "--permits", "3", "gpu"]);
        let says = [
            "leasehold: \"gpu\" has not 3 permits: all 2 permits are taken",
            "hint: say the same --permits everywhere",
        ];
        seen.assert_says(2, &says);
        let waiting = place.run(&wait).start();
        end(one);
        assert_eq!(waiting.end().code, 0);
        let json = place.end(&["wait", "--json", "--permits", "2", "gpu"]);
        assert!(json.stdout.contains("\"state\":\"permits\""), "{json:?}");
        assert_eq!(json.code, 0);
        end(other);
    }
}

#[test]
fn an_operator_takes_one_permit_away_by_its_owner_or_all() {
    let place = Place::on_servers(3);
    let owners = [0, 1, 2].map(|_| {
        let told = place.end(&["acquire", "--permits", "3", "gpu"]).stdout;
        let line = told
            .lines()
            .find_map(|line| line.strip_prefix("LEASEHOLD_OWNER="));
        line.expect("it is told").to_owned()
    });
    let force = ["force-release", "--yes", "gpu"];
    let one = [&force[..], &["--owner", &owners[1]]].concat();
    let seen = place.end(&one);
    let told = [
        "leasehold: slot ",
        " of \"gpu\" is held by pid ",
        ", left: ",
    ];
    seen.assert_says(0, &told);
    assert!(seen.stdout.contains("\treleased by force\n"), "{seen:?}");
    assert_eq!(seen.stdout.lines().count(), 1, "{seen:?}");
    place
        .end(&one)
        .assert_says(0, &["has no key of this owner; nothing was changed"]);
    let status = place.end(&["status", "gpu"]).stdout;
    assert!(
        status.starts_with("\"gpu\": 2 of 3 permits are taken\n"),
        "{status}"
    );
    assert!(!status.contains(&owners[1]), "{status}");
    let seen = place.end(&force);
    seen.assert_says(0, &["leasehold: \"gpu\": 2 of 3 permits are taken\n"]);
    assert_eq!(
        seen.stdout.matches("\treleased by force\n").count(),
        2,
        "{seen:?}"
    );
    assert!(gets(&place, &[]));
}

#[test]
fn a_command_that_asks_under_its_permit_is_refused_if_it_would_wait_for_itself() {
    for place in [Place::on_servers(3), Place::local()] {
        let inner = env!("CARGO_BIN_EXE_leasehold");
        let under = |permits: &str, asked: &[&str]| {
            let outer = ["run", "--permits", permits, "gpu", "--"];
            let around = [inner, "run", "other", "--", inner, "run"];
            let words = [&outer, &around[..], asked, &["gpu", "--", "true"]].concat();
            place.end(&words)
        };
        let says = ["cannot lock \"gpu\": this command already runs under that lock"];
        for asked in [
            &["--permits", "1"][..],
            &["--permits", "1", "--fair"],
            &[],
            &["-s"],
        ] {
            under("1", asked).assert_says(2, &says);
        }
        under("2", &["--permits", "2"]).assert(0, "", "");
        let says = ["a permit of 3 was wanted, but others have permits of 2"];
        under("2", &["--permits", "3"]).assert_says(2, &says);
    }
}

#[test]
fn the_variables_are_those_of_the_innermost_lock() {
    let place = Place::local();
    let inner = env!("CARGO_BIN_EXE_leasehold");
    let script =
        "echo $LEASEHOLD_RESOURCE ${LEASEHOLD_SLOT-none}; env | grep -c ^LEASEHOLD_FENCING_TOKEN=";
    let words = ["run", "--permits", "1", "gpu", "--", "sh", "-c", script];
    assert_eq!(place.end(&words).stdout, "gpu 0\n1\n");
    let outer = ["run", "--permits", "1", "gpu", "--", inner];
    let words = [&outer[..], &["run", "other", "--", "sh", "-c", script]].concat();
    assert_eq!(place.end(&words).stdout, "other none\n1\n");
}
