//! The random value that signs a key.

use crate::{
    hash::{GOLDEN, splitmix},
    permit::{Permit, PermitCount},
};
use alloc::{format, string::String, sync::Arc, vec::Vec};
use core::{fmt, time::Duration};

/// Fresh randomness from the operating system, drawn by the shell for one operation.
///
/// The first 16 bytes go into every owner of the operation unchanged, so two operations share an owner
/// only if the operating system repeats 128 random bits; the next 4, mixed with the attempt's number,
/// tell the operation's attempts apart by construction (argument S8). The last 8 seed the jitter.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed([u8; Seed::LENGTH]);

impl Seed {
    /// How many random bytes make a seed.
    pub const LENGTH: usize = 28;

    /// A seed of these random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// The 20 bytes that sign attempt number `attempt` of the operation.
    #[must_use]
    pub fn sign(&self, attempt: u32) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes.copy_from_slice(&self.0[..20]);
        // Argument S8: xor with a number is one to one, so no two attempts of one operation get the
        // same bytes.
        for (byte, number) in bytes[16..].iter_mut().zip(attempt.to_be_bytes()) {
            *byte ^= number;
        }
        bytes
    }

    /// A number for the `step`-th random choice that is not about owners.
    #[must_use]
    pub fn jitter(&self, step: u32) -> u64 {
        let mut seed = [0; 8];
        seed.copy_from_slice(&self.0[20..]);
        splitmix(u64::from_le_bytes(seed).wrapping_add(u64::from(step).wrapping_mul(GOLDEN)))
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A seed foretells the owners of the attempts to come.
        out.write_str("Seed(..)")
    }
}

/// The value of a lock's key: who holds it. Opaque bytes, fresh for every attempt.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(Arc<[u8]>);

impl Owner {
    /// The longest owner, in bytes.
    pub const LONGEST: usize = 255;

    /// An owner of these bytes, as another program may have written it; none if there are no bytes or
    /// more than [`LONGEST`](Self::LONGEST).
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (1..=Self::LONGEST)
            .contains(&bytes.len())
            .then(|| Self(bytes.into()))
    }

    /// What stands behind the digits and a dot, if the owner is made so: by
    /// [`OwnerSource::labelled`], or by `leasehold`, the library and the command, which put host and process there.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        let (digits, rest) = self.0.split_at_checked(DIGITS)?;
        let rest = match self.of_slot() {
            Some((_, by)) => return core::str::from_utf8(by).ok().filter(|by| !by.is_empty()),
            None => rest,
        };
        let label = core::str::from_utf8(rest).ok()?.strip_prefix('.')?;
        let is_ours = digits.iter().all(u8::is_ascii_hexdigit) && !label.is_empty();
        is_ours.then_some(label)
    }

    /// The mark that work is done until then, time since 1970 in whole milliseconds, by the holder with this owner. Nobody
    /// [made](OwnerSource) it as an owner: there is a `+` behind the digits.
    #[must_use]
    pub fn done(random: &[u8; 20], until: Duration, by: &Self) -> Self {
        let by = match by.is_usual() {
            true => by.0.get(DIGITS + 1..).unwrap_or_default(),
            false => &by.0,
        };
        let until = format!("{DONE}{}.", until.as_millis());
        let mut mark = [&digits(random)[..], until.as_bytes(), by].concat();
        mark.truncate(Self::LONGEST);
        Self(mark.into())
    }

    /// The owner of this permit, signed with these random bytes, that tells of itself what `by` does. Nobody
    /// [made](OwnerSource) it as an owner of another kind: there is a `+` behind the digits.
    #[must_use]
    pub fn of_permit(random: &[u8; 20], permit: Permit, by: &Self) -> Self {
        let by = match by.is_usual() {
            true => by.0.get(DIGITS + 1..).unwrap_or_default(),
            false => &by.0,
        };
        let permit = format!("{PERMIT}{permit}.");
        let mut owner = [&digits(random)[..], permit.as_bytes(), by].concat();
        owner.truncate(Self::LONGEST);
        Self(owner.into())
    }

    /// Which permit it is of, if it is of one.
    #[must_use]
    pub fn permit(&self) -> Option<Permit> {
        self.of_slot().map(|(permit, _)| permit)
    }

    fn of_slot(&self) -> Option<(Permit, &[u8])> {
        let (digits, rest) = self.0.split_at_checked(DIGITS)?;
        let mut parts = rest
            .strip_prefix(PERMIT.as_bytes())?
            .splitn(2, |byte| *byte == b'.');
        let (permit, by) = (parts.next()?, parts.next()?);
        let (slot, of) = core::str::from_utf8(permit).ok()?.split_once('/')?;
        let permit = Permit::new(plain(slot)?, PermitCount::new(plain(of)?)?)?;
        let is_ours = digits.iter().all(u8::is_ascii_hexdigit);
        is_ours.then_some((permit, by))
    }

    /// Until when work is done, as time since 1970, if this is the mark that it is.
    #[must_use]
    pub fn done_until(&self) -> Option<Duration> {
        let (until, _) = self.mark()?;
        Some(Duration::from_millis(until))
    }

    /// The owner of the holder that has left this mark, if it is one, as far as it tells.
    #[must_use]
    pub fn done_by(&self) -> Option<Self> {
        let (_, by) = self.mark()?;
        let digits = self.0.get(..DIGITS)?;
        Some(Self([digits, b".", by].concat().into()))
    }

    fn mark(&self) -> Option<(u64, &[u8])> {
        let (digits, rest) = self.0.split_at_checked(DIGITS)?;
        let mut parts = rest
            .strip_prefix(DONE.as_bytes())?
            .splitn(2, |byte| *byte == b'.');
        let (until, by) = (parts.next()?, parts.next()?);
        let until = core::str::from_utf8(until).ok()?.parse().ok()?;
        let is_ours = digits.iter().all(u8::is_ascii_hexdigit);
        is_ours.then_some((until, by))
    }

    /// Whether it is made as the default makes it: of 40 hexadecimal digits, with a dot and anything behind them or without.
    /// Any other value under a lock's key may be other people's data, which is nobody's business.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        let digits = self.0.split_at_checked(DIGITS);
        digits.is_some_and(|(digits, rest)| {
            let is_end = rest.first().is_none_or(|byte| *byte == b'.');
            is_end && digits.iter().all(u8::is_ascii_hexdigit)
        })
    }

    /// The bytes, as they stand on the nodes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Text as it is, other bytes escaped as in a Rust byte string.
impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Owner({self})")
    }
}

/// How the 20 random bytes of an attempt become its owner.
///
/// The default writes them as 40 hexadecimal digits. A function of your own may encode them otherwise
/// or put a label behind them; it must keep them all, since two attempts with one owner could release
/// each other's keys (argument S8). What it returns is cut to [`Owner::LONGEST`] bytes at the end, so
/// the label goes behind.
#[derive(Clone, Default)]
pub struct OwnerSource(Option<Arc<OwnerFunction>>);

/// Writes an owner, and says how long it is.
type OwnerFunction = dyn Fn(&[u8; 20], &mut [u8; Owner::LONGEST]) -> usize + Send + Sync;

impl OwnerSource {
    /// Owners made by `function`.
    pub fn new(function: impl Fn(&[u8; 20]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::written(move |random, owner| {
            let bytes = function(random);
            let length = bytes.len().min(owner.len());
            owner[..length].copy_from_slice(&bytes[..length]);
            length
        })
    }

    /// Owners that `function` writes to the front of the place that it is given; it says how long they are.
    pub fn written(
        function: impl Fn(&[u8; 20], &mut [u8; Owner::LONGEST]) -> usize + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(function)))
    }

    /// The default's digits, a dot, and `label`: for people who look at the nodes, and for messages. Cut at
    /// [`Owner::LONGEST`] bytes.
    #[must_use]
    pub fn labelled(label: &str) -> Self {
        let label = alloc::format!(".{label}");
        Self::new(move |random| [hexadecimal(random).as_bytes(), label.as_bytes()].concat())
    }

    /// Whether the owners that this makes differ whenever the random bytes differ in any one byte, so far
    /// as one try can tell. A source that fails this would sign two attempts alike (argument S8).
    #[must_use]
    pub fn keeps_randomness(&self) -> bool {
        // The default's digits are the bytes.
        if self.0.is_none() {
            return true;
        }
        let base = [0x5a; 20];
        let Some(owner) = self.owner(&base) else {
            return false;
        };
        (0..base.len()).all(|at| {
            let mut changed = base;
            changed[at] ^= 0xff;
            self.owner(&changed).is_some_and(|other| other != owner)
        })
    }

    /// The owner of one attempt; none if the function returned nothing.
    #[must_use]
    pub fn owner(&self, random: &[u8; 20]) -> Option<Owner> {
        let Some(function) = &self.0 else {
            return Owner::from_bytes(&digits(random));
        };
        let mut owner = [0; Owner::LONGEST];
        let length = function(random, &mut owner);
        Owner::from_bytes(owner.get(..length).unwrap_or(&owner))
    }
}

impl fmt::Debug for OwnerSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() {
            "OwnerSource(custom)"
        } else {
            "OwnerSource(hexadecimal)"
        })
    }
}

/// How many digits the default makes of the random bytes.
pub const DIGITS: usize = 40;

/// What stands behind the digits of a mark, and before the time.
const DONE: &str = "+done";

/// What stands behind the digits of a permit's owner, and before its slot.
const PERMIT: &str = "+permit";

/// A number as it is written, without signs or zeros before it.
fn plain(digits: &str) -> Option<u16> {
    let number: u16 = digits.parse().ok()?;
    let is_plain = match digits.as_bytes() {
        [b'0', _, ..] => false,
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    is_plain.then_some(number)
}

/// The default's digits.
#[must_use]
pub fn digits(random: &[u8; 20]) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(random) {
        pair.copy_from_slice(&PAIRS[usize::from(*byte)]);
    }
    digits
}

const PAIRS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < pairs.len() {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| PAIRS[usize::from(*byte)]);
    digits.map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeSet, string::ToString, vec};

    #[test]
    fn no_two_attempts_of_an_operation_share_an_owner() {
        let seed = Seed::new([7; Seed::LENGTH]);
        let owners: BTreeSet<_> = (0..10_000).map(|attempt| seed.sign(attempt)).collect();
        assert_eq!(owners.len(), 10_000);
    }

    #[test]
    fn a_mark_tells_until_when_and_by_whom_and_no_owner_is_one() {
        let until = Duration::from_millis(1_763_971_200_123);
        let owner = OwnerSource::labelled("db1.4711").owner(&[7; 20]);
        let owner = owner.expect("a good label");
        let mark = Owner::done(&[9; 20], until, &owner);
        assert_eq!(mark.done_until(), Some(until));
        let by = mark.done_by().expect("it tells");
        assert_eq!(by.label(), Some("db1.4711"));
        assert!(!mark.is_usual() && by.is_usual());
        // Others write what they like, and so do those who label.
        let text = |text: &str| Owner::from_bytes(text.as_bytes()).expect("short");
        let foreign = Owner::done(&[9; 20], until, &text("theirs"));
        assert_eq!(foreign.done_until(), Some(until));
        assert_eq!(
            foreign.done_by().and_then(|by| by.label().map(str::len)),
            Some(6)
        );
        let digits = "9f".repeat(20);
        for no in ["+done", "+done1", "+donex.", ".+done1.", "+done-1.", ""] {
            let owner = text(&format!("{digits}{no}"));
            assert_eq!((owner.done_until(), owner.done_by()), (None, None), "{no}");
        }
        let long = Owner::done(&[9; 20], until, &text(&"x".repeat(255)));
        assert_eq!(long.as_bytes().len(), Owner::LONGEST);
        assert_eq!(long.done_until(), Some(until));
    }

    #[test]
    fn an_owner_of_a_permit_tells_its_slot_and_no_other_owner_does() {
        let of = PermitCount::new(12).expect("in range");
        let permit = Permit::new(10, of).expect("a slot");
        let by = OwnerSource::labelled("db1.4711").owner(&[7; 20]);
        let owner = Owner::of_permit(&[9; 20], permit, &by.expect("a good label"));
        assert_eq!(
            (owner.permit(), owner.label()),
            (Some(permit), Some("db1.4711"))
        );
        assert_eq!((owner.done_until(), owner.is_usual()), (None, false));
        let text = |text: &str| Owner::from_bytes(text.as_bytes()).expect("short");
        let foreign = Owner::of_permit(&[9; 20], permit, &text("theirs"));
        assert_eq!(
            (foreign.permit(), foreign.label()),
            (Some(permit), Some("theirs"))
        );
        let long = Owner::of_permit(&[9; 20], permit, &text(&"x".repeat(255)));
        assert_eq!(
            (long.permit(), long.as_bytes().len()),
            (Some(permit), Owner::LONGEST)
        );
        let digits = "9f".repeat(20);
        for no in [
            ".+permit1/2.",
            "+permit",
            "+permit1/2",
            "+permit2/2.",
            "+permit01/2.",
            "+permit+1/2.",
            "+permit1/0.",
            "+permit1/257.",
            "+permit1.",
            "+done1.",
            "",
        ] {
            assert_eq!(text(&format!("{digits}{no}")).permit(), None, "{no}");
        }
        assert_eq!(
            text(&format!("g{}+permit1/2.", &digits[1..])).permit(),
            None
        );
    }

    #[test]
    fn the_default_owner_is_forty_hexadecimal_digits() {
        let mut random = [0; 20];
        random[19] = 0xaf;
        let owner = OwnerSource::default()
            .owner(&random)
            .expect("digits are not empty");
        assert_eq!(
            owner.to_string(),
            "00000000000000000000000000000000000000af"
        );
    }

    #[test]
    fn an_owner_that_is_not_text_is_shown_escaped() {
        let owner = Owner::from_bytes(&[0, b'a', 0xff]).expect("three bytes");
        assert_eq!(owner.to_string(), r"\x00a\xff");
    }

    #[test]
    fn a_source_that_drops_random_bytes_is_found_out() {
        assert!(OwnerSource::default().keeps_randomness());
        assert!(OwnerSource::new(|random| hexadecimal(random).into_bytes()).keeps_randomness());
        assert!(!OwnerSource::new(|_| b"worker-1".to_vec()).keeps_randomness());
        assert!(!OwnerSource::new(|random| random[..19].to_vec()).keeps_randomness());
        assert!(!OwnerSource::new(|_| Vec::new()).keeps_randomness());
        let behind = |random: &[u8; 20]| [&[b'x'; 250][..], random].concat();
        assert!(!OwnerSource::new(behind).keeps_randomness());
    }

    #[test]
    fn a_label_stands_behind_the_digits() {
        let source = OwnerSource::labelled("nightly on db1");
        assert!(source.keeps_randomness());
        let owner = source.owner(&[7; 20]).expect("not empty");
        assert_eq!(owner.label(), Some("nightly on db1"));
        for plain in [
            &b"0123.x"[..],
            &[b'a'; 40],
            b"not hexadecimal, but forty letters, dot..x",
        ] {
            let owner = Owner::from_bytes(plain).expect("not empty");
            assert_eq!(owner.label(), None, "{owner}");
        }
    }

    #[test]
    fn an_owner_of_the_default_is_told_from_other_peoples_data() {
        let digits = "0123456789abcdef0123456789abcdef01234567";
        for (value, is_usual) in [
            (digits.to_string(), true),
            (alloc::format!("{digits}.db1"), true),
            (alloc::format!("{digits}."), true),
            (alloc::format!("{digits}8"), false),
            (digits[1..].to_string(), false),
            (alloc::format!("{}g", &digits[1..]), false),
            ("session".to_string(), false),
        ] {
            let owner = Owner::from_bytes(value.as_bytes()).expect("not empty");
            assert_eq!(owner.is_usual(), is_usual, "{value}");
        }
    }

    #[test]
    fn a_custom_owner_is_cut_at_the_end() {
        let source = OwnerSource::new(|random| [&random[..], &vec![b'x'; 999]].concat());
        let owner = source.owner(&[1; 20]).expect("not empty");
        assert_eq!(owner.as_bytes().len(), Owner::LONGEST);
        assert_eq!(owner.as_bytes()[..20], [1; 20]);
    }
}
