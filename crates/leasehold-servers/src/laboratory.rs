//! What tests put around servers: databases, proxies, sentinels and clusters.

mod database;
mod gate;
mod haproxy;
mod keeper;
mod kept_port;
mod managed;
mod mariadb;
mod message;
mod nutcracker;
mod postgres;
mod proxy;
mod redis_cluster;
mod sentinel;
mod time_namespace;

pub use database::DatabaseError;
pub use haproxy::{HaProxy, HaProxyBuilder};
pub use keeper::Keeper;
pub use managed::{Managed, ManagedBuilder};
pub use mariadb::MariaDb;
pub use nutcracker::Nutcracker;
pub use postgres::Postgres;
pub use proxy::{Mode, Proxy};
pub use redis_cluster::RedisCluster;
pub use sentinel::{Sentinel, SentinelBuilder};
pub use time_namespace::ahead_since_boot;
