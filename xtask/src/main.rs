//! Everything a contributor types.
fn main() {}
