//! Two versions that are measured in one run take turns: each does something only while it is its turn, subject by subject.

#![expect(clippy::print_stdout, reason = "whoever gives turns reads it there")]

use crate::Fallible;
use serde_json::Value;
use std::{
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether somebody gives turns to this process. Else it is always its turn.
static ARE_GIVEN: AtomicBool = AtomicBool::new(false);

/// From now on it waits for each turn.
pub(crate) fn begin() {
    ARE_GIVEN.store(true, Ordering::Relaxed);
}

/// Waits for the next turn. False if there will be none, because nobody is there any more to give one.
pub(crate) fn comes() -> bool {
    if !ARE_GIVEN.load(Ordering::Relaxed) {
        return true;
    }
    println!("{WAITING}");
    let heard = io::stdin().read_line(&mut String::new());
    heard.is_ok_and(|bytes| bytes > 0)
}

/// One of those that take turns.
#[derive(Debug)]
pub(crate) struct Player {
    child: Child,
    /// None once it is to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Player {
    /// Starts a program, which waits for its first turn.
    pub(crate) fn start(program: &Path, words: &[&str]) -> Fallible<Self> {
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("the program has no output")?;
        let output = BufReader::new(output);
        let mut player = Self {
            child,
            input,
            output,
        };
        match player.hear()? {
            None => Ok(player),
            Some(_) => Err("the program does not wait for its turn".into()),
        }
    }

    /// Gives it a turn, and waits for its end. Its results, if that was the last one.
    pub(crate) fn play(&mut self) -> Fallible<Option<Value>> {
        let input = self.input.as_mut().ok_or("it is to end")?;
        input.write_all(b"\n")?;
        self.hear()
    }

    fn hear(&mut self) -> Fallible<Option<Value>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.trim() == WAITING {
            return Ok(None);
        }
        let results = serde_json::from_str(&line);
        Ok(Some(results.map_err(|_| format!("it said {line:?}"))?))
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // It has no more turns, and so ends by itself, with the servers that it has started.
        drop(self.input.take());
        drop(self.child.wait());
    }
}

const WAITING: &str = "waiting";
