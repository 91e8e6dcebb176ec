use super::*;
use crate::{
    clock::Clock,
    link::{
        Draft, Link, LinkEvent, Message,
        file::{FileLink, FileNode, store::tests::Folder},
    },
};
use leasehold_core::{AttemptId, Instant, OperationId, Owner, Resource, Tag, Ttl};
use std::{
    io::{BufRead, BufReader, Write, stdin, stdout},
    process::{Child, Command, Stdio},
    task::{Context, Wake, Waker},
    time::Duration,
};

/// What a second process of this test does; nothing when a person runs it.
#[test]
fn a_process_in_the_middle_of_a_transaction() {
    let Some(path) = std::env::var_os("LEASEHOLD_STORE") else {
        return;
    };
    Folder::kept(path.into()).store().hold(|| {
        let mut out = stdout();
        writeln!(out, "\nholding").expect("a pipe");
        out.flush().expect("a pipe");
        stdin().read_line(&mut String::new()).expect("a pipe");
    });
}

/// Starts a process that waits in the middle of a transaction.
fn holding(folder: &Folder) -> Child {
    let name = "link::file::worker::tests::a_process_in_the_middle_of_a_transaction";
    let mut child = Command::new(std::env::current_exe().expect("the test runs"))
        .args(["--exact", name, "--nocapture"])
        .env("LEASEHOLD_STORE", &folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test can run itself");
    let out = BufReader::new(child.stdout.as_mut().expect("it was piped"));
    assert!(out.lines().any(|line| line.expect("text") == "holding"));
    child
}

fn send(link: &mut FileLink, number: u64, release: bool) {
    let tag = Tag {
        attempt: AttemptId {
            operation: OperationId::new(number),
            number: 0,
        },
        step: 0,
    };
    let resource = Resource::new(&format!("r{number}")).expect("a plain name");
    let owner = Owner::from_bytes(b"a").expect("not empty");
    let request = match release {
        true => Request::Release {
            resource,
            owner,
            keep: None,
        },
        false => Request::Acquire {
            resource,
            owner,
            ttl: Ttl::LONGEST,
            proposal: None,
            place: None,
        },
    };
    link.send(&mut Message::new(
        tag,
        &request,
        Instant::ORIGIN,
        &mut Draft::default(),
    ));
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What there is without waiting.
fn now(link: &mut FileLink) -> Option<(Tag, Vote)> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut events = Vec::new();
    loop {
        let polled = link.poll(&mut cx, &mut events, 1);
        match events.pop() {
            Some(LinkEvent::Reply(tag, vote)) => return Some((tag, vote)),
            Some(LinkEvent::Up(_) | LinkEvent::Changed(_)) => {}
            Some(other) => panic!("{other:?}"),
            None if polled.is_pending() => return None,
            None => {}
        }
    }
}

fn next(link: &mut FileLink) -> (Tag, Vote) {
    loop {
        match now(link) {
            Some(reply) => return reply,
            None => thread::park_timeout(Duration::from_secs(60)),
        }
    }
}

fn is_busy(vote: &Vote) -> bool {
    matches!(vote, Vote::Unknown(fault) if fault.kind() == FaultKind::Busy)
}

#[test]
fn a_process_that_stands_in_a_transaction_blocks_no_link_and_killed_there_nobody() {
    let folder = Folder::new("stopped");
    let node = FileNode::open(&folder.0).expect("a new store");
    let mut link = node.link(Clock::system());
    let mut other = holding(&folder);

    // The first step is with the thread, which waits for the other process, and the rest queue.
    send(&mut link, 0, false);
    while !lock(&node.0.worker().queue).jobs.is_empty() {
        thread::yield_now();
    }
    let queued = LONGEST_QUEUE as u64;
    for number in 1..=queued {
        send(&mut link, number, false);
    }
    assert_eq!(now(&mut link), None, "so many steps may wait");
    send(&mut link, queued + 1, false);
    assert!(now(&mut link).is_some_and(|(_, vote)| is_busy(&vote)));
    for number in 0..queued {
        send(&mut link, number, true);
    }
    assert_eq!(now(&mut link), None, "releases have room of their own");
    send(&mut link, 0, true);
    assert!(now(&mut link).is_some_and(|(_, vote)| is_busy(&vote)));

    other.kill().expect("it is ours");
    for expected in (0..=queued).chain(0..queued) {
        let (tag, vote) = next(&mut link);
        assert_eq!(tag.attempt.operation.number(), expected);
        assert_eq!(vote, Vote::GRANTED, "step {expected}");
    }
    other.wait().expect("it is ours");
}
