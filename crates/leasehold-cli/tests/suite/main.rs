//! The command as its users see it: arguments in, output and exit code out.

mod local;
mod loss;
mod servers;
mod support;
mod usage;
