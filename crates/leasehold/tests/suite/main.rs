//! The library as its users meet it: one program, so that it is linked once.

mod callers;
mod critical_sections;
mod examine;
mod faults_redis;
mod hints;
mod key_format;
mod lease;
mod link_redis;
mod manager;
mod native;
mod operate;
mod oracle;
mod restart_guard;
mod sentinel;
mod stopped;
mod support;
mod timestamp;
mod tokens;
