//! What is particular to Redis Clusters, and to the plain locks on them.

use super::{Finding, NodeState, Options, Patient, ServerFacts, Weight, finding};
use crate::judgement::Judgement;

/// Slots that no master keeps.
pub(super) fn unkept(patient: &Patient) -> Vec<Finding> {
    let why = match patient.judgement() {
        Judgement::Now { .. } => {
            "locks whose names are in them have no vote of this cluster, so fewer other nodes may fail"
        }
        _ => {
            "locks whose names are in them have no vote of this cluster, and too few others: none can be acquired"
        }
    };
    let found = |(name, unkept): (&String, usize)| Finding {
        nodes: vec![name.clone()],
        ..finding(
            Weight::Problem,
            format!("no master keeps {unkept} of the slots"),
            why,
            "`redis-cli --cluster check HOST:PORT` says which; `--cluster fix` gives them to masters",
        )
    };
    let unkept = patient.nodes.iter().filter_map(|node| match &node.state {
        NodeState::Cluster(cluster) => Some((&node.name, cluster.unkept())),
        _ => None,
    });
    { unkept }
        .filter(|(_, unkept)| *unkept > 0)
        .map(found)
        .collect()
}

/// Fenced locks refuse a server that may evict; plain ones do not look.
pub(super) fn eviction(server: &ServerFacts, options: &Options) -> Option<Finding> {
    let policy = server
        .memory_policy
        .as_deref()
        .filter(|policy| !policy.is_empty())?;
    (options.is_plain && policy != "noeviction").then(|| {
        finding(
            Weight::Warning,
            format!("its maxmemory-policy is {policy}"),
            "at its maxmemory it evicts locks that are held, and grants them again: two may hold one",
            "CONFIG SET maxmemory-policy noeviction, and the same in its configuration",
        )
    })
}

/// What plain locks on so many nodes are.
pub(super) fn plain(nodes: usize) -> Finding {
    let what = "locks are plain: without fencing tokens, and without the restart guard";
    match nodes {
        1 => finding(
            Weight::Warning,
            what,
            "a replica that takes its master's place, or a master that restarts without its data, grants at once every lock that \
             it does not know of: two may hold one",
            "use three independent clusters, and --replicated on each; or three servers that are no cluster, for fenced locks",
        ),
        _ => finding(
            Weight::Note,
            what,
            "nodes that have forgotten a lock vote at once, and two may hold it if those that remember are no majority of all",
            "--replicated makes that rarer; see \"A Redis Cluster\" in docs/OPERATING.md",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agreement::Guard,
        diagnosis::{
            Diagnosis, Verdict,
            cluster::{ClusterFacts, MasterFacts},
            facts::NodeFacts,
        },
    };
    use std::time::Duration;

    fn options() -> Options {
        Options {
            ttl: Duration::from_secs(10),
            clock_skew: Duration::ZERO,
            guard: Guard::Off,
            is_plain: true,
            replicated: None,
            on_disk: None,
        }
    }

    /// Clusters of two masters, of each of which so many slots are kept, and whose second one tells this.
    fn diagnosis(clusters: &[(u16, NodeState)]) -> Diagnosis {
        let master = |name: &str, slots, state: NodeState| MasterFacts {
            slots: vec![slots],
            node: NodeFacts {
                name: name.to_owned(),
                state,
            },
        };
        let cluster = |(number, (kept, state)): (usize, &(u16, NodeState))| NodeFacts {
            name: format!("cluster{number}"),
            state: NodeState::Cluster(ClusterFacts {
                slots: 0..=16_383,
                masters: vec![
                    master("a", 0..=8_191, server()),
                    master("b", 8_192..=kept - 1, state.clone()),
                ],
                same_as: None,
            }),
        };
        Diagnosis::of(Patient {
            origin: None,
            quorum: clusters.len() / 2 + 1,
            options: options(),
            nodes: clusters.iter().enumerate().map(cluster).collect(),
            replaced: Vec::new(),
        })
    }

    fn server() -> NodeState {
        NodeState::Server(Box::new(ServerFacts {
            lacking: Some(Vec::new()),
            ..ServerFacts::default()
        }))
    }

    fn silent() -> NodeState {
        NodeState::Silent("connection refused".to_owned())
    }

    fn whats(diagnosis: &Diagnosis) -> Vec<&str> {
        { diagnosis.findings.iter() }
            .map(|finding| &*finding.what)
            .collect()
    }

    const PLAIN: &str = "locks are plain: without fencing tokens, and without the restart guard";

    #[test]
    fn three_whole_clusters_are_sound_and_a_single_one_is_weaker_than_it_looks() {
        let three = diagnosis(&[(16_384, server()), (16_384, server()), (16_384, server())]);
        assert_eq!(
            (three.verdict(), &*whats(&three)),
            (Verdict::Sound, &[PLAIN][..])
        );
        let one = diagnosis(&[(16_384, server())]);
        assert_eq!(
            (one.verdict(), &*whats(&one)),
            (Verdict::Weakened, &[PLAIN][..])
        );
    }

    #[test]
    fn what_one_cluster_misses_others_may_make_up_for_name_by_name() {
        let missing = diagnosis(&[(16_384, silent()), (16_384, server()), (16_384, server())]);
        assert_eq!(missing.verdict(), Verdict::Weakened);
        assert!(
            missing
                .sentence()
                .contains("2 of 3 nodes vote for all names; locks work, but no"),
            "{}",
            missing.sentence()
        );
        let broken = diagnosis(&[(16_384, silent()), (16_384, silent()), (16_384, server())]);
        assert_eq!(broken.verdict(), Verdict::Broken);
        assert!(
            broken
                .sentence()
                .ends_with("whose name is in 8192 of the 16384 slots"),
            "{}",
            broken.sentence()
        );
        let unkept = diagnosis(&[(10_000, server())]);
        assert_eq!(whats(&unkept), ["no master keeps 6384 of the slots", PLAIN]);
        assert!(unkept.sentence().ends_with("in 6384 of the 16384 slots"));
    }

    #[test]
    fn what_may_evict_plain_locks_is_told_since_they_do_not_look() {
        let server = |policy: &str| ServerFacts {
            memory_policy: Some(policy.to_owned()),
            ..ServerFacts::default()
        };
        let found = |policy| eviction(&server(policy), &options()).map(|finding| finding.weight);
        assert_eq!(found("volatile-ttl"), Some(Weight::Warning));
        assert_eq!(found("noeviction"), None);
        assert_eq!(found(""), None);
        let fenced = Options {
            is_plain: false,
            ..options()
        };
        assert_eq!(eviction(&server("allkeys-lru"), &fenced), None);
    }
}
