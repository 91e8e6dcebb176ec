//! Who is tried.

use super::{Means, Nodes, Peer};
use crate::ours::Kind;

/// Everybody else, and ourselves as we were.
pub(crate) const PEERS: &[Peer] = &[
    Peer {
        name: "earlier-plain",
        about: "plain locks of the version before, on five nodes",
        means: Means::Earlier(Kind::Plain),
        nodes: Nodes::Five,
        ..REDLOCK
    },
    Peer {
        name: "earlier-fenced",
        about: "fenced locks of the version before, on five nodes",
        means: Means::Earlier(Kind::Fenced),
        nodes: Nodes::Five,
        ..REDLOCK
    },
    Peer {
        name: "earlier-plain-one",
        about: "the same, plain, on one node",
        means: Means::Earlier(Kind::Plain),
        nodes: Nodes::One,
        ..REDLOCK
    },
    Peer {
        name: "earlier-fenced-one",
        about: "the same, fenced, on one node",
        means: Means::Earlier(Kind::Fenced),
        nodes: Nodes::One,
        ..REDLOCK
    },
    Peer {
        name: "node-redlock4",
        about: "redlock 4.2.0 from npm, on ioredis",
        means: Means::Npm(&["redlock@4.2.0", IOREDIS]),
        ..REDLOCK
    },
    Peer {
        name: "node-redlock5",
        about: "redlock 5.0.0-beta.2 from npm, on ioredis",
        means: Means::Npm(&["redlock@5.0.0-beta.2", IOREDIS]),
        ..REDLOCK
    },
    Peer {
        name: "redlock-universal",
        about: "redlock-universal 0.8.5 from npm, on ioredis",
        means: Means::Npm(&["redlock-universal@0.8.5", IOREDIS]),
        ..REDLOCK
    },
    Peer {
        name: "sesamecare",
        about: "@sesamecare-oss/redlock 1.4.0 from npm, on ioredis",
        means: Means::Npm(&["@sesamecare-oss/redlock@1.4.0", IOREDIS]),
        ..REDLOCK
    },
    Peer {
        name: "redis-semaphore",
        about: "the RedlockMutex of redis-semaphore 5.8.0 from npm, on ioredis",
        means: Means::Npm(&["redis-semaphore@5.8.0", IOREDIS]),
        key: "mutex:{}",
        extends: false,
        ..REDLOCK
    },
    Peer {
        name: "redlock-py",
        about: "redlock-py 1.0.8 from PyPI, on redis-py",
        means: Means::Pip(&["redlock-py==1.0.8", REDIS_PY]),
        extends: false,
        ..REDLOCK
    },
    Peer {
        name: "redlock-ng",
        about: "redlock-ng 2.0.4 from PyPI, on redis-py 5",
        means: Means::Pip(&["redlock-ng==2.0.4", "redis==5.3.1"]),
        ..REDLOCK
    },
    Peer {
        name: "aioredlock",
        about: "aioredlock 0.7.3 from PyPI, on aioredis 1",
        means: Means::Pip(&["aioredlock==0.7.3", "aioredis==1.3.1"]),
        ..REDLOCK
    },
    Peer {
        name: "pottery",
        about: "the Redlock of pottery 3.0.1 from PyPI, on redis-py",
        means: Means::Pip(&["pottery==3.0.1", REDIS_PY]),
        key: "redlock:{}",
        ..REDLOCK
    },
    Peer {
        name: "redis-py",
        about: "the Lock of redis-py 8.1.0 from PyPI",
        means: Means::Pip(&[REDIS_PY]),
        nodes: Nodes::One,
        ..REDLOCK
    },
    Peer {
        name: "python-redis-lock",
        about: "python-redis-lock 4.0.1 from PyPI, on redis-py",
        means: Means::Pip(&["python-redis-lock==4.0.1", REDIS_PY]),
        nodes: Nodes::One,
        key: "lock:{}",
        ..REDLOCK
    },
    Peer {
        name: "rslock",
        about: "rslock 0.10 from the Rust registry",
        means: Means::Rust,
        ..REDLOCK
    },
    Peer {
        name: "redsync",
        about: "the commands of redsync 4 (Go)",
        ..PLAYED
    },
    Peer {
        name: "redlock-rb",
        about: "the commands of redlock-rb 2 (Ruby)",
        ..PLAYED
    },
    Peer {
        name: "redlock-php",
        about: "the commands of ronnylt/redlock-php (PHP)",
        extends: false,
        ..PLAYED
    },
    Peer {
        name: "php-lock",
        about: "the commands of RedisMutex of php-lock 3 (PHP)",
        nodes: Nodes::One,
        key: "php-malkusch-lock:{}",
        extends: false,
        ..PLAYED
    },
    Peer {
        name: "redlock-net",
        about: "the commands of RedLock.net 2 (C#)",
        key: "redlock:{}",
        ..PLAYED
    },
    Peer {
        name: "redis-distlock",
        about: "the commands of Redis::DistLock 0.07 (Perl)",
        ..PLAYED
    },
];

/// Clients that break a rule, so that the checks have something to find.
pub(crate) const CONTROLS: &[Peer] = &[
    Peer {
        name: "elsewhere",
        about: "a client that locks another key than it is asked for",
        ..PLAYED
    },
    Peer {
        name: "ruthless",
        about: "a client that releases and extends without looking whose lock it is",
        ..PLAYED
    },
];

const REDLOCK: Peer = Peer {
    name: "",
    about: "",
    means: Means::Rust,
    nodes: Nodes::Quorum,
    key: "{}",
    extends: true,
};

const PLAYED: Peer = Peer {
    means: Means::Played,
    ..REDLOCK
};

const IOREDIS: &str = "ioredis@5.11.1";
const REDIS_PY: &str = "redis==8.1.0";
