//! Every shell command of the README and of the command's page is run here, line by line.
//!
//! A line must end with 0, or with what it says behind it: `# exits with 121`.

use crate::support::{User, commands};
use leasehold_servers::{ServerSet, require_server};
use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output, Stdio},
};

const PAGES: [(&str, &str); 2] = [
    ("README.md", include_str!("../../../../README.md")),
    (
        "docs/COMMAND.md",
        include_str!("../../../../docs/COMMAND.md"),
    ),
];

/// The block that is not run here, since it runs all tests, this one among them: it is what CI runs.
const ALL_TESTS: &str = "cargo xtask test";

#[test]
fn every_shell_command_of_the_pages_does_what_they_say() {
    require_server();
    let mut run = 0;
    for (page, text) in PAGES {
        for block in blocks(text) {
            if block != ALL_TESTS {
                check(page, block);
                run += block.lines().count();
            }
        }
    }
    assert!(run >= 15, "only {run} lines were found");
}

#[test]
fn what_follows_in_the_same_shell_does_not_find_servers_that_were_stopped() {
    let stops = |(_, block): &(&str, &str)| block.contains("servers stop");
    let all = PAGES.iter().flat_map(|(page, text)| {
        let blocks = blocks(text).into_iter();
        blocks.map(|block| (*page, block))
    });
    let all: Vec<_> = all.filter(stops).collect();
    assert_eq!(all.len(), 2, "{all:?}");
    for (page, block) in all {
        assert!(
            block.ends_with("; unset LEASEHOLD_NODES"),
            "{page}:\n{block}"
        );
    }
}

/// What stands between fences of `sh`.
fn blocks(text: &str) -> Vec<&str> {
    let rest = text.split("\n```sh\n").skip(1);
    rest.map(|rest| rest.split("\n```").next().unwrap_or_default())
        .collect()
}

/// Runs a block in a shell of its own, with a user of its own.
pub(crate) fn check(page: &str, block: &str) {
    let user = User::new();
    let words = "redis://db1,redis://db2,redis://db3";
    // Their names stand for servers that are in use.
    let servers = block.contains(words).then(|| {
        let servers = ServerSet::start(3).expect("they start");
        let nodes = servers.nodes();
        let admit = user.run(&["admit", "--yes", "--nodes", &nodes]).guarded();
        assert_eq!(admit.end().code, 0);
        servers
    });
    let nodes = servers.as_ref().map(ServerSet::nodes);
    let block = block.replace(words, nodes.as_deref().unwrap_or(words));
    for job in ["report.sh", "bin/report.sh", "bin/scheduler.sh"] {
        // A deployment that locks within one machine only would have no token.
        place(
            &user,
            job,
            "#!/bin/sh\n[ -n \"$LEASEHOLD_FENCING_TOKEN\" ]\n",
        );
    }
    // What is built already is not built again: of `cargo run` only what it runs matters here.
    let leasehold = Path::new(env!("CARGO_BIN_EXE_leasehold"));
    let shown = leasehold.display();
    let cargo =
        format!("#!/bin/sh\n[ \"$1 $2\" = 'run --' ] || exit 99\nshift 2\nexec {shown} \"$@\"\n");
    place(&user, "bin/cargo", &cargo);
    place(
        &user,
        "bin/leasehold",
        &format!("#!/bin/sh\nexec {shown} \"$@\"\n"),
    );
    let output = in_shell(&user, &block);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{page}:\n{block}\n\n{stdout}\n{stderr}"
    );
}

/// Runs the lines of a block as this user, who knows nothing of whoever runs the tests.
fn in_shell(user: &User, block: &str) -> Output {
    let path = env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .arg("-c")
        .arg(script(block))
        .current_dir(user.folder())
        .env_clear()
        .env("PATH", format!("{}:{path}", user.path("bin")))
        .env("HOME", user.folder())
        .env("XDG_STATE_HOME", user.folder())
        .env("LEASEHOLD_CONFIG", "")
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell")
}

/// The lines, each with a look at its exit code. Servers are stopped in any case.
fn script(block: &str) -> String {
    let mut script = String::from("stop() { leasehold servers stop >/dev/null 2>&1; }\n");
    for (number, line) in block.lines().enumerate() {
        let (line, code) = line.split_once("  # exits with ").unwrap_or((line, "0"));
        let number = number + 1;
        script.push_str(&format!(
            "{line}\ncode=$?; [ $code = {code} ] || {{ echo line {number} ended with $code; stop; exit 1; }}\n"
        ));
    }
    script
}

fn place(user: &User, name: &str, text: &str) {
    let path = user.folder().join(name);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
    fs::write(&path, text).expect("the folder is there");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("it is ours");
}

#[test]
fn a_line_that_ends_otherwise_than_it_says_is_found() {
    let user = User::new();
    // Whose servers the end of a block stops.
    place(
        &user,
        "bin/leasehold",
        "#!/bin/sh\n[ \"$1 $2\" = 'servers stop' ] && echo \"$XDG_STATE_HOME\" >>\"${0%/bin/*}/stopped\"\n",
    );
    let code = |block: &str| in_shell(&user, block).status.code();
    assert_eq!(code("true\nfalse  # exits with 1\ntrue"), Some(0));
    assert_eq!(code("true\nfalse\ntrue"), Some(1));
    assert_eq!(code("true  # exits with 121"), Some(1));
    let stopped = fs::read_to_string(user.path("stopped")).expect("two have ended early");
    let own = user.folder().display();
    assert_eq!(stopped, format!("{own}\n{own}\n"), "those of nobody else");
    assert_eq!(blocks("a\n```sh\nb\nc\n```\n```text\nd\n```\n"), ["b\nc"]);
}

#[test]
fn the_page_of_the_command_has_a_row_for_each() {
    let page = include_str!("../../../../docs/COMMAND.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).map_while(|line| line.strip_prefix("| `"));
    let named: String = rows
        .filter_map(|row| row.split_once(" | "))
        .map(|(name, _)| format!("`{name} "))
        .collect();
    for command in commands().iter().filter(|command| *command != "help") {
        let is_named = [" ", "`"]
            .iter()
            .any(|end| named.contains(&format!("`{command}{end}")));
        assert!(
            is_named,
            "docs/COMMAND.md has no row for `{command}`: {named}"
        );
    }
}
