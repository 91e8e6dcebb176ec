//! A blocking client of a node, and a folder for it.

use leasehold::{
    clock::Clock,
    link::{
        Draft, Link, LinkEvent, Message,
        file::{FileLink, FileNode},
    },
};
use leasehold_core::{
    AttemptId, FencingToken, Instant, OperationId, Owner, Request, Resource, Tag, Ttl, Vote,
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

/// A folder that goes away with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("file-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the target folder is writable");
        Self(path)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One owner at one node.
pub(crate) struct Client {
    link: FileLink,
    owner: Owner,
    asked: u64,
}

impl Client {
    pub(crate) fn open(path: &Path, owner: &str) -> Self {
        let node = FileNode::open(path).unwrap_or_else(|error| panic!("cannot {error}"));
        Self {
            link: node.link(Clock::system()),
            owner: Owner::from_bytes(owner.as_bytes()).expect("a short name"),
            asked: 0,
        }
    }

    pub(crate) fn acquire(&mut self, name: &str) -> Vote {
        self.ask(&Request::Acquire {
            resource: Resource::new(name).expect("a plain name"),
            owner: self.owner.clone(),
            ttl: Ttl::new(Duration::from_secs(600)).expect("in range"),
            proposal: None,
            place: None,
        })
    }

    /// Asks again and again until it is granted.
    pub(crate) fn acquire_at_last(&mut self, name: &str) {
        loop {
            match self.acquire(name) {
                Vote::Granted { .. } => return,
                Vote::Refused(_) => thread::park_timeout(Duration::from_micros(200)),
                vote @ Vote::Unknown(_) => panic!("the store answers, not {vote:?}"),
            }
        }
    }

    /// Asks again and again until it is granted, and tells the counter.
    pub(crate) fn count(&mut self, name: &str, proposal: u64) -> FencingToken {
        loop {
            let vote = self.ask(&Request::Acquire {
                resource: Resource::new(name).expect("a plain name"),
                owner: self.owner.clone(),
                ttl: Ttl::new(Duration::from_secs(600)).expect("in range"),
                proposal: FencingToken::new(proposal),
                place: None,
            });
            match vote {
                Vote::Granted { counter } => return counter.expect("it was asked for"),
                Vote::Refused(_) => thread::park_timeout(Duration::from_micros(200)),
                Vote::Unknown(fault) => panic!("the store answers, not {fault}"),
            }
        }
    }

    pub(crate) fn release(&mut self, name: &str) -> Vote {
        self.ask(&Request::Release {
            resource: Resource::new(name).expect("a plain name"),
            owner: self.owner.clone(),
            keep: None,
        })
    }

    pub(crate) fn inspect(&mut self, name: &str) -> Vote {
        let resource = Resource::new(name).expect("a plain name");
        self.ask(&Request::Inspect { resource })
    }

    pub(crate) fn extend(&mut self, name: &str) -> Vote {
        self.ask(&Request::Extend {
            resource: Resource::new(name).expect("a plain name"),
            owner: self.owner.clone(),
            ttl: Ttl::new(Duration::from_secs(900)).expect("in range"),
        })
    }

    /// Waits for the next hint about a key.
    pub(crate) fn hint(&mut self) -> Option<Resource> {
        loop {
            match self.event(Duration::from_secs(10)) {
                Some(LinkEvent::Changed(None)) => {}
                Some(LinkEvent::Changed(resource)) => return resource,
                Some(event) => panic!("nothing was asked; it told {event:?}"),
                None => return None,
            }
        }
    }

    /// Asks for the release and does not wait for the answer.
    pub(crate) fn release_and_leave(mut self, name: &str) {
        let request = Request::Release {
            resource: Resource::new(name).expect("a plain name"),
            owner: self.owner.clone(),
            keep: None,
        };
        self.give(&request);
    }

    fn give(&mut self, request: &Request) -> Tag {
        let (tag, mut draft) = (self.tag(), Draft::default());
        let message = &mut Message::new(tag, request, Instant::ORIGIN, &mut draft);
        self.link.send(message);
        tag
    }

    fn tag(&mut self) -> Tag {
        self.asked += 1;
        Tag {
            attempt: AttemptId {
                operation: OperationId::new(self.asked),
                number: 0,
            },
            step: 0,
        }
    }

    fn ask(&mut self, request: &Request) -> Vote {
        let tag = self.give(request);
        loop {
            match self.event(Duration::from_secs(60)) {
                Some(LinkEvent::Reply(answered, vote)) => {
                    assert_eq!(answered, tag);
                    return vote;
                }
                Some(_) => {}
                None => panic!("the store does not answer"),
            }
        }
    }

    /// The next event, if there is one within `patience`.
    fn event(&mut self, patience: Duration) -> Option<LinkEvent> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut cx = Context::from_waker(&waker);
        let until = Clock::system().now().saturating_add(patience);
        loop {
            let mut events = Vec::new();
            let polled = self.link.poll(&mut cx, &mut events, 1);
            if let Some(event) = events.pop() {
                return Some(event);
            }
            if polled.is_ready() {
                continue;
            }
            let left = until.saturating_since(Clock::system().now());
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left);
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
