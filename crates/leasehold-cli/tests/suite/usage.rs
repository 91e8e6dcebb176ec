//! Arguments that cannot be understood touch nothing and end with 2.

use crate::support::User;

fn refused(words: &[&str], message: &str) {
    let user = User::new();
    // Clap names variables that are set in its usage line.
    let seen = user.run(words).guarded().without("LEASEHOLD_CONFIG").end();
    let stderr = format!("leasehold: {message}\n\nFor more information, try '--help'.\n");
    seen.assert(2, "", &stderr);
    let left = std::fs::read_dir(user.folder()).expect("it is there");
    assert_eq!(left.count(), 0, "something was made");
}

#[test]
fn a_duration_without_unit_is_refused_with_the_way_out() {
    refused(
        &["run", "--ttl", "10", "demo", "--", "true"],
        "invalid value '10' for '--ttl <DURATION>': no unit: say 10s or 10ms",
    );
    refused(
        &["run", "--wait", "1.5s", "demo", "--", "true"],
        "invalid value '1.5s' for '--wait <DURATION>': no fractions: say 1s500ms or 1500ms for one \
         and a half seconds",
    );
    refused(
        &["run", "--wait", "0s", "demo", "--", "true"],
        "invalid value '0s' for '--wait <DURATION>': zero: use --no-wait to try once",
    );
}

#[test]
fn a_wrong_value_of_a_variable_is_told_by_the_name_of_the_variable() {
    let user = User::new();
    for (variable, value, says) in [
        (
            "LEASEHOLD_MAX_TTL",
            "5",
            "invalid value '5' for 'LEASEHOLD_MAX_TTL': no unit",
        ),
        (
            "LEASEHOLD_KEY_FORMAT",
            "x",
            "invalid value 'x' for 'LEASEHOLD_KEY_FORMAT': the key ",
        ),
        (
            "LEASEHOLD_RESTART_GUARD",
            "x",
            "invalid value 'x' for 'LEASEHOLD_RESTART_GUARD'\n",
        ),
    ] {
        for words in [&["run", "demo", "--", "true", "--max-ttl"][..], &["doctor"]] {
            user.run(words)
                .env(variable, value)
                .end()
                .assert_says(2, &[says]);
        }
    }
    let words = ["run", "--max-ttl", "7", "demo", "--", "true"];
    let seen = user.run(&words).env("LEASEHOLD_MAX_TTL", "5").end();
    seen.assert_says(2, &["invalid value '7' for '--max-ttl <DURATION>'"]);
}

#[test]
fn a_word_that_is_no_text_is_named_with_its_bytes() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let user = User::new();
    let bytes = OsStr::from_bytes(b"\xc3\xbcber\xff\n");
    let rule = " is not UTF-8: only a command and names of files may be other bytes\n";
    // A shell hands on what a test cannot write as text.
    let script = r#"exec "$0" run --local --config "$WORD" "$WORD" -- true"#;
    let words = ["-c", script, env!("CARGO_BIN_EXE_leasehold")];
    let seen = user.run_in("sh", &words, &[]).env("WORD", bytes).end();
    let says = format!("leasehold: the argument \"über\\xff\\n\"{rule}");
    seen.assert_says(2, &[&says]);
    let seen = user
        .run(&["doctor"])
        .env("LEASEHOLD_NAMESPACE", bytes)
        .end();
    let says = format!("leasehold: \"über\\xff\\n\" in LEASEHOLD_NAMESPACE{rule}");
    seen.assert_says(2, &[&says]);
}

#[test]
fn of_a_long_name_the_beginning_is_repeated_and_its_length() {
    let name = "x".repeat(1100);
    let says = format!(
        "invalid value '{}… (1100 letters)' for '<RESOURCE>': the resource's name has 1100 bytes, at most 1024 are \
         allowed",
        "x".repeat(60)
    );
    refused(&["status", &name], &says);
}

#[test]
fn an_empty_resource_is_refused() {
    refused(
        &["run", "", "--", "true"],
        "invalid value '' for '<RESOURCE>...': the resource's name is empty",
    );
}

#[test]
fn an_empty_list_of_nodes_is_refused() {
    refused(
        &["run", "--nodes", "", "demo", "--", "true"],
        "invalid value for '--nodes <URL,URL…>': no node in it; write \
         redis://db1,redis://db2,redis://db3, or file:///folder to lock on this machine only",
    );
}

#[test]
fn a_key_format_without_one_place_for_the_name_is_refused() {
    refused(
        &["run", "--key-format", "lock:", "demo", "--", "true"],
        "invalid value 'lock:' for '--key-format <PATTERN>': the key format \"lock:\" has no {} for \
         the resource's name: every resource would be the same lock",
    );
    refused(
        &["run", "--key-format", "{}{}", "demo", "--", "true"],
        "invalid value '{}{}' for '--key-format <PATTERN>': the key format \"{}{}\" has more than \
         one {} for the resource's name",
    );
}

#[test]
fn a_missing_command_is_refused() {
    refused(
        &["run", "demo"],
        "the following required arguments were not provided:\n  <COMMAND>...\n\nUsage: leasehold \
         run [OPTIONS] <RESOURCE>... -- <COMMAND>...",
    );
}

#[test]
fn a_wrong_address_or_ttl_is_refused() {
    let user = User::new();
    let seen = user
        .run(&["run", "--nodes", "http://a", "demo", "--", "true"])
        .end();
    seen.assert_says(
        2,
        &[
            "leasehold: ",
            "unknown scheme; known are redis, rediss, redis+sentinel, rediss+sentinel, redis+cluster, rediss+cluster and unix",
        ],
    );
    let seen = user
        .run(&["run", "--ttl", "1000h", "demo", "--", "true"])
        .end();
    seen.assert_says(2, &["TTL"]);
}

#[test]
fn a_ttl_too_short_to_look_after_is_refused() {
    refused(
        &["run", "--ttl", "199ms", "demo", "--", "true"],
        "invalid value '199ms' for '--ttl <DURATION>': shorter than 200 ms: a command cannot be \
         started, watched and ended in less",
    );
}

#[test]
fn a_password_in_a_wrong_list_of_nodes_is_not_shown() {
    let lists = [
        "user:hush,hush@a",
        "redis://:hush@a,b",
        "redis://:hush,hush@a:x",
        "redis://a,http://:hush,hush@b",
    ];
    for nodes in lists {
        let user = User::new();
        let words = ["run", "--nodes", nodes, "demo", "--", "true"];
        let given = user.run(&words).end();
        let inherited = user
            .run(&["run", "demo", "--", "true"])
            .env("LEASEHOLD_NODES", nodes)
            .end();
        for seen in [given, inherited] {
            assert_eq!(seen.code, 2, "{seen:?}");
            assert!(!seen.stderr.contains("hush"), "{seen:?}");
        }
    }
}

#[test]
fn help_teaches_by_examples() {
    let user = User::new();
    let help = user.run(&["run", "--help"]).end();
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    assert!(
        help.stdout
            .contains("leasehold run -w 30s backup -- ./backup")
    );
    assert!(help.stdout.contains("LEASEHOLD_VALID_UNTIL"));
    let version = user.run(&["--version"]).end();
    let text = format!("leasehold {}\n", env!("CARGO_PKG_VERSION"));
    version.assert(0, &text, "");
}

#[test]
fn a_command_without_its_dashes_is_told_where_they_go() {
    let user = User::new();
    for words in [
        &["run", "x", "true"][..],
        &["run", "-w", "3s", "x", "sh", "-c", "true"],
        &["elect", "x", "make", "-j"],
    ] {
        let seen = user.run(words).end();
        seen.assert_says(
            2,
            &["tip: put `--` before the command: RESOURCE -- COMMAND"],
        );
    }
    // An option is none, and these run nothing.
    for words in [
        &["run", "x", "--bad"][..],
        &["run", "-w", "3s", "x", "--bad"],
        &["run", "x", "y", "--bad", "--", "true"],
        &["run", "x"],
        &["hold", "x", "true"],
    ] {
        let seen = user.run(words).end();
        assert!(!seen.stderr.contains("before the command"), "{seen:?}");
    }
}

#[test]
fn nobody_is_told_to_put_dashes_before_an_option_where_they_begin_the_command() {
    let user = User::new();
    let words = ["run", "--wiat", "3s", "x", "--", "true"];
    let seen = user.run(&words).end();
    seen.assert_says(2, &["unexpected argument '--wiat' found", "'--wait'"]);
    assert!(!seen.stderr.contains("as a value"), "{seen:?}");
    let seen = user.run(&["run", "--zzz", "x", "--", "true"]).end();
    seen.assert_says(2, &["unexpected argument '--zzz' found\n\nUsage"]);
    // Elsewhere a name may begin so.
    let seen = user.run(&["status", "--zzz"]).end();
    seen.assert_says(2, &["to pass '--zzz' as a value, use '-- --zzz'"]);
}

#[test]
fn a_command_that_takes_one_name_says_which_take_several() {
    let user = User::new();
    let tip = "tip: this takes one name; `run`, `hold` and `acquire` lock several together";
    for words in [
        &["status", "a", "b"][..],
        &["wait", "a", "b"],
        &["force-release", "a", "b"],
        &["elect", "a", "b", "--", "true"],
    ] {
        let seen = user.run(words).end();
        seen.assert_says(2, &["unexpected argument 'b' found", tip]);
    }
}
