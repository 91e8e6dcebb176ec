//! What two holders write to a database, told once, for every database and by two clients of each: one in Rust, and the
//! command that comes with the database. Each plays either holder, beside itself and beside the other.

mod command_line;
mod mariadb;
mod postgres;
mod redis;
mod sqlite;

use crate::contest::token;
use leasehold::{FencingToken, fence::Stale};
use std::thread;

/// A client with the statements of the helpers: a table of fences with the fence `log`, in whose transactions a log is
/// written, and a row of accounts with a fence.
trait Client: Send {
    /// Begins a transaction.
    fn begin(&mut self);
    /// The statement of the table of fences, and what tells what it did. Nothing is rolled back.
    fn admit(&mut self, token: FencingToken) -> Result<(), Stale>;
    /// Writes into the log.
    fn log(&mut self, token: FencingToken);
    fn commit(&mut self);
    fn rollback(&mut self);
    /// The statement of the row, and what tells what it did.
    fn set(&mut self, balance: i64, token: FencingToken) -> Result<(), Stale>;
    /// The newest token of the fence `log`, if it is there.
    fn newest(&mut self) -> Option<i64>;
    /// What the log says, in order.
    fn written(&mut self) -> Vec<u64>;
    fn balance(&mut self) -> i64;
    /// Forgets all that was written.
    fn clear(&mut self);

    /// A transaction as the docs have it: the fence first.
    fn append(&mut self, token: FencingToken) -> Result<(), Stale> {
        self.begin();
        if let Err(stale) = self.admit(token) {
            self.rollback();
            return Err(stale);
        }
        self.log(token);
        self.commit();
        Ok(())
    }
}

trait Database: Sync {
    /// Opens as many connections as there are clients that differ.
    fn open(&self) -> Vec<Box<dyn Client>>;
    /// Waits until somebody waits for a lock. `is_over` says that nobody will.
    fn await_waiter(&self, is_over: &dyn Fn() -> bool);
}

/// Tells the story with every pair of clients.
fn tell(database: &dyn Database) {
    let clients = database.open().len();
    assert_eq!(clients, 2, "two clients of each database");
    for early in 0..clients {
        for late in 0..clients {
            let mut early = database.open().swap_remove(early);
            let mut late = database.open().swap_remove(late);
            each_writes_and_the_late_one_is_refused(early.as_mut(), late.as_mut());
            what_was_rolled_back_was_not_seen(early.as_mut(), late.as_mut());
            the_last_tokens_of_all_are_told_apart(early.as_mut(), late.as_mut());
            for course in COURSES {
                who_meets_another_waits(database, early.as_mut(), late.as_mut(), course);
            }
        }
    }
}

fn is_stale(refused: Result<(), Stale>, by: FencingToken) {
    assert_eq!(refused.map_err(|stale| stale.token), Err(by));
}

fn each_writes_and_the_late_one_is_refused(early: &mut dyn Client, late: &mut dyn Client) {
    early.clear();
    assert_eq!(early.newest(), None, "nobody has written");
    // The first write of all, and the same token again, with the same value: a holder writes more than once.
    for holder in 0..2 {
        assert_eq!(early.append(token(33)), Ok(()), "{holder}");
        assert_eq!(early.set(90, token(33)), Ok(()), "{holder}");
        assert_eq!(early.newest(), Some(33));
    }
    assert_eq!(late.append(token(34)), Ok(()));
    assert_eq!(late.set(120, token(34)), Ok(()));
    // The first holder goes on.
    is_stale(early.append(token(33)), token(33));
    is_stale(early.set(60, token(33)), token(33));
    // Also if it happens to write what is there already.
    is_stale(early.set(120, token(33)), token(33));
    assert_eq!(late.newest(), Some(34));
    assert_eq!(late.written(), [33, 33, 34]);
    assert_eq!(late.balance(), 120);
    assert_eq!(late.set(120, token(34)), Ok(()), "nothing has changed");
}

fn what_was_rolled_back_was_not_seen(early: &mut dyn Client, late: &mut dyn Client) {
    early.clear();
    // Also the first write of all.
    for before in [None, Some(32_i64)] {
        if let Some(number) = before {
            assert_eq!(early.append(token(number.cast_unsigned())), Ok(()));
        }
        late.begin();
        assert_eq!(late.admit(token(40)), Ok(()));
        assert_eq!(late.set(400, token(40)), Ok(()));
        late.log(token(40));
        late.rollback();
        assert_eq!(early.newest(), before);
        assert_eq!(early.balance(), 100);
    }
    assert_eq!(early.append(token(33)), Ok(()));
    assert_eq!(early.set(90, token(33)), Ok(()));
    assert_eq!(late.written(), [32, 33]);
}

fn the_last_tokens_of_all_are_told_apart(early: &mut dyn Client, late: &mut dyn Client) {
    early.clear();
    let last = FencingToken::LAST;
    let before = token(last.get() - 1);
    for accepted in [before, last, last] {
        assert_eq!(late.append(accepted), Ok(()));
        assert_eq!(late.set(1, accepted), Ok(()));
        let newest = late.newest();
        assert_eq!(newest.map(i64::cast_unsigned), Some(accepted.get()));
    }
    is_stale(early.append(before), before);
    is_stale(early.set(2, before), before);
    assert_eq!(late.written(), [before.get(), last.get(), last.get()]);
}

/// How two writes meet.
#[derive(Clone, Copy, Debug)]
struct Course {
    /// Whether somebody has written before them.
    is_first: bool,
    /// Whether they meet at the row, or at the table of fences.
    is_row: bool,
    /// Whether the newer one commits, or rolls back.
    commits: bool,
}

const COURSES: [Course; 6] = [
    Course {
        is_first: true,
        is_row: false,
        commits: true,
    },
    Course {
        is_first: true,
        is_row: false,
        commits: false,
    },
    Course {
        is_first: false,
        is_row: false,
        commits: true,
    },
    Course {
        is_first: false,
        is_row: false,
        commits: false,
    },
    Course {
        is_first: false,
        is_row: true,
        commits: true,
    },
    Course {
        is_first: false,
        is_row: true,
        commits: false,
    },
];

/// A write with token 33 arrives while 34 is in the middle of a transaction.
fn who_meets_another_waits(
    database: &dyn Database,
    early: &mut dyn Client,
    late: &mut dyn Client,
    course: Course,
) {
    early.clear();
    if !course.is_first {
        assert_eq!(early.append(token(32)), Ok(()));
        assert_eq!(early.set(32, token(32)), Ok(()));
    }
    late.begin();
    let newer = if course.is_row {
        late.set(34, token(34))
    } else {
        late.admit(token(34))
    };
    assert_eq!(newer, Ok(()), "{course:?}");
    late.log(token(34));
    let outcome = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            if course.is_row {
                early.set(33, token(33))
            } else {
                early.append(token(33))
            }
        });
        database.await_waiter(&|| writer.is_finished());
        if course.commits {
            late.commit();
        } else {
            late.rollback();
        }
        writer.join().expect("the late writer ends")
    });
    assert_eq!(outcome.is_err(), course.commits, "{course:?}");
    let mut expected: Vec<u64> = Vec::new();
    expected.extend((!course.is_first).then_some(32));
    expected.extend(course.commits.then_some(34));
    expected.extend((!course.is_row && !course.commits).then_some(33));
    assert_eq!(late.written(), expected, "{course:?}");
    if course.is_row {
        let balance = if course.commits { 34 } else { 33 };
        assert_eq!(late.balance(), balance, "{course:?}");
    }
}
