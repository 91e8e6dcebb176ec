//! What the link says to a server and how it reads the answers, without its sockets: for tests and simulators that put
//! something else at the other end. Not for users: it changes with the link.

use super::{
    admin_client,
    codec::{self, Frame},
    glance::{at_a_glance, opens},
    greeting,
    kind::Kind,
    reply::{self, Verdict},
    scripts::{Arguments, Encoder, ServerInfo},
    stamp,
    texts::{OTHERS, SCRIPTS},
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

    /// The first call on a new connection, where nodes have a hash of their own. Sentinels say by which failover a node is the
    /// master.
    #[must_use]
    pub fn greeting(&self, disk: Disk, failover: Option<u64>) -> Option<Vec<u8>> {
        let encoder = &self.encoder;
        encoder
            .is_fenced()
            .then(|| encoder.greeting(disk, failover))
    }

    /// The identity of the process that answered the greeting so.
    ///
    /// # Errors
    /// Why no locks are kept on it.
    pub fn greeted(&self, reply: &[u8], disk: Disk) -> Result<String, String> {
        let frame = frame(reply).ok_or("no reply")?;
        let (node, _) = greeting::read(&frame).map_err(|wrong| reply::words(&wrong))?;
        node.suits(self.encoder.is_guarded(), disk == Disk::Trusted)
    }

    /// `request` as it leaves over a connection to `peer`.
    #[must_use]
    pub fn request(&self, request: &Request, peer: &RemoteProcess) -> Vec<u8> {
        self.encoder.said(request, &peer.met)
    }

    /// Requests as they leave in one call over a connection to `peer`: first votes, or releases, each for another lock, or each
    /// for a part of one name. None if they do not leave together.
    #[must_use]
    pub fn call(&self, requests: &[Request], peer: &RemoteProcess) -> Option<Vec<u8>> {
        let encoder = &self.encoder;
        let call = encoder.call_of(requests.first()?);
        let (mut keys, mut arguments) = (Vec::new(), Arguments::default());
        for request in requests {
            let mut words = Vec::new();
            let gap = encoder.write(request, &mut words);
            let is_one_of_them = call.is_for_several() && encoder.call_of(request) == call;
            let (key, own) = words.split_at(gap.filter(|_| is_one_of_them)?);
            match call.is_of_parts() && !keys.is_empty() {
                true if keys != key => return None,
                true => {}
                false => keys.extend_from_slice(key),
            }
            arguments.push(call, own);
        }
        let mut wire = Vec::new();
        let words = (&*keys, &arguments);
        encoder.call(&mut wire, (call, requests.len()), words, &peer.met);
        Some(wire)
    }

    /// What the reply to `request` says, and the node's clock, if it tells that.
    #[must_use]
    pub fn vote(&self, request: &Request, reply: &[u8]) -> (Vote, Option<Duration>) {
        let is_set = self.encoder.is_native(Kind::of(request));
        let seen = at_a_glance(reply, is_set).filter(|(.., length)| *length == reply.len());
        match seen {
            Some((vote, time, _)) => (vote, time),
            None => said(frame(reply).as_ref(), is_set),
        }
    }

    /// What the reply to a call of several requests says to each, likewise.
    #[must_use]
    pub fn votes(&self, requests: &[Request], reply: &[u8]) -> Vec<(Vote, Option<Duration>)> {
        if requests.len() == 1 || opens(reply, requests.len()).is_none() {
            let each = requests.iter().map(|request| self.vote(request, reply));
            return each.collect();
        }
        let Some(Frame::List(replies)) = frame(reply) else {
            let nothing = requests.iter().map(|_| said(None, false));
            return nothing.collect();
        };
        let each = replies.iter().map(|reply| said(Some(reply), false));
        each.collect()
    }
}

impl Default for RemoteProcess {
    fn default() -> Self {
        Self::new("", Disk::Ignored)
    }
}

/// What a reply says, and the node's clock, if it tells that.
fn said(reply: Option<&Frame<'_>>, is_set: bool) -> (Vote, Option<Duration>) {
    let read = match is_set {
        true => reply::of_set,
        false => reply::of_script,
    };
    let doubt = |words: &str| Vote::Unknown(Fault::new(FaultKind::Disconnected, words));
    let Some(reply) = reply.and_then(read) else {
        return (doubt("no reply that is known"), None);
    };
    let vote = match reply.verdict {
        Verdict::Vote(vote) => vote,
        Verdict::ScriptMissing => doubt("the script is missing"),
        Verdict::Unclear(words) => doubt(&words),
    };
    (vote, reply.time)
}

/// The one frame that these bytes are.
fn frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let (frame, length) = codec::decode(bytes).ok()??;
    (length == bytes.len()).then_some(frame)
}

/// The scripts that are called by their hash: hash and text.
pub fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let scripts = SCRIPTS.iter().chain(&OTHERS);
    scripts.map(|script| (script.sha1, script.text))
}

/// The scripts that are sent in full, by what they do: name and text.
#[must_use]
pub fn texts() -> Vec<(&'static str, &'static str)> {
    [&admin_client::TEXTS[..], &stamp::TEXTS].concat()
}
