//! The commands of libraries that are not run here, as their documentation and the wire show them.
//!
//! They stand for the protocol of a library, and not for its code: what a library does with answers, time limits and
//! threads is not tried. The scripts are written anew, with the same commands in the same order.

/// What a library sends.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    /// Under which key it locks a name.
    pub(crate) key: &'static str,
    pub(crate) acquire: Acquire,
    pub(crate) signs: Signs,
    /// Scripts get the key as `KEYS[1]`, the value as `ARGV[1]` and the TTL as `ARGV[2]`.
    pub(crate) release: &'static str,
    pub(crate) extend: Option<&'static str>,
    /// How many of so many nodes must grant.
    pub(crate) quorum: fn(usize) -> usize,
    /// To whom it sends the release after a try that failed.
    pub(crate) cleans_up: CleanUp,
}

/// How a key is set.
#[derive(Debug)]
pub(crate) enum Acquire {
    /// `SET key value NX PX ttl`.
    Set,
    Script(&'static str),
}

/// What its values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signs {
    Text,
    /// 16 bytes, which are no text.
    Bytes,
}

/// Where a try that failed is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CleanUp {
    Everywhere,
    WhereGranted,
    Nowhere,
}

/// The recipe of this name.
pub(crate) fn named(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.name == name)
}

const fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// A division with a remainder: half a node more than a majority of an odd number.
const fn majority_and_a_half(nodes: usize) -> usize {
    if nodes == 1 { 1 } else { nodes.div_ceil(2) + 1 }
}

const RECIPES: [Recipe; 12] = [
    Recipe {
        name: "redlock-rb",
        key: "{}",
        acquire: Acquire::Script(FREE_OR_OWN_AND_SET),
        signs: Signs::Text,
        release: COMPARE_AND_DELETE,
        // By default it takes what is free as well.
        extend: Some(FREE_OR_OWN_AND_SET),
        quorum: majority,
        cleans_up: CleanUp::Everywhere,
    },
    Recipe {
        name: "redlock-php",
        key: "{}",
        acquire: Acquire::Set,
        signs: Signs::Text,
        release: COMPARE_AND_DELETE,
        extend: None,
        quorum: majority_and_a_half,
        cleans_up: CleanUp::Everywhere,
    },
    Recipe {
        name: "redis-distlock",
        key: "{}",
        acquire: Acquire::Set,
        signs: Signs::Text,
        release: COMPARE_AND_DELETE,
        extend: Some(
            "if redis.call('SET', KEYS[1], ARGV[1], 'XX', 'PX', ARGV[2]) then return 1 end
            if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
            return 0",
        ),
        quorum: majority,
        cleans_up: CleanUp::Nowhere,
    },
    Recipe {
        name: "redlock-net",
        key: "redlock:{}",
        acquire: Acquire::Set,
        signs: Signs::Text,
        release: COMPARE_AND_DELETE,
        extend: Some(
            "local v = redis.call('GET', KEYS[1])
            if v == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
            if v == false then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
            return -1",
        ),
        quorum: majority,
        cleans_up: CleanUp::Everywhere,
    },
    Recipe {
        name: "php-lock",
        key: "php-malkusch-lock:{}",
        acquire: Acquire::Set,
        signs: Signs::Text,
        release: COMPARE_AND_DELETE,
        extend: None,
        quorum: majority,
        cleans_up: CleanUp::WhereGranted,
    },
    Recipe {
        name: "php-redis-lock",
        extend: Some(COMPARE_AND_EXPIRE),
        cleans_up: CleanUp::Nowhere,
        ..REDLOCK
    },
    Recipe {
        name: "redlock-cpp",
        ..REDLOCK
    },
    Recipe {
        name: "redlock-cs",
        signs: Signs::Bytes,
        ..REDLOCK
    },
    Recipe {
        name: "scarletlock",
        cleans_up: CleanUp::WhereGranted,
        ..REDLOCK
    },
    Recipe {
        name: "redlock4net",
        signs: Signs::Bytes,
        ..REDLOCK
    },
    // The controls: each breaks one rule, and must be found out.
    Recipe {
        name: "elsewhere",
        key: "{}:elsewhere",
        acquire: Acquire::Set,
        signs: Signs::Text,
        release: COMPARE_AND_DELETE,
        extend: Some(COMPARE_AND_EXPIRE),
        quorum: majority,
        cleans_up: CleanUp::Everywhere,
    },
    Recipe {
        name: "ruthless",
        key: "{}",
        acquire: Acquire::Set,
        signs: Signs::Text,
        release: "return redis.call('DEL', KEYS[1])",
        extend: Some("return redis.call('PEXPIRE', KEYS[1], ARGV[2])"),
        quorum: majority,
        cleans_up: CleanUp::Nowhere,
    },
];

/// As the page has it, without an extension.
const REDLOCK: Recipe = Recipe {
    name: "",
    key: "{}",
    acquire: Acquire::Set,
    signs: Signs::Text,
    release: COMPARE_AND_DELETE,
    extend: None,
    quorum: majority,
    cleans_up: CleanUp::Everywhere,
};

const COMPARE_AND_DELETE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
    return 0";
const COMPARE_AND_EXPIRE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
    return 0";
const FREE_OR_OWN_AND_SET: &str =
    "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('GET', KEYS[1]) == ARGV[1] then
        return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    end
    return 0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_node_more_means_all_of_three() {
        let quorums = [1, 2, 3, 4, 5, 7].map(majority_and_a_half);
        assert_eq!(quorums, [1, 2, 3, 3, 4, 5]);
        assert_eq!([1, 2, 3, 4, 5].map(majority), [1, 2, 2, 3, 3]);
    }

    #[test]
    fn recipes_are_found_by_name() {
        assert!(named("redlock-rb").is_some_and(|recipe| recipe.extend.is_some()));
        assert!(named("redlock-rb2").is_none());
    }
}
