//! Results that are thrown into JavaScript.

use crate::failure::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What functions that wait for nothing give: the status is the error's `code`. The macros know it by this name.
pub(crate) type Result<T> = napi::Result<T, &'static str>;

/// Carries out what waits for nothing, and throws what fails. A panic must not cross into JavaScript.
pub(crate) fn thrown<T>(work: impl FnOnce() -> std::result::Result<T, Failure>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(Into::into),
        Err(panic) => Err(Failure::of_panic(&*panic).into()),
    }
}
