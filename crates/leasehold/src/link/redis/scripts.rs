//! The scripts and how a request becomes a call of one.
//!
//! They declare themselves with `#!lua`, so that the node checks before the first line whether it may
//! write at all: a replica then refuses as a whole, where a bare script would read, find a key that is
//! not ours, and answer for a node that does not decide. Extending and releasing are allowed to a node
//! that is out of memory: they need none.

use super::codec;
use leasehold_core::{Owner, Request};

/// A script and the name that the nodes know it by.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: &'static str,
    pub(super) sha1: &'static str,
}

/// All of them, to be loaded into a node before it is first used.
pub(super) const SCRIPTS: [Script; 5] = [ACQUIRE, EXTEND, TRANSFER, INSPECT, RELEASE];

/// `request` as a call of a script that the node should know.
pub(super) fn by_hash(request: &Request) -> Vec<u8> {
    call(b"EVALSHA", script(request).sha1, request)
}

/// `request` as a call that brings its script along.
pub(super) fn in_full(request: &Request) -> Vec<u8> {
    call(b"EVAL", script(request).text, request)
}

const fn script(request: &Request) -> &'static Script {
    match request {
        Request::Acquire { .. } => &ACQUIRE,
        Request::Extend { .. } => &EXTEND,
        Request::Transfer { .. } => &TRANSFER,
        Request::Inspect { .. } => &INSPECT,
        Request::Release { .. } => &RELEASE,
    }
}

fn call(command: &[u8], script: &str, request: &Request) -> Vec<u8> {
    let ttl_ms = match request {
        Request::Acquire { ttl, .. }
        | Request::Extend { ttl, .. }
        | Request::Transfer { ttl, .. } => Some(*ttl),
        Request::Release { keep, .. } => *keep,
        Request::Inspect { .. } => None,
    };
    let ttl_ms = ttl_ms.map(|ttl| ttl.as_millis().to_string());
    let from = match request {
        Request::Transfer { from, .. } => Some(from.as_bytes()),
        _ => None,
    };
    let key = request.resource().as_bytes();
    let mut parts = vec![command, script.as_bytes(), b"1", key];
    parts.extend(request.owner().map(Owner::as_bytes));
    parts.extend(ttl_ms.as_ref().map(String::as_bytes));
    parts.extend(from);
    let length: usize = parts.iter().map(|part| part.len() + 16).sum();
    let mut wire = Vec::with_capacity(length);
    codec::encode(&mut wire, &parts);
    wire
}

const ACQUIRE: Script = Script {
    text: include_str!("acquire.lua"),
    sha1: "23ebc58995100c800e387e929a2940a2e3fcd7a5",
};
const EXTEND: Script = Script {
    text: include_str!("extend.lua"),
    sha1: "4656e512ca3910be09549026120ce4f9be91c63e",
};
const TRANSFER: Script = Script {
    text: include_str!("transfer.lua"),
    sha1: "eb1733e7b525b46aa34ad9448e371356901faa22",
};
const INSPECT: Script = Script {
    text: include_str!("inspect.lua"),
    sha1: "3f5936e49f42e86e0654d7052f5273aff996cf12",
};
const RELEASE: Script = Script {
    text: include_str!("release.lua"),
    sha1: "b8df66c62f78903f630e14dc09d283208fa9a34b",
};

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Resource, Ttl, owner::hexadecimal};

    #[test]
    fn the_hashes_are_those_of_the_texts() {
        assert_eq!(
            hexadecimal(&sha1(b"abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        for script in SCRIPTS {
            let hash = hexadecimal(&sha1(script.text.as_bytes()));
            assert_eq!(script.sha1, hash, "{}", script.text);
        }
    }

    #[test]
    fn a_request_is_a_call_with_one_key() {
        let request = Request::Extend {
            resource: Resource::new("r").expect("a name"),
            owner: Owner::from_bytes(b"o\r\n").expect("an owner"),
            ttl: Ttl::SHORTEST,
        };
        let expected = format!(
            "*6\r\n$7\r\nEVALSHA\r\n$40\r\n{}\r\n$1\r\n1\r\n$1\r\nr\r\n$3\r\no\r\n\r\n$2\r\n10\r\n",
            EXTEND.sha1
        );
        assert_eq!(by_hash(&request), expected.as_bytes());
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
