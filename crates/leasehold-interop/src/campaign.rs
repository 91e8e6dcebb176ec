//! All checks with all peers.

use crate::{
    Fallible,
    check::{CHECKS, Check, Scenario},
    control,
    differences::Differences,
    ground::{Ground, NodeSet},
    install::Installed,
    ours::{Kind, Ours},
    peer::{Nodes, Peer},
    record::Record,
    report::Report,
    scene::Scene,
};
use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

/// A run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Campaign<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) differences: &'a Differences,
    /// Where libraries are installed.
    pub(crate) target: &'a Path,
    /// How long a mix lasts.
    pub(crate) mix_for: Duration,
    /// How many peers are tried at the same time.
    pub(crate) lanes: usize,
}

impl Campaign<'_> {
    /// Tries these peers against both kinds of our locks, and the controls.
    pub(crate) fn run(&self, peers: &[&'static Peer]) -> Fallible<Report> {
        let mut report = Report::default();
        let mut units = Vec::new();
        for &peer in peers {
            match Installed::get(peer, self.target) {
                Ok(installed) => {
                    let kinds = { Kind::ALL.into_iter() }.filter(|kind| peer.is_tried_with(*kind));
                    units.extend(kinds.map(|kind| (installed.clone(), kind)));
                }
                Err(why) => {
                    leasehold_servers::skip(&format!("{}: {why}", peer.name));
                    report.skipped.push((peer, why));
                }
            }
        }
        println!(
            "{} peers, {} mixes of {:?}, {} at a time",
            peers.len() - report.skipped.len(),
            units.len(),
            self.mix_for,
            self.lanes,
        );
        // Taken from the end.
        units.reverse();
        let (units, records) = (Mutex::new(units), Mutex::new(Vec::new()));
        // Not in the head of the loop, which would keep the lock for as long as the peer is tried.
        let next = || lock(&units).pop();
        thread::scope(|scope| {
            for _ in 0..self.lanes {
                scope.spawn(|| {
                    while let Some((installed, kind)) = next() {
                        let record = self.try_peer(&installed, kind, |_| true);
                        if let Ok(record) = &record {
                            println!("{}", line(record));
                        }
                        lock(&records).push(record);
                    }
                });
            }
        });
        let records = records.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.records = records.into_iter().collect::<Fallible<_>>()?;
        let order = |record: &Record| (record.peer.name, record.kind.name() == Kind::Fenced.name());
        report
            .records
            .sort_by(|one, other| order(one).cmp(&order(other)));
        report.proofs = control::prove(self)?;
        Ok(report)
    }

    /// Tries one peer against one kind of our locks.
    pub(crate) fn try_peer(
        &self,
        installed: &Installed,
        kind: Kind,
        is_chosen: impl Fn(&Check) -> bool,
    ) -> Fallible<Record> {
        let mut record = Record {
            peer: installed.peer,
            kind,
            findings: Vec::new(),
            figures: None,
            said: Vec::new(),
        };
        let is_meant = |check: &&Check| check.is_for_both(installed.peer, kind) && is_chosen(check);
        for place in [
            None,
            Some(Scenario::OneDown),
            Some(Scenario::OneNode),
            Some(Scenario::FiveNodes),
        ] {
            let nodes = self.nodes(installed.peer, place);
            let is_here = |check: &&Check| check.scenario.place() == place;
            let checks: Vec<_> = CHECKS.iter().filter(is_meant).filter(is_here).collect();
            if checks.is_empty() {
                continue;
            }
            self.try_on(nodes, &checks, installed, &mut record)?;
        }
        Ok(record)
    }

    /// The nodes of a scenario that has its own, or those where a peer is at home.
    fn nodes(&self, peer: &Peer, place: Option<Scenario>) -> &NodeSet {
        match (place, peer.nodes) {
            (Some(Scenario::OneDown), _) => &self.ground.two_of_three,
            (Some(Scenario::OneNode), _) | (_, Nodes::One) => &self.ground.one,
            (Some(Scenario::FiveNodes), _) | (_, Nodes::Five) => &self.ground.five,
            (_, Nodes::Quorum) => &self.ground.three,
        }
    }

    fn try_on(
        &self,
        nodes: &NodeSet,
        checks: &[&'static Check],
        installed: &Installed,
        record: &mut Record,
    ) -> Fallible<()> {
        let (peer, kind) = (record.peer, record.kind);
        let ours = Ours::new(kind, &nodes.urls())?;
        let mut shim = None;
        for &check in checks {
            let they = match shim.take() {
                Some(they) => Ok(they),
                None => installed.start(&nodes.urls()),
            };
            let found = they.and_then(|mut they| {
                let name = format!("{}/{}/{}", peer.name, kind.name(), check.path());
                let mut scene = Scene {
                    installed,
                    kind,
                    nodes,
                    they: &mut they,
                    ours: &ours,
                    resource: peer.key_of(&name),
                    name,
                    mix_for: self.mix_for,
                    ground: self.ground,
                    figures: None,
                    said: Vec::new(),
                };
                let found = (check.run)(&mut scene);
                record.figures = scene.figures.or(record.figures.take());
                record.note(scene.said);
                found?;
                // After a flaw the next check gets a new process: what this one broke is not its business.
                shim = Some(they);
                Ok(())
            });
            let found = found.map_err(|error| error.to_string());
            record.add(check, found, self.differences);
        }
        Ok(())
    }
}

/// One peer, as soon as it is known.
fn line(record: &Record) -> String {
    let mut text = format!("{:<23} {:<7}", record.peer.name, record.kind.name());
    for scenario in Scenario::ALL {
        let word = record.worst(scenario).map_or("–", |verdict| verdict.word());
        text += &format!(" {} {word} ", scenario.name());
    }
    text.trim_end().to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
