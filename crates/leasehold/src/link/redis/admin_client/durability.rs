//! Whether a node's disk keeps every vote.

use super::{AdminClient, NOT_WHOLE};
use crate::link::redis::{
    codec::Frame,
    greeting::{self, NodeInfo},
};
use leasehold_core::{Abstention, AbstentionCause};
use std::time::Duration;

impl AdminClient {
    /// Whether the node's settings make it write every change to its disk before it answers.
    pub(super) async fn is_durable(&mut self) -> Result<bool, String> {
        if self.is_proxied {
            return Err(greeting::durability_not_told(
                "the proxy before it hangs up at CONFIG",
            ));
        }
        let read = |frame: &Frame<'_>| greeting::is_durable(frame).ok();
        let told = self.ask(&greeting::DURABILITY, read).await;
        told.map_err(|why| greeting::durability_not_told(&why))
    }
}

/// Why a node whose disk is trusted does not vote for want of its log, as `guard.lua` will find at the next vote. `logged` is
/// what it found at the last.
pub(super) fn lost_log(node: &NodeInfo, is_durable: bool, logged: Option<&str>) -> Option<String> {
    let is_kept = is_durable && node.says("aof_enabled") == Some("1");
    let is_over = |name| node.says(name) == Some("0");
    let is_whole = is_over("aof_rewrite_in_progress") && is_over("aof_rewrite_scheduled");
    if !is_kept {
        let (cause, left) = (AbstentionCause::NotDurable, Duration::ZERO);
        return Some(Abstention { cause, left }.to_string());
    }
    let was_whole = logged == Some("1");
    (!is_whole && !was_whole).then(|| NOT_WHOLE.to_owned())
}
