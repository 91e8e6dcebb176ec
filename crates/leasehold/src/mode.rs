//! What stands behind a lock: which of the two kinds of request its nodes get.

/// What stands behind the locks of a manager: [`Fenced`] or [`Plain`].
pub trait Mode: sealed::Sealed + Send + Sync + Unpin + 'static {
    #[doc(hidden)]
    const IS_FENCED: bool;
}

/// Locks with fencing tokens, on nodes that do not vote while they may have forgotten votes. The default.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "it is only a mark on types")]
pub enum Fenced {}

/// Locks as Redlock has them and no more: `SET key owner NX PX ttl`, compare and delete, compare and expire (by
/// scripts). For servers that let nobody look at them, and for sharing locks with other programs byte by byte.
///
/// There are no fencing tokens, and nodes vote again as soon as they have restarted: whether they remember, and whether
/// they may evict keys, is left to the operator. What all must agree on (`restart_guard`, `max_ttl`, `namespace` and its
/// like) means nothing to them.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "it is only a mark on types")]
pub enum Plain {}

impl Mode for Fenced {
    const IS_FENCED: bool = true;
}

impl Mode for Plain {
    const IS_FENCED: bool = false;
}

mod sealed {
    #[expect(
        unnameable_types,
        reason = "nobody else is to name it: that seals the trait"
    )]
    pub trait Sealed {}
    impl Sealed for super::Fenced {}
    impl Sealed for super::Plain {}
}
