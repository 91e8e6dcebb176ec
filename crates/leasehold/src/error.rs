//! What can go wrong, by what the caller can do about it.

mod acquire;
mod adopt;
mod any;
mod config;
mod downgrade;
mod extend;
mod fault;
mod inspect;
mod lost;
mod not_kept;
#[cfg(feature = "redis")]
mod reconfigure;
#[cfg(feature = "config")]
mod settings;
mod span;

pub use acquire::{Abstained, AcquireError, Held, Unreachable};
pub use adopt::AdoptError;
pub use any::Error;
pub use config::ConfigError;
pub use downgrade::DowngradeError;
pub use extend::ExtendError;
pub use fault::NodeFault;
pub use inspect::InspectError;
pub use lost::{Danger, LeaseLost, LossCause, Trouble};
pub use not_kept::NotKept;
#[cfg(feature = "redis")]
pub use reconfigure::{NodeList, ReconfigureError};

#[cfg(feature = "config")]
pub use settings::SettingsError;

pub(crate) use fault::{Faults, Gone, Names, Nodes, name_faults};
pub(crate) use span::Span;
