//! Requests that leave in one call.

use super::{Both, TTLS};
use leasehold_core::Request;

impl Both {
    /// The request, and others that could leave in the same call.
    pub(super) fn together(&mut self, request: Request) -> Vec<Request> {
        let mut together = vec![request];
        for _ in 0..self.dice.roll(4) {
            let other = self.dice.request(&TTLS);
            let is_new = |known: &Request| known.resource() != other.resource();
            let is_like = std::mem::discriminant(&other) == std::mem::discriminant(&together[0]);
            if is_like && other.place().is_none() && together.iter().all(is_new) {
                together.push(other);
            }
        }
        together
    }
}
