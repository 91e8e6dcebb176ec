//! What is asked of a server of a cluster that keeps the key already, though the slot is not its own yet.

use super::{
    Aside, Backlog,
    pending::{Due, PendingRequest},
};
use crate::link::redis::{
    codec,
    kind::Kind,
    look,
    scripts::{Encoder, ServerInfo},
};
use leasehold_core::{Instant, Request, Tag};

impl Backlog {
    /// Puts a request behind all others, as `encode` writes it in one command, and before it the word that a server of a
    /// cluster wants for a slot that it is about to get: it counts for one command. Nothing must be gathered.
    pub(in super::super) fn push_asking(
        &mut self,
        tag: Tag,
        kind: Kind,
        given: Instant,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        self.say_asking();
        self.push(tag, kind, given, encode);
        if let Some(Due::Request(last)) = self.asked.back_mut() {
            last.is_asking = true;
        }
    }

    /// Puts a request behind all others that is given again in full, as `encode` writes it.
    pub(super) fn push_again(
        &mut self,
        waiting: &PendingRequest,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let (tag, kind, given) = (waiting.tag, waiting.kind, waiting.given);
        match waiting.is_asking {
            true => self.push_asking(tag, kind, given, encode),
            false => self.push(tag, kind, given, encode),
        }
    }

    /// The same as [`gather`](Self::gather), of words that leave alone and at once, with the word before them.
    pub(in super::super) fn ask(
        &mut self,
        (tag, kind, given): (Tag, Kind, Instant),
        (encoder, met): (&Encoder, &ServerInfo),
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        self.say_gathered(encoder, met);
        self.push_asking(tag, kind, given, encode);
    }

    /// Asks whose the key is that a `SET … NX` has found, and for the next change to it if `watches`. Tells the vote only
    /// then.
    pub(in super::super) fn ask_whose(
        &mut self,
        waiting: &PendingRequest,
        request: Request,
        watches: bool,
        encoder: &Encoder,
    ) {
        let key = encoder.key(request.resource()).into_owned();
        if waiting.is_asking {
            // It takes the place of the word by which the next change is asked for: that too counts for one command.
            self.say_asking();
        } else if watches {
            self.watch();
        }
        self.place(Aside::Found(waiting.tag, Box::new(request)));
        look::encode(&mut self.bytes, key.as_bytes());
    }

    fn say_asking(&mut self) {
        self.place(Aside::Asking);
        codec::encode(&mut self.bytes, &[b"ASKING"]);
    }
}
