//! Futures of Rust on an event loop of asyncio.
//!
//! The loop's own thread polls them. What wakes one notes it and writes a byte into a socket that the loop watches: a thread
//! of Rust never waits for the GIL, there is no thread per task, and however many are woken before the loop comes round,
//! there is one byte.

use crate::{
    operation::{Operation, Work, lock, poll},
    process::Own,
};
use pyo3::{exceptions::PyOSError, prelude::*};
use std::{
    collections::HashMap,
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// The futures of one event loop.
#[pyclass(frozen, module = "leasehold._native")]
pub(crate) struct Bridge(Own<Mutex<Tasks>>);

struct Tasks {
    bell: Arc<Bell>,
    heard: UnixStream,
    next: u64,
    waiting: HashMap<u64, Task>,
}

struct Task {
    work: Work,
    mark: Arc<Mark>,
    /// Called with what came of it and with the error, one of which is None.
    tell: Py<PyAny>,
}

/// What wakes the loop.
struct Bell {
    woken: Mutex<Vec<u64>>,
    has_rung: AtomicBool,
    rope: UnixStream,
}

/// What wakes one task.
struct Mark {
    task: u64,
    is_noted: AtomicBool,
    bell: Arc<Bell>,
}

impl Wake for Mark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_noted.swap(true, Ordering::AcqRel) {
            return;
        }
        lock(&self.bell.woken).push(self.task);
        if !self.bell.has_rung.swap(true, Ordering::AcqRel) {
            // A socket that is full has bytes that wake the loop.
            let _ = (&self.bell.rope).write(&[1]);
        }
    }
}

impl Tasks {
    fn new() -> io::Result<Self> {
        let (rope, heard) = UnixStream::pair()?;
        rope.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        let bell = Bell {
            woken: Mutex::default(),
            has_rung: AtomicBool::new(false),
            rope,
        };
        Ok(Self {
            bell: Arc::new(bell),
            heard,
            next: 1,
            waiting: HashMap::new(),
        })
    }

    /// Those that were woken since the last time.
    fn woken(&mut self) -> Vec<u64> {
        let mut bytes = [0; 64];
        while matches!((&self.heard).read(&mut bytes), Ok(64)) {}
        // Before the list is taken: who comes later rings again.
        self.bell.has_rung.store(false, Ordering::Release);
        std::mem::take(&mut lock(&self.bell.woken))
    }
}

#[pymethods]
impl Bridge {
    #[new]
    fn new() -> PyResult<Self> {
        let tasks = Tasks::new().map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Self(Own::new(Mutex::new(tasks))))
    }

    /// Whether it is this process's, and not that of which this one is a fork.
    fn is_ours(&self) -> bool {
        self.0.is_ours()
    }

    /// What the loop watches for reading, to call `drain`.
    fn fileno(&self) -> PyResult<i32> {
        Ok(lock(self.tasks()?).heard.as_raw_fd())
    }

    /// Begins an operation. What is over at once is told by the return value: `(None, result)`; otherwise it is `(number,
    /// None)`, and `tell(result, error)` is called later by the loop's thread.
    fn start(
        &self,
        py: Python<'_>,
        operation: &Operation,
        tell: Py<PyAny>,
    ) -> PyResult<(Option<u64>, Option<Py<PyAny>>)> {
        let mut work = operation.take()?;
        let (number, bell) = {
            let mut tasks = lock(self.tasks()?);
            let number = tasks.next;
            tasks.next += 1;
            (number, Arc::clone(&tasks.bell))
        };
        let mark = Arc::new(Mark {
            task: number,
            is_noted: AtomicBool::new(false),
            bell,
        });
        let waker = Waker::from(Arc::clone(&mark));
        if let Poll::Ready(told) = poll(&mut work, &mut Context::from_waker(&waker)) {
            return Ok((None, Some(told(py)?)));
        }
        let task = Task { work, mark, tell };
        lock(self.tasks()?).waiting.insert(number, task);
        Ok((Some(number), None))
    }

    /// Gives an operation up. What is over already is left alone.
    fn cancel(&self, number: u64) {
        if let Some(tasks) = self.0.get() {
            let task = lock(tasks).waiting.remove(&number);
            drop(task);
        }
    }

    /// Polls what was woken, and tells what is over.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        let woken = lock(self.tasks()?).woken();
        for number in woken {
            // It is out of the map while it is polled: what it calls may begin or cancel others.
            let Some(mut task) = lock(self.tasks()?).waiting.remove(&number) else {
                continue;
            };
            task.mark.is_noted.store(false, Ordering::Release);
            let waker = Waker::from(Arc::clone(&task.mark));
            match poll(&mut task.work, &mut Context::from_waker(&waker)) {
                Poll::Pending => {
                    lock(self.tasks()?).waiting.insert(number, task);
                }
                Poll::Ready(told) => {
                    let (result, error) = match told(py) {
                        Ok(result) => (Some(result), None),
                        Err(error) => (None, Some(error.into_value(py))),
                    };
                    if let Err(error) = task.tell.call1(py, (result, error)) {
                        error.write_unraisable(py, Some(task.tell.bind(py)));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Bridge {
    fn tasks(&self) -> PyResult<&Mutex<Tasks>> {
        self.0.get().ok_or_else(|| {
            PyOSError::new_err("this event loop is that of the process of which this one is a fork")
        })
    }
}
