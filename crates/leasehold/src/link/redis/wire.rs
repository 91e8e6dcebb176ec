//! What the link says to a server and how it reads the answers, without its sockets: for tests and simulators that put
//! something else at the other end. Not for users: it changes with the link.

use super::{
    admin_client,
    codec::{self, Frame},
    glance::{Glance, at_a_glance},
    greeting,
    kind::Kind,
    reply::{self, Verdict},
    scripts::{Encoder, ServerInfo},
    stamp,
    texts::{FAIR, LEAVE, REPAIR, SCRIPTS},
};
use crate::configuration::Configuration;
use leasehold_core::{Fault, FaultKind, Request, Vote, quarantine::Disk};
use std::time::Duration;

/// The words of all links of one configuration.
#[derive(Debug)]
pub struct Wire {
    encoder: Encoder,
}

/// What one connection knows of the process at its other end.
#[derive(Clone, Debug)]
pub struct RemoteProcess {
    met: ServerInfo,
}

impl RemoteProcess {
    /// The process that was met, or nothing, and what is relied upon of its disk.
    #[must_use]
    pub fn new(id: &str, disk: Disk) -> Self {
        let met = ServerInfo::new(id.to_owned(), disk);
        Self { met }
    }
}

impl Wire {
    /// Of this configuration.
    #[must_use]
    pub fn new(configuration: &Configuration) -> Self {
        let encoder = Encoder::new(configuration);
        Self { encoder }
    }

    /// The first call on a new connection, where nodes have a hash of their own.
    #[must_use]
    pub fn greeting(&self, disk: Disk) -> Option<Vec<u8>> {
        let encoder = &self.encoder;
        encoder.is_fenced().then(|| encoder.greeting(disk))
    }

    /// The identity of the process that answered the greeting so.
    ///
    /// # Errors
    /// Why no locks are kept on it.
    pub fn greeted(&self, reply: &[u8], disk: Disk) -> Result<String, String> {
        let frame = frame(reply).ok_or("no reply")?;
        let node = greeting::read(&frame).map_err(|wrong| reply::words(&wrong))?;
        node.suits(self.encoder.is_guarded(), disk == Disk::Trusted)
    }

    /// `request` as it leaves over a connection to `peer`.
    #[must_use]
    pub fn request(&self, request: &Request, peer: &RemoteProcess) -> Vec<u8> {
        self.encoder.said(request, &peer.met)
    }

    /// What the reply to `request` says, and the node's clock, if it tells that.
    #[must_use]
    pub fn vote(&self, request: &Request, reply: &[u8]) -> (Vote, Option<Duration>) {
        let is_set = self.encoder.is_native(Kind::of(request));
        let read = match is_set {
            true => reply::of_set,
            false => reply::of_script,
        };
        let doubt = |words: &str| Vote::Unknown(Fault::new(FaultKind::Disconnected, words));
        let seen = at_a_glance(reply, is_set).filter(|(_, length)| *length == reply.len());
        if let Some((Glance { vote, time }, _)) = seen {
            return (vote, time);
        }
        let Some(reply) = frame(reply).as_ref().and_then(read) else {
            return (doubt("no reply that is known"), None);
        };
        let vote = match reply.verdict {
            Verdict::Vote(vote) => vote,
            Verdict::ScriptMissing => doubt("the script is missing"),
            Verdict::Unclear(words) => doubt(&words),
        };
        (vote, reply.time)
    }
}

impl Default for RemoteProcess {
    fn default() -> Self {
        Self::new("", Disk::Ignored)
    }
}

/// The one frame that these bytes are.
fn frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let (frame, length) = codec::decode(bytes).ok()??;
    (length == bytes.len()).then_some(frame)
}

/// The scripts that are called by their hash: hash and text.
pub fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let scripts = SCRIPTS.iter().chain([&FAIR, &LEAVE, &REPAIR]);
    scripts.map(|script| (script.sha1, script.text))
}

/// The scripts that are sent in full, by what they do: name and text.
#[must_use]
pub fn texts() -> Vec<(&'static str, &'static str)> {
    [&admin_client::TEXTS[..], &stamp::TEXTS].concat()
}
