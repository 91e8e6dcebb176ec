//! What can go wrong, by what the caller can do about it.

mod acquire;
mod config;
mod extend;
mod fault;
mod span;

pub use acquire::{AcquireError, Held, Unreachable};
pub use config::ConfigError;
pub use extend::ExtendError;
pub use fault::NodeFault;

pub(crate) use fault::{Faults, name_faults};
pub(crate) use span::Span;
