//! Distributed locks on Redis and Valkey.

pub mod clock;
pub mod link;
