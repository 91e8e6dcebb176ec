//! One leader after the other, for those who look on.

use super::{ElectionState, sight::LeaderSight};
use crate::{handle::Handle, inspection::Inspection};
use leasehold_core::Resource;
use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
#[cfg(feature = "redis")]
use tokio::sync::watch;

/// Who leads, told again with every change; see [`Election::observe`](crate::Election::observe). It ends when it is dropped,
/// and leaves nothing on the nodes.
///
/// As a stream: `futures::stream::unfold(leaders, |mut it| async move { Some((it.next().await?, it)) })`.
#[derive(Debug)]
pub struct Leaders {
    from: Source,
    seen: Option<Inspection>,
}

/// Who looks.
#[derive(Debug)]
enum Source {
    /// The caller, by the links of a manager.
    Manager(ManagerLook),
    /// Somebody else, who tells.
    #[cfg(feature = "redis")]
    Elsewhere(watch::Receiver<LeaderNews>),
}

/// What somebody else has to tell, and what it looked at last.
#[cfg(feature = "redis")]
pub(crate) type LeaderNews = Option<(ElectionState, Inspection)>;

#[derive(Debug)]
struct ManagerLook {
    handle: Handle,
    resource: Resource,
    limit: Duration,
    /// None before the first look.
    sight: Option<LeaderSight>,
}

impl Leaders {
    pub(super) const fn by(handle: Handle, resource: Resource, limit: Duration) -> Self {
        let look = ManagerLook {
            handle,
            resource,
            limit,
            sight: None,
        };
        Self {
            from: Source::Manager(look),
            seen: None,
        }
    }

    /// Of what somebody else looks at.
    #[cfg(feature = "redis")]
    pub(crate) const fn told(seen: watch::Receiver<LeaderNews>) -> Self {
        Self {
            from: Source::Elsewhere(seen),
            seen: None,
        }
    }

    /// Waits until it is known who leads, the first time, and until that has changed after that. A
    /// [state](ElectionState) is old when it is read.
    ///
    /// States come in the order in which they were; one that was over before anybody asked is left out, and so may be a
    /// leader that led for a few milliseconds. [`NoLeader`](ElectionState::NoLeader) between two leaders is told if it was
    /// seen. That too few nodes answer or agree is told after a second of it. An extension is no change:
    /// [`remaining`](super::Leader::remaining) is of the look that brought the news.
    ///
    /// Nodes tell when the keys have changed; those that cannot are looked at once a second, as all are, and when the keys
    /// should have ended. A manager asks all nodes at once for each look, and waits for those that do not answer for their
    /// time limit, half a second at most by default.
    ///
    /// None if the manager was shut down, or its thread has ended: nothing more will be told.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the next call tells what this one would have told.
    pub async fn next(&mut self) -> Option<ElectionState> {
        match &mut self.from {
            Source::Manager(look) => look.next(&mut self.seen).await,
            #[cfg(feature = "redis")]
            Source::Elsewhere(told) => {
                told.changed().await.ok()?;
                let (state, seen) = told.borrow_and_update().clone()?;
                self.seen = Some(seen);
                Some(state)
            }
        }
    }

    /// What each node said at the last look: who did not answer, and who differs. None before the first one.
    #[must_use]
    pub const fn inspection(&self) -> Option<&Inspection> {
        self.seen.as_ref()
    }
}

impl ManagerLook {
    async fn next(&mut self, last: &mut Option<Inspection>) -> Option<ElectionState> {
        let Self {
            handle,
            resource,
            limit,
            sight,
        } = self;
        let clock = handle.clock();
        let sight = sight.get_or_insert_with(|| LeaderSight::begin(clock.now()));
        loop {
            // Before the nodes are asked: what changes while they answer calls as well.
            let called = handle.look_out(resource, clock.now().saturating_add(AGAIN));
            let seen = Inspection::by(handle, resource, *limit).await?;
            let now = clock.now();
            sight.see(&seen, now);
            let ends = seen.remaining();
            *last = Some(seen);
            if let Some(state) = sight.tell(now) {
                return Some(state);
            }
            // A key's end is told late or never.
            let ends = ends.map(|left| now.saturating_add(left.saturating_add(MOMENT)));
            let sooner = ends.into_iter().chain(sight.settles()).min();
            let sooner = sooner.map(|at| handle.look_out(resource, at));
            let what = || format!("a change of who leads {:?}", resource.as_str());
            clock.wait_for(what, first(called, sooner)).await?;
        }
    }
}

/// Whichever is done first.
async fn first<T>(
    mut one: impl Future<Output = T> + Unpin,
    mut other: Option<impl Future<Output = T> + Unpin>,
) -> T {
    let either = |cx: &mut Context<'_>| {
        if let Poll::Ready(done) = Pin::new(&mut one).poll(cx) {
            return Poll::Ready(done);
        }
        match &mut other {
            Some(other) => Pin::new(other).poll(cx),
            None => Poll::Pending,
        }
    };
    poll_fn(either).await
}

/// How long the nodes are left alone that told nothing new.
const AGAIN: Duration = Duration::from_secs(1);

/// Keys end so long after they should have, since clocks are read in milliseconds.
const MOMENT: Duration = Duration::from_millis(1);
