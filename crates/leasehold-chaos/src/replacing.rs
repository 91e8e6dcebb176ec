//! Strikes that replace a node while clients lock: leases must go on, and nobody may hold beside them (Argument S9).

use crate::{client::SKEW, moment::Moment, nemesis::Nemesis};
use leasehold::{
    LockManager, ReconfigureError,
    operate::{Former, Operator, Outcome, Reconfiguration, Reconfigured},
};
use leasehold_servers::Server;

impl Nemesis<'_> {
    pub(crate) fn replace(&mut self) -> Option<Moment> {
        let is_killed = self.draw.percent(50);
        self.replaced(is_killed, |_| Ok(()))
    }

    /// The operator says that no lease is held.
    pub(crate) fn replace_hastily(&mut self) -> Option<Moment> {
        self.replaced(false, |operator| {
            let admitted = wait(operator.admit()).map_err(|error| error.to_string())?;
            drop(admitted.map_err(|error| error.to_string())?);
            Ok(())
        })
    }

    /// One of the nodes that stay has forgotten everything and waited for as long as it must: leases that were granted
    /// meanwhile are on the others, and on the node that leaves.
    fn forget_one(&self, node: usize) -> bool {
        let _mine = self.site.restart_of(node);
        self.tell(&format!(
            "server {node}: FLUSHALL, and as long as it does not vote then"
        ));
        let flushed = self.site.server(node).command(&["FLUSHALL"]).is_ok();
        let ttl = self.site.scenario.ttl;
        flushed && self.site.bell.rest(ttl + ttl / 50 + SKEW)
    }

    /// The server that is no node becomes a node, and is told more by the operator.
    fn replaced(
        &mut self,
        is_killed: bool,
        tell_more: impl Fn(&Operator) -> Result<(), String>,
    ) -> Option<Moment> {
        let node = self.draw.below(self.nodes());
        let stays = (node + 1 + self.draw.below(self.nodes() - 1)) % self.nodes();
        if !self.forget_one(stays) {
            return None;
        }
        let _mine = self.site.restart_of(node);
        let (former, new) = (self.site.server(node), self.site.spare());
        let how = if is_killed { "killed" } else { "which goes on" };
        let began = self.tell(&format!(
            "server on port {} takes the place of node {node} on port {}, {how}",
            new.port(),
            former.port()
        ));
        let outcome = self.hand_over(node, (former, new), is_killed, tell_more);
        match outcome {
            Ok(was_done) => {
                self.tell(&format!("node {node} was replaced: {was_done}"));
                was_done.then_some(began)
            }
            Err(error) => {
                self.site
                    .chronicle
                    .fail(format!("node {node} is replaced: {error}"));
                None
            }
        }
    }

    /// False if the end came first.
    fn hand_over(
        &self,
        node: usize,
        (former, new): (&Server, &Server),
        is_killed: bool,
        tell_more: impl Fn(&Operator) -> Result<(), String>,
    ) -> Result<bool, String> {
        let told = |error: leasehold_servers::StartError| error.to_string();
        new.restart_empty().map_err(told)?;
        let old: Vec<_> = (0..self.nodes())
            .map(|node| self.site.server(node).url())
            .collect();
        let mut list = old.clone();
        list[node] = new.url();
        if is_killed {
            former.kill().map_err(|error| error.to_string())?;
        }
        let operator = LockManager::builder()
            .nodes(&list)
            .max_ttl(self.site.scenario.ttl)
            .clock_skew(SKEW)
            .operator()
            .map_err(|error| error.to_string())?;
        let is_new = |name: &str| new.url().ends_with(name);
        // Servers that are stopped are told when they go on.
        let is_told = |done: &Reconfiguration| {
            let of_new = |node: &&Reconfigured| is_new(node.node.as_str());
            let told = done.nodes.iter().find(of_new).map(|node| &node.outcome);
            done.goes_on && matches!(told, Some(Outcome::Changed { .. } | Outcome::Already))
        };
        let mut last = String::new();
        loop {
            let done = wait(operator.reconfigure(Former::nodes(&old)));
            let done = done.map_err(|error| error.to_string())?;
            let why = match &done {
                Ok(done) if is_told(done) => break,
                Ok(done) => format!("{done:?}"),
                Err(error) => {
                    if let ReconfigureError::Foreign { node, .. } = error
                        && is_new(node.as_str())
                    {
                        // A client that still had an older list, with this server in it, took it for a new node of that.
                        new.restart_empty().map_err(told)?;
                    }
                    error.to_string()
                }
            };
            if why != last {
                self.tell(&format!("node {node} is not replaced yet: {why}"));
                last = why;
            }
            if !self.site.bell.rest(self.site.scenario.ttl / 4) {
                return Ok(false);
            }
        }
        tell_more(&operator)?;
        self.site.take_spare(node);
        Ok(true)
    }
}

fn wait<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}
