//! The commands that come with databases, as somebody at a terminal would use them.

use leasehold_servers::skip;
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A command that is told statements, and tells what came of them.
pub(super) struct CommandLine {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    mark: &'static str,
}

impl CommandLine {
    /// Starts it. `mark` is a statement that prints `MARK`, also where nothing else is carried out any more.
    pub(super) fn start(program: &str, words: &[&str], mark: &'static str) -> Self {
        // What goes wrong is said among the rest.
        let child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 2>&1", program])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("there is a shell");
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut session = Self {
            child,
            stdin,
            lines,
            mark,
        };
        let greeting = session.ask("");
        assert_eq!(greeting, Vec::<String>::new(), "{program}");
        session
    }

    /// What it says to these statements.
    pub(super) fn ask(&mut self, statements: &str) -> Vec<String> {
        let mark = self.mark;
        self.tell(&format!("{statements}\n{mark}"));
        let mut said = Vec::new();
        loop {
            match self.read() {
                line if line == "MARK" => return said,
                line => said.push(line),
            }
        }
    }

    /// The first line that it says to these statements.
    pub(super) fn answer(&mut self, statements: &str) -> String {
        self.tell(statements);
        self.read()
    }

    fn tell(&mut self, statements: &str) {
        let stdin = self.stdin.as_mut().expect("it is open");
        let told = writeln!(stdin, "{statements}").and_then(|()| stdin.flush());
        told.expect("it listens");
    }

    /// The next line that has something in it.
    fn read(&mut self) -> String {
        loop {
            let mut line = String::new();
            let count = self.lines.read_line(&mut line).expect("it says texts");
            assert!(count > 0, "it has ended");
            let line = line.trim_end();
            if !line.is_empty() {
                return line.to_owned();
            }
        }
    }

    /// What it says to these statements, which is nothing.
    pub(super) fn order(&mut self, statements: &str) {
        let said = self.ask(statements);
        assert_eq!(said, Vec::<String>::new(), "{statements}");
    }

    /// The only line that it says to these statements.
    pub(super) fn line(&mut self, statements: &str) -> String {
        let [line] = self.ask(statements).try_into().expect(statements);
        line
    }
}

impl Drop for CommandLine {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.stdin.take());
        drop(self.child.wait());
    }
}

/// The numbers in these lines.
pub(super) fn numbers(lines: &[String]) -> Vec<i64> {
    let numbers = lines.iter().map(|line| line.parse());
    numbers.map(|number| number.expect("a number")).collect()
}

/// What a program says of its version. None, after having said so, where there is no such program.
pub(super) fn version(program: &str, words: &[&str]) -> Option<String> {
    match Command::new(program).args(words).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            Some(said.trim().to_owned())
        }
        Err(error) => {
            skip(&format!("no {program} as a second client: {error}"));
            None
        }
    }
}
