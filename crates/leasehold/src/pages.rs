//! The blocks of Rust in the pages of this repository, compiled as examples.

#[doc = include_str!("../../../README.md")]
struct FrontPage;

#[doc = include_str!("../../../docs/LIBRARY.md")]
struct LibraryPage;
