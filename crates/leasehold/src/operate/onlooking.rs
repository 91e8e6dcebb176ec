//! Who leads, of what a watcher sees.

use super::Watcher;
use crate::{
    clock::Clock,
    election::{LeaderNews, LeaderSight},
};
use std::time::Duration;
use tokio::{sync::watch, time::timeout};

/// Tells every change, for as long as anybody is told.
pub(super) async fn tell(mut watcher: Watcher, told: watch::Sender<LeaderNews>) {
    let clock = Clock::system();
    let mut sight = LeaderSight::begin(clock.now());
    while !told.is_closed() {
        let now = clock.now();
        if let Some(state) = sight.tell(now) {
            told.send_replace(Some((state, watcher.seen())));
        }
        let settles = sight.settles().map(|at| at.saturating_since(now));
        let rest = settles.map_or(LOOK, |left| left.min(LOOK));
        match timeout(rest.max(SHORTEST), watcher.next()).await {
            Ok(Some(seen)) => sight.see(&seen, clock.now()),
            Ok(None) => return,
            Err(_) => {}
        }
    }
}

/// How long it may take until it is noticed that nobody is told any more.
const LOOK: Duration = Duration::from_secs(1);

/// A timer that is early is not set again at once.
const SHORTEST: Duration = Duration::from_millis(1);
