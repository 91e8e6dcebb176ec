//! Against the published program itself.

use super::{KEY, lock, seconds, server, value};
use crate::support::{block_on, eventually};
use leasehold::timestamp::TimestampReleaseOutcome;
use leasehold_servers::{Server, skip};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    mem,
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

/// One that runs. It does not outlive the test.
struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// None, and a loud word, where there is no Python.
    fn start(server: &Server, timeout: u64, words: &[&str]) -> Option<Self> {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/suite/timestamp/getset.py"
        );
        let (port, timeout) = (server.port().to_string(), timeout.to_string());
        let started = Command::new("python3")
            .args(["-I", script, &port, KEY, &timeout])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                skip(&format!("no python3 for the program of SETNX: {error}"));
                return None;
            }
        };
        let input = child.stdin.take().expect("it was asked for");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        Some(Self {
            child,
            input,
            output,
        })
    }

    fn says(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it is text");
        assert_eq!(line.trim_end(), expected);
    }

    fn go_on(&mut self) {
        self.input.write_all(b"\n").expect("it runs");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const MOMENT: Duration = Duration::from_millis(300);

#[test]
fn each_excludes_the_other_until_it_releases() {
    let server = server();
    let lock = lock(&server, 60);
    let Some(mut program) = Program::start(&server, 60, &["hold"]) else {
        return;
    };
    program.says("acquired");
    let error = block_on(lock.acquire_within(MOMENT)).expect_err("the program has it");
    assert!(error.is_contention(), "{error}");
    program.go_on();
    program.says("released");
    let guard = block_on(lock.acquire()).expect("it was released");

    let mut program = Program::start(&server, 60, &["hold"]).expect("as before");
    let ours = guard.value();
    // It has tried at least once when the node has been asked for a while.
    eventually("the program has tried", || {
        let stats = server
            .command(&["INFO", "commandstats"])
            .expect("it answers");
        let text = stats.text().unwrap_or_default();
        let tried = text.lines().find_map(|line| {
            let counts = line.strip_prefix("cmdstat_setnx:calls=")?;
            counts.split(',').next()?.parse::<u32>().ok()
        });
        tried.is_some_and(|tried| tried > 20)
    });
    assert_eq!(value(&server), Some(ours), "the program waits");
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
    program.says("acquired");
    let error = block_on(lock.try_acquire()).expect_err("the program has it");
    assert!(error.is_contention(), "{error}");
}

#[test]
fn each_takes_over_what_the_other_left_behind() {
    let server = server();
    let Some(mut program) = Program::start(&server, 2, &["hold"]) else {
        return;
    };
    program.says("acquired");
    let left = value(&server).expect("there is a key");
    drop(program);
    let lock = lock(&server, 2);
    let guard = block_on(lock.acquire()).expect("its time is up in four seconds");
    assert!(seconds() > left, "not before its last second was over");
    assert!(guard.value() > left);

    // As if we had died: nobody releases.
    let left = guard.value();
    mem::forget(guard);
    let mut program = Program::start(&server, 2, &["hold"]).expect("as before");
    program.says("acquired");
    assert!(seconds() > left, "not before its last second was over");
    assert!(value(&server) > Some(left));
}

#[test]
fn a_counter_misses_nothing_whoever_counts() {
    const SECTIONS: usize = 60;
    let server = server();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("timestamp-counter");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    fs::write(folder.join("counter"), "0").expect("the folder is ours");
    let words = [
        "count",
        &SECTIONS.to_string(),
        &folder.display().to_string(),
    ];
    let mut programs = Vec::new();
    for _ in 0..2 {
        let Some(program) = Program::start(&server, 60, &words) else {
            return;
        };
        programs.push(program);
    }
    for program in &mut programs {
        program.says("ready");
    }
    programs.iter_mut().for_each(Program::go_on);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let lock = lock(&server, 60);
                for _ in 0..SECTIONS {
                    let patience = Duration::from_secs(120);
                    let guard = block_on(lock.acquire_within(patience)).expect("its turn comes");
                    count(&folder);
                    drop(block_on(guard.release()));
                }
            });
        }
    });
    for program in &mut programs {
        program.says("done");
    }
    let counter = fs::read_to_string(folder.join("counter")).expect("it is there");
    assert_eq!(counter, (4 * SECTIONS).to_string());
    let log = fs::read_to_string(folder.join("log")).expect("it is there");
    let turns = log.as_bytes().windows(2).filter(|two| two[0] != two[1]);
    // Nobody promises an order: it is enough that each has it between two turns of the other.
    assert!(turns.count() >= 3, "both make progress: {log}");
}

/// As the program does it.
fn count(folder: &std::path::Path) {
    let path = folder.join("counter");
    let number = fs::read_to_string(&path).expect("it is there");
    let number: usize = number.parse().expect("nobody else writes it");
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"));
    let written = log.and_then(|mut log| log.write_all(b"l"));
    written.expect("the folder is ours");
    fs::write(&path, (number + 1).to_string()).expect("the folder is ours");
}
