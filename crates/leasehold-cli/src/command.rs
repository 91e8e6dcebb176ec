//! The commands, one room each.

pub(crate) mod acquire;
pub(crate) mod admit;
pub(crate) mod elect;
pub(crate) mod extend;
pub(crate) mod hold;
pub(crate) mod reconfigure;
pub(crate) mod release;
pub(crate) mod run;
pub(crate) mod servers;
pub(crate) mod warden;
