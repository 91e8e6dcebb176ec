//! The command as its users see it: arguments in, output and exit code out.

mod bad_config;
mod documents;
mod local;
mod loss;
mod operator;
mod servers;
mod support;
mod usage;
mod views;
