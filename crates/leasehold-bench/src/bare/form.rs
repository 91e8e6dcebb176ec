//! What is said for a lock.

use crate::{Fallible, subject::Locker};
use leasehold_servers::{Connection, Server, ServerSet};

/// The words that acquire, and those that release.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) acquire: Vec<Word>,
    pub(super) release: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Same(String),
    Key,
    Owner,
}

impl Form {
    /// `SET NX PX`, and the script of this name, which compares and deletes.
    pub(super) fn plain(sha: &str) -> Self {
        let same = |word: &str| Word::Same(word.to_owned());
        let [set, nx, px, ttl] = ["SET", "NX", "PX", "30000"].map(same);
        let [call, sha, count] = ["EVALSHA", sha, "1"].map(same);
        Self {
            acquire: vec![set, Word::Key, Word::Owner, nx, px, ttl],
            release: vec![call, sha, count, Word::Key, Word::Owner],
        }
    }

    /// From the commands that a server was sent: two calls for `KEY`, of which the release ends with the owner.
    fn of(commands: &[Vec<String>]) -> Option<Self> {
        let mut calls = commands.iter().filter(|words| {
            words.first().is_some_and(|call| call == "EVALSHA") && words.iter().any(|it| it == KEY)
        });
        let (acquire, release) = (calls.next()?, calls.next()?);
        let owner = release.last()?;
        let words = |words: &[String]| {
            let word = |word: &String| match word {
                word if word == KEY => Word::Key,
                word if word == owner => Word::Owner,
                word => Word::Same(word.clone()),
            };
            words.iter().map(word).collect::<Vec<_>>()
        };
        let acquire = words(acquire);
        acquire.contains(&Word::Owner).then(|| Self {
            acquire,
            release: words(release),
        })
    }
}

/// What the manager says to each of the servers for one lock.
pub(super) async fn overheard(servers: &ServerSet, manager: &Locker) -> Fallible<Vec<Form>> {
    let listening = servers.iter().map(|server| {
        let mut connection = server.connect()?;
        connection.command(&["MONITOR"])?;
        Fallible::Ok(connection)
    });
    let listening: Vec<_> = listening.collect::<Fallible<_>>()?;
    manager.acquire(KEY).await?.release().await;
    let both = servers.iter().zip(listening);
    both.map(|(server, mut connection)| heard(server, &mut connection))
        .collect()
}

/// What the server was sent until now.
fn heard(server: &Server, connection: &mut Connection) -> Fallible<Form> {
    // Commands are told in the order in which they came, this one last.
    server.command(&["ECHO", LAST])?;
    let mut commands = Vec::new();
    loop {
        let reply = connection.receive()?;
        let words = words(reply.text().unwrap_or_default());
        if words.last().is_some_and(|word| word == LAST) {
            let form = Form::of(&commands);
            return form.ok_or_else(|| "a fenced lock says something else than it did".into());
        }
        commands.push(words);
    }
}

/// `1795416662.102120 [0 127.0.0.1:5] "SET" "a" "b"`. None of the words has a quote within.
fn words(told: &str) -> Vec<String> {
    let quoted = told.split('"').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

const KEY: &str = "overheard";
const LAST: &str = "what-was-said";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_lock_to_lock_is_found() {
        let vote =
            words(r#"1.2 [0 127.0.0.1:5] "EVALSHA" "ab" "2" "overheard" "node" "off" "me" "10""#);
        let release = words(r#"1.3 [0 127.0.0.1:5] "EVALSHA" "cd" "1" "overheard" "me""#);
        let inner = words(r#"1.2 [0 lua] "GET" "overheard""#);
        let form = Form::of(&[vote, inner, release.clone()]).expect("both are there");
        let same = |word: &str| Word::Same(word.to_owned());
        assert_eq!(form.acquire[3..5], [Word::Key, same("node")]);
        assert_eq!(form.acquire[5..], [same("off"), Word::Owner, same("10")]);
        assert_eq!(form.release[3..], [Word::Key, Word::Owner]);
        assert!(Form::of(&[release]).is_none());
    }
}
