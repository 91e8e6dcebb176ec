//! The watchdog: a small process that ends the command when leasehold itself cannot.
//!
//! The command must not outlive its lease. leasehold sees to that, unless it is killed by SIGKILL, which nobody can
//! catch, or stopped. So it starts a second process of its own, which does nothing but read from a pipe. Through it
//! leasehold tells the command's process group, and with every extension by when that must be gone. The end of the
//! pipe without a farewell is leasehold's death; silence beyond the time is its being stopped.
//!
//! A parent-death signal (`PR_SET_PDEATHSIG`) alone would not do: it is the system's own means on Linux alone, reaches
//! one process and not its group, is forgotten when a set-user-id program is started, and comes only with death and not
//! with SIGSTOP. It guards the moment before this process is there: see [`launch`](crate::launch). Where there is none,
//! this process starts when the command has run for a moment.
//!
//! One that is ended itself is replaced, and the user is told.
//!
//! What it does not cover: processes that left the group; and anything that kills both at once, as the end of a container or of
//! a control group does, which ends the command as well.

mod words;

use crate::{
    child::{kill_group, this_program},
    held_lease::HeldLease,
    output,
};
use leasehold::Instant;
#[cfg(any(target_os = "linux", target_os = "android"))]
use leasehold::clock::Clock;
use rustix::{
    fd::AsFd,
    fs::{OFlags, fcntl_setfl},
    process::{Pid, Signal, test_kill_process_group},
};
use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    time::Duration,
};
use tokio::time;
use words::{Heard, Words};

/// The watchdog's post, beside one command.
#[derive(Debug)]
pub(crate) enum Post {
    /// Nobody comes: the command may run on by itself.
    Unmanned,
    /// The next one comes at this time, and gives the command this grace if leasehold dies.
    Vacant(time::Instant, Duration),
    /// The same, after one could not be started. The user knows.
    Missed(time::Instant, Duration),
    /// The watchdog is there.
    Manned(Watchdog),
}

impl Post {
    /// A post beside a command that begins now.
    pub(crate) fn for_command(grace: Duration) -> Self {
        Self::Vacant(time::Instant::now() + MOMENT, grace)
    }

    /// Takes note of the end of the one that was there. The next one comes at once, unless this one came a moment ago.
    ///
    /// One that ended by itself has ended the command, and has said so: it is the user's news only if it was killed.
    fn note_end(&mut self) {
        let Self::Manned(watchdog) = self else {
            return;
        };
        let Ok(Some(status)) = watchdog.process.try_wait() else {
            return;
        };
        if !status.success() {
            output::talk(format_args!(
                "warning: the process that ends the command if leasehold is killed has ended ({status}); starting another"
            ));
        }
        let due = time::Instant::now().max(watchdog.begun + REPLACED_AFTER);
        *self = Self::Vacant(due, watchdog.grace);
    }

    /// When there will be something to do that does not happen by itself.
    pub(crate) fn due(&self) -> Option<Duration> {
        match self {
            Self::Vacant(due, _) | Self::Missed(due, _) => {
                let left = due.saturating_duration_since(time::Instant::now());
                Some(left.max(Duration::from_millis(1)))
            }
            Self::Unmanned | Self::Manned(_) => None,
        }
    }

    /// Tells the watchdog whom to end, and by when: so long before the lease's end. Starts one if it is time.
    pub(crate) fn report(&mut self, group: Pid, guard: &HeldLease, before: Duration) {
        self.note_end();
        if let Self::Vacant(due, grace) | Self::Missed(due, grace) = self
            && time::Instant::now() >= *due
        {
            let grace = *grace;
            self.fill(
                Watchdog::start(grace, group, &guard.resource().quoted().to_string()),
                grace,
            );
        }
        if let Self::Manned(watchdog) = self {
            watchdog.tell_end(guard, before);
        }
    }

    /// Takes note of whether one could be started. If not, another one is tried for soon: what the system lacks, most
    /// often a process, it may have again.
    fn fill(&mut self, started: io::Result<Watchdog>, grace: Duration) {
        let is_known = matches!(self, Self::Missed(..));
        *self = match started {
            Ok(watchdog) => {
                if is_known {
                    output::talk(
                        "the process that ends the command if leasehold is killed is there again",
                    );
                }
                Self::Manned(watchdog)
            }
            Err(error) => {
                if !is_known {
                    output::talk(format_args!(
                        "warning: if leasehold is killed, nobody ends the command: {error}; trying again"
                    ));
                }
                Self::Missed(time::Instant::now() + REPLACED_AFTER, grace)
            }
        };
    }

    /// The command has ended, or runs on by its own right.
    pub(crate) fn dismiss(&mut self) {
        if let Self::Manned(watchdog) = self {
            watchdog.say(Word::Farewell);
        }
        *self = Self::Unmanned;
    }
}

/// The watchdog, as leasehold sees it. Dropping it without a farewell makes it act.
#[derive(Debug)]
pub(crate) struct Watchdog {
    process: Child,
    pipe: ChildStdin,
    grace: Duration,
    begun: time::Instant,
    told: Option<Instant>,
}

impl Watchdog {
    /// Starts one, for the command of this process group, which gets this grace if leasehold dies.
    ///
    /// The group is an argument and is not told through the pipe: leasehold may be killed at any moment, and there is none
    /// in which the watchdog is there and does not know whom to end.
    fn start(grace: Duration, group: Pid, resource: &str) -> io::Result<Self> {
        let (grace_ms, number) = (grace.as_millis().to_string(), group.to_string());
        let mut process = Command::new(this_program())
            .arg0("leasehold")
            .args(["watchdog", "--grace-ms", &grace_ms, "--group", &number])
            .arg(format!("--of={}", std::process::id()))
            .arg(format!("--resource={resource}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // A group of its own: what ends leasehold's group is not to end it.
            .process_group(0)
            .spawn()?;
        let pipe = process.stdin.take();
        let pipe = pipe.ok_or_else(|| io::Error::other("its pipe is gone"))?;
        // Whatever becomes of the watchdog, nobody waits for it to read.
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        Ok(Self {
            process,
            pipe,
            grace,
            begun: time::Instant::now(),
            told: None,
        })
    }

    /// Tells by when the command must be gone, if that is news: so long before the lease's end.
    fn tell_end(&mut self, guard: &HeldLease, before: Duration) {
        let valid_until = guard.valid_until();
        // The watchdog's clock is read first: what passes until the guard is asked makes the sum earlier.
        let (now, remaining) = (now(), guard.remaining());
        // A lease that is over before its time, since its keys are gone, leaves the command its grace: we see to that,
        // and the watchdog goes by what it knows.
        if self.told == Some(valid_until) || remaining.is_zero() {
            return;
        }
        self.told = Some(valid_until);
        let end = now.map(|now| now.saturating_add(remaining).saturating_sub(before));
        end.into_iter().for_each(|end| self.say(Word::End(end)));
    }

    /// One that is gone cannot be told; its end is noticed by itself.
    fn say(&mut self, word: Word) {
        drop(self.pipe.write_all(word.line().as_bytes()));
    }
}

/// What goes through the pipe, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    End(Instant),
    Farewell,
}

impl Word {
    fn line(self) -> String {
        match self {
            Self::End(end) => format!("end {}\n", end.since_origin().as_millis()),
            Self::Farewell => "farewell\n".to_owned(),
        }
    }

    fn read(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            None => (line == "farewell").then_some(Self::Farewell),
            Some(("end", millis)) => {
                let end = Duration::from_millis(millis.parse().ok()?);
                Some(Self::End(Instant::from_origin(end)))
            }
            Some(_) => None,
        }
    }
}

/// Why the watchdog has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// leasehold is dead, and so long is left.
    Death(Duration),
    /// leasehold lets the time run out.
    Silence,
}

/// Watches over leasehold, at the other end of the pipe; none if there is nothing to do any more.
pub(crate) fn watch(pipe: impl AsFd) -> Option<Alarm> {
    let mut words = Words::new(pipe);
    let mut end = None;
    loop {
        let left = left(end);
        // Not long at a time: timers stand still while the machine is suspended. All that was said is heard before the time
        // is judged: it may be the watchdog that was away.
        match words.next(left.min(TURN)) {
            Heard::Word(Word::End(at)) => end = Some(at),
            Heard::Word(Word::Farewell) => return None,
            Heard::Nothing if left.is_zero() => return Some(Alarm::Silence),
            Heard::Nothing => {}
            Heard::End => return Some(Alarm::Death(left)),
        }
    }
}

/// Ends the group, with so much time between request and force.
pub(crate) fn end(group: Pid, grace: Duration) {
    let pause = |length| {
        // Nobody ever speaks here.
        let (_silent, words) = mpsc::channel::<Word>();
        let _ = words.recv_timeout(length);
    };
    if !grace.is_zero() {
        kill_group(group, Signal::TERM);
        kill_group(group, Signal::CONT);
        let turns = grace.as_millis() / STEP.as_millis();
        for _ in 0..=turns {
            if test_kill_process_group(group).is_err() {
                return;
            }
            pause(STEP);
        }
    }
    kill_group(group, Signal::KILL);
}

fn left(end: Option<Instant>) -> Duration {
    match (end, now()) {
        (Some(end), Some(now)) => end.saturating_since(now),
        _ => Duration::MAX,
    }
}

/// The time by the clock that both processes have; where there is none, silence is not noticed.
fn now() -> Option<Instant> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return Some(Clock::system().of_the_machine());
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    None
}

/// How long a command runs before a second process is worth its while, where nothing holds the command back so long.
const MOMENT: Duration = match cfg!(target_os = "linux") {
    true => Duration::ZERO,
    false => Duration::from_millis(20),
};

/// What ends one after the other, or cannot be started, need not be tried faster.
const REPLACED_AFTER: Duration = Duration::from_secs(1);

const TURN: Duration = Duration::from_millis(500);

const STEP: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of what was said, with nothing to follow.
    fn watch_over(text: &str) -> Option<Alarm> {
        let (pipe, mut writer) = io::pipe().expect("there are pipes");
        writer.write_all(text.as_bytes()).expect("it has room");
        drop(writer);
        watch(pipe)
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        let end = Instant::from_origin(Duration::from_millis(1234));
        for word in [Word::End(end), Word::Farewell] {
            let line = word.line();
            assert_eq!(Word::read(line.trim_end()), Some(word));
        }
        for line in ["", "end", "end x", "end -1", "farewell 1"] {
            assert_eq!(Word::read(line), None, "{line}");
        }
    }

    #[test]
    fn a_farewell_is_no_alarm_and_the_end_of_the_pipe_is_one() {
        assert_eq!(watch_over("farewell\n"), None);
        for text in ["", "odd\n"] {
            assert_eq!(
                watch_over(text),
                Some(Alarm::Death(Duration::MAX)),
                "{text}"
            );
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn silence_beyond_the_end_is_an_alarm() {
        let (pipe, _writer) = io::pipe().expect("there are pipes");
        let mut writer = &_writer;
        writer.write_all(b"end 1\n").expect("it is open");
        assert_eq!(watch(pipe), Some(Alarm::Silence));
    }

    #[test]
    fn an_end_that_was_put_off_is_no_end_however_late_it_is_heard() {
        let ends: String = (1..2_000).map(|end| format!("end {end}\n")).collect();
        let far = Word::End(Instant::NEVER).line();
        assert_eq!(watch_over(&format!("{ends}{far}farewell\n")), None);
    }

    #[test]
    fn one_that_cannot_be_started_is_tried_for_again() {
        let mut post = Post::for_command(Duration::from_secs(2));
        for _ in 0..3 {
            post.fill(
                Err(io::ErrorKind::WouldBlock.into()),
                Duration::from_secs(2),
            );
            assert!(post.due().is_some(), "{post:?}");
        }
        let Post::Missed(_, grace) = post else {
            panic!("{post:?}");
        };
        assert_eq!(grace, Duration::from_secs(2));
    }

    #[test]
    fn half_a_word_is_none() {
        for text in ["end 71", "farewell"] {
            assert_eq!(
                watch_over(text),
                Some(Alarm::Death(Duration::MAX)),
                "{text}"
            );
        }
    }
}
