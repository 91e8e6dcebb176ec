//! Worlds in which the assumptions hold: nothing may break.
//!
//! Each is explored in full. Together they cover what one alone would be too large for: delays, retries,
//! rivals, extensions, clients that stop, links that break.

use super::{Habit, Law, Newcomer, Rule, Shape, Wanted, Way};
use crate::{clock::Rate, news::News, world::Faults};

/// Explored always: some millions of states.
pub(super) static SMALL: [Shape; 20] = [
    Shape {
        name: "lone",
        about: "one client that may cancel, and release twice; all its links slow at once",
        clients: &[Habit {
            cancels: 1,
            releases_again: 1,
            ..Habit::ONCE
        }],
        horizon: 4,
        releases: Way::InTurn,
        faults: slow(2),
        law: Law::Kept(&[
            News::Cancelled,
            News::ReleasedAgain,
            News::ReleaseUnknown,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "turns",
        about: "two clients, no link slow, releases in turn with everything else",
        releases: Way::InTurn,
        law: Law::Kept(&[
            News::AcquiredAgain,
            News::Succeeded,
            News::Split,
            News::TakenBack,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "3x3",
        about: "three attempts on three nodes: a client that tries twice, and a rival; one link slow",
        clients: &[TWICE, Habit::ONCE],
        faults: slow(1),
        law: Law::Kept(&[
            News::Succeeded,
            News::Split,
            News::Straggler,
            News::TakenBack,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "rivals",
        about: "three clients with an attempt each",
        clients: &[Habit::ONCE; 3],
        law: Law::Kept(&[News::Succeeded, News::Split, News::TakenBack, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "5x2",
        about: "two attempts on five nodes",
        nodes: 5,
        law: Law::Kept(&[News::Succeeded, News::Split, News::TakenBack, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "extend",
        about: "a lease that is extended, and a rival; all clocks as fast as allowed",
        clients: &[EXTENDS, Habit::ONCE],
        rates: (Rate::FASTEST, Rate::FASTEST),
        horizon: 4,
        faults: slow(1),
        law: Law::Kept(&[
            News::Extended,
            News::ExtensionFailed,
            News::ExtensionLate,
            News::Succeeded,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "stops",
        about: "a client whose process may stop at any moment, for any time, and a rival",
        clients: &[STOPS, Habit::ONCE],
        law: Law::Kept(&[News::TooLate, News::Succeeded, News::Straggler, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "late",
        about: "two clients whose timers are heard at any time; one link slow",
        clients: &[LATE, LATE],
        faults: slow(1),
        law: Law::Kept(&[News::TooLate, News::Succeeded, News::Straggler, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "clocks",
        about: "all nodes' clocks as fast as allowed, keys that are over left in place; one link slow",
        rates: (Rate::FASTEST, Rate::FASTEST),
        sweeps: false,
        faults: slow(1),
        law: Law::Kept(&[News::Succeeded, News::Split, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "fair",
        about: "two clients that queue on the nodes: one tries twice, the other comes back",
        clients: &[QUEUES, COMES_BACK],
        law: Law::Kept(&[
            News::Queued,
            News::AcquiredAgain,
            News::Succeeded,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "readers",
        about: "two clients that read, and one that writes, all of which queue on the nodes",
        clients: &[READS, READS, WRITES],
        horizon: 4,
        law: Law::Kept(&[
            News::ReadTogether,
            News::Queued,
            News::AcquiredAgain,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "several",
        about: "a client that wants two names together, and two that want one of them each",
        clients: &[BOTH, Habit::ONCE, OTHER],
        law: Law::Kept(&[
            News::Apart,
            News::Succeeded,
            News::Split,
            News::TakenBack,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "permits",
        about: "three clients that want two permits",
        clients: &[PERMIT; 3],
        horizon: 4,
        law: Law::Kept(&[
            News::PermitsTogether,
            News::Split,
            News::TakenBack,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "kinds",
        about: "a client that wants one of two permits, one that takes them for three, and one that wants all",
        clients: &[
            PERMIT,
            Habit {
                wants: Wanted::OneOfThree,
                ..PERMIT
            },
            Habit::ONCE,
        ],
        horizon: 4,
        law: Law::Kept(&[
            News::Split,
            News::TakenBack,
            News::AcquiredAgain,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "replaced",
        about: "a node is replaced: a client that has the former list, and one that has the new one; one link slow",
        clients: &[Habit::ONCE, NEWCOMER],
        horizon: 6,
        faults: slow(1),
        newcomer: Some(Newcomer::Waits),
        law: Law::Kept(&[News::Learned, News::NewcomerGranted, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "manager",
        about: "one manager with two acquisitions at once, and a rival",
        clients: &[
            Habit {
                acquires: 2,
                is_greedy: true,
                ..Habit::ONCE
            },
            Habit::ONCE,
        ],
        law: Law::Kept(&[
            News::AcquiredAgain,
            News::Succeeded,
            News::Split,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "breaks",
        about: "a connection that is lost, with whatever is on its way, at any moment",
        releases: Way::InTurn,
        faults: Faults {
            breaks: 1,
            ..NO_FAULTS
        },
        law: Law::Kept(&[News::Succeeded, News::Split, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "busy",
        about: "two requests for which a link has no room",
        releases: Way::InTurn,
        faults: Faults {
            refusals: 2,
            ..NO_FAULTS
        },
        law: Law::Kept(&[News::Unreachable, News::Succeeded, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "disorder",
        about: "beyond what links promise: two releases that overtake their acquires",
        releases: Way::InTurn,
        faults: Faults {
            overtakings: 2,
            ..NO_FAULTS
        },
        law: Law::Kept(&[
            News::Succeeded,
            News::Straggler,
            News::TakenBack,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "changes",
        about: "a client that tries twice, cancels, extends, has little patience and hears its timers late",
        releases: Way::InTurn,
        clients: &[
            Habit {
                cancels: 1,
                extends: 1,
                patience: Some(2),
                is_punctual: false,
                ..TWICE
            },
            Habit::ONCE,
        ],
        law: Law::Kept(&[
            News::Cancelled,
            News::Extended,
            News::Succeeded,
            News::Ended,
        ]),
        ..PLAIN
    },
];

/// Explored when asked for: tens of millions of states.
pub(super) static LARGE: [Shape; 8] = [
    Shape {
        name: "replaced-large",
        about: "as replaced, and the lease is extended",
        clients: &[
            Habit {
                begins_by: 1,
                extends: 1,
                ..Habit::ONCE
            },
            NEWCOMER,
        ],
        horizon: 5,
        faults: slow(1),
        newcomer: Some(Newcomer::Waits),
        law: Law::Kept(&[
            News::Learned,
            News::NewcomerGranted,
            News::Extended,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "3x3-large",
        about: "as 3x3, but two ticks longer, and keys that are over left in place",
        clients: &[TWICE, Habit::ONCE],
        horizon: 7,
        sweeps: false,
        faults: slow(1),
        law: Law::Kept(&[
            News::Succeeded,
            News::Split,
            News::Straggler,
            News::TakenBack,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "5x2-large",
        about: "as 5x2, but one link slow",
        nodes: 5,
        faults: slow(1),
        law: Law::Kept(&[News::Succeeded, News::Split, News::Straggler, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "extend-large",
        about: "as extend, but the lease is extended twice, and timers are heard at any time",
        clients: &[
            Habit {
                extends: 2,
                is_punctual: false,
                ..Habit::ONCE
            },
            LATE,
        ],
        rates: (Rate::FASTEST, Rate::FASTEST),
        faults: slow(1),
        law: Law::Kept(&[
            News::Extended,
            News::ExtensionLate,
            News::TooLate,
            News::Succeeded,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "breaks-large",
        about: "as breaks, but two connections are lost",
        releases: Way::InTurn,
        faults: Faults {
            breaks: 2,
            ..NO_FAULTS
        },
        law: Law::Kept(&[
            News::Unreachable,
            News::ReleaseUnknown,
            News::Succeeded,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "hung-large",
        about: "a link that is slow, and a connection that is lost: requests that take effect late, and nobody is told",
        faults: Faults {
            breaks: 1,
            ..slow(1)
        },
        law: Law::Kept(&[News::Succeeded, News::Straggler, News::Ended]),
        ..PLAIN
    },
    Shape {
        name: "several-large",
        about: "as several, but one link slow",
        clients: &[BOTH, Habit::ONCE, OTHER],
        horizon: 4,
        faults: slow(1),
        law: Law::Kept(&[
            News::Apart,
            News::Split,
            News::Straggler,
            News::TakenBack,
            News::Ended,
        ]),
        ..PLAIN
    },
    Shape {
        name: "turns-large",
        about: "as turns, but one link slow",
        releases: Way::InTurn,
        faults: slow(1),
        law: Law::Kept(&[News::Succeeded, News::Straggler, News::Ended]),
        ..PLAIN
    },
];

/// Two clients with an attempt each, three nodes, and nothing wrong.
pub(super) const PLAIN: Shape = Shape {
    name: "",
    about: "",
    nodes: 3,
    clients: &[Habit::ONCE, Habit::ONCE],
    horizon: 5,
    releases: Way::AtOnce,
    faults: NO_FAULTS,
    rates: (Rate::TRUE, Rate::TRUE),
    sweeps: true,
    is_haunted: false,
    rule: Rule::Lawful,
    newcomer: None,
    law: Law::Kept(&[]),
};

pub(super) const NO_FAULTS: Faults = Faults {
    slow: 0,
    breaks: 0,
    overtakings: 0,
    refusals: 0,
    losses: 0,
    deletes: 0,
};

/// Nothing but links that are slow, so many at once.
pub(super) const fn slow(links: u8) -> Faults {
    Faults {
        slow: links,
        ..NO_FAULTS
    }
}

const TWICE: Habit = Habit {
    tries: 2,
    ..Habit::ONCE
};

const QUEUES: Habit = Habit {
    is_fair: true,
    ..TWICE
};

const READS: Habit = Habit {
    begins_by: 1,
    is_fair: true,
    wants: Wanted::Share,
    ..Habit::ONCE
};

pub(super) const PERMIT: Habit = Habit {
    begins_by: 1,
    wants: Wanted::OneOfTwo,
    ..Habit::ONCE
};

pub(super) const BOTH: Habit = Habit {
    begins_by: 1,
    wants: Wanted::BothNames,
    ..Habit::ONCE
};

pub(super) const OTHER: Habit = Habit {
    begins_by: 1,
    wants: Wanted::OtherName,
    ..Habit::ONCE
};

/// Begins at any time, with the new list of nodes.
pub(super) const NEWCOMER: Habit = Habit {
    begins_by: 5,
    knows_the_new_list: true,
    ..Habit::ONCE
};

const WRITES: Habit = Habit {
    begins_by: 1,
    is_fair: true,
    ..Habit::ONCE
};

const COMES_BACK: Habit = Habit {
    acquires: 2,
    is_fair: true,
    ..Habit::ONCE
};

const EXTENDS: Habit = Habit {
    begins_by: 0,
    extends: 1,
    ..Habit::ONCE
};

const STOPS: Habit = Habit {
    stops: 1,
    ..Habit::ONCE
};

const LATE: Habit = Habit {
    is_punctual: false,
    ..Habit::ONCE
};
