//! Who is tried.

use super::{Kept, Means, Nodes, Peer};
use crate::{ours::Kind, package::Language};

/// Everybody else, and ourselves: as we were, and in other languages.
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
        name: "leasehold-python-plain",
        about: "plain locks of leasehold's package for Python",
        means: Means::Package(Language::Python, Kind::Plain),
        several: true,
        ..REDLOCK
    },
    Peer {
        name: "leasehold-python-fenced",
        about: "fenced locks of leasehold's package for Python",
        means: Means::Package(Language::Python, Kind::Fenced),
        several: true,
        ..REDLOCK
    },
    Peer {
        name: "leasehold-node-plain",
        about: "plain locks of leasehold's package for Node",
        means: Means::Package(Language::Node, Kind::Plain),
        several: true,
        ..REDLOCK
    },
    Peer {
        name: "leasehold-node-fenced",
        about: "fenced locks of leasehold's package for Node",
        means: Means::Package(Language::Node, Kind::Fenced),
        several: true,
        ..REDLOCK
    },
    Peer {
        name: "node-redlock4",
        about: "redlock 4.2.0 from npm, on ioredis",
        means: Means::Npm(&["redlock@4.2.0", IOREDIS]),
        several: true,
        ..REDLOCK
    },
    Peer {
        name: "node-redlock5",
        about: "redlock 5.0.0-beta.2 from npm, on ioredis",
        means: Means::Npm(&["redlock@5.0.0-beta.2", IOREDIS]),
        several: true,
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
        about: "redsync 4.18.1 for Go, on go-redis 9",
        means: Means::Go(&["github.com/go-redsync/redsync/v4@v4.18.1", GO_REDIS]),
        ..REDLOCK
    },
    Peer {
        name: "redislock",
        about: "bsm/redislock 0.9.4 for Go, on go-redis 9",
        means: Means::Go(&["github.com/bsm/redislock@v0.9.4", GO_REDIS]),
        nodes: Nodes::One,
        ..REDLOCK
    },
    Peer {
        name: "rueidislock",
        about: "rueidislock 1.0.79 for Go, with one key for each lock",
        means: Means::Go(&["github.com/redis/rueidis@v1.0.79", GO_REDIS]),
        nodes: Nodes::One,
        key: "rueidislock:0:{}",
        extends: false,
        ..REDLOCK
    },
    Peer {
        name: "redisson",
        about: "the RLock of Redisson 4.7.0 for Java",
        nodes: Nodes::One,
        ..REDISSON
    },
    Peer {
        name: "redisson-fenced",
        about: "the RFencedLock of Redisson 4.7.0 for Java",
        nodes: Nodes::One,
        ..REDISSON
    },
    Peer {
        name: "redisson-redlock",
        about: "the RedissonRedLock of Redisson 4.7.0 for Java",
        ..REDISSON
    },
    Peer {
        name: "redisson-multilock",
        about: "the RedissonMultiLock of Redisson 4.7.0 for Java",
        ..REDISSON
    },
    Peer {
        name: "spring-integration",
        about: "the RedisLockRegistry of Spring Integration 7.0.7 for Java, on Lettuce",
        means: Means::Maven {
            artifacts: &[
                "org.springframework.integration:spring-integration-redis:7.0.7",
                "io.lettuce:lettuce-core:6.8.1.RELEASE",
            ],
            shim: "spring-integration",
        },
        nodes: Nodes::One,
        key: "locks:{}",
        ..REDLOCK
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
    Peer {
        name: "php-redis-lock",
        about: "the commands of cheprasov/php-redis-lock 1 (PHP)",
        nodes: Nodes::One,
        ..PLAYED
    },
    Peer {
        name: "redlock-cpp",
        about: "the commands of jacket-code/redlock-cpp (C++)",
        // Its `ContinueLock` goes on with what it has locked itself, and not with what `Lock` has.
        extends: false,
        ..PLAYED
    },
    Peer {
        name: "redlock-cs",
        about: "the commands of kidfashion/redlock-cs (C#)",
        extends: false,
        ..PLAYED
    },
    Peer {
        name: "scarletlock",
        about: "the commands of ScarletLock (C#)",
        extends: false,
        ..PLAYED
    },
    Peer {
        name: "redlock4net",
        about: "the commands of Redlock4Net (C#)",
        extends: false,
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
    kept: Kept::Value,
    extends: true,
    several: false,
};

/// Which of its locks, the shim knows by the name of the peer.
const REDISSON: Peer = Peer {
    means: Means::Maven {
        artifacts: &["org.redisson:redisson:4.7.0"],
        shim: "redisson",
    },
    kept: Kept::Hash,
    extends: false,
    ..REDLOCK
};

const PLAYED: Peer = Peer {
    means: Means::Played,
    ..REDLOCK
};

pub(super) const IOREDIS: &str = "ioredis@5.11.1";
const GO_REDIS: &str = "github.com/redis/go-redis/v9@v9.23.0";
pub(super) const REDIS_PY: &str = "redis==8.1.0";
