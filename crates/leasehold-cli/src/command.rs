//! The commands, one room each.

pub(crate) mod run;
pub(crate) mod servers;
