//! What is told to people, on standard error, by a thread of its own.
//!
//! Nobody may read there: a pipe is full, or a terminal was stopped by Ctrl-S. A run that waited for a reader would hold
//! its lock and do nothing, and nobody would watch over its lease. So a caller that prints waits for the thread for a moment,
//! which keeps the order of what several processes say on one terminal, and then goes on. What is more than the thread
//! keeps is dropped and counted.

use std::{
    collections::VecDeque,
    io::{Write, stderr},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// What is still to be written, and how it goes.
#[derive(Debug)]
struct Talk {
    lines: VecDeque<String>,
    has_thread: bool,
    /// Whether the thread is writing something.
    is_writing: bool,
    /// Whether somebody has waited for the thread in vain, and it has not caught up since.
    is_stuck: bool,
    dropped: u64,
}

static TALK: Mutex<Talk> = Mutex::new(Talk {
    lines: VecDeque::new(),
    has_thread: false,
    is_writing: false,
    is_stuck: false,
    dropped: 0,
});
static NEWS: Condvar = Condvar::new();
static WRITTEN: Condvar = Condvar::new();

/// Has this written, line end included. All at once, so that lines of several processes do not mix.
pub(super) fn say(line: String) {
    let mut talk = lock();
    if !talk.has_thread {
        let thread = thread::Builder::new().name("leasehold-talk".into());
        if thread.spawn(write_on).is_err() {
            drop(stderr().lock().write_all(line.as_bytes()));
            return;
        }
        talk.has_thread = true;
    }
    if talk.lines.len() >= MOST {
        talk.dropped += 1;
        return;
    }
    talk.lines.push_back(line);
    NEWS.notify_one();
    if !talk.is_stuck {
        wait(talk, MOMENT);
    }
}

/// Waits until all is written, but not for ever: the end of the process ends the thread.
pub(super) fn finish() {
    wait(lock(), LAST_WAIT);
}

fn wait(talk: MutexGuard<'static, Talk>, most: Duration) {
    let (mut talk, _) = WRITTEN
        .wait_timeout_while(talk, most, |talk| !talk.is_done())
        .unwrap_or_else(PoisonError::into_inner);
    talk.is_stuck = !talk.is_done();
}

fn write_on() {
    let mut talk = lock();
    loop {
        if talk.lines.is_empty() && talk.dropped > 0 {
            let count = std::mem::take(&mut talk.dropped);
            let line = format!("leasehold: left out {count} lines, which nobody read in time\n");
            talk.lines.push_back(line);
        }
        let Some(line) = talk.lines.pop_front() else {
            talk.is_stuck = false;
            WRITTEN.notify_all();
            talk = NEWS.wait(talk).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        talk.is_writing = true;
        drop(talk);
        // Nobody can be told of it.
        drop(stderr().lock().write_all(line.as_bytes()));
        talk = lock();
        talk.is_writing = false;
    }
}

impl Talk {
    fn is_done(&self) -> bool {
        self.lines.is_empty() && !self.is_writing && self.dropped == 0
    }
}

fn lock() -> MutexGuard<'static, Talk> {
    TALK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a line may hold up the one who says it.
const MOMENT: Duration = Duration::from_millis(50);

/// How long the end of the process waits for somebody to read. A reader that is behind by a whole pipe, and reads on, needs
/// less; for one that does not read, a script would wait for nothing.
const LAST_WAIT: Duration = Duration::from_millis(200);

/// How many lines wait for a reader.
const MOST: usize = 1000;
