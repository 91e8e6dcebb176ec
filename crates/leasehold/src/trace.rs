//! The spans in which one waits for a lock and holds it. Without the feature `tracing` they are nothing.

pub(crate) use spans::{Hold, acquiring};

#[cfg(feature = "tracing")]
mod spans {
    use crate::{cell::Cell, state::LeaseState};
    use leasehold_core::{Lease, Resource};
    use std::{panic::AssertUnwindSafe, sync::Arc};
    use tracing::{Instrument, Span, field, info_span, instrument::Instrumented};

    /// Waits within the span `acquire`.
    pub(crate) fn acquiring<W: Future>(resource: &Resource, wait: W) -> Instrumented<W> {
        wait.instrument(info_span!(target: "leasehold", "acquire", %resource))
    }

    /// The span `hold`, from when a guard is handed out to its end.
    #[derive(Debug)]
    pub(crate) struct Hold {
        span: AssertUnwindSafe<Span>,
        cell: Arc<Cell>,
    }

    impl Hold {
        pub(crate) fn begin(lease: &Lease, cell: &Arc<Cell>) -> Self {
            let (resource, owner) = (&lease.resource, &lease.owner);
            let token = lease.token.map(leasehold_core::FencingToken::get);
            let lost = field::Empty;
            let span = info_span!(target: "leasehold", "hold", %resource, %owner, token, lost);
            Self {
                span: AssertUnwindSafe(span),
                cell: Arc::clone(cell),
            }
        }

        /// Does something within the span.
        pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
            self.span.in_scope(work)
        }
    }

    impl Drop for Hold {
        fn drop(&mut self) {
            if self.span.is_disabled() {
                return;
            }
            if let LeaseState::Lost(lost) = self.cell.state() {
                self.span.record("lost", field::display(lost.cause));
            }
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod spans {
    use crate::cell::Cell;
    use leasehold_core::{Lease, Resource};
    use std::sync::Arc;

    pub(crate) const fn acquiring<W: Future>(_: &Resource, wait: W) -> W {
        wait
    }

    #[derive(Debug)]
    pub(crate) struct Hold(());

    impl Hold {
        pub(crate) const fn begin(_: &Lease, _: &Arc<Cell>) -> Self {
            Self(())
        }

        pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
            let Self(()) = self;
            work()
        }
    }
}
