//! Steps that are done beside one another.
//!
//! Some wait for most of their time, for servers and their clocks, and others compute. So they are on different lanes,
//! and what computes yields to what waits: a test that is woken late would be slow, and might fail.

use super::stopwatch::Stopwatch;
use crate::{
    process::Leashed,
    took::{now, seconds},
};
use std::{
    collections::VecDeque,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// A step: commands that run one after the other, until one fails.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) title: String,
    pub(super) commands: VecDeque<Command>,
    /// The tests that the command runs, and how many at once.
    pub(super) tests: Option<(Vec<String>, usize)>,
}

/// Tasks, in their order.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) tasks: VecDeque<Task>,
    /// How many of them run at once.
    pub(super) at_once: usize,
}

/// A task that was done.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) title: String,
    pub(super) took: Duration,
    pub(super) tests: Vec<(String, Duration)>,
}

/// A task that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) title: String,
    pub(super) reason: String,
    pub(super) code: Option<i32>,
}

/// Does all tasks, and prints what each has said when it is done. The first that fails ends the others.
pub(super) fn work(mut lanes: Vec<Lane>, folder: &Path) -> Result<Vec<Done>, Failed> {
    let (mut running, mut done) = (Vec::new(), Vec::new());
    loop {
        for (lane, Lane { tasks, at_once }) in lanes.iter_mut().enumerate() {
            while running
                .iter()
                .filter(|it: &&Running| it.lane == lane)
                .count()
                < *at_once
            {
                let Some(task) = tasks.pop_front() else {
                    break;
                };
                println!("  begins: {}", task.title);
                running.push(Running::start(task, lane, fresh_file(folder))?);
            }
        }
        if running.is_empty() {
            return Ok(done);
        }
        let mut next = Vec::new();
        for it in running {
            match it.turn() {
                Ok(Turn::Goes(it)) => next.push(*it),
                Ok(Turn::Ended(ended)) => done.push(ended),
                Err(failed) => {
                    next.into_iter().for_each(Running::end);
                    return Err(failed);
                }
            }
        }
        running = next;
        thread::park_timeout(GLANCE);
    }
}

/// A task that is being done.
#[derive(Debug)]
struct Running {
    task: Task,
    lane: usize,
    process: Leashed,
    began: Instant,
    file: PathBuf,
    output: File,
    /// What it has printed.
    text: Vec<u8>,
    /// How much of that was noted, in whole lines.
    noted: usize,
    watch: Option<Stopwatch>,
}

enum Turn {
    Goes(Box<Running>),
    Ended(Done),
}

impl Running {
    fn start(mut task: Task, lane: usize, file: PathBuf) -> Result<Self, Failed> {
        let failed = |title: &str, why: String| Failed {
            title: title.to_owned(),
            reason: why,
            code: None,
        };
        let first = task.commands.pop_front();
        let first = first.ok_or_else(|| failed(&task.title, "nothing to do".to_owned()))?;
        let began = now();
        let started = File::create(&file).and_then(|written| {
            let process = Leashed::start(&first, &written)?;
            Ok((process, File::open(&file)?))
        });
        let (process, output) = started.map_err(|error| failed(&task.title, error.to_string()))?;
        let watch = task.tests.take();
        Ok(Self {
            watch: watch.map(|(tests, at_once)| Stopwatch::start(began, tests, at_once)),
            task,
            lane,
            process,
            began,
            file,
            output,
            text: Vec::new(),
            noted: 0,
        })
    }

    /// Looks how far it is.
    fn turn(mut self) -> Result<Turn, Failed> {
        // Asked before the reading: what has ended prints no more.
        let status = self.process.try_wait();
        drop(self.output.read_to_end(&mut self.text));
        self.note();
        match status {
            Ok(None) => Ok(Turn::Goes(Box::new(self))),
            Ok(Some(status)) if status.success() => self.go_on(),
            Ok(Some(status)) => Err(self.fail(status.to_string(), Some(status))),
            Err(error) => Err(self.fail(error.to_string(), None)),
        }
    }

    fn note(&mut self) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        let fresh = &self.text[self.noted..];
        let whole = fresh.iter().rposition(|&byte| byte == b'\n');
        let Some(whole) = whole.map(|at| at + 1) else {
            return;
        };
        for line in String::from_utf8_lossy(&fresh[..whole]).lines() {
            watch.note(now(), line);
        }
        self.noted += whole;
    }

    fn go_on(mut self) -> Result<Turn, Failed> {
        let Some(command) = self.task.commands.pop_front() else {
            let took = self.began.elapsed();
            self.tell();
            println!("  done: {} ({})", self.task.title, seconds(took));
            return Ok(Turn::Ended(Done {
                title: self.task.title,
                took,
                tests: self.watch.map(Stopwatch::taken).unwrap_or_default(),
            }));
        };
        let started = File::options().append(true).open(&self.file);
        match started.and_then(|written| Leashed::start(&command, &written)) {
            Ok(process) => {
                self.process = process;
                Ok(Turn::Goes(Box::new(self)))
            }
            Err(error) => Err(self.fail(error.to_string(), None)),
        }
    }

    fn fail(self, reason: String, status: Option<ExitStatus>) -> Failed {
        self.tell();
        Failed {
            title: self.task.title,
            reason,
            code: status.and_then(|status| status.code()),
        }
    }

    fn tell(&self) {
        let text = String::from_utf8_lossy(&self.text);
        println!("\n== {}\n{}", self.task.title, text.trim_end());
        drop(fs::remove_file(&self.file));
    }

    fn end(self) {
        self.process.end();
        drop(fs::remove_file(&self.file));
    }
}

/// A file that nobody else in this folder writes to.
fn fresh_file(folder: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    folder.join(format!("step-{}-{number}.txt", std::process::id()))
}

/// How often it is looked how far all are.
const GLANCE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    fn task(title: &str, scripts: &[&str]) -> Task {
        let command = |script: &&str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        Task {
            title: title.to_owned(),
            commands: scripts.iter().map(command).collect(),
            tests: None,
        }
    }

    fn lane(tasks: Vec<Task>) -> Lane {
        Lane {
            tasks: tasks.into(),
            at_once: 1,
        }
    }

    #[test]
    fn lanes_go_on_beside_one_another_and_tests_are_timed() {
        let file = env::temp_dir().join(format!("xtask-crew-{}", std::process::id()));
        let name = file.display();
        // Each waits for the other, so one after the other they would never end.
        let mut first = task(
            "first",
            &[&format!(
                "echo test a ... ok; mkfifo {name}.1 {name}.2; echo x >{name}.1; cat {name}.2"
            )],
        );
        first.tests = Some((vec!["a".to_owned()], 1));
        let second = task(
            "second",
            &[
                &format!("while [ ! -p {name}.2 ]; do sleep 0.01; done; cat {name}.1"),
                &format!("echo x >{name}.2"),
            ],
        );
        let done = work(
            vec![lane(vec![first]), lane(vec![second])],
            &env::temp_dir(),
        );
        let done = done.expect("both end well");
        let mut titles: Vec<&str> = done.iter().map(|done| done.title.as_str()).collect();
        titles.sort_unstable();
        assert_eq!(titles, ["first", "second"]);
        assert_eq!(done.iter().map(|done| done.tests.len()).sum::<usize>(), 1);
        for end in ["1", "2"] {
            fs::remove_file(format!("{name}.{end}")).expect("it was made");
        }
    }

    #[test]
    fn what_fails_ends_the_others() {
        let fails = lane(vec![
            task("fails", &["exit 7", "exit 0"]),
            task("never begun", &["exit 0"]),
        ]);
        let waits = lane(vec![task("waits", &["sleep 600"])]);
        let failed = work(vec![waits, fails], &env::temp_dir()).unwrap_err();
        assert_eq!((failed.title.as_str(), failed.code), ("fails", Some(7)));
    }
}
