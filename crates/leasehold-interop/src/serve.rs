//! Shims that are part of this program: the other end of the protocol.

use crate::protocol::{Answer, Request};
use std::{io, time::Duration};

/// A library as the protocol sees it. A lock that it has is kept inside.
pub(crate) trait Library {
    fn open(&mut self, urls: &[String]) -> Answer;
    fn lock(&mut self, key: &str, ttl: Duration, tries: u32) -> Answer;
    fn unlock(&mut self) -> Answer;
    fn extend(&mut self, ttl: Duration) -> Answer;

    /// What few can do: everything else.
    fn further(&mut self, request: &Request) -> Answer {
        Answer::Failed(format!("`{request}` is not to be had"))
    }
}

/// Answers requests until there are no more.
pub(crate) fn serve(library: &mut dyn Library) {
    for line in io::stdin().lines().map_while(Result::ok) {
        let answer = match Request::parse(&line) {
            Err(wrong) => Answer::Failed(wrong),
            Ok(Request::Quit) => return,
            Ok(Request::Open { urls }) => library.open(&urls),
            Ok(Request::Lock { key, ttl, tries }) => library.lock(&key, ttl, tries),
            Ok(Request::Unlock) => library.unlock(),
            Ok(Request::Extend { ttl }) => library.extend(ttl),
            Ok(further) => library.further(&further),
        };
        println!("{answer}");
    }
}
