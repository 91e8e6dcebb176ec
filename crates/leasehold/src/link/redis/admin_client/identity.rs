//! Whom a visit leads to.

use super::{AdminClient, clean, text_of};
use crate::link::redis::greeting::NodeInfo;

impl AdminClient {
    /// Whether a proxy stands before the node that hangs up at most commands.
    pub(crate) const fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    /// Which process this connection leads to, if that is told.
    pub(crate) async fn run_id(&mut self) -> Option<String> {
        let told = self.call(INFO, &["server"], text_of).await.ok()?;
        let told = NodeInfo::of(told);
        let run_id = told.says("run_id").filter(|run_id| !run_id.is_empty());
        run_id.map(|run_id| clean(run_id.to_owned()))
    }
}

/// What the node says of itself in the sections that are named, or in all that are usual.
pub(super) const INFO: &str = "#!lua flags=no-writes\nreturn redis.call('INFO', unpack(ARGV))";
