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

/// Locks as Redlock has them and no more: `SET key owner NX PX ttl`, compare and delete, compare and expire. For servers
/// that let nobody look at them, and for sharing locks with other programs byte by byte.
///
/// Comparing is done by scripts. Where a connection may run none, it is done by commands that compare by themselves,
/// if the server has them (Valkey 9.0 or newer has `DELIFEQ`, Redis 8.4 or newer `DELEX`); which it has is found by
/// trying. A server that has neither is refused, with the rights that it would take. Three things are weaker without
/// scripts. A refusal describes the key a moment later. A server whose memory is full does not extend. And after
/// [`extend_to`](crate::LeaseGuard::extend_to) a shorter TTL, a node that lost the connection before it answered does not
/// extend the lease to a longer one.
///
/// There are no fencing tokens, and nodes vote again as soon as they have restarted: whether they remember, and whether
/// they may evict keys, is left to the operator. So is a replica that takes its master's place: it grants at once
/// what it has not heard of, however long somebody else still holds it. What all must agree on (`restart_guard`, `max_ttl`,
/// `namespace` and its like) means nothing to them, but for the [key format](crate::KeyFormat), which no node checks for
/// them.
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
