//! A process that was forked while its parent had a store open.

use crate::client::{Client, Folder};
use leasehold::link::file::{FileError, FileNode};
use leasehold_core::Vote;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
};

/// Says that a test runs in a process of its own.
const ALONE: &str = "LEASEHOLD_FORKS";

const NAME: &str = "forks::a_fork_is_told_that_its_parent_has_the_store_open_and_disturbs_nothing";

#[test]
fn a_fork_is_told_that_its_parent_has_the_store_open_and_disturbs_nothing() {
    if std::env::var_os(ALONE).is_none() {
        // Another test's thread could hold, at the fork, what the child then waits for.
        let program = std::env::current_exe().expect("it runs");
        let run = Command::new(program)
            .args([NAME, "--exact", "--nocapture"])
            .env(ALONE, "1")
            .output()
            .expect("it can be run");
        let told = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{told}");
        assert!(told.contains("1 passed"), "{told}");
        return;
    }
    let [folder, other] = [Folder::new(), Folder::new()];
    let mut parent = Client::open(&folder.store(), "parent");
    assert_eq!(parent.acquire("r"), Vote::GRANTED);
    let child = fork(|| {
        let Err(refused) = FileNode::open(&folder.store()) else {
            return 1;
        };
        if !matches!(refused, FileError::Forked { .. }) {
            return 2;
        }
        let told = refused.to_string();
        if !told.contains("forked of one that has it open; start the program anew there (exec)") {
            return 3;
        }
        // Nothing of this keeps it from a store of its own.
        let mut own = Client::open(&other.store(), "child");
        match own.acquire("r") {
            Vote::GRANTED => 0,
            _ => 4,
        }
    });
    assert_eq!(child, 0);
    // The parent's thread, its lock of the file and its keys are as they were.
    let mut rival = Client::open(&folder.store(), "rival");
    assert!(matches!(rival.acquire("r"), Vote::Refused(_)));
    assert_eq!(parent.release("r"), Vote::GRANTED);
    assert_eq!(rival.acquire("r"), Vote::GRANTED);
}

/// The exit code of a child that does this.
fn fork(child: impl FnOnce() -> i32) -> i32 {
    // What panics in the child must not unwind into what belongs to the parent.
    let child = || catch_unwind(AssertUnwindSafe(child)).unwrap_or(101);
    #[expect(
        unsafe_code,
        reason = "the child is a copy of a test that runs alone; what it calls does not wait for threads that it lacks"
    )]
    unsafe {
        match libc::fork() {
            0 => libc::_exit(child()),
            pid => {
                let mut status = 0;
                assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
                assert!(libc::WIFEXITED(status), "it was killed: {status}");
                libc::WEXITSTATUS(status)
            }
        }
    }
}
