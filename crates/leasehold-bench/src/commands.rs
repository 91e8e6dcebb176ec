//! What clients sent to the servers, without what their scripts called there.
//!
//! `INFO commandstats` counts both. So the share that clients sent is taken for each command from what `MONITOR` tells
//! over a short while of the same work, in which a script's calls come with the name `lua` in place of an address. The
//! `INFO` by which it is asked is taken off.

use crate::Fallible;
use leasehold_servers::{Connection, ServerSet};
use std::{
    collections::HashMap,
    thread::{self, JoinHandle},
    time::Duration,
};

/// How often each command was called on all servers together, without subcommands.
pub(crate) type Calls = HashMap<String, u64>;

/// The calls so far.
pub(crate) fn calls(servers: &ServerSet) -> Fallible<Calls> {
    let mut calls = Calls::new();
    for server in servers.iter() {
        let reply = server.command(&["INFO", "commandstats"])?;
        for (name, count) in reply.text().unwrap_or_default().lines().filter_map(call) {
            *calls.entry(name).or_default() += count;
        }
    }
    Ok(calls)
}

/// `cmdstat_client|setinfo:calls=5,usec=…`
fn call(line: &str) -> Option<(String, u64)> {
    let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(':')?;
    let count = rest.strip_prefix("calls=")?.split(',').next()?;
    let name = name.split('|').next()?.to_owned();
    Some((name, count.parse().ok()?))
}

/// For each command, how often a client and how often a script called it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    seen: HashMap<String, (u64, u64)>,
}

/// Listens to what all servers do.
#[derive(Debug)]
pub(crate) struct Listening {
    ears: Vec<JoinHandle<Vec<String>>>,
}

impl Listening {
    pub(crate) fn begin(servers: &ServerSet) -> Fallible<Self> {
        let mut ears = Vec::new();
        for server in servers.iter() {
            let mut connection = server.connect()?;
            connection.command(&["MONITOR"])?;
            connection.set_patience(SILENCE)?;
            ears.push(thread::spawn(move || lines(&mut connection)));
        }
        Ok(Self { ears })
    }

    /// Waits until the servers are silent.
    pub(crate) fn end(self) -> Origins {
        let mut origins = Origins::default();
        for ear in self.ears {
            // What a panicked ear had heard is missing; the others heard the same commands.
            for line in ear.join().unwrap_or_default() {
                origins.hear(&line);
            }
        }
        origins
    }
}

fn lines(connection: &mut Connection) -> Vec<String> {
    let mut lines = Vec::new();
    while let Ok(reply) = connection.receive() {
        lines.extend(reply.text().map(|line| line.chars().take(80).collect()));
        if lines.len() >= ENOUGH {
            break;
        }
    }
    lines
}

impl Origins {
    /// `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`, or `[0 lua]`.
    fn hear(&mut self, line: &str) {
        let Some((from, words)) = line.split_once("] \"") else {
            return;
        };
        let name = words.split('"').next().unwrap_or_default().to_lowercase();
        let seen = self.seen.entry(name).or_default();
        if from.ends_with(" lua") {
            seen.1 += 1;
        } else {
            seen.0 += 1;
        }
    }

    /// How many commands clients sent between two looks at all of so many servers. An error when more than a few were of a
    /// kind that was not heard: nobody knows then who called them.
    pub(crate) fn sent(&self, before: &Calls, after: &Calls, servers: usize) -> Fallible<f64> {
        let (mut sent, mut all) = (0.0, 0);
        let mut unheard = Calls::new();
        for (name, &count) in after {
            let mut count = count.saturating_sub(before.get(name).copied().unwrap_or(0));
            if name == "info" {
                count = count.saturating_sub(servers as u64);
            }
            let (clients, scripts) = self.seen.get(name).copied().unwrap_or_else(|| {
                unheard.insert(name.clone(), count);
                (1, 0)
            });
            all += count;
            sent += count as f64 * clients as f64 / (clients + scripts) as f64;
        }
        if unheard.values().sum::<u64>() * FEW > all {
            unheard.retain(|_, count| *count > 0);
            return Err(format!(
                "of {all} commands, these were not heard while listening, and who called them is unknown: {unheard:?}"
            )
            .into());
        }
        Ok(sent)
    }
}

const SILENCE: Duration = Duration::from_millis(400);
const ENOUGH: usize = 50_000;
/// One in so many may be of a kind that comes too rarely to be heard, such as a greeting of a new connection.
const FEW: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scripts_called_is_not_counted() {
        let mut origins = Origins::default();
        for line in [
            r#"1.5 [0 127.0.0.1:6] "EVALSHA" "abc" "1""#,
            r#"1.5 [0 lua] "GET" "key""#,
            r#"1.5 [0 lua] "SET" "key""#,
            r#"1.5 [0 127.0.0.1:6] "SET" "key" "[0 lua] ""#,
        ] {
            origins.hear(line);
        }
        let stats = [
            "evalsha:calls=10,usec=1",
            "get:calls=10,u",
            "set:calls=6,u",
            "info:calls=9,u",
        ];
        let lines = stats.map(|line| format!("cmdstat_{line}"));
        let after: Calls = lines.iter().filter_map(|line| call(line)).collect();
        let before = Calls::from([("set".to_owned(), 2), ("info".to_owned(), 4)]);
        // Ten scripts, half of four SETs, and none of the five INFO that were ours.
        assert_eq!(origins.sent(&before, &after, 5).unwrap(), 12.0);
        let subcommand = call("cmdstat_client|setinfo:calls=5,usec=7");
        assert_eq!(subcommand, Some(("client".to_owned(), 5)));
    }

    #[test]
    fn what_was_never_heard_makes_no_figure() {
        let mut origins = Origins::default();
        for line in [
            r#"1.5 [0 127.0.0.1:6] "evalsha" "abc" "1""#,
            r#"1.5 [0 lua] "get" "key""#,
        ] {
            origins.hear(line);
        }
        let calls = |del| {
            let calls = [("evalsha", 100), ("get", 97), ("del", del)];
            Calls::from(calls.map(|(name, count)| (name.to_owned(), count)))
        };
        let none = Calls::new();
        assert_eq!(origins.sent(&none, &calls(0), 0).unwrap(), 100.0);
        // A script calls it, or a client does.
        assert_eq!(origins.sent(&none, &calls(1), 0).unwrap(), 101.0, "few");
        let error = origins.sent(&none, &calls(4), 0).unwrap_err();
        assert!(error.to_string().contains(r#"of 201 commands, these were not heard while listening, and who called them is unknown: {"del": 4}"#), "{error}");
        assert_eq!(
            origins.sent(&calls(4), &calls(4), 0).unwrap(),
            0.0,
            "before that"
        );
    }
}
