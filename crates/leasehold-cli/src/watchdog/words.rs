//! What comes through the pipe, word by word.

use super::Word;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::AsFd,
    io::{Errno, read},
};
use std::time::Duration;

/// The pipe's end at which the watchdog listens.
#[derive(Debug)]
pub(super) struct Words<P> {
    pipe: P,
    /// What has come and was not taken yet.
    come: Vec<u8>,
    is_over: bool,
}

/// What there was to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Word(Word),
    /// The pipe is empty, after all of the time.
    Nothing,
    /// Nobody is left who could say anything.
    End,
}

impl<P: AsFd> Words<P> {
    pub(super) fn new(pipe: P) -> Self {
        let (come, is_over) = (Vec::new(), false);
        Self {
            pipe,
            come,
            is_over,
        }
    }

    /// The next word, waited for so long at most. Nothing is only heard from an empty pipe.
    pub(super) fn next(&mut self, most: Duration) -> Heard {
        loop {
            while let Some(line) = self.line() {
                // What is not understood is a newer leasehold's, which an upgrade may bring: not an end.
                if let Some(word) = Word::read(&line) {
                    return Heard::Word(word);
                }
            }
            if self.is_over {
                return Heard::End;
            }
            if !self.wait(most) {
                return Heard::Nothing;
            }
            self.take();
        }
    }

    /// A line that has come whole.
    fn line(&mut self) -> Option<String> {
        let end = self.come.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.come.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    /// Whether there is something to take within this time, be it the end.
    fn wait(&self, most: Duration) -> bool {
        let mut pipe = [PollFd::new(&self.pipe, PollFlags::IN)];
        let most = Timespec::try_from(most).ok();
        loop {
            match poll(&mut pipe, most.as_ref()) {
                Err(Errno::INTR) => {}
                polled => return polled != Ok(0),
            }
        }
    }

    fn take(&mut self) {
        let mut bytes = [0; 4096];
        match read(&self.pipe, &mut bytes) {
            Ok(count @ 1..) => self.come.extend(&bytes[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => self.is_over = true,
        }
    }
}
