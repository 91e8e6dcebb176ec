//! The command as its users see it: arguments in, output and exit code out.

mod bad_config;
mod bad_input;
mod copies;
mod deployments;
mod descriptors;
mod doctor;
mod documents;
mod elect;
mod fair;
mod far;
mod fenced_in;
mod file_store;
mod flags;
mod foreign;
mod forgotten;
mod help;
mod local;
mod loss;
mod once;
mod operator;
mod output;
mod permits;
mod plain;
mod process;
mod scripts;
mod sentinels;
mod servers;
mod several;
mod shared;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod trust;
mod usable;
mod usage;
mod views;
