//! When the guardian looks, and what it does then.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_millis(25);

/// Something that looks as the test says.
struct Puppet {
    look: Mutex<WardState>,
    rescued: AtomicUsize,
    has_threads: bool,
}

impl Ward for Puppet {
    fn look(&self) -> WardState {
        *self.look.lock().expect("nobody panics with it")
    }

    fn rescue(self: Arc<Self>) -> io::Result<()> {
        self.rescued.fetch_add(1, Ordering::Relaxed);
        match self.has_threads {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn rest(turns: u64, due: Instant) -> WardState {
    WardState::Resting(Rest {
        turns,
        due,
        patience: PATIENCE,
    })
}

fn watched(has_threads: bool) -> (Arc<Puppet>, Guarded) {
    let puppet = Arc::new(Puppet {
        look: Mutex::new(rest(0, Instant::NEVER)),
        rescued: AtomicUsize::new(0),
        has_threads,
    });
    let watched = Guarded {
        ward: Arc::<Puppet>::clone(&puppet),
        turns: 0,
        patience: AGAIN,
        late_since: None,
    };
    (puppet, watched)
}

/// Each look in turn: when, what is seen, when to look again, and how often it was rescued by then.
fn see(has_threads: bool, looks: &[(u64, WardState, Option<Next>, usize)]) {
    let (puppet, mut watched) = watched(has_threads);
    for (number, (now, look, next, rescued)) in looks.iter().enumerate() {
        *puppet.look.lock().expect("nobody panics with it") = *look;
        assert_eq!(watched.look(at(*now)), *next, "look {number}");
        let count = puppet.rescued.load(Ordering::Relaxed);
        assert_eq!(count, *rescued, "look {number}");
    }
}

fn soon(millis: u64) -> Option<Next> {
    Some(Next::Soon(at(millis)))
}

#[test]
fn what_is_late_for_its_patience_without_a_turn_is_rescued() {
    see(
        true,
        &[
            (0, rest(0, at(40)), Some(Next::At(at(65))), 0),
            (65, rest(0, at(40)), soon(90), 0),
            (90, rest(0, at(40)), None, 1),
        ],
    );
}

#[test]
fn how_often_somebody_looks_makes_nothing_late() {
    see(
        true,
        &[
            (0, rest(0, at(40)), Some(Next::At(at(65))), 0),
            (65, rest(0, at(40)), soon(90), 0),
            (65, rest(0, at(40)), soon(90), 0),
            (67, rest(0, at(40)), soon(90), 0),
            (89, rest(0, at(40)), soon(90), 0),
            (90, rest(0, at(40)), None, 1),
        ],
    );
}

#[test]
fn what_is_turned_however_late_is_left_alone() {
    see(
        true,
        &[
            (0, rest(1, at(0)), soon(25), 0),
            (25, rest(1, at(0)), soon(50), 0),
            (50, rest(2, at(0)), soon(75), 0),
            (75, rest(2, at(0)), soon(100), 0),
            (100, WardState::Turning, soon(125), 0),
            (125, rest(2, at(0)), soon(150), 0),
            (150, rest(2, at(170)), Some(Next::At(at(195))), 0),
            (195, rest(2, at(190)), soon(220), 0),
        ],
    );
}

#[test]
fn what_is_deserted_is_rescued_at_once_and_what_has_ended_is_forgotten() {
    see(true, &[(0, WardState::Deserted, None, 1)]);
    see(true, &[(0, WardState::Over, None, 0)]);
}

#[test]
fn what_finds_no_thread_is_tried_again() {
    see(
        false,
        &[
            (0, WardState::Deserted, soon(100), 1),
            (100, WardState::Deserted, soon(200), 2),
        ],
    );
}

#[test]
fn the_next_look_is_the_soonest_that_anything_wants() {
    let guardian = Guardian {
        wards: Mutex::default(),
        signal: WakeSignal::new(),
    };
    assert_eq!(guardian.look(at(0)), Next::At(Instant::NEVER));
    let wards = [at(100), at(50), at(200)].map(|due| {
        let (puppet, watched) = watched(true);
        *puppet.look.lock().expect("nobody panics with it") = rest(0, due);
        guardian.lock().push(watched);
        puppet
    });
    assert_eq!(
        guardian.look(at(0)),
        Next::At(at(50).saturating_add(PATIENCE))
    );
    *wards[0].look.lock().expect("nobody panics with it") = WardState::Turning;
    assert_eq!(guardian.look(at(1)), Next::Soon(at(26)));
    *wards[0].look.lock().expect("nobody panics with it") = WardState::Over;
    *wards[1].look.lock().expect("nobody panics with it") = WardState::Over;
    assert_eq!(
        guardian.look(at(2)),
        Next::At(at(200).saturating_add(PATIENCE))
    );
    assert_eq!(guardian.lock().len(), 1);
}

#[test]
fn who_has_less_patience_does_not_wait_for_who_has_more() {
    let guardian = Guardian {
        wards: Mutex::default(),
        signal: WakeSignal::new(),
    };
    let hasty = |due| {
        WardState::Resting(Rest {
            turns: 0,
            due,
            patience: 2 * MS,
        })
    };
    for state in [rest(7, at(0)), hasty(at(1))] {
        let (puppet, watched) = watched(false);
        *puppet.look.lock().expect("nobody panics with it") = state;
        guardian.lock().push(watched);
    }
    // The first has just been turned, and a post to the other wakes nobody meanwhile.
    assert_eq!(guardian.look(at(0)), Next::Soon(at(2)));
    assert_eq!(guardian.look(at(3)), Next::Soon(at(5)));
    // That finds no thread.
    assert_eq!(guardian.look(at(5)), Next::Soon(at(7)));
}

#[test]
fn a_post_wakes_the_guardian_until_the_ward_needs_nobody_any_more() {
    // Of its own: that of the process is woken by other tests.
    let guardian: &'static Guardian = Box::leak(Box::new(Guardian {
        wards: Mutex::default(),
        signal: WakeSignal::new(),
    }));
    thread::spawn(|| guardian.watch());
    let [stuck, moved] = [(); 2].map(|()| {
        let (puppet, _) = watched(true);
        let handle = GuardianHandle {
            guardian,
            is_over: Arc::default(),
        };
        handle.add(Arc::<Puppet>::clone(&puppet));
        (puppet, handle)
    });
    until(50 * MS, || false);
    for (puppet, _) in [&stuck, &moved] {
        *puppet.look.lock().expect("nobody panics with it") = rest(0, Instant::ORIGIN);
    }
    let is_rescued = || stuck.0.rescued.load(Ordering::Relaxed) > 0;
    moved.1.over();
    moved.1.posted();
    assert!(!until(100 * MS, is_rescued), "somebody looked");
    stuck.1.posted();
    assert!(until(30_000 * MS, is_rescued), "nobody looked");
}

/// Whether this comes true in time.
fn until(patience: Duration, is_true: impl Fn() -> bool) -> bool {
    let clock = Clock::system();
    let give_up = clock.now().saturating_add(patience);
    while !is_true() {
        if clock.now() >= give_up {
            return false;
        }
        thread::yield_now();
    }
    true
}
