//! Stores that cannot be made or written, and how that is told.

#![cfg(target_os = "linux")]

use crate::{
    client::{Client, Folder},
    processes::{Process, this_test},
};
use leasehold::link::file::{FileError, FileNode};
use leasehold_core::Vote;
use leasehold_servers::skip;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

/// Puts something that is no file there, of each kind in turn, and tells which it was.
fn for_each_kind(path: &Path, mut look: impl FnMut(&str)) {
    for (kind, name) in [(FileType::Fifo, "a FIFO"), (FileType::Socket, "a socket")] {
        mknodat(CWD, path, kind, Mode::RWXU, 0).expect("the name is free");
        look(name);
        fs::remove_file(path).expect("it was made");
    }

    fs::create_dir(path).expect("the name is free");
    look("a folder");
    fs::remove_dir(path).expect("it was made");

    symlink("/dev/null", path).expect("the name is free");
    look("a symbolic link");
    fs::remove_file(path).expect("it was made");
}

#[test]
fn what_is_no_file_is_refused_by_its_kind_and_nobody_waits_for_it() {
    for name in ["data.mdb", "lock.mdb", "tokens"] {
        let folder = Folder::new();
        let store = folder.store();
        fs::create_dir(&store).expect("the folder is ours");
        for_each_kind(&store.join(name), |kind| {
            let error = FileNode::open(&store).expect_err("it is no file");
            assert!(
                matches!(error, FileError::NotAStore { .. }),
                "{name}: {error}"
            );
            let text = error.to_string();
            assert!(
                text.contains(name) && text.contains(kind),
                "{name}, {kind}: {text}"
            );
        });
        FileNode::open(&store).expect("nothing is in its way any more");
    }
}

#[test]
fn a_store_that_is_linked_from_another_folder_is_refused_there() {
    // Two lock files would let two write at a time.
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    assert_eq!(here.acquire("r"), Vote::GRANTED);
    let there = folder.0.join("there");
    fs::create_dir(&there).expect("the folder is ours");
    let (data, linked) = (folder.store().join("data.mdb"), there.join("data.mdb"));
    symlink(&data, &linked).expect("it is free");
    let words = Process::start("try", &there).words();
    assert!(words.contains("a symbolic link"), "{words}");
    fs::remove_file(&linked).expect("it was made");
    fs::hard_link(&data, &linked).expect("it is free");
    let words = Process::start("try", &there).words();
    assert!(words.contains("2 names, hard links"), "{words}");
    assert!(words.contains("delete the others"), "{words}");
}

#[test]
fn a_ceiling_with_a_second_name_is_read_and_never_written_under_that() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let first = Client::open(&folder.store(), "a").count("r", 1_000);
    fs::create_dir(copy.store()).expect("the folder is ours");
    let (tokens, linked) = (folder.store().join("tokens"), copy.store().join("tokens"));
    fs::hard_link(&tokens, &linked).expect("it is free");
    let ceiling = fs::read(&tokens).expect("it was written");
    let second = Client::open(&copy.store(), "a").count("r", 1);
    assert!(second > first, "{second:?}, {first:?}");
    assert_ne!(fs::read(&linked).expect("it is there"), ceiling);
    assert_eq!(fs::read(&tokens).expect("it is there"), ceiling);
}

#[test]
fn what_lies_where_a_ceiling_is_drafted_is_in_nobodys_way() {
    let folder = Folder::new();
    let mut client = Client::open(&folder.store(), "a");
    let draft = folder.store().join("tokens.new");
    mknodat(CWD, &draft, FileType::Fifo, Mode::RWXU, 0).expect("the name is free");
    assert_eq!(client.count("r", 1_000).get(), 1_000);
    assert!(folder.store().join("tokens").is_file());
}

/// A process that may write files of so many bytes, in blocks of 512 or 1,024 as its shell has it.
fn limited(blocks: &str, role: &str, path: &Path) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f \"$1\"; shift; exec \"$@\"", "sh", blocks]);
    command.arg(this_test());
    Process::start_by(command, role, path)
}

#[test]
fn a_limit_of_file_sizes_is_told_and_kills_nobody() {
    let folder = Folder::new();
    for was_there in [false, true] {
        let words = limited("100", "try", &folder.store()).words();
        assert!(
            words.contains("cannot open the lock store"),
            "{was_there}: {words}"
        );
        for part in ["at most", "67108908", "ulimit -f"] {
            assert!(words.contains(part), "no {part:?} in {words}");
        }
        drop(Client::open(&folder.store(), "a"));
    }
    let words = limited("unlimited", "try", &folder.store()).words();
    assert!(words.contains("Granted"), "{words}");
}

#[test]
fn a_limit_that_comes_later_is_told_with_the_next_step() {
    let folder = Folder::new();
    let mut other = Process::start("obey", &folder.store());
    other.tell("take");
    other.hear("taken");
    other.tell("limit");
    other.tell("tell");
    let words = other.words();
    assert!(
        words.contains("may write files of 0 bytes at most"),
        "{words}"
    );
}

/// A process whose store is on a disk of this size; none if no such disk can be had.
fn on_a_disk_of(size: &str, role: &str, path: &Path) -> Option<Process> {
    let script = "mount -t tmpfs -o size=\"$1\",mode=700 tmpfs \"$2\" && shift 2 && exec \"$@\"";
    for way in [&[][..], &["--user", "--map-root-user"]] {
        let mut command = Command::new("unshare");
        command
            .args(way)
            .args(["--mount", "sh", "-c", script, "sh", size])
            .arg(path);
        let mut probe = Command::new(command.get_program());
        let probe = probe.args(command.get_args()).arg("true").output();
        if probe.is_ok_and(|seen| seen.status.success()) {
            command.arg(this_test());
            return Some(Process::start_by(command, role, &path.join("store")));
        }
    }
    skip("no tmpfs can be mounted for a disk that is full");
    None
}

#[test]
fn a_full_disk_is_told_as_one_at_whatever_point_it_is() {
    let folder = Folder::new();
    for size in ["4k", "16k", "20k", "24k", "28k", "32k", "48k"] {
        let Some(mut process) = on_a_disk_of(size, "try", &folder.0) else {
            return;
        };
        let words = process.words();
        let is_told = words.contains("disk is full") || words.contains("No space left");
        assert!(is_told || words.contains("Granted"), "{size}: {words}");
        assert!(
            !is_told || words.contains("100 kB at first"),
            "{size}: {words}"
        );
    }
}

#[test]
fn a_disk_that_becomes_full_is_told_with_the_step_that_finds_it_so() {
    let folder = Folder::new();
    for size in ["64k", "100k", "400k"] {
        let Some(mut process) = on_a_disk_of(size, "fill", &folder.0) else {
            return;
        };
        let words = process.words();
        assert!(words.contains("the disk is full"), "{size}: {words}");
    }
}
