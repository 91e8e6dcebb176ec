//! Real `redis-server` and `valkey-server` processes on loopback, for trying and testing.
//!
//! * [`ServerBinary`] finds the program.
//! * [`Server`] is one running process. It ends, and its files go, when the value is dropped.
//! * [`ServerSet`] is several of them, the usual need of a quorum.
//! * [`Fleet`] is several that outlive the process that started them: `leasehold servers start`.
//! * [`require_server`] and [`skip`] are for tests that cannot run everywhere.
//!
//! With the feature `laboratory`, what tests put around them:
//!
//! * `RedisCluster` is several that keep some slots each.
//! * `Sentinel` watches a server and its replicas, and makes one of these the master when that is gone.
//! * `Postgres` and `MariaDb` are databases, for what locks protect.
//! * `Proxy` stands before a server and delays, swallows or cuts what passes.
//! * `Keeper` and `Nutcracker` stand before servers and hide that they restart; `HaProxy` takes turns with them.
//! * `Managed` forbids and hides what managed services forbid and hide.
//! * `ahead_since_boot` runs a program where the clock shows another time.
//!
//! Everything is blocking and made of threads, so that a test of an asynchronous library does not depend
//! on the runtime it tests. None of it is meant for production.

mod binary;
mod certificates;
mod fleet;
#[cfg(feature = "laboratory")]
mod laboratory;
mod launch;
mod leftovers;
mod port;
mod process;
mod resp;
mod scratch;
mod server;
mod server_set;
mod skip;
mod wait;

pub use binary::{FindError, ServerBinary, Version};
pub use certificates::Certificates;
pub use fleet::{Fleet, FleetError, Member};
#[cfg(feature = "laboratory")]
pub use laboratory::*;
pub use launch::StartError;
pub use leftovers::stop_leftovers;
pub use resp::{Connection, Reply};
pub use server::{Server, ServerBuilder};
pub use server_set::ServerSet;
pub use skip::{require_server, skip};
