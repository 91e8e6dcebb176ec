//! The steps that a node takes, in Lua: [`decide`](leasehold_core::table::decide) once more.

use super::codec::encode;
use leasehold_core::Request;

/// A script with a constant text, and the SHA-1 by which servers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Script {
    text: &'static str,
    sha: &'static str,
}

const ACQUIRE: Script = Script {
    text: include_str!("acquire.lua"),
    sha: "cb308d36d7365cd1fb6683dcc16f44be36610b0c",
};
const EXTEND: Script = Script {
    text: include_str!("extend.lua"),
    sha: "d1a24b82cf926301b4fc30f9b4e962614f451158",
};
const RELEASE: Script = Script {
    text: include_str!("release.lua"),
    sha: "ba5194c080ab2b4525388241d409a690bc926d4c",
};

impl Script {
    pub(super) const ALL: [Self; 3] = [ACQUIRE, EXTEND, RELEASE];

    const fn of(request: &Request) -> Self {
        match request {
            Request::Acquire { .. } => ACQUIRE,
            Request::Extend { .. } => EXTEND,
            Request::Release { .. } => RELEASE,
        }
    }

    pub(super) fn load(self) -> Vec<u8> {
        encode(&[b"SCRIPT", b"LOAD", self.text.as_bytes()])
    }

    pub(super) const fn sha(self) -> &'static str {
        self.sha
    }
}

/// A request by its script's hash, as it is sent first.
pub(super) fn by_hash(request: &Request) -> Vec<u8> {
    call(b"EVALSHA", Script::of(request).sha, request)
}

/// A request with its script's text, for a server that has forgotten the hash.
pub(super) fn by_text(request: &Request) -> Vec<u8> {
    call(b"EVAL", Script::of(request).text, request)
}

fn call(command: &[u8], script: &str, request: &Request) -> Vec<u8> {
    let (key, owner) = (request.resource().as_bytes(), request.owner().as_bytes());
    match request {
        Request::Acquire { ttl, .. } | Request::Extend { ttl, .. } => {
            let ttl_ms = ttl.as_millis().to_string();
            encode(&[
                command,
                script.as_bytes(),
                b"1",
                key,
                owner,
                ttl_ms.as_bytes(),
            ])
        }
        Request::Release { .. } => encode(&[command, script.as_bytes(), b"1", key, owner]),
    }
}
