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

/// The restart guard. A look is rare, and its functions are made when it is taken.
macro_rules! guard {
    () => {
        concat!(
            "local function looking()\n",
            include_str!("wait.lua"),
            include_str!("look.lua"),
            "return look, noted_wait\nend\n",
            include_str!("guard.lua")
        )
    };
}

/// Those that are loaded into a node before it is first used. Those of fair locks, of repairs, of several names and of shares are not:
/// most have none, and a node that does not know a script is sent its text.
pub(super) const SCRIPTS: [Script; 7] = [VOTE, VOTES, RAISE, EXTEND, TRANSFER, INSPECT, RELEASE];

/// The others.
#[cfg(any(test, feature = "wire"))]
pub(super) const OTHERS: [Script; 8] = [
    FAIR,
    LEAVE,
    REPAIR,
    VOTE_SEVERAL,
    HOLD_SEVERAL,
    VOTE_SHARE,
    RELEASE_SHARE,
    HOLD_SHARE,
];

/// First votes for several locks.
pub(super) const VOTES: Script = Script {
    text: concat!("#!lua\n", guard!(), include_str!("votes.lua")),
    sha1: "64c942c383e0e82813e3fb50b5406830bebf6613",
};
/// A first vote for one lock, and one for a key that somebody else has.
pub(super) const VOTE: Script = Script {
    text: concat!(
        "#!lua\n",
        guard!(),
        include_str!("refuse.lua"),
        include_str!("vote.lua"),
        include_str!("twin.lua"),
        include_str!("grant.lua")
    ),
    sha1: "57e702d0fd564f0bc009818c812b0a54055fd140",
};
/// As a vote, but of a lease that may find its key there.
pub(super) const REPAIR: Script = Script {
    text: concat!(
        "#!lua\n",
        guard!(),
        include_str!("refuse.lua"),
        include_str!("vote.lua"),
        include_str!("grant.lua")
    ),
    sha1: "03bc7b3141e4f3f120755d8e550a18c0bdec16c5",
};
pub(super) const FAIR: Script = Script {
    text: concat!(
        "#!lua\n",
        guard!(),
        include_str!("refuse.lua"),
        include_str!("queue.lua"),
        include_str!("line.lua"),
        include_str!("vote.lua"),
        include_str!("twin.lua"),
        include_str!("fair.lua"),
        include_str!("grant.lua")
    ),
    sha1: "9a86e8a27ccc0edf5e33640a6b221e34315103e7",
};
pub(super) const LEAVE: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("queue.lua"),
        include_str!("leave.lua")
    ),
    sha1: "461497d82c151f8f4bc3efcdf3cd7d4781ccba40",
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
        guard!(),
        include_str!("refuse.lua"),
        include_str!("extend.lua")
    ),
    sha1: "29bab6eaf276e458b5d8bee0674342f2bffcb3ca",
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
    sha1: "98456b576c821e1d8f38b577b2a790f395696e01",
};

/// A vote for several names that are locked together.
pub(super) const VOTE_SEVERAL: Script = Script {
    text: concat!(
        "#!lua\n",
        guard!(),
        include_str!("several.lua"),
        include_str!("vote_several.lua")
    ),
    sha1: "8f90caa573c2a4c167c2256f78254c161d0a9fb2",
};
/// What else is asked of names that are locked together.
pub(super) const HOLD_SEVERAL: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        guard!(),
        include_str!("several.lua"),
        include_str!("hold_several.lua")
    ),
    sha1: "5768303a5b631c27c245bb5909a28ffa7459236e",
};

/// A vote for a share of a name, or for several. Functions are made when they are needed, and seldom anybody waits.
pub(super) const VOTE_SHARE: Script = Script {
    text: concat!(
        "#!lua\n",
        guard!(),
        include_str!("refuse.lua"),
        include_str!("share.lua"),
        include_str!("shares.lua"),
        "local function lining_up()\n",
        include_str!("queue.lua"),
        include_str!("line.lua"),
        "return line_up, keep\nend\n",
        include_str!("vote_share.lua")
    ),
    sha1: "f421803340094c59146c5cc2aaa972e4f072a3b3",
};
/// A release of a share, or of several.
pub(super) const RELEASE_SHARE: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        include_str!("share.lua"),
        "local function looking_at_all()\n",
        include_str!("refuse.lua"),
        include_str!("shares.lua"),
        "return reading, told_of, refuse_part\nend\n",
        include_str!("release_share.lua")
    ),
    sha1: "8bd9d8f70f06b3ebb3558af61fda38e265149529",
};
/// What else is asked of a share.
pub(super) const HOLD_SHARE: Script = Script {
    text: concat!(
        "#!lua flags=allow-oom\n",
        guard!(),
        include_str!("refuse.lua"),
        include_str!("share.lua"),
        include_str!("shares.lua"),
        include_str!("hold_share.lua")
    ),
    sha1: "d882f411d1fc83d80c919b13d364c827840502b8",
};

/// Said once for each connection, so it goes along in full. Also to a node without memory: it still releases.
pub(super) const GREET: &str = concat!(
    "#!lua flags=allow-oom\n",
    include_str!("wait.lua"),
    include_str!("look.lua"),
    "local function looking()\n  return look, noted_wait\nend\n",
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
        for script in SCRIPTS.into_iter().chain(OTHERS) {
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
