//! Fenced writes on what they are for: databases, servers, and programs that are the resource themselves.

mod contest;
mod mariadb;
mod page;
mod postgres;
mod program;
mod redis;
mod sqlite;
mod story;
