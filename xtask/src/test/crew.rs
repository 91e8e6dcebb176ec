//! Steps that are done beside one another.
//!
//! Some wait for most of their time, for servers and their clocks, and others compute. So they are on different lanes,
//! and what computes yields to what waits: a test that is woken late would be slow, and might fail.

mod running;

use crate::took::now;
use running::{Running, Turn};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
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

/// Does all tasks, and prints what each has said when it is done. The first that fails ends the others. Once a minute
/// it prints what is still running, so that a task that hangs is seen, and where.
pub(super) fn work(mut lanes: Vec<Lane>, folder: &Path) -> Result<Vec<Done>, Failed> {
    let (mut running, mut done, mut told) = (Vec::new(), Vec::new(), now());
    loop {
        for (lane, Lane { tasks, at_once }) in lanes.iter_mut().enumerate() {
            let in_lane = |it: &&Running| it.lane() == lane;
            while running.iter().filter(in_lane).count() < *at_once {
                let Some(task) = tasks.pop_front() else {
                    break;
                };
                running.push(Running::start(task, lane, fresh_file(folder))?);
            }
        }
        if running.is_empty() {
            return Ok(done);
        }
        let mut at = 0;
        while at < running.len() {
            match running[at].turn() {
                Turn::Goes => at += 1,
                Turn::Ended(ended) => {
                    drop(running.remove(at));
                    done.push(ended);
                }
                Turn::Failed(failed) => {
                    let failing = running.remove(at);
                    running.into_iter().for_each(Running::cut_short);
                    // Last, so that it stands beside the reason.
                    failing.tell();
                    return Err(failed);
                }
            }
        }
        if told.elapsed() >= STILL {
            running.iter().for_each(|it| print!("{}", it.still()));
            told = now();
        }
        thread::park_timeout(GLANCE);
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

/// How often it is told what is still running.
const STILL: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fs};

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

    /// A folder for the files of steps.
    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("xtask-crew-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("there is room for a folder");
        folder
    }

    #[test]
    fn what_fails_ends_the_others_and_leaves_nothing_of_them() {
        for waits_first in [true, false] {
            let folder = folder("fails");
            let pid = env::temp_dir().join(format!("xtask-crew-pid-{}", std::process::id()));
            let begun = format!("while [ ! -s {} ]; do sleep 0.01; done", pid.display());
            let fails = lane(vec![
                task("fails", &[&format!("{begun}; exit 7"), "exit 0"]),
                task("never begun", &["exit 0"]),
            ]);
            let script = format!("echo $$ >{}; sleep 600", pid.display());
            let mut lanes = vec![fails, lane(vec![task("waits", &[&script])])];
            if waits_first {
                lanes.reverse();
            }
            let failed = work(lanes, &folder).unwrap_err();
            assert_eq!((failed.title.as_str(), failed.code), ("fails", Some(7)));
            let waited = fs::read_to_string(&pid).expect("it was written");
            let there = Path::new("/proc").join(waited.trim()).exists();
            assert!(!there, "waits first: {waits_first}");
            fs::remove_file(pid).expect("it was written");
            fs::remove_dir(folder).expect("no file is left in it");
        }
    }
}
