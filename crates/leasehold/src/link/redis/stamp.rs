//! A node that keeps timestamp locks: three scripts, over one connection, one at a time and none of them twice.

use super::{
    codec::{self, Frame, ReceiveBuffer},
    reply::words,
    rights::is_about_rights,
    search,
    socket::Stream,
    talk::{hear, send},
    url::RedisUrl,
};
use std::{future::poll_fn, pin::Pin, task::Poll, time::Duration};
use tokio::{
    io::{AsyncRead, ReadBuf},
    time::timeout,
};

/// The node, and the connection to it while there is one.
pub(crate) struct StampNode {
    url: RedisUrl,
    connection: Option<(Stream, ReceiveBuffer)>,
}

/// What the node said to one who wants the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StampVerdict {
    Granted,
    /// Until this second, by the clock of the client that wrote it.
    Held(u64),
    /// What is there is no timestamp.
    Foreign(String),
}

/// What it said of a lock that should be ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept<T> {
    Done(T),
    /// It carries our value, whose time is up.
    Over,
    Gone,
    /// It carries this instead.
    Other(String),
}

/// Why the node did not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// The request was not sent, or was refused as a whole.
    Untouched(String),
    /// The request may have been carried out, or may still be.
    Unclear(String),
}

impl StampNode {
    pub(crate) const fn new(url: RedisUrl) -> Self {
        Self {
            url,
            connection: None,
        }
    }

    /// Connects if there is no connection, so that the clock can be read behind it.
    pub(crate) async fn connect(&mut self) -> Result<(), Silence> {
        if let Some((stream, _)) = &mut self.connection {
            if !is_over(stream).await {
                return Ok(());
            }
            self.connection = None;
        }
        let visit = search::visit(&self.url).await;
        let visit = visit.map_err(Silence::Untouched)?;
        self.connection = Some((visit.stream, visit.received));
        Ok(())
    }

    pub(crate) async fn acquire(
        &mut self,
        key: &[u8],
        now: u64,
        end: u64,
    ) -> Result<StampVerdict, Silence> {
        self.call(ACQUIRE, key, &[now, end], |parts| match parts {
            [Frame::Integer(1)] => Some(StampVerdict::Granted),
            [Frame::Integer(0), value] => text(value)?.parse().ok().map(StampVerdict::Held),
            [Frame::Integer(-1), found] => text(found).map(StampVerdict::Foreign),
            _ => None,
        })
        .await
    }

    /// Tells the end that the key carries then.
    pub(crate) async fn extend(
        &mut self,
        key: &[u8],
        now: u64,
        end: u64,
        ours: &[u64],
    ) -> Result<Kept<u64>, Silence> {
        let arguments = [&[now, end], ours].concat();
        self.call(EXTEND, key, &arguments, |parts| match parts {
            [Frame::Integer(1), value] => text(value)?.parse().ok().map(Kept::Done),
            _ => kept(parts),
        })
        .await
    }

    pub(crate) async fn release(
        &mut self,
        key: &[u8],
        now: u64,
        ours: &[u64],
    ) -> Result<Kept<()>, Silence> {
        let arguments = [&[now], ours].concat();
        self.call(RELEASE, key, &arguments, |parts| match parts {
            [Frame::Integer(1)] => Some(Kept::Done(())),
            _ => kept(parts),
        })
        .await
    }

    async fn call<T>(
        &mut self,
        script: &str,
        key: &[u8],
        numbers: &[u64],
        read: impl Fn(&[Frame<'_>]) -> Option<T>,
    ) -> Result<T, Silence> {
        // Taken, so that a request that is given up takes its connection along, and its answer is nobody else's.
        let Some((mut stream, mut received)) = self.connection.take() else {
            return Err(Silence::Untouched("there is no connection".to_owned()));
        };
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let mut parts = vec![&b"EVAL"[..], script.as_bytes(), b"1", key];
        parts.extend(numbers.iter().map(String::as_bytes));
        let mut wire = Vec::new();
        codec::encode(&mut wire, &parts);
        let read = |frame: &Frame<'_>| match frame {
            // A script that fails does so before it writes.
            Frame::Error(error) => Err(Silence::Untouched(explain(error))),
            Frame::List(parts) => read(parts).ok_or_else(odd),
            _ => Err(odd()),
        };
        let answer = async {
            send(&mut stream, &wire).await?;
            hear(&mut stream, &mut received, read).await
        };
        match timeout(LIMIT, answer).await {
            Ok(Ok(answer)) => {
                self.connection = Some((stream, received));
                answer
            }
            Ok(Err(halt)) => Err(Silence::Unclear(halt.into())),
            Err(_) => Err(Silence::Unclear(format!(
                "the node did not answer within {LIMIT:?}"
            ))),
        }
    }
}

/// Whether the node has hung up, or says what nobody has asked, while nothing was said.
async fn is_over(stream: &mut Stream) -> bool {
    let mut byte = [0];
    let mut heard = ReadBuf::new(&mut byte);
    poll_fn(|cx| {
        let read = Pin::new(&mut *stream).poll_read(cx, &mut heard);
        Poll::Ready(read.is_ready())
    })
    .await
}

fn kept<T>(parts: &[Frame<'_>]) -> Option<Kept<T>> {
    match parts {
        [Frame::Integer(2)] => Some(Kept::Over),
        [Frame::Integer(0)] => Some(Kept::Gone),
        [Frame::Integer(0), value] => text(value).map(Kept::Other),
        _ => None,
    }
}

fn explain(error: &[u8]) -> String {
    let error = words(error);
    if error.starts_with("READONLY") {
        return "is a replica, and locks need a master".to_owned();
    }
    if is_about_rights(&error) {
        return format!("lacks rights that the lock needs (+eval, +get, +set, +del): {error}");
    }
    error
}

fn odd() -> Silence {
    Silence::Unclear("gave an answer that our scripts never give".to_owned())
}

/// In one line, whatever it is.
fn text(frame: &Frame<'_>) -> Option<String> {
    match frame {
        Frame::Text(text) => Some(String::from_utf8_lossy(text).replace(char::is_control, " ")),
        _ => None,
    }
}

/// All of them, by what they do.
#[cfg(feature = "wire")]
pub(super) const TEXTS: [(&str, &str); 3] = [
    ("stamp-acquire", ACQUIRE),
    ("stamp-extend", EXTEND),
    ("stamp-release", RELEASE),
];

const ACQUIRE: &str = concat!(
    "#!lua\n",
    include_str!("stamp_other.lua"),
    include_str!("stamp_acquire.lua")
);
const EXTEND: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("stamp_other.lua"),
    include_str!("stamp_extend.lua")
);
const RELEASE: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("stamp_other.lua"),
    include_str!("stamp_release.lua")
);

/// How long an answer is waited for.
const LIMIT: Duration = Duration::from_secs(2);
