//! Nodes and locks at one moment, as `watch` draws them.

use crate::{
    columns,
    command::list,
    diagnosis::{
        Diagnosis, Patient,
        facts::{ClockFacts, FileFacts, NodeFacts, NodeState, VoteFacts},
    },
    duration::Shown,
    json::Json,
    judgement::Judgement,
    lock_view::{KeyView, LockView, Signature, State, row, shown_left},
    moment::Moment,
};
use rustix::termios::tcgetwinsize;
use std::{io::stdout, time::Duration};

/// What there is to see.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// Time since 1970.
    pub(crate) now: Duration,
    pub(crate) patient: Patient,
    /// How the names begin that were asked for.
    pub(crate) prefix: String,
    pub(crate) locks: Vec<LockView>,
    /// Whose clocks were set since the first picture, a line each.
    pub(crate) steps: Vec<String>,
    /// How many nodes did not tell what is locked.
    pub(crate) unlisted: usize,
    /// Whether there are locks that were not read.
    pub(crate) has_more: bool,
}

/// Where it is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frame {
    /// In the place of the one before.
    Terminal,
    /// Behind the one before.
    Plain,
    /// For programs, a line each.
    Json,
}

impl Frame {
    /// What is there before the first picture, for which a node that hangs may take half a second.
    pub(crate) const fn begin(self) -> &'static str {
        match self {
            Self::Terminal => "\x1b[H\x1b[2Jasking the nodes …\n",
            Self::Plain | Self::Json => "",
        }
    }

    /// The bytes of a picture.
    pub(crate) fn draw(self, picture: &Picture) -> String {
        match self {
            Self::Plain => format!("{}\n\n", picture.text(usize::MAX)),
            Self::Json => format!("{}\n", picture.json()),
            Self::Terminal => {
                // A terminal that does not know its size says 0.
                let size = tcgetwinsize(stdout()).ok();
                let size = size.filter(|size| size.ws_row > 0 && size.ws_col > 0);
                let (rows, width) = size.map_or((24, 80), |size| (size.ws_row, size.ws_col));
                let (rows, width) = (usize::from(rows), usize::from(width));
                // Home, then each line over the old one, then nothing below: a cleared screen would flicker.
                let mut bytes = String::from("\x1b[H");
                for line in picture.text(rows.saturating_sub(1)).lines() {
                    bytes.extend(line.chars().take(width));
                    bytes.push_str("\x1b[K\n");
                }
                bytes.push_str("\x1b[J");
                bytes
            }
        }
    }
}

impl Picture {
    /// In so many lines at most.
    pub(crate) fn text(&self, most: usize) -> String {
        let diagnosis = Diagnosis::of(self.patient.clone());
        let mut lines = vec![
            format!("{}   {}", Moment(self.now), diagnosis.sentence()),
            String::new(),
        ];
        let mut rows = vec![row(["NODE", "ANSWERS", "CLOCK", "VOTES"])];
        let nodes = self.patient.nodes.iter();
        rows.extend(nodes.flat_map(|node| node_rows(node, &self.patient)));
        lines.extend(columns::lines(&rows));
        lines.extend(self.steps.iter().cloned());
        lines.push(String::new());
        let mut rows = vec![row(["LOCK", "NODES", "LEFT", "", "HOLDER"])];
        rows.extend(self.locks.iter().flat_map(lock_rows));
        let shown = columns::lines(&rows);
        // One line is kept to say that there are more.
        let room = most.saturating_sub(lines.len() + 1).max(2);
        let left_out = shown.len().saturating_sub(room);
        if !self.locks.is_empty() {
            lines.extend(shown.into_iter().take(room));
        } else if self.knows_locks() && !self.has_more {
            // "nothing is locked" would mislead where no lock can be acquired.
            lines.push(match self.patient.judgement() {
                Judgement::Now { .. } => list::nothing(&self.prefix),
                _ => "no lock was found".to_owned(),
            });
        }
        if !self.knows_locks() {
            let (unlisted, nodes) = (self.unlisted, self.patient.nodes.len());
            lines.push(format!(
                "what is locked is not known: {unlisted} of {nodes} nodes do not tell"
            ));
        }
        match (left_out, self.has_more) {
            (_, true) => lines.push(
                "there are more keys than were read, and maybe more locks: a prefix asks for fewer"
                    .to_owned(),
            ),
            (0, false) => {}
            (count, false) => lines.push(format!("… and {count} more")),
        }
        lines.join("\n")
    }
}

impl Picture {
    /// Whether so many nodes have told what is locked that no lock can be missing.
    fn knows_locks(&self) -> bool {
        self.patient.nodes.len() - self.unlisted >= self.patient.quorum
    }

    /// As `doctor --json` tells of the nodes and `list --json` of each lock.
    pub(crate) fn json(&self) -> Json {
        let Json::Object(told) = Diagnosis::of(self.patient.clone()).json() else {
            unreachable!("a diagnosis has names and values");
        };
        let locks = self.locks.iter().map(LockView::json).collect();
        let steps = self.steps.iter().map(String::as_str).collect();
        let mut pairs = vec![("at_unix_ms", Json::millis(self.now))];
        pairs.extend(told);
        pairs.extend([
            ("clock_steps", steps),
            (
                "locks",
                Json::or_null(self.knows_locks().then_some(Json::List(locks))),
            ),
            ("has_more", self.has_more.into()),
        ]);
        Json::Object(pairs)
    }
}

/// A cluster has a row of its own, and each of its masters one below.
fn node_rows(node: &NodeFacts, patient: &Patient) -> Vec<Vec<String>> {
    let NodeState::Cluster(cluster) = &node.state else {
        return vec![node_row(node, patient)];
    };
    let votes = match (&cluster.same_as, patient.votes_in(node), cluster.unkept()) {
        (Some(other), ..) => format!("no: the same cluster as {other}"),
        (_, Some(true), _) => "yes".to_owned(),
        (_, Some(false), _) => "no".to_owned(),
        (_, None, 0) => "for some names".to_owned(),
        (_, None, unkept) => format!("for some names: nobody keeps {unkept} slots"),
    };
    let masters = cluster.shown().map(|master| {
        let mut cells = node_row(&master.node, patient);
        if let Some(name) = cells.first_mut() {
            name.insert_str(0, "  ");
        }
        cells
    });
    let own = row([&node.name, "", "", &votes]);
    [own].into_iter().chain(masters).collect()
}

fn node_row(node: &NodeFacts, patient: &Patient) -> Vec<String> {
    let name = node.name.as_str();
    match &node.state {
        NodeState::Silent(why) => row([name, why]),
        NodeState::File(FileFacts {
            unusable: Some(why),
            ..
        }) => row([name, "here", "", &format!("no: {why}")]),
        NodeState::InProcess | NodeState::File(_) => row([name, "here", "", "yes"]),
        NodeState::Cluster(_) => row([name]),
        NodeState::Server(server) => {
            let clock = match server.clock_beside_ours() {
                ClockFacts::NotTold => "not told".to_owned(),
                ClockFacts::AsHere => "as here".to_owned(),
                ClockFacts::Ahead(by) => format!("+{}", Shown(by)),
                ClockFacts::Behind(by) => format!("-{}", Shown(by)),
            };
            let votes = match &server.vote {
                _ if patient.has_vote(server) => "yes".to_owned(),
                _ if patient.is_late(server) => "no: it answers too late".to_owned(),
                VoteFacts::Votes => "no: its user lacks rights".to_owned(),
                VoteFacts::Abstains(abstention) => format!("in {}", Shown(abstention.left)),
                VoteFacts::Unsuitable(why)
                | VoteFacts::RefusesWrites(why)
                | VoteFacts::NotTold(why) => format!("no: {why}"),
                VoteFacts::SameAs(other) => format!("no: the same server as {other}"),
                VoteFacts::Others(_) => "no: of another configuration".to_owned(),
                VoteFacts::Unfinished(_) => "no: a change is not finished".to_owned(),
            };
            row([name, &Shown(server.round_trip).to_string(), &clock, &votes])
        }
    }
}

fn lock_rows(lock: &LockView) -> Vec<Vec<String>> {
    let line = |signature: &Signature, who: &str| {
        row([
            &lock.resource,
            &dots(lock, |key| key.is_signed(&signature.value)),
            &shown_left(signature.left),
            &bar(signature.left),
            who,
        ])
    };
    let held = match &lock.state {
        State::Held(held) if held.is_shown() => Some(line(held, &held.who())),
        State::Permits(permits) => Some(row([
            &lock.resource,
            &dots(lock, |key| permits.is_on(key)),
            &shown_left(permits.left()),
            &bar(permits.left()),
            &permits.sentence(),
        ])),
        _ => None,
    };
    let others = lock.left_over();
    let others = others
        .into_iter()
        .map(|other| line(other, &lock.apart(other)));
    held.into_iter().chain(others).collect()
}

/// One sign for each node: `●` if it has it, `○` if not, `?` if that is not known.
fn dots(lock: &LockView, has_it: impl Fn(&KeyView) -> bool) -> String {
    let sign = |(node, key): &(String, KeyView)| match key {
        key if has_it(key) => '●',
        KeyView::Silent(_) => '?',
        KeyView::Nothing if lock.forgetful.contains(node) => '?',
        _ => '○',
    };
    lock.keys.iter().map(sign).collect()
}

/// How much of ten seconds is left, a sign for each: what is extended is seen to jump.
fn bar(left: Option<Duration>) -> String {
    let seconds = left.map_or(10, |left| left.as_secs().min(10));
    (0..10)
        .map(|at| if at < seconds { '#' } else { '.' })
        .collect()
}
