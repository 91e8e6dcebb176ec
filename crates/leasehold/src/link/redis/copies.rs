//! Where else a vote must be before it counts: in the memory of replicas (`WAIT`), or on disks (`WAITAOF`).
//!
//! The question is asked behind each vote that was given, on the same connection, and the vote is told only when there
//! are enough copies. A vote of which there are too few in time may be lost with its server, so it is unknown: the attempt
//! releases it, an extension does not count it. If both questions are to be asked, the second follows a good answer to the
//! first.
//!
//! That narrows the window in which a failover or a restart loses votes, and does not close it. The replica that takes
//! over need not be one that has the vote, a replica may restart and forget what it had in memory only, and a vote that
//! changed nothing because the key was ours already, by a connection before this one, has nothing to wait for.

use super::codec::{self, Frame};
use super::reply::words;
use crate::disks::Disks;
use leasehold_core::{Fault, FaultKind, Request, Vote};
use std::time::Duration;

/// Copies that a vote must have, and how long the node waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    place: Place,
    within_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the memory of so many replicas.
    Memory(u32),
    Disks(Disks),
}

/// Whether what a server says of its own disk can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnDisk {
    /// Whatever its settings are.
    Exact,
    /// While it writes every change before it answers, which it does or not.
    IfDurable(bool),
}

impl OwnDisk {
    /// By what `INFO server` says. Redis has counted a change as written that was not, up to a second too early with
    /// `appendfsync everysec`, until 8.0, and Valkey 9.1 still does.
    pub(super) fn of(info: &str) -> Self {
        let version = info
            .lines()
            .find_map(|line| line.strip_prefix("redis_version:"));
        // Valkey says 7.2 there.
        let major = version.and_then(|version| version.split('.').next()?.parse().ok());
        match major {
            Some(8_u32..) => Self::Exact,
            _ => Self::IfDurable(false),
        }
    }

    /// With these settings.
    pub(super) const fn with(self, is_durable: bool) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::IfDurable(_) => Self::IfDurable(is_durable),
        }
    }
}

/// What an answer to the question says of a vote.
#[derive(Debug, PartialEq)]
pub(super) enum Copied {
    Enough,
    /// The vote may be lost: why. With how many replicas must have it, if it was replicas that did not in time.
    TooFew(Fault, Option<u32>),
}

impl Copies {
    /// In the memory of so many replicas.
    pub(super) fn heard_by(replicas: u32, within: Duration) -> Self {
        Self::within(Place::Memory(replicas), within)
    }

    /// On these disks.
    pub(super) fn written_to(disks: Disks, within: Duration) -> Self {
        Self::within(Place::Disks(disks), within)
    }

    fn within(place: Place, within: Duration) -> Self {
        // Nothing would mean for ever to the node, which answers nothing else meanwhile.
        let ms = u64::try_from(within.as_millis());
        let within_ms = ms.map_or(LONGEST_MS, |ms| ms.clamp(1, LONGEST_MS));
        Self { place, within_ms }
    }

    /// Whether somebody will rely on this answer.
    pub(super) const fn concern(request: &Request, vote: &Vote) -> bool {
        let gives = request.is_vote() || matches!(request, Request::Extend { .. });
        gives && vote.is_granted()
    }

    /// Whether one of these is on the server's own disk.
    pub(super) fn any_on_own_disk(all: &[Self]) -> bool {
        let on_own =
            |copies: &Self| matches!(copies.place, Place::Disks(disks) if disks.include_server());
        all.iter().any(on_own)
    }

    /// Appends the question to `wire`.
    pub(super) fn encode(self, wire: &mut Vec<u8>) {
        self.encode_within(wire, self.within_ms);
    }

    /// Whether it must be found out first that the node can be asked this.
    pub(super) const fn needs_trial(self) -> bool {
        matches!(self.place, Place::Disks(_))
    }

    /// Appends the question whether the node can be asked this at all, before anything was voted; none is needed for
    /// what every server can be asked.
    pub(super) fn encode_trial(self, wire: &mut Vec<u8>) -> bool {
        let is_needed = self.needs_trial();
        if is_needed {
            let place = match self.place {
                // How many replicas there are, may change.
                Place::Disks(Disks::Replicas(_)) => Place::Disks(Disks::Replicas(0)),
                _ => Place::Disks(Disks::Server),
            };
            Self { place, ..self }.encode_within(wire, 1);
        }
        is_needed
    }

    fn encode_within(self, wire: &mut Vec<u8>, within_ms: u64) {
        let within = within_ms.to_string();
        match self.place {
            Place::Memory(replicas) => {
                let replicas = replicas.to_string();
                codec::encode(wire, &[b"WAIT", replicas.as_bytes(), within.as_bytes()]);
            }
            Place::Disks(disks) => {
                let own: &[u8] = if disks.include_server() { b"1" } else { b"0" };
                let replicas = disks.replicas().to_string();
                let (replicas, within) = (replicas.as_bytes(), within.as_bytes());
                codec::encode(wire, &[b"WAITAOF", own, replicas, within]);
            }
        }
    }

    /// What the answer says of the vote, from a server whose word on its own disk is worth so much.
    pub(super) fn judge(self, frame: &Frame<'_>, own_disk: OwnDisk) -> Copied {
        let (why, lacking) = match (self.place, frame) {
            (Place::Memory(replicas), Frame::Integer(heard)) => {
                // Argument S9: a vote that too few have heard of may be forgotten by the one that takes over.
                if *heard >= i64::from(replicas) {
                    return Copied::Enough;
                }
                let why = format!("only {heard} of {replicas} replicas confirmed it");
                (self.in_time(&why), Some(replicas))
            }
            (Place::Disks(disks), Frame::List(parts)) => {
                let [Frame::Integer(own), Frame::Integer(written)] = parts[..] else {
                    return Copied::too_few(ODD, None);
                };
                let replicas = disks.replicas();
                // Argument S9: a vote that is in memory only may be forgotten by whoever restarts.
                if disks.include_server() && own_disk == OwnDisk::IfDurable(false) {
                    (format!("granted, but {NOT_BELIEVED}"), None)
                } else if disks.include_server() && own < 1 {
                    let why = "the server's disk did not have it";
                    (self.in_time(why) + EVERY_SECOND, None)
                } else if written < i64::from(replicas) {
                    let why =
                        format!("only {written} of {replicas} replicas had it on their disks");
                    (self.in_time(&why), Some(replicas))
                } else {
                    return Copied::Enough;
                }
            }
            (_, Frame::Error(error)) => {
                let why = self.refusal(&words(error));
                (format!("granted, but {why}"), None)
            }
            _ => (ODD.to_owned(), None),
        };
        Copied::too_few(&why, lacking)
    }

    fn in_time(self, why: &str) -> String {
        format!("granted, but {why} within {} ms", self.within_ms)
    }

    /// What it means that the node answers the question with an error, as a fragment for people.
    pub(super) fn refusal(self, error: &str) -> String {
        let is_about_disks = matches!(self.place, Place::Disks(_));
        let says = |words: &str| error.contains(words);
        match is_about_disks {
            false => format!("does not tell whether replicas have it (+wait): {error}"),
            true if says("unknown command") => {
                "cannot be asked what is on disks (WAITAOF): that needs Redis 7.2 or Valkey 7.2, or newer; without \
                 `on_disk`, votes count when they are in memory"
                    .to_owned()
            }
            true if says("appendonly") => {
                "keeps no append-only file, so no vote is ever on its disk: set appendonly yes there, or ask for the disks \
                 of replicas alone"
                    .to_owned()
            }
            true if says("replica instances") => {
                "is a replica, and locks need a master".to_owned()
            }
            true => format!("does not tell what is on disks (+waitaof): {error}"),
        }
    }
}

impl Copied {
    fn too_few(why: &str, lacking: Option<u32>) -> Self {
        Self::TooFew(Fault::new(FaultKind::TimedOut, why), lacking)
    }
}

/// The question how many replicas there are, where too few have a vote.
pub(super) const COUNT: [&[u8]; 2] = [b"INFO", b"replication"];

/// The same fault, with how many replicas the node has, by the answer to [`COUNT`].
pub(super) fn with_count(fault: Fault, needed: u32, frame: &Frame<'_>) -> Fault {
    let Frame::Text(info) = frame else {
        return fault;
    };
    let info = String::from_utf8_lossy(info);
    let count = info
        .lines()
        .find_map(|line| line.strip_prefix("connected_slaves:"));
    let Some(count) = count.and_then(|count| count.trim().parse::<u32>().ok()) else {
        return fault;
    };
    let more = match count < needed {
        true => format!("it has {count}; connect the others, or ask for fewer"),
        false => format!("it has {count}, of which some are slow or cut off"),
    };
    Fault::new(FaultKind::TimedOut, &format_args!("{fault}: {more}"))
}

/// Why a server's word on its own disk does not count.
pub(super) const NOT_BELIEVED: &str = "this server's word that a vote is on its disk comes too early with these settings: \
                                       set appendfsync always and no-appendfsync-on-rewrite no, or use Redis 8.0 or newer";

const ODD: &str = "granted, but gave an odd answer about its copies";

const EVERY_SECOND: &str = "; appendfsync everysec writes it after a second only, always at once";

const LONGEST_MS: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_millis(7);

    /// Why a vote does not count, and whether it is replicas that are to be counted.
    fn too_few(copies: Copies, frame: &Frame<'_>) -> (String, Option<u32>) {
        let Copied::TooFew(fault, lacking) = copies.judge(frame, OwnDisk::Exact) else {
            panic!("{frame:?}");
        };
        assert!(fault.may_have_happened(), "it must be released");
        (fault.to_string(), lacking)
    }

    fn pair(own: i64, replicas: i64) -> Frame<'static> {
        Frame::List(vec![Frame::Integer(own), Frame::Integer(replicas)])
    }

    #[test]
    fn a_vote_counts_when_enough_replicas_have_it_and_is_in_doubt_otherwise() {
        let heard_by = |replicas| Copies::heard_by(replicas, WITHIN);
        let memory = OwnDisk::IfDurable(false);
        assert_eq!(
            heard_by(1).judge(&Frame::Integer(1), memory),
            Copied::Enough
        );
        assert_eq!(
            heard_by(1).judge(&Frame::Integer(2), memory),
            Copied::Enough
        );
        for (frame, words, lacking) in [
            (
                Frame::Integer(1),
                "only 1 of 2 replicas confirmed it within 7 ms",
                Some(2),
            ),
            (Frame::Error(b"NOPERM no"), "(+wait): NOPERM no", None),
            (Frame::Null, "an odd answer", None),
            (pair(1, 1), "an odd answer", None),
        ] {
            let (why, of_replicas) = too_few(heard_by(2), &frame);
            assert!(why.contains(words), "{why}");
            assert_eq!(of_replicas, lacking);
        }
    }

    #[test]
    fn a_vote_counts_when_it_is_on_all_disks_that_were_asked_for() {
        let on = |disks| Copies::written_to(disks, WITHIN);
        for (disks, own, replicas) in [
            (Disks::Server, 1, 0),
            (Disks::Replicas(2), 0, 2),
            (Disks::Replicas(1), 0, 3),
            (Disks::ServerAndReplicas(1), 1, 1),
        ] {
            for own_disk in [OwnDisk::Exact, OwnDisk::IfDurable(true)] {
                let judged = on(disks).judge(&pair(own, replicas), own_disk);
                assert_eq!(judged, Copied::Enough);
            }
        }
        for (disks, own, replicas, words, lacking) in [
            (
                Disks::Server,
                0,
                2,
                "the server's disk did not have it within 7 ms; appendfsync everysec",
                None,
            ),
            (
                Disks::Replicas(2),
                1,
                1,
                "only 1 of 2 replicas had it on their disks within 7 ms",
                Some(2),
            ),
            (
                Disks::ServerAndReplicas(1),
                0,
                1,
                "the server's disk did not have it",
                None,
            ),
            (
                Disks::ServerAndReplicas(1),
                1,
                0,
                "only 0 of 1 replicas",
                Some(1),
            ),
        ] {
            let (why, of_replicas) = too_few(on(disks), &pair(own, replicas));
            assert!(why.contains(words), "{why}");
            assert_eq!(of_replicas, lacking);
        }
        for odd in [Frame::Integer(1), Frame::List(vec![Frame::Integer(1)])] {
            let (why, _) = too_few(on(Disks::Server), &odd);
            assert!(why.contains("odd answer"), "{why}");
        }
    }

    #[test]
    fn a_server_whose_word_comes_too_early_is_believed_while_it_writes_before_it_answers() {
        let redis =
            |version: &str| OwnDisk::of(&format!("# Server\r\nredis_version:{version}\r\n"));
        assert_eq!(redis("8.0.0"), OwnDisk::Exact);
        assert_eq!(redis("10.2.1").with(false), OwnDisk::Exact);
        for early in [
            redis("7.4.1"),
            OwnDisk::of("redis_version:7.2.4\r\nvalkey_version:9.1.0\r\n"),
            OwnDisk::of(""),
        ] {
            assert_eq!(early, OwnDisk::IfDurable(false));
            assert_eq!(early.with(true), OwnDisk::IfDurable(true));
            for disks in [Disks::Server, Disks::ServerAndReplicas(1)] {
                let judged = Copies::written_to(disks, WITHIN).judge(&pair(1, 1), early);
                assert!(
                    matches!(&judged, Copied::TooFew(why, None) if why.to_string().contains("too early"))
                );
            }
            // Of its own disk nobody asks.
            let judged = Copies::written_to(Disks::Replicas(1), WITHIN).judge(&pair(1, 1), early);
            assert_eq!(judged, Copied::Enough);
        }
    }

    #[test]
    fn a_node_that_cannot_be_asked_about_disks_says_why_and_what_to_do() {
        for (error, words) in [
            (
                &b"ERR unknown command 'WAITAOF', with args beginning with: '1'"[..],
                "needs Redis 7.2 or Valkey 7.2",
            ),
            (
                b"ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
                "set appendonly yes there",
            ),
            (
                b"ERR WAITAOF cannot be used with replica instances. Please also note",
                "is a replica",
            ),
            (b"NOPERM no", "(+waitaof): NOPERM no"),
        ] {
            let copies = Copies::written_to(Disks::Server, WITHIN);
            let (why, _) = too_few(copies, &Frame::Error(error));
            assert!(
                why.starts_with("granted, but ") && why.contains(words),
                "{why}"
            );
        }
    }

    #[test]
    fn too_few_replicas_are_told_with_how_many_there_are() {
        let fault = || Fault::new(FaultKind::TimedOut, &"granted, but only 1 of 2");
        let told = |info: &'static [u8]| with_count(fault(), 2, &Frame::Text(info)).to_string();
        let fewer = told(b"role:master\r\nconnected_slaves:1\r\n");
        assert!(fewer.ends_with("of 2: it has 1; connect the others, or ask for fewer"));
        let enough = told(b"role:master\r\nconnected_slaves:3\r\n");
        assert!(enough.ends_with("it has 3, of which some are slow or cut off"));
        let silent = with_count(fault(), 2, &Frame::Error(b"NOPERM no"));
        assert_eq!(silent.to_string(), fault().to_string());
    }

    #[test]
    fn the_node_never_waits_for_ever() {
        for within in [Duration::ZERO, Duration::MAX] {
            for copies in [
                Copies::heard_by(3, within),
                Copies::written_to(Disks::ServerAndReplicas(3), within),
            ] {
                let mut wire = Vec::new();
                copies.encode(&mut wire);
                let wire = String::from_utf8(wire).expect("it is text");
                assert!(wire.contains("\r\n3\r\n"), "{wire}");
                assert!(!wire.ends_with("\r\n0\r\n"), "{wire}");
            }
        }
    }

    #[test]
    fn a_node_is_asked_once_whether_it_can_tell_of_disks() {
        let trial = |copies: Copies| {
            let mut wire = Vec::new();
            let is_asked = copies.encode_trial(&mut wire);
            let words = String::from_utf8(wire).expect("it is text");
            let words = words
                .split("\r\n")
                .filter(|word| !word.starts_with(['*', '$']));
            let words: Vec<_> = words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            (is_asked, words.join(" "))
        };
        let on = |disks| trial(Copies::written_to(disks, WITHIN));
        assert_eq!(trial(Copies::heard_by(1, WITHIN)), (false, String::new()));
        assert_eq!(on(Disks::Server), (true, "WAITAOF 1 0 1".to_owned()));
        assert_eq!(
            on(Disks::ServerAndReplicas(2)),
            (true, "WAITAOF 1 0 1".to_owned())
        );
        assert_eq!(on(Disks::Replicas(2)), (true, "WAITAOF 0 0 1".to_owned()));
    }
}
