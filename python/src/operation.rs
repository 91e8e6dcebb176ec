//! Something that may take time: waited for by a thread, or by a task of asyncio.

use crate::{error::Raise, process::Own};
use pyo3::{
    exceptions::{PyAssertionError, PyRuntimeError},
    prelude::*,
};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

/// What came of it, made into an object of Python by whoever holds the GIL.
pub(crate) type Told = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// The work, which any thread may poll.
pub(crate) type Work = Pin<Box<dyn Future<Output = Told> + Send>>;

/// How often a thread that waits looks whether Python was interrupted.
const SIGNALS: Duration = Duration::from_millis(100);

/// Something that has not begun. Dropping it gives it up.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct Operation(Mutex<Option<Own<Work>>>);

impl Operation {
    pub(crate) fn new(work: impl Future<Output = Told> + Send + 'static) -> Self {
        Self(Mutex::new(Some(Own::new(Box::pin(work)))))
    }

    /// The work, for the only one who may have it.
    pub(crate) fn take(&self) -> PyResult<Work> {
        let own = lock(&self.0).take().and_then(Own::into_inner);
        own.ok_or_else(|| {
            PyRuntimeError::new_err("an operation is waited for once, in the process that began it")
        })
    }
}

/// Work whose result is an object, or an error that is raised.
pub(crate) fn operation<T, E, C>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
    convert: C,
) -> Operation
where
    T: Send + 'static,
    E: Raise + Send + 'static,
    C: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
{
    Operation::new(async move {
        let outcome = work.await;
        let told: Told = Box::new(move |py| match outcome {
            Ok(value) => convert(py, value),
            Err(error) => Err(error.raise(py)),
        });
        told
    })
}

/// Work that cannot fail.
pub(crate) fn sure<T, C>(work: impl Future<Output = T> + Send + 'static, convert: C) -> Operation
where
    T: Send + 'static,
    C: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
{
    Operation::new(async move {
        let value = work.await;
        let told: Told = Box::new(move |py| convert(py, value));
        told
    })
}

#[pymethods]
impl Operation {
    /// Waits without the GIL, and looks for signals meanwhile. None if it is not over after `timeout` seconds; then it is
    /// given up, as it is when a signal raises.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let mut work = self.take()?;
        let signal = Arc::new(Signal::default());
        let waker = Waker::from(Arc::clone(&signal));
        let mut cx = Context::from_waker(&waker);
        let until = timeout.map(|seconds| after(seconds.max(0.0)));
        loop {
            if let Poll::Ready(told) = poll(&mut work, &mut cx) {
                return told(py);
            }
            while !py.detach(|| signal.wait(until)) {
                py.check_signals()?;
                if until.is_some_and(|until| until.is_none_or(|until| until <= now())) {
                    return Ok(py.None());
                }
            }
        }
    }
}

/// Polls once. A panic, which is a bug or a test that waits for what nobody lets come, is told as an `AssertionError`.
pub(crate) fn poll(work: &mut Work, cx: &mut Context<'_>) -> Poll<Told> {
    let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
    polled.unwrap_or_else(|panic| {
        let sentence = sentence(&*panic);
        Poll::Ready(Box::new(move |_| Err(PyAssertionError::new_err(sentence))))
    })
}

/// What a panic said.
fn sentence(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

/// None if the clock does not reach so far: then for ever would be as good, but nobody waits that long.
fn after(seconds: f64) -> Option<Instant> {
    let far = Duration::from_secs(60 * 60 * 24 * 365);
    let span = Duration::try_from_secs_f64(seconds).unwrap_or(far);
    now().checked_add(span.min(far))
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a thread of Python waits is no lease: what counts there is the manager's clock"
)]
fn now() -> Instant {
    Instant::now()
}

/// Whether the work wants to be polled again.
#[derive(Debug, Default)]
struct Signal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Waits for the signal and takes it; false if it is time to look for signals of Python.
    fn wait(&self, until: Option<Option<Instant>>) -> bool {
        let left = until
            .flatten()
            .map(|until| until.saturating_duration_since(now()));
        let limit = left.map_or(SIGNALS, |left| left.min(SIGNALS));
        let mut is_set = lock(&self.is_set);
        if !*is_set {
            let waited = self.changed.wait_timeout(is_set, limit);
            is_set = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut *is_set)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *lock(&self.is_set) = true;
        self.changed.notify_one();
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
