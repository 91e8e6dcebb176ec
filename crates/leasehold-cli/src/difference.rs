//! In what two configurations differ, in the words of the options that make them.
//!
//! Nodes write down what all must agree on as words such as `max-ttl=30000ms`. People set options, and want to know which of them
//! to change.

use leasehold::NodeFault;

/// An option that others set otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    option: &'static str,
    theirs: String,
    ours: String,
}

impl Difference {
    /// `max-ttl 30s, this command uses 60s`.
    pub(crate) fn told(differences: &[Self]) -> String {
        let parts = differences.iter().map(|difference| {
            let Self {
                option,
                theirs,
                ours,
            } = difference;
            let what = match *option {
                "nodes" => "the node list",
                option => option,
            };
            format!("{what} {theirs}, this command uses {ours}")
        });
        parts.collect::<Vec<_>>().join("; ")
    }

    /// The options that say the same as the others do.
    pub(crate) fn way_out(differences: &[Self]) -> String {
        let flags = differences
            .iter()
            .filter(|difference| difference.option != "nodes")
            .map(|difference| format!("--{} {}", difference.option, difference.theirs));
        let flags = flags.collect::<Vec<_>>().join(" ");
        let same = "give the same addresses as the other clients";
        let way = match (
            flags.as_str(),
            flags.split(' ').count() / 2 < differences.len(),
        ) {
            ("", _) => same.to_owned(),
            (flags, true) => format!("{same} and use {flags}"),
            (flags, false) => format!("use {flags}"),
        };
        format!("{way}, or change it for all clients with `leasehold reconfigure`")
    }
}

/// In what the configuration of the first of these nodes differs from `ours`. Empty if no option tells.
pub(crate) fn of_faults(ours: &str, faults: &[NodeFault]) -> Vec<Difference> {
    let said = faults.iter().map(ToString::to_string);
    let mut theirs = said.filter_map(|said| Some(said.split_once(MARK)?.1.to_owned()));
    theirs
        .next()
        .map_or_else(Vec::new, |theirs| between(ours, &theirs))
}

/// In what `theirs` differs from `ours`.
pub(crate) fn between(ours: &str, theirs: &str) -> Vec<Difference> {
    if !theirs.starts_with("version=1 ") {
        return Vec::new();
    }
    let differences = OPTIONS.iter().filter_map(|(word, option, usual)| {
        let (ours, theirs) = (value(ours, word, *usual)?, value(theirs, word, *usual)?);
        (ours != theirs).then_some(Difference {
            option,
            theirs,
            ours,
        })
    });
    differences.collect()
}

/// What stands behind the word, as an option has it.
fn value(text: &str, word: &str, usual: Option<&str>) -> Option<String> {
    let value = text
        .split(' ')
        .find_map(|part| part.strip_prefix(word)?.strip_prefix('='));
    let value = value.or(usual)?;
    let seconds = value.strip_suffix("000ms").filter(|text| !text.is_empty());
    Some(match seconds {
        Some(seconds) => format!("{seconds}s"),
        None => value.replace("%20", " ").replace("%25", "%"),
    })
}

/// A word, the option that makes it, and what is meant where it is missing; none if that says nothing. All other words follow
/// from these.
const OPTIONS: [(&str, &str, Option<&str>); 4] = [
    ("nodes", "nodes", None),
    ("max-ttl", "max-ttl", None),
    ("guard", "restart-guard", None),
    ("keys", "key-format", Some("{}")),
];

/// What stands before the words in what a node says.
const MARK: &str = "are used with another configuration: ";

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "version=1 nodes=a:1,b:1 count=2 quorum=2 max-ttl=60000ms guard=quarantine quarantine=62602ms \
                        counters=1024";

    #[test]
    fn a_difference_is_told_by_the_option_that_makes_it() {
        let cases = [
            (
                "max-ttl=60000ms",
                "max-ttl=30000ms",
                "max-ttl 30s, this command uses 60s",
            ),
            (
                "max-ttl=60000ms",
                "max-ttl=1500ms",
                "max-ttl 1500ms, this command uses 60s",
            ),
            (
                "guard=quarantine",
                "guard=off",
                "restart-guard off, this command uses quarantine",
            ),
            (
                "a:1,b:1",
                "a:1,b:1,c:1",
                "the node list a:1,b:1,c:1, this command uses a:1,b:1",
            ),
            (
                "counters=1024",
                "counters=1024 keys=a%20%25{}",
                "key-format a %{}, this command uses {}",
            ),
        ];
        for (ours, theirs, told) in cases {
            let differences = between(OURS, &OURS.replace(ours, theirs));
            assert_eq!(Difference::told(&differences), told);
        }
        let theirs = OURS
            .replace("60000ms", "30000ms")
            .replace("=quarantine", "=off");
        let way_out = Difference::way_out(&between(OURS, &theirs));
        assert!(
            way_out.starts_with("use --max-ttl 30s --restart-guard off, or"),
            "{way_out}"
        );
    }

    #[test]
    fn what_no_option_tells_is_no_difference() {
        for theirs in [OURS, "0123456789abcdef", "version=2 max-ttl=1ms", ""] {
            assert_eq!(between(OURS, theirs), [], "{theirs}");
        }
        // By another clock skew, whose word nobody knows.
        assert_eq!(between(OURS, &OURS.replace("62602ms", "99999ms")), []);
        // If the nodes' words are not known, the others are told of.
        assert_eq!(
            between("version=1 max-ttl=60000ms guard=quarantine", OURS),
            []
        );
    }
}
