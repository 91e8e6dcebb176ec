//! The examples of the help texts run as they stand there.

use crate::support::{User, commands};
use leasehold_servers::{ServerSet, require_server};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

/// The lines below `Examples:` that are set in by four, as one script each; a line of words ends one.
fn examples(verb: &str) -> Vec<String> {
    let help = User::new().run(&[verb, "--help"]).end();
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    let (_, rest) = help.stdout.split_once("Examples:\n").expect(verb);
    let mut examples = vec![String::new()];
    for line in rest
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "))
    {
        match line.strip_prefix("    ") {
            Some(command) => {
                let last = examples.last_mut().expect("there is one");
                last.push_str(command);
                last.push('\n');
            }
            None => examples.push(String::new()),
        }
    }
    examples.retain(|example| !example.is_empty());
    assert!(!examples.is_empty(), "{verb} has no examples");
    examples
}

/// A shell in which an example can run: the command by its name, what it mentions as small scripts, and its servers
/// those of a test.
struct Shell {
    user: User,
    servers: ServerSet,
}

impl Shell {
    fn new() -> Self {
        require_server();
        let user = User::new();
        let servers = ServerSet::start(3).expect("they start");
        let this = Self { user, servers };
        this.script(
            "bin/leasehold",
            &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_leasehold")),
        );
        this.script("bin/make", "echo made $1");
        for name in [
            "backup",
            "rebuild",
            "render",
            "report",
            "scheduler",
            "search",
            "transfer",
        ] {
            this.script(name, &format!("echo {name} ran"));
        }
        this
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.user.folder().join(name);
        let folder = path.parent().expect("it is below a folder");
        fs::create_dir_all(folder).expect("it is ours");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("it is ours");
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&path, mode).expect("it is ours");
    }

    /// Runs the example, and tells what it printed. Nothing that waits for ever is waited for.
    fn run(&self, example: &str) -> (Option<i32>, String) {
        let here = self.user.path("");
        let example = example
            .replace("redis://a,redis://b,redis://c", &self.servers.nodes())
            .replace("/usr/local/bin/backup", "./backup");
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("timeout")
            .args(["20", "sh", "-c", &example])
            .current_dir(Path::new(&here))
            .env("PATH", format!("{here}bin:{path}"))
            .env("XDG_STATE_HOME", &here)
            .env("LEASEHOLD_RESTART_GUARD", "off")
            .env_remove("LEASEHOLD_NODES")
            .envs(self.nodes_for(&example))
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .expect("there is a shell");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text)
    }

    /// What works on servers alone is told of them, as its reader would have done.
    fn nodes_for(&self, example: &str) -> Option<(&'static str, String)> {
        let needs = [
            "leasehold acquire",
            "leasehold extend",
            "leasehold release",
            "--plain",
            "--require-nodes",
        ];
        let needs = needs.iter().any(|words| example.contains(words));
        needs.then(|| ("LEASEHOLD_NODES", self.servers.nodes()))
    }
}

#[test]
fn the_help_of_a_command_names_no_option_and_no_end_that_it_does_not_have() {
    let options = |text: &str| {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
        let options = words.filter(|word| word.starts_with("--") && word.len() > 2);
        options.map(str::to_owned).collect::<Vec<_>>()
    };
    for (verb, not_said) in [
        ("elect", &["the exit code is 123", "-E 0"][..]),
        ("hold", &["the command", "it runs for 9.5s"]),
        ("acquire", &["the command that runs", "is told the owner"]),
    ] {
        let help = User::new().run(&[verb, "--help"]).end().stdout;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let own = help.split("Options that all clients must share").next();
        let own = own.expect("something comes first");
        for words in not_said {
            assert!(!own.contains(words), "{verb}: {words}");
        }
        let seen = User::new().run(&[verb, "-h"]).end().stdout;
        let has = options(&seen);
        let told = options(own);
        let missing: Vec<_> = told.iter().filter(|option| !has.contains(option)).collect();
        assert!(missing.is_empty(), "{verb}: {missing:?}");
    }
}

#[test]
fn the_examples_of_run_run_as_they_stand_in_its_help() {
    let shell = Shell::new();
    let examples = examples("run");
    let ends = [
        "backup ran\n",
        "report ran\n",
        "backup ran\n",
        "backup ran\n",
        "transfer ran\n",
        "search ran\nrebuild ran\n",
        "render ran\n",
        "backup ran\n",
        "backup ran\n",
        "backup ran\n",
        "hi\n",
    ];
    assert_eq!(examples.len(), ends.len(), "{examples:?}");
    for (example, end) in examples.iter().zip(ends) {
        assert_eq!(shell.run(example), (Some(0), end.to_owned()), "{example}");
    }
}

#[test]
fn the_examples_for_scripts_run_as_they_stand_in_their_help() {
    let shell = Shell::new();
    let hold = examples("hold");
    let (code, said) = shell.run(&hold[0]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("held as number 1"), "{said}");
    // A script does not go on without the lock.
    shell.script("refused", &hold[0].replace("hold deploy", "hold -n deploy"));
    shell.script(
        "once",
        "rm in out; env -u LEASEHOLD_OWNERS ./refused; echo code-$?",
    );
    let (code, said) = shell.run("leasehold run deploy -- ./once");
    assert_eq!((code, said.as_str()), (Some(0), "code-121\n"));
    for example in &hold[1..] {
        let (code, said) = shell.run(example);
        let lines = 4 + usize::from(example.contains("--permits"));
        assert_eq!((code, said.lines().count()), (Some(0), lines), "{said}");
    }

    let acquire = examples("acquire");
    let (code, said) = shell.run(&acquire[0]);
    assert_eq!(code, Some(0), "{said}");
    let words: Vec<_> = said
        .lines()
        .filter(|line| !line.starts_with("LEASEHOLD_"))
        .collect();
    assert_eq!(words, ["one", "two"], "{said}");

    let take = "eval \"$(leasehold acquire deploy)\"\n";
    for verb in ["extend", "release"] {
        let example = examples(verb).join("");
        // The next one needs the lock as well.
        let free = "code=$?; leasehold release --owner \"$LEASEHOLD_OWNER\" deploy; exit $code";
        let (code, said) = shell.run(&format!("{take}{example}{free}"));
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn the_examples_of_elect_run_as_they_stand_in_its_help() {
    let shell = Shell::new();
    let examples = examples("elect");
    assert_eq!(
        shell.run(&examples[0]),
        (Some(0), "scheduler ran\n".to_owned())
    );
    // It looks on until it is ended, here by the limit of this test.
    let look = examples[1].replace("leasehold elect", "timeout 1 leasehold elect");
    let (_, said) = shell.run(&look);
    assert_eq!(said, "led by nobody\n");
}

#[test]
fn the_paragraphs_of_a_help_are_wrapped_once_at_the_width_of_the_terminal() {
    let user = User::new();
    let mut looked_at = 0;
    for verb in commands() {
        for width in [60, 72, 80, 100] {
            let help = user
                .run(&[&verb, "--help"])
                .env("COLUMNS", width.to_string());
            let help = help.end().stdout;
            let (Some((_, rest)), Some((_, codes))) = (
                help.split_once("Examples:\n"),
                help.split_once("Exit codes:\n"),
            ) else {
                continue;
            };
            looked_at += 1;
            // A page of the manual has 72 columns on a terminal of 80.
            assert!(
                codes.lines().all(|line| line.chars().count() <= 72),
                "{codes}"
            );
            let lines: Vec<&str> = rest.lines().collect();
            for (line, next) in lines.iter().zip(&lines[1..]) {
                let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
                if !is_prose(line) || !is_prose(next) {
                    continue;
                }
                let word = next.split(' ').next().expect("it is not empty");
                let (length, fits) = (
                    line.chars().count(),
                    line.chars().count() + 1 + word.chars().count(),
                );
                assert!(
                    length <= width && fits > width,
                    "{verb} at {width}: {line}\n{next}"
                );
            }
        }
    }
    assert!(looked_at > 40, "{looked_at}");
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let user = User::new();
    let folder = user.path("man/man1");
    user.run(&["man", "--dir", &folder]).end().assert(0, "", "");
    let page = |name: &str| fs::read_to_string(format!("{folder}/{name}.1")).expect(name);
    let overview = page("leasehold");
    let pages = fs::read_dir(&folder).expect("it was made").count();
    // Each command is on the first page, and so are those of `servers` on its own.
    let listed =
        overview.matches("(1)\n").count() + page("leasehold-servers").matches("(1)\n").count();
    assert_eq!(pages, listed + 1, "{overview}");
    let run = page("leasehold-run");
    for part in [
        ".SH NAME",
        "First come, first served",
        "\\-\\-on\\-loss",
        "128+n",
        "\\fBleasehold run\\fR [OPTIONS] <RESOURCE>... \\-\\- <COMMAND>...\n",
        "LEASEHOLD_NODES",
        ".SH EXAMPLES",
        ".SH NOTES",
        ".SH \"EXIT STATUS\"",
    ] {
        assert!(run.contains(part), "no {part}: {run}");
    }
    assert!(!run.contains("EXTRA"), "{run}");
    user.run(&["man", "run"]).end().assert(0, &run, "");
    let start = page("leasehold-servers-start");
    user.run(&["man", "servers", "start"])
        .end()
        .assert(0, &start, "");
    let seen = user.run(&["man", "servers", "begin"]).end();
    seen.assert_says(2, &["there is no command \"servers begin\""]);
    let seen = user.run(&["man", "--dir", "/dev/null/x"]).end();
    seen.assert_says(125, &["cannot write pages to /dev/null/x: "]);
}

#[test]
fn help_is_a_word_as_well_and_a_usage_names_what_is_needed() {
    let user = User::new();
    let help = user.run(&["run", "--help"]).end();
    user.run(&["help", "run"]).end().assert(0, &help.stdout, "");
    let seen = user.run(&["release", "demo"]);
    let seen = seen.env("LEASEHOLD_NODES", "redis://127.0.0.1:1").end();
    // What a variable has said is not needed on the command line.
    let usage = "Usage: leasehold release [OPTIONS] --owner <OWNER> <RESOURCE>...\n";
    seen.assert_says(2, &["--owner <OWNER>", usage]);
}

#[test]
fn no_help_is_wider_than_a_terminal() {
    let user = User::new();
    let verbs = commands();
    // `help` is asked by the names behind it.
    let verbs = verbs.iter().filter(|verb| *verb != "help");
    let words = verbs.map(|verb| vec![&**verb, "--help"]);
    let further = ["start", "stop", "status"].map(|verb| vec!["servers", verb, "--help"]);
    for words in words.chain(further).chain([vec!["--help"]]) {
        let help = user.run(&words).env("COLUMNS", "80").end();
        assert_eq!(help.code, 0, "{words:?}: {help:?}");
        for line in help.stdout.lines() {
            assert!(line.chars().count() <= 80, "{words:?}: {line}");
        }
    }
}
