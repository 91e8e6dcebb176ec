//! The command as its users see it: arguments in, output and exit code out.

mod local;
mod loss;
mod operator;
mod servers;
mod support;
mod usage;
