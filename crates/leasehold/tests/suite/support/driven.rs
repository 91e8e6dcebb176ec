//! A link to a real server, with the test in the place of the shell.

use leasehold::{
    RestartGuard,
    clock::Clock,
    configuration::Configuration,
    link::{
        Draft, Link, LinkEvent, Message,
        redis::{ClusterLink, RedisLink, RedisUrl},
    },
};
use leasehold_core::{
    AttemptId, FaultKind, OperationId, Owner, Quorum, Request, Resource, Tag, Ttl, Vote,
};
use std::{
    future::poll_fn,
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc,
    task::Poll,
    thread,
    time::Duration,
};
use tokio::runtime::Runtime;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// A link and the thread that turns its crank.
pub(crate) struct Driven {
    link: Box<dyn Link>,
    runtime: Runtime,
    sent: u32,
    told: Vec<LinkEvent>,
}

/// With tokens, and without the restart guard.
pub(crate) fn unguarded() -> Configuration {
    let quorum = Quorum::majority(1).expect("one node");
    let (guard, skew) = (RestartGuard::Off, Duration::ZERO);
    Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew)
}

impl Driven {
    pub(crate) fn new(url: &str) -> Self {
        Self::of(url, &unguarded())
    }

    /// A link of this configuration that has not connected yet.
    pub(crate) fn of(url: &str, configuration: &Configuration) -> Self {
        let url: RedisUrl = url.parse().expect("a good address");
        let builder = &mut tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().expect("a runtime");
        let clock = Clock::system();
        let link: Box<dyn Link> = match url.to_string().contains("+cluster") {
            true => Box::new(ClusterLink::new(url, clock, configuration)),
            false => Box::new(RedisLink::new(url, clock, configuration)),
        };
        Self {
            link,
            runtime,
            sent: 0,
            told: Vec::new(),
        }
    }

    /// A link that is connected.
    pub(crate) fn up(url: &str) -> Self {
        Self::with(url, &unguarded())
    }

    /// A link of this configuration that is connected.
    pub(crate) fn with(url: &str, configuration: &Configuration) -> Self {
        let mut driven = Self::of(url, configuration);
        let event = driven.event();
        assert!(matches!(event, LinkEvent::Up(_)), "{event:?}");
        driven
    }

    pub(crate) fn send(&mut self, request: &Request) -> u32 {
        self.sent += 1;
        let attempt = AttemptId {
            operation: OperationId::new(7),
            number: 3,
        };
        let tag = Tag {
            attempt,
            step: self.sent,
        };
        let (given, mut draft) = (Clock::system().now(), Draft::default());
        let message = &mut Message::new(tag, request, given, &mut draft);
        self.link.send(message);
        self.sent
    }

    pub(crate) fn event(&mut self) -> LinkEvent {
        let (link, told) = (&mut self.link, &mut self.told);
        self.runtime.block_on(async {
            let event = poll_fn(|cx| {
                while told.is_empty() && link.poll(cx, told, 1).is_ready() {}
                match told.is_empty() {
                    true => Poll::Pending,
                    false => Poll::Ready(told.remove(0)),
                }
            });
            tokio::time::timeout(MINUTE, event)
                .await
                .expect("the link has something to tell")
        })
    }

    pub(crate) fn reply(&mut self) -> (u32, Vote) {
        loop {
            match self.event() {
                LinkEvent::Reply(tag, vote) => return (tag.step, vote),
                LinkEvent::Clock(_) | LinkEvent::Changed(_) => {}
                other => panic!("an answer was expected: {other:?}"),
            }
        }
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Vote {
        let sent = self.send(request);
        let (answered, vote) = self.reply();
        assert_eq!(answered, sent);
        vote
    }

    /// The reason why the link is down, which must be the next event but for hints.
    pub(crate) fn down(&mut self) -> String {
        loop {
            match self.event() {
                LinkEvent::Down(why) => return why,
                LinkEvent::Changed(_) => {}
                other => panic!("the end of the connection was expected: {other:?}"),
            }
        }
    }

    /// The key that the next hint is about.
    pub(crate) fn hint(&mut self) -> Option<Resource> {
        loop {
            match self.event() {
                LinkEvent::Changed(resource) => return resource,
                LinkEvent::Clock(_) => {}
                other => panic!("a hint was expected: {other:?}"),
            }
        }
    }

    /// Lets the link write what it has, without waiting for an answer.
    pub(crate) fn flush(&mut self) {
        let (link, told) = (&mut self.link, &mut self.told);
        self.runtime.block_on(async {
            poll_fn(|cx| {
                while link.poll(cx, told, usize::MAX).is_ready() {}
                Poll::Ready(())
            })
            .await;
            // Once around the reactor, so that the socket's readiness is known.
            tokio::task::yield_now().await;
        });
    }
}

pub(crate) fn acquire(key: &str, owner: &str, ttl: Duration) -> Request {
    let ttl = Ttl::new(ttl).expect("in range");
    Request::Acquire {
        resource: name(key),
        owner: by(owner),
        ttl,
        proposal: None,
        place: None,
    }
}

pub(crate) fn repair(key: &str, owner: &str, ttl: Duration) -> Request {
    Request::Repair {
        resource: name(key),
        owner: by(owner),
        ttl: Ttl::new(ttl).expect("in range"),
        proposal: None,
    }
}

pub(crate) fn extend(key: &str, owner: &str, ttl: Duration) -> Request {
    let ttl = Ttl::new(ttl).expect("in range");
    Request::Extend {
        resource: name(key),
        owner: by(owner),
        ttl,
    }
}

pub(crate) fn transfer(key: &str, from: &str, owner: &str, ttl: Duration) -> Request {
    Request::Transfer {
        resource: name(key),
        from: by(from),
        owner: by(owner),
        ttl: Ttl::new(ttl).expect("in range"),
        proposal: None,
    }
}

pub(crate) fn inspect(key: &str) -> Request {
    Request::Inspect {
        resource: name(key),
    }
}

pub(crate) fn release(key: &str, owner: &str) -> Request {
    Request::Release {
        resource: name(key),
        owner: by(owner),
        keep: None,
    }
}

pub(crate) fn name(key: &str) -> Resource {
    Resource::new(key).expect("a plain name")
}

pub(crate) fn by(owner: &str) -> Owner {
    Owner::from_bytes(owner.as_bytes()).expect("not empty")
}

pub(crate) fn fault(vote: &Vote) -> (FaultKind, String) {
    match vote {
        Vote::Unknown(fault) => (fault.kind(), fault.to_string()),
        other => panic!("a fault was expected: {other:?}"),
    }
}

/// Something that listens, and at each thing that it hears says the next of its words, the last for ever.
pub(crate) fn impostor(says: &'static [&'static str]) -> String {
    overheard(says).0
}

/// Whether no command in it lacks its end.
fn is_whole(mut heard: &[u8]) -> bool {
    while !heard.is_empty() {
        let Some(rest) = behind_command(heard) else {
            return false;
        };
        heard = rest;
    }
    true
}

/// What comes behind the first command: a list of texts, each with its length.
fn behind_command(heard: &[u8]) -> Option<&[u8]> {
    let line = |bytes: &'_ [u8]| -> Option<(usize, usize)> {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let number = std::str::from_utf8(bytes.get(1..end)?).expect("a length");
        Some((number.parse().expect("a length"), end + 2))
    };
    let (count, mut at) = line(heard)?;
    for _ in 0..count {
        let (length, begin) = line(&heard[at..])?;
        at += begin + length + 2;
        if at > heard.len() {
            return None;
        }
    }
    Some(&heard[at..])
}

/// The same, and what it hears, command by command or several at a time.
pub(crate) fn overheard(says: &'static [&'static str]) -> (String, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens").to_string();
    let (tells, told) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.expect("somebody came");
            let (mut space, mut heard) = ([0; 64 * 1024], Vec::new());
            let mut words = says.iter().chain(says.last().into_iter().cycle());
            while let Ok(count @ 1..) = stream.read(&mut space) {
                heard.extend_from_slice(&space[..count]);
                // What is said in one write may come in several reads.
                if !is_whole(&heard) {
                    continue;
                }
                // Most do not want to know.
                let _ = tells.send(std::mem::take(&mut heard));
                let word = words.next().expect("the last is said for ever");
                if stream.write_all(word.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    (address, told)
}
