use super::*;
use crate::diagnosis::{
    Diagnosis, Verdict,
    facts::{FileFacts, NodeFacts, count_once},
};
use leasehold::{Abstention, AbstentionCause};
use std::time::Duration;

pub(in crate::diagnosis) fn server() -> ServerFacts {
    ServerFacts {
        round_trip: Duration::from_micros(400),
        version: Some("Redis 7.0.15".to_owned()),
        lacking: Some(Vec::new()),
        lacking_for_fair: Some(Vec::new()),
        ..ServerFacts::default()
    }
}

pub(in crate::diagnosis) fn patient(servers: Vec<ServerFacts>) -> Patient {
    let nodes = servers
        .into_iter()
        .enumerate()
        .map(|(number, server)| NodeFacts {
            name: format!("db{number}"),
            state: NodeState::Server(Box::new(server)),
        });
    let nodes: Vec<_> = nodes.collect();
    Patient {
        origin: None,
        quorum: nodes.len() / 2 + 1,
        options: Options {
            ttl: Duration::from_secs(10),
            clock_skew: Duration::from_secs(2),
            guard: Guard::Quarantine,
            is_plain: false,
            replicated: None,
            on_disk: None,
        },
        nodes,
        replaced: Vec::new(),
    }
}

/// Three servers, of which the first is like this.
fn with(server_0: ServerFacts) -> Diagnosis {
    Diagnosis::of(patient(vec![server_0, server(), server()]))
}

#[test]
fn three_good_servers_are_sound() {
    let diagnosis = with(server());
    assert_eq!(diagnosis.findings, []);
    assert_eq!((diagnosis.verdict(), diagnosis.code()), (Verdict::Sound, 0));
    // What was not told is no finding: managed services forbid the questions.
    let silent = ServerFacts {
        lacking: None,
        lacking_for_fair: None,
        version: None,
        ..server()
    };
    assert_eq!(with(silent).findings, []);
}

type Case = (ServerFacts, Weight, &'static str);

/// It does not vote for seven seconds.
pub(in crate::diagnosis) fn abstains(cause: AbstentionCause) -> VoteFacts {
    let left = Duration::from_secs(7);
    VoteFacts::Abstains(Abstention { cause, left })
}

/// What may be wrong with its vote.
fn cases_of_votes() -> Vec<Case> {
    vec![
        (
            ServerFacts {
                vote: VoteFacts::Unsuitable("is a replica".to_owned()),
                ..server()
            },
            Weight::Problem,
            "is a replica",
        ),
        (
            ServerFacts {
                vote: VoteFacts::RefusesWrites("OOM".to_owned()),
                ..server()
            },
            Weight::Problem,
            "refuses every write: OOM",
        ),
        (
            ServerFacts {
                vote: abstains(AbstentionCause::Changed),
                ..server()
            },
            Weight::Warning,
            "has restarted",
        ),
        (
            ServerFacts {
                vote: VoteFacts::Others("x".to_owned()),
                ..server()
            },
            Weight::Problem,
            "another configuration: x",
        ),
        (
            ServerFacts {
                vote: VoteFacts::Unfinished("x".to_owned()),
                ..server()
            },
            Weight::Problem,
            "x",
        ),
        (
            ServerFacts {
                vote: VoteFacts::NotTold("x".to_owned()),
                ..server()
            },
            Weight::Problem,
            "does not tell whether it votes: x",
        ),
    ]
}

/// What may be wrong with its version and rights.
fn cases_of_rights() -> Vec<Case> {
    let text = |text: &str| Some(text.to_owned());
    vec![
        (
            ServerFacts {
                version: text("Redis 6.2.14"),
                ..server()
            },
            Weight::Problem,
            "runs Redis 6.2.14",
        ),
        (
            ServerFacts {
                lacking: Some(vec!["+hset".to_owned()]),
                ..server()
            },
            Weight::Problem,
            "its user lacks rights: +hset",
        ),
        (
            ServerFacts {
                lacking: Some(vec!["+client|tracking".to_owned()]),
                ..server()
            },
            Weight::Note,
            "its user lacks rights: +client|tracking",
        ),
        (
            ServerFacts {
                lacking_for_fair: Some(vec!["~leasehold:queue:*".to_owned()]),
                ..server()
            },
            Weight::Note,
            "its user lacks rights for fair locks, readers and permits: ~leasehold:queue:*",
        ),
        (
            ServerFacts {
                lacking_for_fair: Some(vec!["+zadd".to_owned()]),
                ..server()
            },
            Weight::Note,
            "its user lacks rights for readers and permits: +zadd",
        ),
        (
            ServerFacts {
                out_of_reach: Some("leasehold/doctor".to_owned()),
                ..server()
            },
            Weight::Note,
            "its user may use some keys only, and not \"leasehold/doctor\"",
        ),
    ]
}

/// What may be wrong with how it keeps data, time and distance.
fn cases_of_condition() -> Vec<Case> {
    let seconds = Duration::from_secs;
    vec![
        (
            ServerFacts {
                failed_write: Some("snapshot".to_owned()),
                ..server()
            },
            Weight::Warning,
            "could not write its snapshot",
        ),
        (
            ServerFacts {
                memory_used: Some(95),
                memory_limit: Some(100),
                ..server()
            },
            Weight::Warning,
            "nine tenths",
        ),
        (
            ServerFacts {
                clock: Some((true, seconds(3), seconds(0))),
                ..server()
            },
            Weight::Warning,
            "its clock is 3 s ahead of this machine's",
        ),
        (
            ServerFacts {
                round_trip: Duration::from_millis(200),
                ..server()
            },
            Weight::Warning,
            "answers in 200 ms, and has 500 ms to answer",
        ),
        (
            ServerFacts {
                replicas: Some(1),
                ..server()
            },
            Weight::Note,
            "has 1 replica",
        ),
    ]
}

#[test]
fn each_thing_that_is_wrong_with_a_server_is_found_with_its_weight() {
    for (server, weight, what) in cases_of_votes()
        .into_iter()
        .chain(cases_of_rights())
        .chain(cases_of_condition())
    {
        let diagnosis = with(server);
        let [found] = &diagnosis.findings[..] else {
            panic!("{what}: {:?}", diagnosis.findings);
        };
        assert!(found.what.contains(what), "{found:?}");
        assert_eq!(
            (found.weight, &found.nodes[..]),
            (weight, &["db0".to_owned()][..]),
            "{what}"
        );
        let code = if weight == Weight::Note { 0 } else { 120 };
        assert_eq!(diagnosis.code(), code, "{what}");
    }
}

#[test]
fn a_clock_that_may_be_right_is_not_called_wrong() {
    let seconds = Duration::from_secs;
    let far_away = ServerFacts {
        clock: Some((false, seconds(3), seconds(2))),
        ..server()
    };
    assert_eq!(with(far_away).findings, []);
}

#[test]
fn without_a_quorum_of_votes_it_is_broken() {
    let away = || ServerFacts {
        vote: abstains(AbstentionCause::Changed),
        ..server()
    };
    let diagnosis = Diagnosis::of(patient(vec![away(), away(), server()]));
    assert_eq!(
        (diagnosis.verdict(), diagnosis.code()),
        (Verdict::Broken, 122)
    );
    // The same of two nodes is told once.
    let [found] = &diagnosis.findings[..] else {
        panic!("{:?}", diagnosis.findings);
    };
    assert_eq!(found.nodes, ["db0", "db1"]);
    let lacks = || ServerFacts {
        lacking: Some(vec!["+eval".to_owned()]),
        ..server()
    };
    let diagnosis = Diagnosis::of(patient(vec![lacks(), lacks(), server()]));
    assert_eq!(diagnosis.verdict(), Verdict::Broken);
}

#[test]
fn nobody_is_told_to_admit_a_server_that_waits_for_the_end_of_leases_which_there_may_well_be() {
    for (cause, expected) in [
        (AbstentionCause::Changed, true),
        (AbstentionCause::Evicted, false),
        (AbstentionCause::Reconfigured, false),
    ] {
        let waiting = || ServerFacts {
            vote: abstains(cause),
            ..server()
        };
        let diagnosis = with(waiting());
        let remedy = &diagnosis.findings[0].remedy;
        assert_eq!(remedy.contains("leasehold admit"), expected, "{remedy}");
        let patient = patient(vec![waiting(), waiting(), server()]);
        let hint = hint::not_usable(&patient);
        let is_said = hint.is_some_and(|hint| hint.contains("leasehold admit"));
        assert_eq!(is_said, expected);
    }
}

#[test]
fn what_is_about_all_nodes_is_found() {
    let same = || ServerFacts {
        run_id: Some("1234".to_owned()),
        ..server()
    };
    let twice = Diagnosis::of(patient(vec![same(), server(), same()]));
    assert_eq!(twice.findings[0].nodes, ["db0", "db2"]);
    assert_eq!(twice.findings[0].weight, Weight::Problem);
    for count in [1, 2] {
        let few = Diagnosis::of(patient((0..count).map(|_| server()).collect()));
        assert_eq!((few.findings.len(), few.code()), (1, 0), "{few:?}");
    }
    let mut off = patient(vec![server(), server(), server()]);
    off.options.guard = Guard::Off;
    assert_eq!(Diagnosis::of(off).code(), 120);
    // Nobody asks for its past then: what INFO would tell is not needed.
    let secretive = ServerFacts {
        vote: VoteFacts::NotTold("NOPERM".to_owned()),
        lacking: Some(vec!["+info".to_owned()]),
        ..server()
    };
    let mut off = patient(vec![secretive.clone(), secretive.clone(), secretive]);
    assert_eq!(Diagnosis::of(off.clone()).verdict(), Verdict::Broken);
    off.options.guard = Guard::Off;
    assert_eq!(Diagnosis::of(off).verdict(), Verdict::Weakened);
    let mut replicated = patient(vec![
        ServerFacts {
            replicas: Some(1),
            ..server()
        },
        server(),
        server(),
    ]);
    replicated.options.guard = Guard::TrustAof;
    let found = Diagnosis::of(replicated).findings;
    assert_eq!(found[0].weight, Weight::Problem, "{found:?}");
    let mut trusted = patient(vec![server(), server(), server()]);
    trusted.options.guard = Guard::TrustAof;
    for node in &mut trusted.nodes {
        if let NodeState::Server(server) = &mut node.state {
            server.has_log = Some(true);
            server.fsync = Some("everysec".to_owned());
        }
    }
    let found = Diagnosis::of(trusted).findings;
    assert_eq!(
        (found.len(), found[0].weight),
        (1, Weight::Problem),
        "{found:?}"
    );
}

#[test]
fn what_keeps_a_trusted_disk_from_voting_is_told_once() {
    let log = "does not vote, since it does not have every vote on its disk before it answers";
    let replicas =
        "has replicas, and restart guard trust-aof is not for nodes whose place another may take";
    let found = |why: &str, replicas| {
        let mut patient = patient(vec![server(), server(), server()]);
        patient.options.guard = Guard::TrustAof;
        if let NodeState::Server(server) = &mut patient.nodes[0].state {
            server.vote = VoteFacts::Unsuitable(why.to_owned());
            server.has_log = Some(true);
            server.fsync = Some("everysec".to_owned());
            server.replicas = Some(replicas);
        }
        Diagnosis::of(patient).findings
    };
    let [of_log] = &found(log, 0)[..] else {
        panic!("{:?}", found(log, 0));
    };
    assert_eq!(of_log.what, log);
    assert!(of_log.remedy.contains("appendfsync always"), "{of_log:?}");
    // What is another matter is told beside it.
    for (why, count) in [(log, 2), (replicas, 2), ("is a replica", 3)] {
        let found = found(why, 1);
        assert_eq!(found.len(), count, "{found:?}");
        assert!(found.iter().any(|found| found.what == why), "{found:?}");
    }
}

fn file(used: u64, unusable: Option<&str>) -> Diagnosis {
    let state = NodeState::File(FileFacts {
        path: "/x/data.mdb".to_owned(),
        used,
        room: 100,
        holders: Vec::new(),
        unusable: unusable.map(str::to_owned),
    });
    let name = "/x".to_owned();
    Diagnosis::of(Patient {
        nodes: vec![NodeFacts { name, state }],
        ..patient(vec![server()])
    })
}

#[test]
fn a_file_is_sound_unless_it_is_full() {
    assert_eq!((file(10, None).code(), file(95, None).code()), (0, 120));
}

#[test]
fn a_file_in_which_no_lock_can_be_set_is_broken() {
    let diagnosis = file(10, Some("the disk is full"));
    let (verdict, what) = (diagnosis.verdict(), &diagnosis.findings[0].what);
    assert_eq!((verdict, diagnosis.code()), (Verdict::Broken, 122));
    assert_eq!(what, "takes no lock: the disk is full");
}

#[test]
fn a_server_has_one_vote_under_however_many_names() {
    let named = |run_id: &str| ServerFacts {
        run_id: Some(run_id.to_owned()),
        ..server()
    };
    let judged = |ids: [&str; 3]| {
        let mut patient = patient(ids.map(named).to_vec());
        count_once(&mut patient.nodes);
        let diagnosis = Diagnosis::of(patient);
        (diagnosis.patient.voting(), diagnosis.code())
    };
    assert_eq!(judged(["a", "b", "c"]), (3, 0));
    assert_eq!(judged(["a", "b", "a"]), (2, 120));
    assert_eq!(judged(["a", "a", "a"]), (1, 122));
}

#[test]
fn nodes_that_tell_nothing_are_told_of_by_cause() {
    let late = "the node did not answer within 2s";
    let mut patient = patient(vec![server(), server(), server(), server(), server()]);
    for (node, why) in patient.nodes.iter_mut().zip([late, "needs a password"]) {
        node.state = NodeState::Silent(why.to_owned());
    }
    let told = |patient: &Patient| {
        let found = all(patient).into_iter();
        let told = found.map(|finding| (finding.nodes.join(" "), finding.what, finding.why));
        told.collect::<Vec<_>>()
    };
    let fewer = "it does not vote, so fewer other nodes may fail";
    let expected = [
        ("db0", "does not answer", fewer),
        ("db1", "needs a password", fewer),
    ];
    let expected = expected.map(|(node, what, why)| (node.to_owned(), what.to_owned(), why));
    assert_eq!(told(&patient), expected);
    patient.nodes[2].state = NodeState::Silent(late.to_owned());
    let too_few = "they do not vote, and too few others do: no lock can be acquired";
    let expected = ("db0 db2".to_owned(), "do not answer".to_owned(), too_few);
    assert_eq!(told(&patient)[0], expected);
}

#[test]
fn each_cause_of_silence_has_its_own_remedy() {
    for (why, what, remedy) in [
        ("needs a password", "needs a password", "give the password"),
        (
            "authentication failed: WRONGPASS",
            "authentication failed",
            "correct the user",
        ),
        (
            "no connection within 1s",
            "does not answer",
            "stopped or overloaded",
        ),
        (
            "connection refused",
            "cannot be reached: connection refused",
            "start it",
        ),
        (
            "db could not be resolved: x",
            "cannot be reached: the host's",
            "correct the host",
        ),
        (
            "TLS took more than 1s",
            "does not answer when TLS begins",
            "write redis:// in its address",
        ),
        (
            "closed the door",
            "cannot be used: closed the door",
            "correct what it says",
        ),
    ] {
        let mut patient = patient(vec![server()]);
        patient.nodes[0].state = NodeState::Silent(why.to_owned());
        let finding = all(&patient).remove(0);
        assert!(finding.what.starts_with(what), "{finding:?}");
        assert!(finding.remedy.contains(remedy), "{finding:?}");
    }
}
