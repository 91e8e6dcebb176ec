//! The library as its users meet it: one program, so that it is linked once.

mod attestation;
mod blocking;
mod callers;
mod critical_sections;
mod examine;
mod fair;
mod faults_redis;
mod hints;
mod key_format;
mod lease;
mod link_impostor;
mod link_redis;
mod manager;
mod native;
mod observe;
mod on_runtime;
mod operate;
mod oracle;
mod restart_guard;
mod sentinel;
mod spans;
mod stopped;
mod support;
mod testing;
mod timestamp;
mod tokens;
