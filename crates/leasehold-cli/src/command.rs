//! The commands, one room each.

pub(crate) mod admit;
pub(crate) mod reconfigure;
pub(crate) mod run;
pub(crate) mod servers;
