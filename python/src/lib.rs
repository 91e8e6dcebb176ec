//! The native part of leasehold's Python package: `leasehold._native`.
//!
//! It is not for users: the package in `leasehold/` is thin, typed and documented, and this is what it is made of. Everything
//! that may take time is an [`Operation`](operation::Operation), which a thread waits for without the GIL, or an event loop
//! of asyncio without a thread. Everything that belongs to a process knows so.

mod bridge;
mod error;
mod facts;
mod fence;
mod guard;
mod inspection;
mod lease;
mod lock;
mod manager;
mod observe;
mod operate;
mod operation;
mod options;
mod process;
mod testing;
mod timestamp;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<operation::Operation>()?;
    module.add_class::<bridge::Bridge>()?;
    module.add_class::<observe::EventQueue>()?;
    module.add_class::<options::SharedNode>()?;
    module.add_class::<manager::Manager>()?;
    module.add_class::<lock::Lock>()?;
    module.add_class::<lease::Lease>()?;
    module.add_class::<lease::Detached>()?;
    module.add_class::<operate::NativeOperator>()?;
    module.add_class::<operate::Lookout>()?;
    module.add_class::<testing::World>()?;
    module.add_class::<timestamp::NativeLock>()?;
    module.add_class::<timestamp::NativeLease>()?;
    module.add_function(wrap_pyfunction!(fence::fence_table, module)?)?;
    module.add_function(wrap_pyfunction!(fence::row_fence, module)?)?;
    module.add_function(wrap_pyfunction!(fence::fenced_script, module)?)?;
    Ok(())
}
