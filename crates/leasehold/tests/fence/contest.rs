//! What every fenced resource must do.

use leasehold::{FencingToken, fence::Stale};
use std::{
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// The token of this number.
pub(crate) fn token(number: u64) -> FencingToken {
    FencingToken::new(number).expect("the tests stay in the range")
}

/// Every token just below and just above a change of length, and the last of all.
pub(crate) fn tokens_are_compared_as_numbers(
    mut write: impl FnMut(FencingToken) -> Result<(), Stale>,
) {
    let powers = (1..16).map(|digits| 10_u64.pow(digits));
    let last = FencingToken::LAST.get();
    for upper in powers.chain([last - 1, last]) {
        let (lower, upper) = (token(upper - 1), token(upper));
        for accepted in [lower, lower, upper] {
            assert_eq!(write(accepted), Ok(()), "{accepted}");
        }
        let stale = write(lower).expect_err("the lower one is late");
        assert_eq!(stale.token, lower);
        assert!(stale.newest.is_none_or(|newest| newest == upper), "{stale}");
        assert_eq!(write(upper), Ok(()), "the same token again");
    }
}

/// Many writers, each of which is a holder whose time may be up: some write with the newest token, some with one
/// that they have kept for too long. `open` makes a writer, which writes its token's number, and `written` tells
/// what was written, in the order in which it was.
pub(crate) fn nothing_is_written_behind_a_newer_token<W>(
    open: impl Fn() -> W + Sync,
    written: impl FnOnce() -> Vec<u64>,
) where
    W: FnMut(FencingToken) -> Result<(), Stale>,
{
    // So high that the numbers grow by a digit on the way.
    let newest = AtomicU64::new(999_999_950);
    let begin = Barrier::new(WRITERS);
    let (open, newest, begin) = (&open, &newest, &begin);
    let write_all = |writer: usize| {
        let mut write = open();
        let mut mine = newest.load(Ordering::SeqCst);
        begin.wait();
        let accepted = (0..WRITES).filter(|turn| {
            // Every writer is late for a while, and then it acquires the lock anew, or takes the token that others
            // of its process use.
            match (turn + writer) % 5 {
                0 => mine = newest.fetch_add(1, Ordering::SeqCst) + 1,
                3 => mine = newest.load(Ordering::SeqCst),
                _ => {}
            }
            write(token(mine)).is_ok()
        });
        accepted.count()
    };
    let accepted: usize = thread::scope(|scope| {
        let write_all = &write_all;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write_all(writer)))
            .collect();
        let counts = writers.into_iter().map(thread::ScopedJoinHandle::join);
        counts.map(|count| count.expect("no writer fails")).sum()
    });
    let mut write = open();
    let newest = newest.load(Ordering::SeqCst);
    assert_eq!(write(token(newest)), Ok(()), "the newest of all");
    assert!(write(token(newest - 1)).is_err(), "late for ever");

    let written = written();
    assert!(written.is_sorted(), "{written:?}");
    assert_eq!(written.len(), accepted + 1, "a refused write left a trace");
    let all = WRITERS * WRITES;
    assert!(accepted < all, "nobody was late: the contest shows nothing");
    let twice = written.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(twice > 0, "no token was used twice");
}

const WRITERS: usize = 8;
const WRITES: usize = 60;
