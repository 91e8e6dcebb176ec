//! One database number for all servers of a list.

use crate::{error::ConfigError, link::redis::RedisUrl};

/// Whether all of these are databases of one number. A Redis Cluster is used as database 0.
///
/// Argument S1: a client that has another database of one server shares that node with nobody, so its quorums and those of
/// others need not meet. If all have one number, those who have another one share none of these nodes.
pub(crate) fn check_databases<'a>(
    mut urls: impl Iterator<Item = &'a RedisUrl>,
) -> Result<(), ConfigError> {
    let Some(first) = urls.next() else {
        return Ok(());
    };
    match urls.find(|url| url.database() != first.database()) {
        None => Ok(()),
        Some(url) => Err(ConfigError::Databases {
            node: url.name(),
            database: url.database(),
            other: first.name(),
            of_other: first.database(),
        }),
    }
}
