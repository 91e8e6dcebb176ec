//! One database number for all servers of a list.

use crate::{error::ConfigError, link::redis::RedisUrl};

/// Whether all of these are databases of one number. A Redis Cluster has no numbers.
///
/// Argument S1: a client that has another database of one server shares that node with nobody, so its quorums and those of
/// others need not meet. If all have one number, those who have another one share nothing at all.
pub(crate) fn check_databases<'a>(
    urls: impl Iterator<Item = &'a RedisUrl>,
) -> Result<(), ConfigError> {
    let mut servers = urls.filter(|url| !url.is_cluster());
    let Some(first) = servers.next() else {
        return Ok(());
    };
    match servers.find(|url| url.database() != first.database()) {
        None => Ok(()),
        Some(url) => Err(ConfigError::Databases {
            node: url.name(),
            database: url.database(),
            other: first.name(),
            of_other: first.database(),
        }),
    }
}
