//! A diagnosis as people and as machines read it.

use super::{
    Diagnosis, Finding, Options, Patient, Verdict, Weight,
    cluster::{ClusterFacts, MasterFacts},
    facts::{ClockFacts, NodeFacts, NodeState, ServerFacts, VoteFacts},
    findings::{self, lateness},
    mode::Mode,
};
use crate::{columns, duration::Shown, json::Json};
use std::time::Duration;

impl Diagnosis {
    /// In full.
    pub(crate) fn text(&self) -> String {
        let patient = &self.patient;
        let origin = patient.origin.as_ref();
        let origin = origin.map_or_else(String::new, |origin| format!(", by {origin}"));
        let mut lines = vec![
            match &patient.nodes[..] {
                [_] => format!("1 node{origin}"),
                nodes => format!(
                    "{} nodes, {} must agree{origin}",
                    nodes.len(),
                    patient.quorum
                ),
            },
            String::new(),
        ];
        let rows = patient.nodes.iter().flat_map(|node| rows(node, patient));
        let rows: Vec<_> = rows.collect();
        lines.extend(columns::lines(&rows));
        lines.push(String::new());
        for finding in &self.findings {
            lines.extend(finding.lines());
            lines.push(String::new());
        }
        lines.push(format!("verdict: {}", self.sentence()));
        lines.join("\n")
    }

    /// The verdict, for people.
    pub(crate) fn sentence(&self) -> String {
        let (word, patient) = (self.verdict().word(), &self.patient);
        let judgement = patient.judgement().sentence(patient.nodes.len());
        format!("{word}: {}; {judgement}", patient.count())
    }

    pub(crate) fn json(&self) -> Json {
        Json::Object(vec![
            ("verdict", self.verdict().word().into()),
            ("sentence", self.sentence().into()),
            ("quorum", self.patient.quorum.into()),
            ("voting", self.patient.voting().into()),
            ("configuration", Json::or_null(self.patient.origin.clone())),
            (
                "nodes",
                Json::List(
                    self.patient
                        .nodes
                        .iter()
                        .map(|node| node_json(node, &self.patient))
                        .collect(),
                ),
            ),
            (
                "findings",
                Json::List(self.findings.iter().map(Finding::json).collect()),
            ),
        ])
    }
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Weakened => "weakened",
            Self::Broken => "broken",
        }
    }
}

impl Finding {
    fn lines(&self) -> Vec<String> {
        let nodes = match &self.nodes[..] {
            [] => String::new(),
            nodes => format!("{}: ", nodes.join(", ")),
        };
        vec![
            format!("{:8} {nodes}{}", self.weight.word(), self.what),
            format!("         why: {}", self.why),
            format!("         do:  {}", self.remedy),
        ]
    }

    fn json(&self) -> Json {
        Json::Object(vec![
            ("weight", self.weight.word().into()),
            ("nodes", self.nodes.iter().map(String::as_str).collect()),
            ("what", self.what.as_str().into()),
            ("why", self.why.into()),
            ("do", self.remedy.as_str().into()),
        ])
    }
}

impl Weight {
    const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

fn rows(node: &NodeFacts, patient: &Patient) -> Vec<Vec<String>> {
    let options = &patient.options;
    let two = |first: String, second: String| {
        vec![vec![node.name.clone(), first], vec![String::new(), second]]
    };
    match &node.state {
        NodeState::Silent(why) => vec![vec![node.name.clone(), why.clone()]],
        NodeState::InProcess => two("in the memory of a process".to_owned(), String::new()),
        NodeState::Server(server) => {
            let mut rows = two(identity(server), condition(server, options));
            let mode = Mode::of(server, options);
            rows.extend(mode.map(|mode| vec![String::new(), mode.to_string()]));
            rows
        }
        NodeState::Cluster(cluster) => {
            let own = cluster_line(cluster, patient.votes_in(node));
            let masters = cluster.shown().flat_map(|master| {
                let mut rows = rows(&master.node, patient);
                if let Some([name, what]) = rows.first_mut().map(Vec::as_mut_slice) {
                    *name = format!("  {name}");
                    *what = format!("{} slots; {what}", master.size());
                }
                rows
            });
            let own = [vec![node.name.clone(), own]];
            own.into_iter().chain(masters).collect()
        }
        NodeState::File(file) => {
            let size = format!(
                "{} of {} used, on this machine only",
                bytes(file.used),
                bytes(file.room)
            );
            let mut rows = vec![
                vec!["file".to_owned(), file.path.clone()],
                vec![String::new(), size],
            ];
            if file.unusable.is_some() {
                rows.push(vec![String::new(), "takes no locks".to_owned()]);
            }
            for (process, resource) in &file.holders {
                rows.push(vec![
                    String::new(),
                    format!("pid {process} lives and holds {resource:?}"),
                ]);
            }
            rows
        }
    }
}

/// `a Redis Cluster of 3 masters; votes`.
fn cluster_line(cluster: &ClusterFacts, votes: Option<bool>) -> String {
    let votes = match (&cluster.same_as, votes) {
        (Some(other), _) => format!("does not vote beside {other}: it is the same cluster"),
        (None, Some(true)) => "votes".to_owned(),
        (None, Some(false)) => "cannot vote".to_owned(),
        (None, None) => "votes for some names".to_owned(),
    };
    let masters = cluster.masters.len();
    let plural = if masters == 1 { "" } else { "s" };
    format!("a Redis Cluster of {masters} master{plural}; {votes}")
}

/// `Valkey 8.1.3, master, up 12 d`.
fn identity(server: &ServerFacts) -> String {
    let version = server.version.clone();
    let mut parts = vec![version.unwrap_or_else(|| "version not told".to_owned())];
    parts.extend(server.role.as_deref().map(|role| match role {
        "slave" => "replica".to_owned(),
        role => role.to_owned(),
    }));
    parts.extend(server.uptime.map(|uptime| format!("up {}", long(uptime))));
    parts.extend(match (server.has_log, &server.fsync) {
        (None, _) => Some("persistence not told".to_owned()),
        (Some(false), _) => Some("no append-only file".to_owned()),
        (Some(true), None) => Some("append-only file, fsync not told".to_owned()),
        (Some(true), Some(fsync)) => Some(format!("append-only file, fsync {fsync}")),
    });
    parts.extend(server.memory_used.map(|used| match server.memory_limit {
        Some(limit) => format!("{} of {}", bytes(used), bytes(limit)),
        None => bytes(used),
    }));
    parts.join(", ")
}

/// `answers in 350 µs, clock 1 ms ahead; votes`.
fn condition(server: &ServerFacts, options: &Options) -> String {
    let clock = match server.clock_beside_ours() {
        ClockFacts::NotTold => "clock not told".to_owned(),
        ClockFacts::AsHere => "clock as here".to_owned(),
        ClockFacts::Ahead(by) => format!("clock {} ahead", Shown(by)),
        ClockFacts::Behind(by) => format!("clock {} behind", Shown(by)),
    };
    let votes = match &server.vote {
        _ if lateness::is_late(server, options) => "too late for a vote".to_owned(),
        VoteFacts::Votes | VoteFacts::NotTold(_) if findings::votes(server, options) => {
            "votes".to_owned()
        }
        VoteFacts::Votes | VoteFacts::Unsuitable(_) | VoteFacts::RefusesWrites(_) => {
            "cannot vote".to_owned()
        }
        VoteFacts::Abstains(abstention) => format!("votes in {}", Shown(abstention.left)),
        VoteFacts::Others(_) | VoteFacts::Unfinished(_) => "does not vote for us".to_owned(),
        VoteFacts::SameAs(other) => format!("does not vote beside {other}: it is the same server"),
        VoteFacts::NotTold(_) => "does not tell whether it votes".to_owned(),
    };
    format!(
        "answers in {} ({} at most), {clock}; {votes}",
        Shown(server.round_trip),
        Shown(server.slowest)
    )
}

fn node_json(node: &NodeFacts, patient: &Patient) -> Json {
    let options = &patient.options;
    let mut pairs = vec![("node", node.name.as_str().into())];
    match &node.state {
        NodeState::Silent(why) => {
            pairs.extend([("answers", false.into()), ("why", why.as_str().into())]);
        }
        NodeState::InProcess => pairs.push(("kind", "memory".into())),
        NodeState::File(file) => pairs.extend([
            ("kind", "file".into()),
            ("path", file.path.as_str().into()),
            ("used_bytes", file.used.into()),
            ("room_bytes", file.room.into()),
            ("votes", file.unusable.is_none().into()),
            ("why", Json::or_null(file.unusable.clone())),
            (
                "holders",
                file.holders
                    .iter()
                    .map(|(process, resource)| {
                        Json::Object(vec![
                            ("pid", u64::from(*process).into()),
                            ("resource", resource.as_str().into()),
                        ])
                    })
                    .collect(),
            ),
        ]),
        NodeState::Cluster(cluster) => {
            let master = |master: &MasterFacts| match node_json(&master.node, patient) {
                Json::Object(mut pairs) => {
                    pairs.insert(1, ("slots", master.size().into()));
                    Json::Object(pairs)
                }
                other => other,
            };
            pairs.extend([
                ("kind", "cluster".into()),
                ("answers", true.into()),
                ("votes", (patient.votes_in(node) == Some(true)).into()),
                ("unkept_slots", cluster.unkept().into()),
                ("same_as", Json::or_null(cluster.same_as.clone())),
                ("masters", Json::List(cluster.shown().map(master).collect())),
            ]);
        }
        NodeState::Server(server) => {
            pairs.extend(server_json(server, options));
            let mode = Mode::of(server, options);
            pairs.push(("mode", mode.map_or(Json::Null, Mode::json)));
        }
    }
    Json::Object(pairs)
}

fn server_json(server: &ServerFacts, options: &Options) -> Vec<(&'static str, Json)> {
    let (left, why) = match &server.vote {
        _ if lateness::is_late(server, options) => (None, Some(lateness::told(server, options))),
        VoteFacts::Votes => (None, None),
        VoteFacts::Abstains(abstention) => (Some(abstention.left), Some(abstention.to_string())),
        VoteFacts::SameAs(other) => (None, Some(format!("the same server as {other}"))),
        VoteFacts::Unsuitable(why)
        | VoteFacts::RefusesWrites(why)
        | VoteFacts::Others(why)
        | VoteFacts::Unfinished(why)
        | VoteFacts::NotTold(why) => (None, Some(why.clone())),
    };
    vec![
        ("kind", "server".into()),
        ("answers", true.into()),
        ("round_trip_us", Json::micros(server.round_trip)),
        ("slowest_round_trip_us", Json::micros(server.slowest)),
        ("version", Json::or_null(server.version.clone())),
        ("role", Json::or_null(server.role.clone())),
        ("run_id", Json::or_null(server.run_id.clone())),
        (
            "uptime_s",
            Json::or_null(server.uptime.map(|uptime| uptime.as_secs())),
        ),
        ("replicas", Json::or_null(server.replicas)),
        (
            "clock_ahead",
            Json::or_null(server.clock.map(|(is_ahead, ..)| is_ahead)),
        ),
        (
            "clock_off_us",
            server
                .clock
                .map_or(Json::Null, |(_, by, _)| Json::micros(by)),
        ),
        ("used_memory_bytes", Json::or_null(server.memory_used)),
        ("maxmemory_bytes", Json::or_null(server.memory_limit)),
        ("append_only_file", Json::or_null(server.has_log)),
        ("appendfsync", Json::or_null(server.fsync.clone())),
        ("lacking_rights", rights(server.lacking.as_deref())),
        (
            "lacking_rights_for_fair",
            rights(server.lacking_for_fair.as_deref()),
        ),
        (
            "key_out_of_reach",
            Json::or_null(server.out_of_reach.clone()),
        ),
        (
            "leads_to_others",
            server.others.iter().map(String::as_str).collect(),
        ),
        ("behind_proxy", server.is_proxied.into()),
        ("votes", findings::votes(server, options).into()),
        ("votes_in_ms", left.map_or(Json::Null, Json::millis)),
        ("why", Json::or_null(why)),
    ]
}

fn rights(lacking: Option<&[String]>) -> Json {
    lacking.map_or(Json::Null, |lacking| {
        lacking.iter().map(String::as_str).collect()
    })
}

/// `64 MiB`, `1.2 MiB`, `900 KiB`. Rounded down.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..KIB => format!("{bytes} B"),
        KIB..MIB => format!("{} KiB", bytes / KIB),
        _ => format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB),
    }
}

/// Days, where it is days.
fn long(time: Duration) -> String {
    match time.as_secs() / (24 * 60 * 60) {
        0 if time.is_zero() => "0 s".to_owned(),
        0 => Shown(time).to_string(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
