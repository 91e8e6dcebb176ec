//! In what two configurations differ, in the words of the options that make them.
//!
//! Nodes write down what all must agree on as words such as `max-ttl=30000ms`. People set options, and want to know which of them
//! to change.

use leasehold::{Drift, NodeFault, Ttl};
use std::time::Duration;

/// An option that others set otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// What they have, and what this command has.
    told: String,
    way: Way,
}

/// How to say the same as the others.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    Addresses,
    /// By the addresses, and without a name for all of them.
    NoCluster,
    /// By an option and its value.
    Flag(String),
}

impl Difference {
    fn new(theirs: &str, ours: &str, way: Way) -> Self {
        let told = format!("{theirs}, this command uses {ours}");
        Self { told, way }
    }

    /// `max-ttl 30s, this command uses 60s`.
    pub(crate) fn told(differences: &[Self]) -> String {
        let parts = differences.iter().map(|difference| &*difference.told);
        parts.collect::<Vec<_>>().join("; ")
    }

    /// The options that say the same as the others do.
    pub(crate) fn way_out(differences: &[Self]) -> String {
        let ways = || differences.iter().map(|difference| &difference.way);
        let same = "give the same addresses as the other clients";
        let addresses = ways().find_map(|way| match way {
            Way::Addresses => Some(same.to_owned()),
            Way::NoCluster => Some(format!("leave --cluster out, {same}")),
            Way::Flag(_) => None,
        });
        let flags = ways().filter_map(|way| match way {
            Way::Flag(flag) => Some(flag.as_str()),
            _ => None,
        });
        let flags = flags.collect::<Vec<_>>().join(" ");
        let flags = (!flags.is_empty()).then(|| format!("use {flags}"));
        let ways: Vec<_> = addresses.into_iter().chain(flags).collect();
        let way = ways.join(" and ");
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
    let of_options = OPTIONS.iter().filter_map(|(word, option, usual)| {
        let (ours, theirs) = (value(ours, word, *usual)?, value(theirs, word, *usual)?);
        let flag = Way::Flag(format!("--{option} {theirs}"));
        let difference = Difference::new(&format!("{option} {theirs}"), &ours, flag);
        (ours != theirs).then_some(difference)
    });
    let of_nodes = nodes(ours, theirs).into_iter();
    let differences = of_nodes.chain(of_options).chain(tolerance(ours, theirs));
    differences.chain(skew(ours, theirs)).collect()
}

/// By the names of the nodes, or the one for all of them.
fn nodes(ours: &str, theirs: &str) -> Option<Difference> {
    let named = |text| {
        let names = word(text, "nodes")?;
        let count = word(text, "count")?.parse::<usize>().ok()?;
        // The addresses of a list have ports, or are paths.
        let is_address = |name: &str| name.contains([':', '/', '@']);
        let is_list = names.split(',').count() == count && names.split(',').all(is_address);
        Some((names, is_list))
    };
    let ((ours, is_list_here), (theirs, is_list_there)) = (named(ours)?, named(theirs)?);
    let shown = |names, is_list| match is_list {
        true => format!("the node list {names}"),
        false => format!("the cluster name {names}"),
    };
    let way = match (is_list_there, is_list_here) {
        (true, true) => Way::Addresses,
        (true, false) => Way::NoCluster,
        (false, _) => Way::Flag(format!("--cluster {theirs}")),
    };
    let ours_shown = match is_list_here == is_list_there {
        true => ours.to_owned(),
        false => shown(ours, is_list_here),
    };
    let difference = Difference::new(&shown(theirs, is_list_there), &ours_shown, way);
    (ours != theirs).then_some(difference)
}

/// By how many of the same number of nodes must agree.
fn tolerance(ours: &str, theirs: &str) -> Option<Difference> {
    let number = |text, name| word(text, name)?.parse::<usize>().ok();
    let count = number(theirs, "count").filter(|count| number(ours, "count") == Some(*count))?;
    let (ours, theirs) = (number(ours, "quorum")?, number(theirs, "quorum")?);
    // The least of the numbers by which so many must agree.
    let forgetful = theirs
        .saturating_sub(1)
        .saturating_mul(2)
        .saturating_sub(count);
    let flag = Way::Flag(format!("--tolerate-forgetful {forgetful}"));
    let quorum = format!("a quorum of {theirs} (tolerate-forgetful)");
    (ours != theirs).then(|| Difference::new(&quorum, &ours.to_string(), flag))
}

/// By what a quarantine is longer than the longest lease.
fn skew(ours: &str, theirs: &str) -> Option<Difference> {
    let millis = |text, name| {
        let value = word(text, name)?.strip_suffix("ms")?;
        Some(Duration::from_millis(value.parse().ok()?))
    };
    let skew = |text| {
        let ttl = Ttl::new(millis(text, "max-ttl")?).ok()?;
        let lease = ttl.as_duration() + Drift::DEFAULT.allowance(ttl);
        let skew = millis(text, "quarantine")?.checked_sub(lease)?;
        Some(seconds(&format!("{}ms", skew.as_millis())))
    };
    let (ours, theirs) = (skew(ours)?, skew(theirs)?);
    let flag = Way::Flag(format!("--clock-skew {theirs}"));
    (ours != theirs).then(|| Difference::new(&format!("clock-skew {theirs}"), &ours, flag))
}

/// What stands behind the word.
fn word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut parts = text.split(' ');
    parts.find_map(|part| part.strip_prefix(word)?.strip_prefix('='))
}

/// The same, as an option has it.
fn value(text: &str, name: &str, usual: Option<&str>) -> Option<String> {
    let value = seconds(word(text, name).or(usual)?);
    Some(value.replace("%20", " ").replace("%25", "%"))
}

/// `30s` of `30000ms`, and all else as it is.
fn seconds(value: &str) -> String {
    match value.strip_suffix("000ms").filter(|text| !text.is_empty()) {
        Some(seconds) => format!("{seconds}s"),
        None => value.to_owned(),
    }
}

/// A word, the option that makes it, and what is meant where it is missing; none if that says nothing.
const OPTIONS: [(&str, &str, Option<&str>); 3] = [
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
                "60000ms guard=quarantine quarantine=62602ms",
                "30000ms guard=quarantine quarantine=32302ms",
                "max-ttl 30s, this command uses 60s",
            ),
            (
                "60000ms guard=quarantine quarantine=62602ms",
                "1500ms guard=quarantine quarantine=3517ms",
                "max-ttl 1500ms, this command uses 60s",
            ),
            (
                "guard=quarantine",
                "guard=off",
                "restart-guard off, this command uses quarantine",
            ),
            (
                "a:1,b:1",
                "a:1,c:1",
                "the node list a:1,c:1, this command uses a:1,b:1",
            ),
            (
                "counters=1024",
                "counters=1024 keys=a%20%25{}",
                "key-format a %{}, this command uses {}",
            ),
            ("62602ms", "65602ms", "clock-skew 5s, this command uses 2s"),
            (
                "quorum=2",
                "quorum=3",
                "a quorum of 3 (tolerate-forgetful), this command uses 2",
            ),
            (
                "a:1,b:1",
                "eu:main",
                "the cluster name eu:main, this command uses the node list a:1,b:1",
            ),
        ];
        for (ours, theirs, told) in cases {
            let differences = between(OURS, &OURS.replace(ours, theirs));
            assert_eq!(Difference::told(&differences), told);
        }
        let theirs = OURS
            .replace("60000ms", "30000ms")
            .replace("62602ms", "32302ms")
            .replace("=quarantine", "=off");
        let way_out = Difference::way_out(&between(OURS, &theirs));
        assert!(
            way_out.starts_with("use --max-ttl 30s --restart-guard off, or"),
            "{way_out}"
        );
    }

    #[test]
    fn the_way_out_names_the_option() {
        let named = OURS.replace("a:1,b:1", "mine");
        for (ours, theirs, way) in [
            (OURS, named.as_str(), "use --cluster mine, or"),
            (
                &named,
                OURS,
                "leave --cluster out, give the same addresses as",
            ),
            (&named, &OURS.replace("a:1,b:1", "x"), "use --cluster x, or"),
            (
                OURS,
                &OURS.replace("a:1", "c:1"),
                "give the same addresses as",
            ),
            (
                OURS,
                &OURS.replace("2602ms", "1102ms"),
                "use --clock-skew 500ms, or",
            ),
            (
                OURS,
                &OURS.replace("quorum=2", "quorum=4"),
                "use --tolerate-forgetful 4, or",
            ),
        ] {
            let way_out = Difference::way_out(&between(ours, theirs));
            assert!(way_out.starts_with(way), "{way_out}");
        }
        let theirs = named.replace("max-ttl=60000ms", "max-ttl=30000ms");
        let way_out = Difference::way_out(&between(OURS, &theirs.replace("62602", "32302")));
        assert!(
            way_out.starts_with("use --cluster mine --max-ttl 30s, or"),
            "{way_out}"
        );
    }

    #[test]
    fn what_no_option_tells_is_no_difference() {
        for theirs in [OURS, "0123456789abcdef", "version=2 max-ttl=1ms", ""] {
            assert_eq!(between(OURS, theirs), [], "{theirs}");
        }
        // By a longer quarantine than the clocks need, which is no option's.
        assert_eq!(between(OURS, &OURS.replace("62602ms", "999ms")), []);
    }
}
