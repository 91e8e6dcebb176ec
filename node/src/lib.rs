//! The native half of the npm package `leasehold`: the library, for the thread of JavaScript.
//!
//! What is exported here is called by the files in `lib/` and by nobody else. They give it its shape: promises, classes
//! of errors, signals. A call that waits returns a number at once, and its outcome comes with a later
//! [`turn`](core::Core::turn); see [`executor`].

mod core;
mod executor;
mod failure;
mod fence;
mod guard;
mod js;
mod lease;
mod manager;
mod observe;
mod operate;
mod options;
mod stream;
mod testing;
mod timestamp;
mod told;
