//! A running shim.

use crate::{
    Fallible,
    moment::{now, since, until},
    protocol::{Answer, Request},
};
use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// A process that speaks for a library. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Shim {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    log: PathBuf,
}

impl Shim {
    /// Starts it and lets it connect to these nodes. What it says for people goes to the file `log`.
    pub(crate) fn start(mut command: Command, log: &Path, urls: &[String]) -> Fallible<Self> {
        let words = File::options().create(true).append(true).open(log)?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(words)
            .spawn()
            .map_err(|error| format!("{command:?} cannot be started: {error}"))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = (stdin.ok_or("no stdin")?, stdout.ok_or("no stdout")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut shim = Self {
            child,
            stdin,
            lines,
            log: log.to_owned(),
        };
        let urls = urls.to_vec();
        match shim.ask(&Request::Open { urls })? {
            Answer::Ready => Ok(shim),
            other => Err(shim.wrong(&format!("cannot be opened: {other}")).into()),
        }
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Fallible<Answer> {
        let started = now();
        let sent = writeln!(self.stdin, "{request}").and_then(|()| self.stdin.flush());
        let line = match sent {
            Ok(()) => self.lines.recv_timeout(PATIENCE + request.time()).ok(),
            Err(_) => None,
        };
        let Some(line) = line else {
            let waited = since(started);
            // Its output may end a little before it does.
            let ended = until(A_MOMENT, || self.child.try_wait().ok().flatten());
            let what = match ended {
                Some(status) => format!("ended with {status} when it was asked to {request}"),
                None => format!("did not answer `{request}` in {waited:.0?}"),
            };
            return Err(self.wrong(&what).into());
        };
        Ok(Answer::parse(&line).map_err(|what| self.wrong(&what))?)
    }

    /// One try, or several.
    pub(crate) fn lock(&mut self, key: &str, ttl: Duration, tries: u32) -> Fallible<Answer> {
        let key = key.to_owned();
        self.ask(&Request::Lock { key, ttl, tries })
    }

    pub(crate) fn unlock(&mut self) -> Fallible<Answer> {
        self.ask(&Request::Unlock)
    }

    pub(crate) fn extend(&mut self, ttl: Duration) -> Fallible<Answer> {
        self.ask(&Request::Extend { ttl })
    }

    /// As `kill -9` does, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Fallible<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn wrong(&self, what: &str) -> String {
        format!("the shim {what}; its log: {}", self.log.display())
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Longer than any library waits of its own accord, but for a crowd, which says for how long.
const PATIENCE: Duration = Duration::from_secs(30);
const A_MOMENT: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn played(script: &str) -> Fallible<Shim> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Shim::start(command, Path::new("/dev/null"), &["redis://a".to_owned()])
    }

    #[test]
    fn a_shim_is_asked_line_by_line() {
        let script = "read a; echo ready; read b; echo \"refused $b\"; read c";
        let mut shim = played(script).unwrap();
        let answer = shim.lock("k", Duration::from_secs(1), 3).unwrap();
        assert_eq!(answer, Answer::Refused("lock k 1000 3".to_owned()));
    }

    #[test]
    fn a_shim_that_ends_or_chatters_is_an_error() {
        let ended = played("read a; exit 3").unwrap_err().to_string();
        assert!(ended.contains("exit status: 3"), "{ended}");
        let chatter = played("echo hello; read a").unwrap_err().to_string();
        assert!(chatter.contains("`hello` is no answer"), "{chatter}");
        assert!(played("read a; echo unlocked; read b").is_err());
    }
}
