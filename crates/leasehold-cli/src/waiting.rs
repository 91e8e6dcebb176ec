//! The wait for something that the library does on a thread of its own, or on this one.

use crate::failure::Failure;
use tokio::runtime;

/// Waits for it.
pub(crate) fn for_it<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::own(format!("cannot start: {error}")))?;
    Ok(runtime.block_on(work))
}
