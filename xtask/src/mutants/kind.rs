//! Where the tests are that mutants name.

/// Tests of one kind: one program of cargo's.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// What mutants call them.
    pub(super) word: &'static str,
    pub(super) package: &'static str,
    /// The program, as cargo's arguments name it.
    pub(super) target: &'static [&'static str],
    /// Where their sources are.
    pub(super) folder: &'static str,
    /// Whether some of them need a real server.
    pub(super) server: bool,
}

impl Kind {
    pub(super) fn find(word: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.word == word)
    }

    /// What they are all called.
    pub(super) fn words() -> Vec<&'static str> {
        KINDS.iter().map(|kind| kind.word).collect()
    }
}

const fn core(word: &'static str, target: &'static [&'static str], folder: &'static str) -> Kind {
    Kind {
        word,
        package: "leasehold-core",
        target,
        folder,
        server: false,
    }
}

const KINDS: &[Kind] = &[
    core("unit", &["--lib"], "crates/leasehold-core/src"),
    core(
        "page",
        &["--test", "redlock_page"],
        "crates/leasehold-core/tests",
    ),
    core(
        "timeline",
        &["--test", "timelines"],
        "crates/leasehold-core/tests/timelines",
    ),
    core(
        "exhaustive",
        &["--test", "exhaustive"],
        "crates/leasehold-core/tests/exhaustive",
    ),
    core(
        "property",
        &["--test", "properties"],
        "crates/leasehold-core/tests/properties",
    ),
    Kind {
        word: "facade",
        package: "leasehold",
        target: &["--lib"],
        folder: "crates/leasehold/src",
        server: true,
    },
    Kind {
        word: "conformance",
        package: "leasehold",
        target: &["--test", "conformance"],
        folder: "crates/leasehold/tests",
        server: true,
    },
    Kind {
        word: "suite",
        package: "leasehold",
        target: &["--test", "suite"],
        folder: "crates/leasehold/tests/suite",
        server: true,
    },
    Kind {
        word: "orders",
        package: "leasehold",
        target: &["--test", "orders"],
        folder: "crates/leasehold/tests/orders",
        server: false,
    },
    Kind {
        word: "processes",
        package: "leasehold",
        target: &["--test", "link_file"],
        folder: "crates/leasehold/tests/link_file",
        server: false,
    },
    Kind {
        word: "command",
        package: "leasehold-cli",
        target: &["--test", "suite"],
        folder: "crates/leasehold-cli/tests/suite",
        server: true,
    },
    Kind {
        word: "program",
        package: "leasehold-cli",
        target: &["--bin", "leasehold"],
        folder: "crates/leasehold-cli/src",
        server: false,
    },
    Kind {
        word: "fence",
        package: "leasehold",
        target: &["--test", "fence"],
        folder: "crates/leasehold/tests/fence",
        server: true,
    },
];
