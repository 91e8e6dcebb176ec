//! Fenced writes on what they are for: databases, servers, and programs that are the resource themselves.

mod contest;
mod postgres;
mod program;
mod redis;
mod sqlite;
