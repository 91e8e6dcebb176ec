//! Several processes, some of which are killed.

use crate::{
    client::{Client, Folder},
    readers,
};
use leasehold::link::file::{FileError, FileNode};
use leasehold_core::Vote;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    fs::{self, OpenOptions},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// What a second process of this test does; nothing when a person runs it.
#[test]
fn another_process() {
    let (Ok(role), Ok(path)) = (
        std::env::var("LEASEHOLD_ROLE"),
        std::env::var("LEASEHOLD_STORE"),
    ) else {
        return;
    };
    let path = PathBuf::from(path);
    if role == "try" {
        return try_out(&path);
    }
    let mut client = Client::open(&path, &format!("process {}", std::process::id()));
    match &*role {
        "hold" => {
            assert_eq!(client.acquire("r"), Vote::GRANTED);
            say("held");
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).expect("a pipe");
            assert_eq!(client.release("r"), Vote::GRANTED);
        }
        // Written to until somebody kills it.
        "churn" => {
            say("ready");
            loop {
                client.acquire_at_last("churned");
                client.release("churned");
            }
        }
        "count" => {
            for _ in 0..CYCLES {
                client.acquire_at_last("counter");
                let counter = path.with_file_name("counter");
                let text = fs::read_to_string(&counter).expect("the test made it");
                let number: u32 = text.parse().expect("nobody else writes now");
                fs::write(&counter, (number + 1).to_string()).expect("the disk has room");
                assert_eq!(client.release("counter"), Vote::GRANTED);
            }
        }
        "token" => {
            for cycle in 0..CYCLES {
                // Every fiftieth passes the ceiling, so the processes take turns in writing it.
                let jump = u64::from(cycle % 50 / 49) * 4_000_000_000;
                let last = path.with_file_name("token");
                let token = client.count("token", 1 + jump * u64::from(cycle));
                let text = fs::read_to_string(&last).expect("the test made it");
                let before: u64 = text.parse().expect("nobody else writes now");
                assert!(token.get() > before, "{token} after {before}");
                fs::write(&last, token.to_string()).expect("the disk has room");
                assert_eq!(client.release("token"), Vote::GRANTED);
            }
        }
        "obey" => obey(client),
        "fill" => fill(client),
        "read" => readers::read(&path),
        "obey as shared" => obey(Client::open(&path, "shared")),
        other => panic!("there is no role {other}"),
    }
}

/// Tells what comes of one attempt.
fn try_out(path: &Path) {
    match FileNode::open(path) {
        Ok(_) => say(&format!(
            "{:?}",
            Client::open(path, "who tries").acquire("r")
        )),
        Err(error) => say(&format!("cannot {error}")),
    }
}

/// Takes locks until there is none to be had any more, and tells why.
fn fill(mut client: Client) {
    let faults = (0..1_000_000).find_map(|number| match client.acquire(&format!("r{number}")) {
        Vote::Unknown(fault) => Some(fault),
        _ => None,
    });
    say(&faults.expect("a million fill any store").to_string());
}

/// Takes and releases a lock as it is told.
fn obey(mut client: Client) {
    for line in std::io::stdin().lines() {
        match &*line.expect("a pipe") {
            "take" => {
                client.acquire_at_last("r");
                say("taken");
            }
            "release" => assert_eq!(client.release("r"), Vote::GRANTED),
            "limit" => {
                let (current, maximum) = (Some(0), getrlimit(Resource::Fsize).maximum);
                let limit = Rlimit { current, maximum };
                setrlimit(Resource::Fsize, limit).expect("less is always allowed");
            }
            "tell" => return say(&format!("{:?}", client.extend("r"))),
            other => panic!("{other:?} cannot be done"),
        }
    }
}

const CYCLES: u32 = 200;
const PROCESSES: u32 = 8;

pub(crate) fn say(word: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "\n{word}").expect("a pipe");
    out.flush().expect("a pipe");
}

/// The program that runs now.
pub(crate) fn this_test() -> PathBuf {
    std::env::current_exe().expect("the test runs")
}

/// A process of this test, killed at the end at the latest.
pub(crate) struct Process(Child, Option<BufReader<ChildStdout>>);

impl Process {
    pub(crate) fn start(role: &str, path: &Path) -> Self {
        Self::start_by(Command::new(this_test()), role, path)
    }

    /// Starts one by a command that ends with this test's program.
    pub(crate) fn start_by(mut command: Command, role: &str, path: &Path) -> Self {
        let mut child = command
            .args(["--exact", "processes::another_process", "--nocapture"])
            .env("LEASEHOLD_ROLE", role)
            .env("LEASEHOLD_STORE", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test can run itself");
        let out = child.stdout.take().map(BufReader::new);
        Self(child, out)
    }

    /// All that it says until it ends.
    pub(crate) fn words(&mut self) -> String {
        let out = self.1.as_mut().expect("it was piped");
        let mut words = String::new();
        out.read_to_string(&mut words).expect("text");
        words
    }

    /// Waits until it says this.
    pub(crate) fn hear(&mut self, word: &str) {
        let out = self.1.as_mut().expect("it was piped");
        let heard = out.lines().any(|line| line.expect("text") == word);
        assert!(heard, "the other process ended before it said {word:?}");
    }

    /// Says this to it.
    pub(crate) fn tell(&mut self, word: &str) {
        let input = self.0.stdin.as_mut().expect("it was piped");
        writeln!(input, "{word}").expect("it listens");
    }

    /// Kills it, and does not wait for its end.
    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("it is ours");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_processes_exclude_each_other() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    let mut other = Process::start("hold", &folder.store());
    other.hear("held");
    let vote = here.acquire("r");
    let Vote::Refused(refusal) = vote else {
        panic!("{vote:?}");
    };
    let holder = refusal.holder.expect("a holder").to_string();
    assert_eq!(holder, format!("process {}", other.0.id()));
    drop(other.0.stdin.take());
    here.acquire_at_last("r");
    assert!(other.0.wait().is_ok());
}

#[test]
fn a_killed_holder_holds_nothing() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    let mut other = Process::start("hold", &folder.store());
    other.hear("held");
    assert!(matches!(here.acquire("r"), Vote::Refused(_)));
    other.0.kill().expect("it is ours");
    // Not waited for: the kernel has not forgotten it yet, and it must count as gone all the same.
    here.acquire_at_last("r");
}

#[test]
fn a_key_ends_with_the_process_that_won_it_whoever_has_extended_it() {
    let folder = Folder::new();
    let (mut here, mut third) = (
        Client::open(&folder.store(), "shared"),
        Client::open(&folder.store(), "third"),
    );
    assert_eq!(here.acquire("r"), Vote::GRANTED);
    let mut other = Process::start("obey as shared", &folder.store());
    other.tell("tell");
    // It has extended the key, and has ended.
    let words = other.words();
    assert!(words.contains("Granted"), "{words}");
    assert!(other.0.wait().is_ok());
    assert!(matches!(third.acquire("r"), Vote::Refused(_)));
    assert_eq!(here.release("r"), Vote::GRANTED);

    let mut other = Process::start("obey as shared", &folder.store());
    other.tell("take");
    other.hear("taken");
    assert_eq!(here.extend("r"), Vote::GRANTED);
    assert!(matches!(third.acquire("r"), Vote::Refused(_)));
    other.kill();
    third.acquire_at_last("r");
}

#[test]
fn processes_killed_in_the_middle_hold_nobody_up() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    for round in 0_u32..25 {
        let mut other = Process::start("churn", &folder.store());
        other.hear("ready");
        // At another point of its work each time.
        for _ in 0..round * 7 {
            here.acquire("another");
            here.release("another");
        }
        other.0.kill().expect("it is ours");
        here.acquire_at_last("churned");
        assert_eq!(here.release("churned"), Vote::GRANTED, "round {round}");
    }
}

/// Makes a store one of another boot id, as seen from a container that has its own.
fn forge_boot_id(store: &Path) {
    let mut data = OpenOptions::new()
        .write(true)
        .open(store.join("data.mdb"))
        .expect("the store was made");
    data.seek(SeekFrom::End(-16)).expect("a file");
    data.write_all(&[7; 16]).expect("room");
}

#[test]
fn a_store_of_another_boot_id_is_left_alone_while_a_process_has_it_open() {
    let folder = Folder::new();
    let path = folder.store();
    let mut first = Process::start("hold", &path);
    first.hear("held");
    forge_boot_id(&path);
    let contents = || {
        ["data.mdb", "lock.mdb"].map(|name| fs::read(path.join(name)).expect("the store is there"))
    };
    let before = contents();
    for _ in 0..2 {
        let error = FileNode::open(&path).expect_err("somebody has it open");
        assert!(matches!(error, FileError::InUse { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("data.mdb"), "{text}");
        assert!(text.contains("another boot id"), "{text}");
    }
    assert!(contents() == before, "the refused store was changed");
    assert_eq!(fs::read_dir(&path).expect("a folder").count(), 2);

    first.0.kill().expect("it is ours");
    first.0.wait().expect("it is ours");
    assert_eq!(Client::open(&path, "here").acquire("r"), Vote::GRANTED);
}

#[test]
fn a_holder_whose_store_was_refused_to_another_boot_id_goes_on() {
    let folder = Folder::new();
    let path = folder.store();
    let mut first = Process::start("hold", &path);
    first.hear("held");
    forge_boot_id(&path);
    FileNode::open(&path).expect_err("somebody has it open");
    drop(first.0.stdin.take());
    // It asserts that its release is granted.
    assert!(first.0.wait().expect("it is ours").success());
}

/// Lets processes work side by side to their end, and tells what they left in the file.
fn side_by_side(role: &str, file: &str) -> String {
    let folder = Folder::new();
    let file = folder.0.join(file);
    fs::write(&file, "0").expect("the folder is ours");
    let mut processes: Vec<_> = (0..PROCESSES)
        .map(|_| Process::start(role, &folder.store()))
        .collect();
    for process in &mut processes {
        let out = process.1.as_mut().expect("it was piped");
        std::io::copy(out, &mut std::io::sink()).expect("a pipe");
        assert!(process.0.wait().expect("it is ours").success());
    }
    fs::read_to_string(&file).expect("it is there")
}

#[test]
fn a_counter_behind_the_lock_is_exact() {
    let text = side_by_side("count", "counter");
    assert_eq!(text, (PROCESSES * CYCLES).to_string());
}

#[test]
fn tokens_of_several_processes_grow_past_every_ceiling() {
    // Argument S4.
    let last: u64 = side_by_side("token", "token").parse().expect("a number");
    assert!(last > u64::from(PROCESSES * CYCLES), "{last}");
}
