//! Whom a visit leads to.

use super::{AdminClient, clean, text_of};
use crate::link::redis::greeting::NodeInfo;

impl AdminClient {
    /// Whether a proxy stands before the node that hangs up at most commands.
    pub(crate) const fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    /// Argument S9: what is changed here is changed on the server of this key, and a proxy may keep locks on others, which
    /// would go on voting as before.
    pub(super) fn is_alone(&self) -> Result<(), String> {
        match self.is_proxied {
            true => Err(MAY_BE_SEVERAL.to_owned()),
            false => Ok(()),
        }
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

const MAY_BE_SEVERAL: &str = "is behind a proxy that may spread its keys over servers, of which one would be changed; give each server by its own address";
