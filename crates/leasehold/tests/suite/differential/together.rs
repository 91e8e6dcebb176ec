//! Requests, alone or in one call.

use super::{Both, TTLS};
use crate::support::dice::OF_OUR_TIME;
use leasehold::link::redis::wire::RemoteProcess;
use leasehold_core::Request;

impl Both {
    /// One request, or several that leave together, in the bytes of a link.
    pub(super) fn request(&mut self) -> Vec<u8> {
        let request = self.dice.request(&TTLS, OF_OUR_TIME);
        // Plain locks have no shares: their queue would be a key that is not compared.
        let link = match request.resource().is_part() {
            true => self.link().min(2),
            false => self.link(),
        };
        let id = format!("{}/{}", self.model.run_id, self.model.replid);
        let met = [id.as_str(), &id, &id, &id, "12ab/34cd", ""];
        let met = self.dice.pick(&met);
        let disk = self.disk(link);
        let peer = RemoteProcess::new(met, disk);
        let together = self.together(request);
        let (_, wire) = &self.links[link];
        match wire.call(&together, &peer) {
            Some(call) => call,
            None => wire.request(&together[0], &peer),
        }
    }

    /// The request, and others that could leave in the same call.
    fn together(&mut self, request: Request) -> Vec<Request> {
        let mut together = vec![request];
        for _ in 0..self.dice.roll(4) {
            let other = self.dice.request(&TTLS, OF_OUR_TIME);
            let is_new = |known: &Request| known.resource() != other.resource();
            let is_like = std::mem::discriminant(&other) == std::mem::discriminant(&together[0]);
            if is_like && other.place().is_none() && together.iter().all(is_new) {
                together.push(other);
            }
        }
        together
    }
}
