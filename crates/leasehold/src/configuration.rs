//! What all who use the same nodes must agree on.
//!
//! Two clients exclude each other only if their quorums share a node, if they count grants by the same counters, and
//! if both let nodes that may have forgotten votes wait for long enough. So what they must agree on is written down
//! on the nodes, and a node does not vote for a client that wants something else.

mod key_format;
mod reserved_for;
#[cfg(feature = "redis")]
mod successor;

pub use key_format::{KeyFormat, KeyFormatError};
pub use reserved_for::ReservedFor;
#[cfg(feature = "redis")]
pub(crate) use successor::{Successor, bare, is_of_others};

use leasehold_core::{Drift, Quorum, Ttl, discovery, fence::COUNTERS};
use std::time::Duration;

/// What stands behind the namespace in the key under which a node keeps what it knows of itself.
const NODE: &str = ":node";

/// What stands behind the namespace in the keys under which a node keeps who waits.
const QUEUE: &str = ":queue:";

/// What happens when a node may have forgotten votes: because it restarted, was flushed, or is a replica that was
/// promoted.
///
/// # Source
/// Redlock, "performance, crash recovery and fsync": delayed restarts; argument [S9](crate::safety#s9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartGuard {
    /// It does not vote until every lease that it may have forgotten has ended: for the maximum TTL and a little.
    /// This needs nobody's help, and costs a brand-new node that time once.
    #[default]
    Quarantine,
    /// As `Quarantine`, but a node that restarted with its data votes at once. For that it must write every change to its
    /// disk before it answers (`appendonly yes`, asked with each vote; `appendfsync always`, asked once a second). A node
    /// that does not do so, or whose log is not whole yet, does not vote. The disk must keep what it was given,
    /// and the server must never take another's place: a replica that is promoted, and restarts before anybody
    /// votes on it, cannot be told from a master that restarted.
    TrustAof,
    /// It votes at once. Whether it remembers is left to the operator: a node that restarts without its data lets
    /// two hold a lock.
    Off,
}

impl RestartGuard {
    const fn name(self) -> &'static str {
        match self {
            Self::Quarantine => "quarantine",
            Self::TrustAof => "trust-aof",
            Self::Off => "off",
        }
    }
}

/// What all who use the same nodes must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    namespace: String,
    /// Whether there are tokens and a guard at all.
    is_fenced: bool,
    guard: RestartGuard,
    max_ttl: Option<Ttl>,
    quarantine: Duration,
    key_format: KeyFormat,
    /// Whether a node is whichever server sentinels name.
    has_sentinels: bool,
    text: String,
}

impl Configuration {
    /// Of locks as Redlock has them and no more: nothing is written down.
    #[must_use]
    pub const fn plain() -> Self {
        Self {
            namespace: String::new(),
            is_fenced: false,
            guard: RestartGuard::Off,
            max_ttl: None,
            quarantine: Duration::ZERO,
            key_format: KeyFormat::raw(),
            has_sentinels: false,
            text: String::new(),
        }
    }

    /// Of these nodes, by the names that all who use them agree on.
    #[must_use]
    pub fn new(
        namespace: &str,
        names: &str,
        quorum: Quorum,
        guard: RestartGuard,
        max_ttl: Ttl,
        skew: Duration,
    ) -> Self {
        let ttl = max_ttl.as_duration();
        // Argument S9: no lease that was forgotten outlives this, by the node's clock; and no client's clock is so
        // far behind that the tokens it proposes afterwards are older than those that were forgotten.
        let quarantine = ttl
            .saturating_add(Drift::DEFAULT.allowance(max_ttl))
            .saturating_add(skew);
        let text = format!(
            "version=1 nodes={names} count={} quorum={} max-ttl={}ms guard={} quarantine={}ms counters={COUNTERS}",
            quorum.nodes().len(),
            quorum.needed(),
            max_ttl.as_millis(),
            guard.name(),
            quarantine.as_millis(),
        );
        Self {
            namespace: namespace.to_owned(),
            is_fenced: true,
            guard,
            max_ttl: (guard != RestartGuard::Off).then_some(max_ttl),
            quarantine,
            key_format: KeyFormat::raw(),
            has_sentinels: false,
            text,
        }
    }

    /// The same, with the locks under other keys than the resources' names.
    #[must_use]
    pub fn with_key_format(mut self, format: KeyFormat) -> Self {
        // Argument S1: a client that keeps the same locks under other keys shares no node with us. Not said of names as they
        // are, so that those who never heard of formats agree; and in one word, since the others are found by theirs.
        if self.is_fenced && !format.is_raw() {
            let pattern = format.to_string().replace('%', "%25").replace(' ', "%20");
            self.text = format!("{} keys={pattern}", self.text);
        }
        self.key_format = format;
        self
    }

    /// The same, with a maximum where no node waits for the end of keys: as servers have it, for tests.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) const fn limited(mut self, max_ttl: Ttl) -> Self {
        self.max_ttl = Some(max_ttl);
        self
    }

    /// The same, where sentinels say which server a node is.
    #[cfg(feature = "redis")]
    pub(crate) const fn with_sentinels(mut self, has_sentinels: bool) -> Self {
        self.has_sentinels = has_sentinels;
        self
    }

    /// For how long a master that sentinels name may be relied on after they did so, by locks whose keys live for `ttl`.
    /// None if nothing limits that.
    #[must_use]
    pub fn room(&self, ttl: Ttl) -> Option<Duration> {
        self.max_ttl?;
        self.has_sentinels
            .then(|| discovery::room(self.quarantine, ttl))
    }

    /// Whether there are fencing tokens, and nodes that do not vote while they may have forgotten votes.
    #[must_use]
    pub const fn is_fenced(&self) -> bool {
        self.is_fenced
    }

    /// What happens when a node may have forgotten votes.
    #[must_use]
    pub const fn guard(&self) -> RestartGuard {
        self.guard
    }

    /// How long keys may live at most, if nodes wait for their end.
    #[must_use]
    pub const fn max_ttl(&self) -> Option<Ttl> {
        self.max_ttl
    }

    /// For how long a node that may have forgotten votes does not vote.
    #[must_use]
    pub const fn quarantine(&self) -> Duration {
        self.quarantine
    }

    /// The key under which a node keeps what it knows of itself.
    #[must_use]
    pub fn node_key(&self) -> String {
        [&self.namespace, NODE].concat()
    }

    /// What the keys begin with under which a node keeps who waits for fair locks; the lock's key stands behind it.
    #[must_use]
    pub fn queues(&self) -> String {
        [&self.namespace, QUEUE].concat()
    }

    /// Under which keys nodes that are servers keep the locks.
    #[must_use]
    pub const fn key_format(&self) -> &KeyFormat {
        &self.key_format
    }

    /// As it is written down on the nodes, for people.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// As it is compared with each vote: 16 hexadecimal digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint_of(&self.text)
    }

    /// The quarantine in milliseconds, or `off`.
    #[cfg(feature = "redis")]
    pub(crate) fn quarantine_text(&self) -> String {
        match self.guard {
            RestartGuard::Off => RestartGuard::Off.name().to_owned(),
            _ => self.quarantine.as_millis().to_string(),
        }
    }
}

/// What matters of a configuration that is written down on a node, to those who end it.
#[cfg(feature = "redis")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) count: usize,
    pub(crate) quorum: usize,
    pub(crate) quarantine: Duration,
}

#[cfg(feature = "redis")]
impl Noted {
    /// Reads [`Configuration::text`]; none if it is not one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        // From the end: only the nodes' names, at the start, are of people's own making.
        let value = |name: &str| {
            text.rsplit(' ')
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let noted = Self {
            count: value("count")?.parse().ok()?,
            quorum: value("quorum")?.parse().ok()?,
            quarantine: Duration::from_millis(
                value("quarantine")?.strip_suffix("ms")?.parse().ok()?,
            ),
        };
        let is_one = (1..=noted.count).contains(&noted.quorum);
        (is_one && value("version")? == "1").then_some(noted)
    }
}

/// The fingerprint of the configuration with that text.
fn fingerprint_of(text: &str) -> String {
    // FNV-1a: two configurations that people write down differ in it but for a chance of one in 2^64.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(max_ttl_s: u64, guard: RestartGuard) -> Configuration {
        let max_ttl = Ttl::new(Duration::from_secs(max_ttl_s)).expect("in range");
        let quorum = Quorum::majority(3).expect("three nodes");
        let skew = Duration::from_secs(2);
        Configuration::new("leasehold", "a:1,b:1,c:1", quorum, guard, max_ttl, skew)
    }

    #[test]
    fn nodes_wait_for_longer_than_any_lease_lasts() {
        let configuration = configuration(30, RestartGuard::Quarantine);
        assert_eq!(configuration.quarantine(), Duration::from_millis(32_302));
        assert_eq!(
            configuration.text(),
            "version=1 nodes=a:1,b:1,c:1 count=3 quorum=2 max-ttl=30000ms guard=quarantine \
             quarantine=32302ms counters=1024"
        );
        assert_eq!(configuration.fingerprint().len(), 16);
    }

    #[test]
    #[cfg(feature = "redis")]
    fn what_was_written_down_can_be_read() {
        let text = configuration(30, RestartGuard::Quarantine)
            .text()
            .to_owned();
        let noted = Noted {
            count: 3,
            quorum: 2,
            quarantine: Duration::from_millis(32_302),
        };
        assert_eq!(Noted::read(&text), Some(noted));
        for wrong in [
            "",
            "version=1",
            &text.replace("version=1", "version=2"),
            &text.replace("quorum=2", "quorum=4"),
            &text.replace("32302ms", "soon"),
        ] {
            assert_eq!(Noted::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whoever_wants_something_else_has_another_fingerprint() {
        let fingerprint = |max_ttl_s, guard| configuration(max_ttl_s, guard).fingerprint();
        let usual = fingerprint(30, RestartGuard::Quarantine);
        assert_eq!(usual, fingerprint(30, RestartGuard::Quarantine));
        assert_ne!(usual, fingerprint(31, RestartGuard::Quarantine));
        assert_ne!(usual, fingerprint(30, RestartGuard::Off));
    }

    #[test]
    fn whoever_has_other_keys_has_another_fingerprint() {
        let usual = configuration(30, RestartGuard::Quarantine);
        let with = |pattern| {
            let format = KeyFormat::new(pattern).expect("one place");
            usual.clone().with_key_format(format)
        };
        assert_eq!(with("{}"), usual);
        let (one, other) = (with("redlock:{}"), with("lock:{}"));
        assert!(one.text().ends_with(" counters=1024 keys=redlock:{}"));
        assert_ne!(one.fingerprint(), usual.fingerprint());
        assert_ne!(one.fingerprint(), other.fingerprint());
        let sly = with("100% quorum=1 {}");
        assert!(sly.text().ends_with(" keys=100%25%20quorum=1%20{}"));
    }
}
