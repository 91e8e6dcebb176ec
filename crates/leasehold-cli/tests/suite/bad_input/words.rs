//! Words that cannot be understood. Nothing is touched.

use super::Bad;

const RUN: [&str; 3] = ["demo", "--", "true"];

fn run<'a>(flags: &[&'a str], says: &'a str) -> Bad<'a> {
    Bad::new(&[&["run"], flags, &RUN].concat(), 2, says)
}

#[test]
fn durations_that_are_none_are_refused() {
    let cases = [
        run(&["--ttl", ""], "no duration: say 10s, 500ms, 1m30s or 2h"),
        run(&["--ttl", "10"], "no unit: say 10s or 10ms"),
        run(&["--ttl", "soon"], "not a duration"),
        run(&["--ttl", "10 s"], "no spaces: say 10s"),
        run(&["-w", "1h 30m"], "no spaces: say 1h30m"),
        run(&["-w", "1 hour"], "unknown unit"),
        Bad::new(&["bench", "--for", "100ms"], 2, "too few locks would be"),
        Bad::new(&["watch", "--every", "100ms"], 2, "other things to do"),
        run(&["--ttl", "1s1m"], "units go from large to small"),
        run(&["--ttl", "1.5s"], "no fractions"),
        run(&["--ttl", "٣s"], "not a duration"),
        run(&["--ttl", "199ms"], "shorter than 200 ms"),
        run(
            &["--ttl", "99999999999999999999h"],
            "too long: 1000h is the most",
        ),
        run(&["--ttl=-5s"], "not a duration"),
        run(&["-w", "0s"], "zero: use --no-wait to try once"),
        run(&["-w", "1w"], "unknown unit \"w\""),
        run(&["--max-hold", "10ms"], "shorter than 200 ms"),
        run(&["--min-hold", "0ms"], "zero: leave the option out"),
        run(&["--grace", "0s"], "zero: use --on-loss kill"),
        run(&["--max-ttl", "x"], "not a duration"),
    ];
    cases.iter().for_each(Bad::check);
}

#[test]
fn times_that_do_not_fit_together_are_refused() {
    let cases = [
        run(
            &["--ttl", "1s", "--grace", "900ms"],
            "a --grace of 900 ms does not fit",
        ),
        run(
            &["--max-hold", "1s", "--grace", "1s"],
            "a --grace of 1 s does not fit",
        ),
        run(
            &[
                "--nodes",
                "127.0.0.1:1",
                "--min-hold",
                "20s",
                "--max-hold",
                "5s",
            ],
            "a --min-hold of 20 s is longer than the --max-hold of 5 s",
        ),
        run(&["--nodes", "127.0.0.1:1", "--ttl", "1000h"], "TTL"),
        run(
            &[
                "--nodes",
                "127.0.0.1:1",
                "--restart-guard",
                "quarantine",
                "--ttl",
                "31s",
            ],
            "the --ttl of 31 s is longer than the --max-ttl of 30 s",
        ),
    ];
    cases.iter().for_each(Bad::check);
}

#[test]
fn flags_that_are_none_or_contradict_each_other_are_refused() {
    let cases = [
        run(&["--exclusive"], "unexpected argument '--exclusive'"),
        run(&["-n", "-w", "1s"], "cannot be used with"),
        run(&["-E", "256"], "write a code from 0 to 255"),
        run(&["-E", "no"], "write a code from 0 to 255"),
        run(&["--on-loss", "pray"], "invalid value 'pray'"),
        run(&["--label", ""], "empty: leave --label out"),
        run(&["--label", "it's"], "only letters, digits, spaces"),
        run(&["--ttl"], "invalid value 'demo'"),
        run(&["--restart-guard", "maybe"], "invalid value 'maybe'"),
        run(&["--key-format", "plain"], "has no {}"),
        Bad::new(
            &["elect", "--observe", "demo", "--", "true"],
            2,
            "cannot be used with",
        ),
        Bad::new(
            &["elect", "--json", "demo", "--", "true"],
            2,
            "'--json' cannot be used with",
        ),
        Bad::new(
            &["extend", "demo"],
            2,
            "required arguments were not provided",
        ),
        Bad::new(
            &["release", "--owner", "", "demo"],
            2,
            "an owner has 1 to 255 bytes",
        ),
        Bad::new(&["rum", "demo"], 2, "unrecognized subcommand 'rum'"),
    ];
    cases.iter().for_each(Bad::check);
    let long = "x".repeat(256);
    let words = ["release", "--owner", &long, "demo"];
    Bad::new(&words, 2, "an owner has 1 to 255 bytes").check();
    let long = "x".repeat(65);
    run(&["--label", &long], "longer than 64 letters").check();
}

#[test]
fn permits_that_cannot_be_had_are_refused() {
    let cases = [
        run(&["--permits", "0"], "there can be 1 to 256 permits"),
        run(&["--permits", "257"], "there can be 1 to 256 permits"),
        run(&["--permits=-1"], "there can be 1 to 256 permits"),
        run(&["--permits", "some"], "there can be 1 to 256 permits"),
        run(
            &["--permits", "2", "-s"],
            "'--permits <COUNT>' cannot be used with '--shared'",
        ),
        run(
            &["--once-per", "1h", "--permits", "2"],
            "'--once-per <DURATION>' cannot be used with '--permits <COUNT>'",
        ),
        run(
            &["--permits", "2", "other"],
            "several names have no permits together: a permit is of one name",
        ),
        Bad::new(
            &["elect", "--permits", "2", "demo", "--", "true"],
            2,
            "unexpected argument '--permits'",
        ),
    ];
    cases.iter().for_each(Bad::check);
}

#[test]
fn names_that_cannot_be_locked_are_refused() {
    // One argument of a program is 128 KiB at most.
    let long = "x".repeat(100_000);
    let cases = [
        Bad::new(
            &["run", "", "--", "true"],
            2,
            "the resource's name is empty",
        ),
        Bad::new(&["run", &long, "--", "true"], 2, "the resource's name"),
        Bad::new(&["hold", ""], 2, "the resource's name is empty"),
        Bad::new(&["acquire", &long], 2, "the resource's name"),
        Bad::new(&["run", "demo"], 2, "required arguments were not provided"),
        Bad::new(
            &["run", "demo", "true"],
            2,
            "required arguments were not provided",
        ),
        Bad::new(
            &["elect", "a\nb", "--", "true"],
            2,
            r"the control character '\n' at byte 1",
        ),
        Bad::new(&["hold", "a\n\nb"], 2, "the resource's name is empty"),
        Bad::new(&["acquire", "a", "b\r"], 2, r"the control character '\r'"),
        run(
            &["--fair", "other"],
            "nobody queues for several names that are locked together: leave --fair out",
        ),
        Bad::new(
            &["run", "--", "true"],
            2,
            "required arguments were not provided",
        ),
    ];
    cases.iter().for_each(Bad::check);
    let many: Vec<String> = (0..65).map(|number| number.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let too_many = "65 names are to be locked together, at most 64 are allowed";
    Bad::new(&[&["hold"], &many[..]].concat(), 2, too_many).check();
    run(&many[..64], too_many).check();
    let long: Vec<String> = ('a'..='i')
        .map(|name| name.to_string().repeat(1024))
        .collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let too_long =
        "the keys of the names that are to be locked together have 9216 bytes, at most 8192 are";
    let words = [&["release", "--owner", "x"], &long[..]].concat();
    Bad::new(&words, 2, too_long).check();
}

#[test]
fn addresses_that_are_none_are_refused() {
    let cases = [
        run(&["--nodes", ""], "no node in it"),
        run(&["--nodes", " , "], "no node in it"),
        run(&["--nodes", "http://a"], "unknown scheme"),
        run(&["--nodes", "redis://a:99999"], "port"),
        run(&["--nodes", "redis://a/x"], "database"),
        run(
            &["--nodes", "redis://:p@a,b"],
            "cannot tell where an address ends",
        ),
        run(
            &["--nodes", "redis://a", "--tolerate-forgetful", "9"],
            "--tolerate-forgetful 9 needs more servers than 1: ",
        ),
        run(&["--nodes", "redis://a,redis://a"], "twice"),
    ];
    cases.iter().for_each(Bad::check);
}
