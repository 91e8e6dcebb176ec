//! What several threads share is made of these. `tests/orders` takes the same code with the parts of `loom` in their
//! place, and tries it in every order.

pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering, fence},
};
