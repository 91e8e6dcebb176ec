//! A model of a Redis server in virtual time, on which the scripts of leasehold run.
//!
//! Tests against real servers prove that the scripts run. They cannot try ten thousand orders of restarts, steps of
//! clocks and lost replies, because real servers take real time. So this crate has the part of a server that the scripts
//! touch: strings and sorted sets with a TTL, hashes, `TIME`, `INFO`, what is replicated and what is not, and the errors as a server
//! words them. It reads and writes the bytes of the Redis protocol, and runs scripts by Lua 5.1, the version that servers
//! embed, in the same sandbox: `string`, `table` and `math`, no globals of their own.
//!
//! The caller says what time it is with each command; nothing here reads a clock or throws dice. Who loses data, restarts
//! or promotes a replica does so by the fields of [`Server`] and by replacing its [`Data`].
//!
//! What a server does and this model does not is answered with an error that begins with `MODEL`. That the model is
//! right about the rest is tested against real servers by `leasehold/tests/suite/differential.rs`.

mod commands;
mod data;
mod interpreter;
mod protocol;
mod server;

pub use data::Data;
pub use interpreter::Interpreter;
pub use protocol::Reply;
pub use server::{Server, Time};
