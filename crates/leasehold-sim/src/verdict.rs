//! What the checkers are asked when an engine has said something.

use crate::{
    check::{Holder, leftovers, loss},
    fault::Kind,
    network::Parcel,
    node::Node,
    setting::Guard,
    time::MILLISECOND,
    world::World,
};
use leasehold_core::{
    Event as Told, Instant, Lease, LeaseChange, OperationId, PermitCount, ReleaseOutcome, Request,
    Resource,
};
use std::time::Duration;

impl World {
    /// Checks what the engine says about the end of an operation.
    pub(crate) fn check_end(&mut self, client: usize, operation: OperationId, told: &Told) {
        let now = self.clients[client].time(self.now);
        self.trace.tell(self.now, || {
            format!("c{client}       op {}: {told:?}", operation.number())
        });
        let about = match self.checks.progress.ended(client, operation) {
            Ok(about) => about,
            Err(violation) => return self.note(Err(violation)),
        };
        if matches!(told, Told::Acquired(_)) {
            let in_turn = self.checks.waiting.has_turn(client, operation);
            self.note(in_turn);
        }
        self.checks.waiting.ended(client, operation);
        match told {
            Told::Acquired(lease) => {
                self.checks.progress.acquired(self.now);
                let is_fenced = self.setting.is_fenced && !lease.resource.is_shared();
                let tokens = &mut self.checks.tokens;
                let ordered = tokens.acquired(client, operation, lease, is_fenced);
                self.note(ordered);
                self.check_counters(client, lease);
                let acquired = self.checks.validity.acquired(client, now, operation, lease);
                self.note(acquired);
                self.check_backing(client, operation);
                self.check_order(client, operation, &lease.resource);
            }
            Told::NotAcquired(_) => {
                self.checks.order.forget(client, operation);
                self.checks.tokens.forget(client, operation);
                self.checks.validity.forget(client, operation);
            }
            Told::Extended(valid_until) if about != operation => {
                let stands = self.checks.validity.stands(client, about, *valid_until);
                self.note(stands);
            }
            Told::Released(outcome) => self.check_release(client, about, outcome),
            Told::HandedOver(_) => self.checks.validity.forget(client, about),
            // By owner alone: it is about no lease of this engine's.
            Told::Extended(_) | Told::NotExtended(_) if about == operation => {
                self.check_prolonged(Holder { client, operation }, now, told);
            }
            Told::Extended(_) | Told::NotExtended(_) | Told::Inspected(_) | Told::Changed(_) => {}
        }
    }

    /// Checks that a quorum of servers has counted up to the token of a lease that was just won (argument S4). The next
    /// holder may be long in coming, and most of those who come get a larger token all the same.
    fn check_counters(&mut self, client: usize, lease: &Lease) {
        let forgets = |node: &Node| node.forgot.is_some() || node.is_scripted();
        let Some(token) = lease.token.filter(|_| !self.nodes.iter().any(forgets)) else {
            return;
        };
        let has_counted = |node: &&Node| {
            if lease.resource.permits().is_some() {
                return node.has_counted(self.now, lease, token);
            }
            let mut names = lease.resource.each();
            names.all(|name| node.data.table.counter(&name) >= Some(token))
        };
        let count = self.nodes.iter().filter(has_counted).count();
        let stands = self
            .checks
            .tokens
            .stands(client, lease, count, self.setting.needed());
        self.note(stands);
    }

    /// Checks that whoever has won was the next, where that can be said.
    fn check_order(&mut self, client: usize, operation: OperationId, resource: &Resource) {
        let settled_ns = SETTLED_WAYS * self.setting.links.delay_ns.1;
        let law = (self.setting.waits.most_overtaken, settled_ns);
        let left = self.permits_left(resource);
        let order = &mut self.checks.order;
        if let (Some(most), settled_ns) = law {
            let ordered = order.acquired(
                client,
                operation,
                resource,
                (self.now, left),
                (most, settled_ns),
            );
            self.note(ordered);
        }
    }

    /// How many permits are left on as many nodes as a win takes; of anything else, nothing. With what others have there in vain,
    /// or keep too long, nodes are not of one mind.
    fn permits_left(&self, resource: &Resource) -> usize {
        let of = resource.permits().map_or(0, PermitCount::get).into();
        let taken = |node: &Node| node.keys(self.now, &resource.whole()).len();
        if of == 0 {
            return 0;
        }
        let mut taken: Vec<_> = self.nodes.iter().map(taken).collect();
        taken.sort_unstable();
        let most = taken.get(self.setting.needed() - 1).copied();
        usize::saturating_sub(of, most.unwrap_or(of))
    }

    /// Checks what the engine says about a lease that is held.
    pub(crate) fn check_change(
        &mut self,
        client: usize,
        operation: OperationId,
        change: &LeaseChange,
    ) {
        let now = self.clients[client].time(self.now);
        self.trace.tell(self.now, || {
            format!("c{client}       lease {}: {change:?}", operation.number())
        });
        let holder = Holder { client, operation };
        match change {
            LeaseChange::Confirmed { valid_until } => {
                let validity = &mut self.checks.validity;
                let extended = validity.extended(client, now, operation, *valid_until);
                self.note(extended);
                self.checks.loss.confirmed(holder, *valid_until);
                self.check_backing(client, operation);
            }
            LeaseChange::Cut {
                valid_until,
                node,
                step,
            } => {
                let cut = self.checks.validity.cut(client, operation, *valid_until);
                self.note(cut);
                self.checks.loss.confirmed(holder, *valid_until);
                let stepped =
                    Duration::from_nanos(self.nodes[self.setting.server(node.index())].stepped_ns);
                // Another server is another clock.
                if self.setting.clock_counts_in_suspend && !self.setting.has(Kind::Reroute) {
                    let real = loss::cut(client, *step, stepped);
                    self.note(real);
                }
            }
            LeaseChange::InDanger(danger) => {
                let warned = self.checks.loss.warned(client, now, danger);
                self.note(warned);
            }
            LeaseChange::Lost(loss) => {
                let lease = self.checks.validity.lease(client, operation);
                let carriers = lease.map(|lease| self.carriers(client, lease));
                let valid_until = lease.map(|lease| lease.valid_until);
                // A node that carries the key may be out of reach, and its address lead to another that does not.
                let is_certain = !self.network.law.lawless
                    && !self.setting.resurrects()
                    && !self.setting.has(Kind::Reroute);
                let carriers = carriers.filter(|_| is_certain);
                let lost = self
                    .checks
                    .loss
                    .lost(holder, now, loss, valid_until, carriers);
                self.note(lost);
                self.checks.exclusion.ends(holder);
            }
        }
    }

    /// How many nodes that a client knows carry the key of its lease. One that is down has what it will come back with.
    fn carriers(&self, client: usize, lease: &Lease) -> usize {
        let ours = |server: &usize| {
            let key = self.nodes[*server].key_of(self.now, &lease.resource, &lease.owner);
            key.is_some() && self.is_known_to(client, *server)
        };
        (0..self.nodes.len()).filter(ours).count()
    }

    /// Checks that the node that has just granted the request was free to.
    pub(crate) fn check_guard(&mut self, node: usize, parcel: &Parcel) {
        let request = &parcel.request;
        let (Request::Acquire { ttl, .. }
        | Request::Repair { ttl, .. }
        | Request::Transfer { ttl, .. }
        | Request::Extend { ttl, .. }) = request
        else {
            let guard = &mut self.checks.guard;
            let kept = guard.granted(self.now, node, request, None, self.now);
            return self.note(kept);
        };
        let relied_on_ns = self.setting.relied_on_ns(ttl.as_millis() * MILLISECOND);
        let ends = parcel
            .asked
            .saturating_add(Duration::from_nanos(relied_on_ns));
        let ends = self.clients[parcel.client].clock.when(ends);
        let key = self.nodes[node].key_for(self.now, request);
        let guard = &mut self.checks.guard;
        let granted = guard.granted(self.now, node, request, key.as_ref(), ends);
        // Who has no guard forgets, and makes up for it by larger quorums, or is kept away.
        if matches!(self.setting.guard, Guard::Marker { .. }) {
            self.note(granted);
        }
    }

    fn check_backing(&mut self, client: usize, operation: OperationId) {
        if let Some(lease) = self.checks.validity.lease(client, operation)
            && !self.checks.loss.gone.is_given_up(&lease.owner)
        {
            let clock = &self.clients[client].clock;
            let backed = self
                .checks
                .validity
                .backed(clock, self.now, &self.nodes, lease);
            self.note(backed);
        }
    }

    fn check_release(&mut self, client: usize, acquisition: OperationId, outcome: &ReleaseOutcome) {
        // On a lawless network the first request may land after the release.
        if !self.network.law.lawless
            && !self.setting.has(Kind::Reroute)
            && !self.setting.keeps_keys()
            && !self.setting.resurrects()
            && *outcome == ReleaseOutcome::Released
            && let Some(lease) = self.checks.validity.lease(client, acquisition)
            && !self.haunted.contains(&lease.owner)
        {
            let (resource, owner) = (&lease.resource, &lease.owner);
            // What is told of a release counts answers, and one server may have given two: or one, before the first
            // request of its second address came.
            let twins = self.setting.nodes.saturating_sub(self.setting.servers());
            let needed = self.setting.needed() - twins;
            let known = (0..self.nodes.len()).filter(|server| self.is_known_to(client, *server));
            let known: Vec<_> = known.map(|server| &self.nodes[server]).collect();
            let free = leftovers::after_release(self.now, &known, needed, resource, owner);
            self.note(free);
        }
        self.checks.validity.forget(client, acquisition);
    }

    /// Whoever holds the lease is answered "valid" until then, from now on.
    pub(crate) fn guard_says(&mut self, holder: Holder, lease: &Lease, valid_until: Instant) {
        let (now, clients, client) = (self.now, &self.clients, holder.client);
        let resource = &lease.resource;
        self.trace.tell(now, || {
            let left = valid_until.saturating_since(clients[client].time(now));
            format!("c{client}       HOLDS {resource} for {left:?} by its clock")
        });
        // An operator has taken it away, so that others may have it.
        if self.checks.loss.gone.is_given_up(&lease.owner) {
            return;
        }
        let time = |client: usize| clients[client].time(now);
        let exclusion = &mut self.checks.exclusion;
        let says = exclusion.says(holder, (resource, &lease.owner), valid_until, time);
        let count = exclusion.count(resource, time);
        self.note(says);
        self.note(count);
    }
}

/// After how many of the longest ways a ticket has been heard everywhere, and what was under way before has come to its
/// end.
const SETTLED_WAYS: u64 = 4;
