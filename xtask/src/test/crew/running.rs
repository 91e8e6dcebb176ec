//! One step that is being done.

use super::{Done, Failed, Task};
use crate::{
    process::Leashed,
    test::stopwatch::Stopwatch,
    took::{now, seconds},
};
use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{self, Read},
    path::PathBuf,
    time::Instant,
};

/// A task that is being done. When this is dropped, the task is ended with all that it has started, and its file is gone.
#[derive(Debug)]
pub(super) struct Running {
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

/// How far a task is.
pub(super) enum Turn {
    Goes,
    Ended(Done),
    Failed(Failed),
}

impl Running {
    pub(super) fn start(mut task: Task, lane: usize, file: PathBuf) -> Result<Self, Failed> {
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
        let (process, output) = started.map_err(|error| {
            drop(fs::remove_file(&file));
            failed(&task.title, error.to_string())
        })?;
        println!("  begins: {}; it prints to {}", task.title, file.display());
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

    pub(super) fn lane(&self) -> usize {
        self.lane
    }

    /// Looks how far it is.
    pub(super) fn turn(&mut self) -> Turn {
        // Asked before the reading: what has ended prints no more.
        let status = self.process.try_wait();
        self.read();
        match status {
            Ok(None) => Turn::Goes,
            Ok(Some(status)) if status.success() => self.go_on(),
            Ok(Some(status)) => self.failed(status.to_string(), status.code()),
            Err(error) => self.failed(error.to_string(), None),
        }
    }

    fn read(&mut self) {
        drop(self.output.read_to_end(&mut self.text));
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

    fn go_on(&mut self) -> Turn {
        match self.next_command() {
            Ok(true) => Turn::Goes,
            Ok(false) => {
                let took = self.began.elapsed();
                self.tell();
                println!("  done: {} ({})", self.task.title, seconds(took));
                Turn::Ended(Done {
                    title: self.task.title.clone(),
                    took,
                    tests: self.watch.take().map(Stopwatch::taken).unwrap_or_default(),
                })
            }
            Err(error) => self.failed(error.to_string(), None),
        }
    }

    /// Starts the next command. False if there is none.
    fn next_command(&mut self) -> io::Result<bool> {
        let Some(command) = self.task.commands.pop_front() else {
            return Ok(false);
        };
        let written = File::options().append(true).open(&self.file)?;
        self.process = Leashed::start(&command, &written)?;
        Ok(true)
    }

    fn failed(&self, reason: String, code: Option<i32>) -> Turn {
        Turn::Failed(Failed {
            title: self.task.title.clone(),
            reason,
            code,
        })
    }

    /// Prints all that it has said.
    pub(super) fn tell(&self) {
        let text = String::from_utf8_lossy(&self.text);
        println!("\n== {}\n{}", self.task.title, text.trim_end());
    }

    /// What is to be told of a task that takes long: since when it runs, which of its tests run, and what it said last.
    pub(super) fn still(&self) -> String {
        let (title, took) = (&self.task.title, seconds(self.began.elapsed()));
        let mut text = format!("  still running, for {took}: {title}\n");
        if let Some(watch) = &self.watch {
            for (name, began) in watch.running().into_iter().take(TESTS) {
                let took = seconds(began.elapsed());
                let line = writeln!(text, "    begun and not ended: {name} ({took})");
                line.expect("a string takes all");
            }
        } else if let Some(line) = self.last(1).first() {
            writeln!(text, "    its last line: {line}").expect("a string takes all");
        }
        text
    }

    /// Ends it because another one has failed, and prints the last lines of what it has said.
    pub(super) fn cut_short(mut self) {
        self.process.end();
        self.read();
        let (title, took) = (&self.task.title, seconds(self.began.elapsed()));
        println!("\n== {title}: ended after {took}, because another step failed; its last lines:");
        self.last(LINES).iter().for_each(|line| println!("{line}"));
    }

    fn last(&self, count: usize) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.text);
        let mut lines: Vec<_> = text.trim_end().lines().rev().take(count).collect();
        lines.reverse();
        lines.into_iter().map(str::to_owned).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.end();
        drop(fs::remove_file(&self.file));
    }
}

/// How many lines are told of a task that was ended because another one failed.
const LINES: usize = 30;

/// How many tests are told that have begun and not ended.
const TESTS: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, process::Command, thread, time::Duration};

    /// A task that has printed all that it will print, and goes on.
    fn hanging(name: &str, script: &str) -> Running {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{script}; echo the end; exec sleep 600")]);
        let task = Task {
            title: name.to_owned(),
            commands: [command].into(),
            tests: Some((["a", "b", "c", "d"].map(str::to_owned).to_vec(), 2)),
        };
        let file = env::temp_dir().join(format!("xtask-running-{name}-{}", std::process::id()));
        let mut running = Running::start(task, 0, file).expect("sh can be run");
        while !running.text.ends_with(b"the end\n") {
            assert!(matches!(running.turn(), Turn::Goes));
            thread::park_timeout(Duration::from_millis(10));
        }
        running
    }

    #[test]
    fn what_hangs_is_told_with_the_tests_that_have_begun_and_not_ended() {
        let mut running = hanging("hangs", "echo test a ... ok");
        let told = running.still();
        assert!(told.contains("still running"), "{told}");
        for (name, is_told) in [("a", false), ("b", true), ("c", true), ("d", false)] {
            let line = format!("begun and not ended: {name} (");
            assert_eq!(told.contains(&line), is_told, "{told}");
        }
        running.watch = None;
        assert!(running.still().contains("its last line: the end\n"));
    }

    #[test]
    fn the_last_lines_are_kept_of_what_was_cut_short() {
        let running = hanging("cut-short", "seq 1 100");
        let last = running.last(LINES);
        assert_eq!(last.len(), LINES);
        assert_eq!(last.first().map(String::as_str), Some("72"));
        assert_eq!(last.last().map(String::as_str), Some("the end"));
        let file = running.file.clone();
        running.cut_short();
        assert!(!file.exists());
    }
}
