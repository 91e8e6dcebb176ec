//! Distributed locks on Redis and Valkey.

pub mod clock;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod link;
