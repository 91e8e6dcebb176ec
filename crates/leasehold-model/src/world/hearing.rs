//! What applications hear, and whether it may be true.

use super::World;
use crate::{
    client::{Attempt, Held, Kind, Open},
    clock,
    flaw::Flaw,
    news::News,
    shape::Shape,
    story::Story,
};
use leasehold_core::{
    AcquireFailure, Cause, Event, ExtendFailure, Instant, Lease, LeaseChange, OperationId, Owner,
    ReleaseOutcome, Send, Tag, table::Key,
};

impl World {
    /// An operation has ended.
    pub(super) fn hear(
        &mut self,
        shape: &Shape,
        client: usize,
        operation: OperationId,
        event: Event,
        story: &mut Story,
    ) {
        story.tell(self.tick, || format!("c{client} is told: {}", told(&event)));
        if let Event::Changed(change) = event {
            return self.changed(shape, client, operation, &change, story);
        }
        let Some(open) = self.clients[client].open().ended(operation) else {
            return self.fail(shape, Flaw::End, story, || {
                format!("c{client}'s operation has ended before")
            });
        };
        match (open.kind, event) {
            (Kind::Acquire, Event::Acquired(lease)) => {
                self.acquired(shape, client, open, lease, story);
            }
            (Kind::Acquire, Event::NotAcquired(failure)) => {
                self.not_acquired(shape, client, &failure, story);
            }
            (Kind::Extend, Event::Extended(until)) => {
                self.extended(shape, client, open, until, story);
            }
            (Kind::Extend, Event::NotExtended(failure)) => match failure {
                ExtendFailure::Unreachable { .. } => self.tidings.add(News::ExtensionFailed),
                ExtendFailure::Lost => self.tidings.add(News::ExtensionLate),
                // Of a valid lease this cannot be true, and of another it is not told.
                ExtendFailure::Gone(_) if self.has_moved(shape, client) => {}
                ExtendFailure::Gone(_) => self.fail(shape, Flaw::Standing, story, || {
                    format!("c{client} is told that the keys of a valid lease are gone")
                }),
                _ => {}
            },
            (Kind::Release, Event::Released(outcome)) => {
                self.released(shape, client, open, &outcome, story);
            }
            (Kind::ReleaseAgain, Event::Released(outcome)) => {
                self.tidings.add(News::ReleasedAgain);
                self.released(shape, client, open, &outcome, story);
            }
            _ => self.fail(shape, Flaw::End, story, || {
                "it ended as no operation of its kind".to_owned()
            }),
        }
    }

    fn acquired(
        &mut self,
        shape: &Shape,
        client: usize,
        open: Open,
        lease: Lease,
        story: &mut Story,
    ) {
        let now = self.client_time();
        if !lease.is_valid(now) {
            self.fail(shape, Flaw::Late, story, || {
                format!("the lease of c{client} was over before")
            });
        }
        let mut all = self.clients.iter().flat_map(|client| client.held.iter());
        if all.any(|held| !held.is_released && !held.is_believed(now)) {
            self.tidings.add(News::Succeeded);
        }
        self.tidings.add(News::Acquired);
        if self.leases > 0 {
            self.tidings.add(News::AcquiredAgain);
        }
        self.leases = self.leases.saturating_add(1).min(2);
        let client = self.clients[client].open();
        for attempt in client
            .attempts
            .iter_mut()
            .filter(|attempt| attempt.owner == lease.owner)
        {
            attempt.is_won = true;
        }
        client.held.push(Held {
            operation: open.operation,
            owner: lease.owner,
            resource: lease.resource,
            valid_until: lease.valid_until,
            is_released: false,
            is_lost: false,
        });
    }

    /// A lease has changed, as its holder is told.
    fn changed(
        &mut self,
        shape: &Shape,
        client: usize,
        lease: OperationId,
        change: &LeaseChange,
        story: &mut Story,
    ) {
        let now = self.client_time();
        let mut held = self.clients[client].held.iter();
        let Some(held) = held.find(|held| held.operation == lease) else {
            return;
        };
        let is_believed = held.is_believed(now);
        match change {
            LeaseChange::Confirmed { valid_until } => {
                self.confirmed(shape, client, lease, *valid_until, story);
            }
            // No clock is ever read in these worlds.
            LeaseChange::InDanger(_) | LeaseChange::Cut { .. } => {}
            // Of a valid lease this cannot be true.
            LeaseChange::Lost(_) if is_believed && !self.has_moved(shape, client) => {
                self.fail(shape, Flaw::Standing, story, || {
                    format!("c{client} is told that a valid lease is lost")
                });
            }
            LeaseChange::Lost(_) => {
                let mut held = self.clients[client].open().held.iter_mut();
                if let Some(held) = held.find(|held| held.operation == lease) {
                    held.is_lost = true;
                }
            }
        }
    }

    fn not_acquired(
        &mut self,
        shape: &Shape,
        client: usize,
        failure: &AcquireFailure,
        story: &mut Story,
    ) {
        match failure.cause {
            Cause::Held(_) => {
                let last = self.clients[client].attempts.last();
                let has_key = last.is_some_and(|last| self.nodes_with(shape, &last.owner) > 0);
                // Or its release was carried out just now.
                if has_key || self.tidings.tell_of(News::TakenBack) {
                    self.tidings.add(News::Split);
                }
            }
            Cause::Unreachable { .. } => self.tidings.add(News::Unreachable),
            Cause::TooLate { .. } => self.tidings.add(News::TooLate),
            Cause::OwnerRepeated => {
                self.fail(shape, Flaw::Owner, story, || {
                    format!("c{client} was to use an owner twice")
                });
            }
            _ => {}
        }
    }

    fn extended(
        &mut self,
        shape: &Shape,
        client: usize,
        open: Open,
        until: Instant,
        story: &mut Story,
    ) {
        self.tidings.add(News::Extended);
        let mut held = self.clients[client].held.iter();
        let held = held.find(|held| held.operation == open.about);
        if held.is_none_or(|held| held.valid_until != until) {
            self.fail(shape, Flaw::Extension, story, || {
                format!("the lease of c{client} ends otherwise")
            });
        }
    }

    fn confirmed(
        &mut self,
        shape: &Shape,
        client: usize,
        lease: OperationId,
        until: Instant,
        story: &mut Story,
    ) {
        let now = self.client_time();
        let mut held = self.clients[client].open().held.iter_mut();
        let held = held.find(|held| held.operation == lease);
        let may_be = match held {
            Some(held) if held.is_believed(now) && until >= held.valid_until => {
                held.valid_until = until;
                true
            }
            Some(_) | None => false,
        };
        if !may_be {
            self.fail(shape, Flaw::Extension, story, || {
                format!("the lease of c{client} was over, or ended later")
            });
        }
    }

    fn released(
        &mut self,
        shape: &Shape,
        client: usize,
        open: Open,
        outcome: &ReleaseOutcome,
        story: &mut Story,
    ) {
        if let ReleaseOutcome::Unknown { .. } = outcome {
            return self.tidings.add(News::ReleaseUnknown);
        }
        self.tidings.add(News::Released);
        let mut held = self.clients[client].held.iter();
        let held = held.find(|held| held.operation == open.about);
        let Some(owner) = held.map(|held| held.owner.clone()) else {
            return;
        };
        let free = shape.servers() - self.nodes_with(shape, &owner);
        if free < shape.needed() {
            self.fail(shape, Flaw::Release, story, || {
                format!("{free} nodes are free of {owner}'s key")
            });
        }
    }

    /// An attempt begins: has its owner been used before?
    pub(super) fn watch_owner(
        &mut self,
        shape: &Shape,
        client: usize,
        send: &Send,
        story: &mut Story,
    ) {
        let owner = send.request.owner().expect("an attempt has an owner");
        let mut all = self
            .clients
            .iter()
            .flat_map(|client| client.attempts.iter());
        if all.any(|other| other.owner == *owner) {
            self.fail(shape, Flaw::Owner, story, || {
                format!("{owner} was used before")
            });
        }
        self.clients[client].open().attempts.push(Attempt {
            id: send.tag.attempt,
            owner: owner.clone(),
            is_won: false,
        });
    }

    /// A grant of an acquire request has been heard: of a lost attempt?
    pub(super) fn watch_straggler(&mut self, client: usize, tag: Tag) {
        let client = &self.clients[client];
        let of_same = |attempt: &&Attempt| attempt.id.operation == tag.attempt.operation;
        let last = client.attempts.iter().rfind(of_same);
        let is_open = client
            .acquiring()
            .any(|operation| operation == tag.attempt.operation);
        let is_lost = last.is_some_and(|last| last.id != tag.attempt || !(is_open || last.is_won));
        // An attempt that wins now is told so a moment later; it is still open.
        if is_lost {
            self.tidings.add(News::Straggler);
        }
    }

    /// A key was released: of a lost attempt?
    pub(super) fn watch_taken_back(&mut self, client: usize, send: &Send) {
        let mut attempts = self.clients[client].attempts.iter();
        if attempts.any(|attempt| attempt.id == send.tag.attempt && !attempt.is_won) {
            self.tidings.add(News::TakenBack);
        }
    }

    /// How many nodes carry a key of this owner.
    fn nodes_with(&self, shape: &Shape, owner: &Owner) -> usize {
        let is_ours = |node: &usize| self.keys(shape, *node).any(|key| key.owner == *owner);
        (0..shape.servers()).filter(is_ours).count()
    }

    /// Looks whether what must hold at every instant does.
    pub(super) fn look(&mut self, shape: &Shape, story: &mut Story) {
        let now = self.client_time();
        let all = self.clients.iter().flat_map(|client| client.held.iter());
        let believed: Vec<Held> = all.filter(|held| held.is_believed(now)).cloned().collect();
        if believed
            .iter()
            .filter(|held| held.resource.is_shared())
            .count()
            > 1
        {
            self.tidings.add(News::ReadTogether);
        }
        let all = believed.iter();
        let have: Vec<_> = all.filter_map(|held| held.resource.permits()).collect();
        if have.len() > 1 {
            self.tidings.add(News::PermitsTogether);
        }
        if believed
            .iter()
            .any(|one| believed.iter().any(|other| one.is_apart(other)))
        {
            self.tidings.add(News::Apart);
        }
        if have.iter().any(|of| have.len() > of.get().into()) {
            self.fail(shape, Flaw::Count, story, || {
                format!("{} permits are valid", have.len())
            });
        }
        let excludes =
            |one: &Held, other: &&Held| other.owner != one.owner && !other.is_beside(one);
        let another = |one| believed.iter().find(|other| excludes(one, other));
        let pair = { believed.iter() }.find_map(|one| Some((one, another(one)?)));
        if let Some((one, another)) = pair {
            self.fail(shape, Flaw::Exclusion, story, || {
                format!(
                    "the leases of {} and {} are both valid",
                    one.owner, another.owner
                )
            });
        }
        for held in believed {
            let standing = (0..shape.servers())
                .filter(|node| self.outlives(shape, *node, &held))
                .count();
            if standing < shape.needed() {
                self.fail(shape, Flaw::Standing, story, || {
                    format!("{standing} keys of {} outlive its lease", held.owner)
                });
            }
        }
    }

    /// Whether the node has a key of this lease, for each of its names, that is there as long as somebody believes in it.
    fn outlives(&self, shape: &Shape, node: usize, held: &Held) -> bool {
        let ends = clock::of_node(clock::true_time(held.valid_until), shape.rate(node));
        let outlives = |key: &Key| key.owner == held.owner && key.expires_at >= ends;
        let mut names = held.resource.each();
        names.all(|name| self.keys_of(shape, node, &name.whole()).any(outlives))
    }

    /// A promise is broken. The first one that is broken, and watched, is the one that counts.
    pub(crate) fn fail(
        &mut self,
        shape: &Shape,
        flaw: Flaw,
        story: &mut Story,
        what: impl FnOnce() -> String,
    ) {
        if self.flaw.is_none() && shape.watches(flaw) {
            story.tell(self.tick, || {
                format!("BROKEN: {}: {}", flaw.property(), what())
            });
            self.flaw = Some(flaw);
        }
    }
}

fn told(event: &Event) -> String {
    match event {
        Event::Acquired(lease) => format!("acquired, valid until {}", until(lease.valid_until)),
        Event::NotAcquired(failure) => {
            let AcquireFailure {
                cause, attempts, ..
            } = &**failure;
            let why = match cause {
                Cause::Held(_) => "held",
                Cause::Unreachable { .. } => "unreachable",
                Cause::TooLate { .. } => "too late",
                Cause::Cancelled => "cancelled",
                _ => "misuse",
            };
            format!("not acquired after {attempts} attempts: {why}")
        }
        Event::Extended(end) => format!("extended, valid until {}", until(*end)),
        Event::NotExtended(failure) => match failure {
            ExtendFailure::Lost => "not extended: over".to_owned(),
            ExtendFailure::Gone(_) => "not extended: the keys are gone".to_owned(),
            ExtendFailure::Released => "not extended: released".to_owned(),
            _ => "not extended: unreachable".to_owned(),
        },
        Event::Released(outcome) => match outcome {
            ReleaseOutcome::Released => "released".to_owned(),
            ReleaseOutcome::AlreadyExpired => "released: it was over".to_owned(),
            ReleaseOutcome::TakenByAnother { holder } => format!("released: it is {holder}'s"),
            _ => "released: unknown".to_owned(),
        },
        Event::HandedOver(_) => "handed over".to_owned(),
        Event::Inspected(_) => "inspected".to_owned(),
        Event::Changed(change) => match change {
            LeaseChange::Confirmed { valid_until } => {
                format!("confirmed until {}", until(*valid_until))
            }
            LeaseChange::InDanger(_) => "in danger".to_owned(),
            LeaseChange::Cut { .. } => "cut".to_owned(),
            LeaseChange::Lost(_) => "lost".to_owned(),
        },
    }
}

fn until(instant: Instant) -> String {
    format!("{} ms", clock::true_time(instant).as_millis())
}
