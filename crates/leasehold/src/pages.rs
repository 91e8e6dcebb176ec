//! The blocks of Rust in the pages of this repository, compiled as examples.

#[doc = include_str!("../../../README.md")]
struct FrontPage;

#[doc = include_str!("../../../docs/LIBRARY.md")]
struct LibraryPage;

// Its second block has the suite of the conformance feature.
#[cfg(feature = "conformance")]
#[doc = include_str!("../../../docs/TESTING.md")]
struct TestingPage;
