//! Leasehold of an earlier version as a shim. It is built among the sources of that version, from the files that are named
//! here and stand in `src` (see `src/earlier.rs`).

#![allow(dead_code, reason = "the files are used here in part")]
#![allow(
    clippy::print_stdout,
    unused_crate_dependencies,
    reason = "a shim speaks by its output; an example uses some of what its package does"
)]

mod crowd;
mod leasehold_library;
mod moment;
mod ours;
mod protocol;
mod serve;

/// Any error ends what was begun, and is told.
type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Started with the kind of its locks.
fn main() -> Fallible<()> {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let kind = ours::Kind::named(&kind).ok_or("the kind is plain or fenced")?;
    serve::serve(&mut leasehold_library::LeaseholdLibrary::new(kind));
    Ok(())
}
