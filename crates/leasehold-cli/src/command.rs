//! The commands, one room each.

pub(crate) mod acquire;
pub(crate) mod admit;
pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod elect;
pub(crate) mod extend;
pub(crate) mod force_release;
pub(crate) mod hold;
pub(crate) mod list;
pub(crate) mod reconfigure;
pub(crate) mod release;
pub(crate) mod run;
pub(crate) mod servers;
pub(crate) mod status;
pub(crate) mod wait;
pub(crate) mod watch;
pub(crate) mod watchdog;
