//! The texts of the scripts.
//!
//! They declare themselves with `#!lua`, so that the node checks before the first line whether it may
//! write at all: a replica then refuses as a whole, where a bare script would read, find a key that is
//! not ours, and answer for a node that does not decide. Extending and releasing are allowed to a node
//! that is out of memory: they need none.

/// A script and the name that the nodes know it by.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: &'static str,
    pub(super) sha1: &'static str,
}

/// Those that are loaded into a node before it is first used. Those of fair locks, of takeovers and of repairs are not: most
/// have none, and a node that does not know a script is sent its text.
pub(super) const SCRIPTS: [Script; 6] = [VOTE, RAISE, EXTEND, TRANSFER, INSPECT, RELEASE];

/// First votes, for as many locks as there are.
pub(super) const VOTE: Script = Script {
    text: concat!(
        "#!lua\n",
        include_str!("wait.lua"),
        include_str!("guard.lua"),
        include_str!("votes.lua")
    ),
    sha1: "b55068d1b3947427a6a8b526f3f2da5bd6dc0fae",
};
/// A vote for a key that somebody else has.
pub(super) const TAKEOVER: Script = Script {
    text: concat!(
        "#!lua\n",
        include_str!("wait.lua"),
        include_str!("guard.lua"),
        include_str!("refuse.lua"),
        include_str!("vote.lua"),
        include_str!("twin.lua"),
        include_str!("grant.lua")
    ),
    sha1: "5b194da59397b0dc548cc14a3118eb2c35fd2916",
};
/// As a vote, but of a lease that may find its key there.
pub(super) const REPAIR: Script = Script {
    text: concat!(
        "#!lua\n",
        include_str!("wait.lua"),
        include_str!("guard.lua"),
        include_str!("refuse.lua"),
        include_str!("vote.lua"),
        include_str!("grant.lua")
    ),
    sha1: "bc9b805eaadfa91a2a76833e1faae66ae0f13b2c",
};
pub(super) const FAIR: Script = Script {
    text: concat!(
        "#!lua\n",
        include_str!("wait.lua"),
        include_str!("guard.lua"),
        include_str!("refuse.lua"),
        include_str!("queue.lua"),
        include_str!("vote.lua"),
        include_str!("twin.lua"),
        include_str!("fair.lua"),
        include_str!("grant.lua")
    ),
    sha1: "6e64e4209bf8411094dc93c8ec20a25211871efd",
};
pub(super) const LEAVE: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("queue.lua"),
        include_str!("leave.lua")
    ),
    sha1: "29eb667e49d8a8d9da2daa99689467d1786661cc",
};
pub(super) const RAISE: Script = Script {
    text: concat!(
        "#!lua\n",
        include_str!("refuse.lua"),
        include_str!("raise.lua")
    ),
    sha1: "538febca44375967ac05b34c4e79025803c5a48c",
};
pub(super) const EXTEND: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("wait.lua"),
        include_str!("guard.lua"),
        include_str!("refuse.lua"),
        include_str!("extend.lua")
    ),
    sha1: "41d7695b9f554bfa750099e476c069617afa967f",
};
pub(super) const TRANSFER: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("refuse.lua"),
        include_str!("transfer.lua")
    ),
    sha1: "7682428fdb11c330a73714c735b609aad4512348",
};
pub(super) const INSPECT: Script = Script {
    text: concat!(
        "#!lua flags=no-writes\n",
        include_str!("refuse.lua"),
        include_str!("inspect.lua")
    ),
    sha1: "0942c548fb60adb6b62f415003638aadc7580c14",
};
pub(super) const RELEASE: Script = Script {
    text: concat!("#!lua flags=allow-oom\n", include_str!("release.lua")),
    sha1: "652b684f4c172ee4228a5ab05de6a72ccf3cfc5d",
};

/// Said once for each connection, so it goes along in full. Also to a node without memory: it still releases.
pub(super) const GREET: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("wait.lua"),
    include_str!("guard.lua"),
    include_str!("greet.lua")
);

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::owner::hexadecimal;

    #[test]
    fn the_hashes_are_those_of_the_texts() {
        assert_eq!(
            hexadecimal(&sha1(b"abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        for script in SCRIPTS.into_iter().chain([FAIR, LEAVE, REPAIR, TAKEOVER]) {
            let hash = hexadecimal(&sha1(script.text.as_bytes()));
            assert_eq!(script.sha1, hash, "{}", script.text);
        }
    }

    /// FIPS 180-1, as plainly as it can be said.
    fn sha1(text: &[u8]) -> [u8; 20] {
        let mut state: [u32; 5] = [
            0x6745_2301,
            0xefcd_ab89,
            0x98ba_dcfe,
            0x1032_5476,
            0xc3d2_e1f0,
        ];
        let mut padded = text.to_vec();
        padded.push(0x80);
        padded.resize(padded.len().next_multiple_of(64), 0);
        if padded.len() - text.len() < 9 {
            padded.resize(padded.len() + 64, 0);
        }
        let end = padded.len() - 8;
        padded[end..].copy_from_slice(&(text.len() as u64 * 8).to_be_bytes());
        for block in padded.chunks_exact(64) {
            let mut words: Vec<u32> = block
                .chunks_exact(4)
                .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
                .collect();
            for i in 16..80 {
                let mixed = words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16];
                words.push(mixed.rotate_left(1));
            }
            let [mut a, mut b, mut c, mut d, mut e] = state;
            for (i, word) in words.into_iter().enumerate() {
                let (mix, constant) = match i {
                    0..20 => (b & c | !b & d, 0x5a82_7999_u32),
                    20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                    40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                    _ => (b ^ c ^ d, 0xca62_c1d6),
                };
                let sum = [a.rotate_left(5), mix, e, constant, word];
                let next = sum.into_iter().fold(0, u32::wrapping_add);
                (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
            }
            for (part, add) in state.iter_mut().zip([a, b, c, d, e]) {
                *part = part.wrapping_add(add);
            }
        }
        let mut hash = [0; 20];
        for (bytes, part) in hash.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&part.to_be_bytes());
        }
        hash
    }
}
