//! A visit to a node that may hang, by somebody who has little time.

use super::{AdminClient, unanswered};
use crate::link::redis::RedisUrl;
use std::time::Duration;
use tokio::time::timeout;

impl AdminClient {
    /// As [`visit`](Self::visit), but the node has no more than `limit` for the whole of the greeting, and for each answer.
    pub(crate) async fn visit_briefly(
        url: RedisUrl,
        node_key: String,
        limit: Duration,
    ) -> Result<Self, String> {
        let visit = timeout(limit, Self::visit(url, node_key)).await;
        let visit = visit.unwrap_or_else(|_| Err(unanswered(limit)));
        visit.map(|admin_client| Self {
            limit,
            ..admin_client
        })
    }
}
