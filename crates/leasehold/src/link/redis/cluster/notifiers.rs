//! Which of several links wants to be polled: each is woken by a notifier of its own.
//!
//! Whoever polls a cluster polls it for each thing that happens to any node, and one of its servers has something to tell.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Wake, Waker},
};

/// Who polls all links, and is woken by each.
#[derive(Debug, Default)]
pub(super) struct LinkPoller {
    last: Option<Waker>,
    shared: Arc<Mutex<Option<Waker>>>,
}

impl LinkPoller {
    /// Whoever polls with this is woken from now on.
    pub(super) fn polls(&mut self, cx: &Context<'_>) {
        if !self
            .last
            .as_ref()
            .is_some_and(|it| it.will_wake(cx.waker()))
        {
            self.last = Some(cx.waker().clone());
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.clone_from(&self.last);
        }
    }

    /// The notifier of a link that has never been polled.
    pub(super) fn notifier(&self) -> LinkNotifier {
        let state = Arc::new(NotifierState {
            is_notified: AtomicBool::new(true),
            poller: Arc::clone(&self.shared),
        });
        LinkNotifier {
            waker: Waker::from(Arc::clone(&state)),
            state,
        }
    }
}

/// Remembers that a link is to be polled.
#[derive(Debug)]
pub(super) struct LinkNotifier {
    state: Arc<NotifierState>,
    waker: Waker,
}

impl LinkNotifier {
    /// The link is to be polled at the next look, which comes anyway.
    pub(super) fn notify(&self) {
        self.state.is_notified.store(true, Ordering::Release);
    }

    /// Whether the link is to be polled; not again, unless it is notified again.
    pub(super) fn take(&self) -> bool {
        let is_notified = &self.state.is_notified;
        is_notified.load(Ordering::Acquire) && is_notified.swap(false, Ordering::AcqRel)
    }

    /// What the link is polled with.
    pub(super) fn context(&self) -> Context<'_> {
        Context::from_waker(&self.waker)
    }
}

#[derive(Debug)]
struct NotifierState {
    is_notified: AtomicBool,
    poller: Arc<Mutex<Option<Waker>>>,
}

impl Wake for NotifierState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Where it was notified already, the poller was woken, or is about to look.
    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_notified.swap(true, Ordering::AcqRel) {
            let poller = self.poller.lock().unwrap_or_else(PoisonError::into_inner);
            let poller = poller.clone();
            if let Some(poller) = poller {
                poller.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    #[test]
    fn the_last_who_polled_is_woken_once_until_it_has_looked() {
        let mut poller = LinkPoller::default();
        let (one, other) = (poller.notifier(), poller.notifier());
        assert!(one.take() && !one.take(), "it has never been polled");
        let [first, second] = [(); 2].map(|()| Arc::<Count>::default());
        for count in [&first, &second] {
            let waker = Waker::from(Arc::clone(count));
            poller.polls(&Context::from_waker(&waker));
        }
        let told = || [&first, &second].map(|count| count.0.load(Ordering::Acquire));
        other.context().waker().wake_by_ref();
        assert_eq!(told(), [0, 0], "it had not been polled yet");
        assert!(other.take());
        for _ in 0..2 {
            other.context().waker().wake_by_ref();
        }
        assert_eq!(told(), [0, 1]);
        assert!(other.take() && !other.take() && !one.take());
        one.notify();
        assert_eq!(told(), [0, 1]);
        assert!(one.take());
    }
}
