//! Commands that leave nothing behind.

use std::{
    env,
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How a command ended.
#[derive(Debug)]
pub(crate) enum End {
    /// By itself.
    Own(ExitStatus),
    /// By force, with everything that it had started: its time was over.
    OutOfTime,
}

/// Runs `command`, for `limit` at most, and writes all that it prints to `output`.
pub(crate) fn run(command: &Command, output: &File, limit: Duration) -> io::Result<End> {
    let Leashed { mut child, leash } = Leashed::start(command, output)?;
    let (ended, end) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || ended.send(child.wait()));
        let in_time = end.recv_timeout(limit);
        drop(leash);
        match in_time {
            Ok(status) => Ok(End::Own(status?)),
            // Killed now, it ends at once.
            Err(_) => end.recv().map(|_| End::OutOfTime).map_err(io::Error::other),
        }
    })
}

/// Cargo with the environment of a shell. `cargo xtask` adds the variables of this package, and build scripts that depend on
/// them would run again each time after a `cargo test` from a shell.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs a command, and gives what it prints.
pub(crate) fn output_of(folder: &Path, command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(folder).output();
    let output = output.map_err(|error| format!("{name} cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!(
                "{name} ended with {}:\n{text}{said}",
                output.status
            ))
        }
    }
}

/// A command on a leash: in a process group of its own, in which one process waits for the end of a pipe that we hold, and
/// then kills the group. So it is gone with all its children when this is dropped, and also if it is us who are
/// interrupted or killed.
#[derive(Debug)]
pub(crate) struct Leashed {
    child: Child,
    leash: Option<ChildStdin>,
}

impl Leashed {
    /// Starts the command. All that it prints goes to `output`.
    pub(crate) fn start(command: &Command, output: &File) -> io::Result<Self> {
        let mut leashed = Command::new("sh");
        leashed.args(["-c", LEASH, "sh"]).arg(command.get_program());
        leashed.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => leashed.env(name, value),
                None => leashed.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            leashed.current_dir(folder);
        }
        let mut child = leashed
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .process_group(0)
            .spawn()?;
        let leash = child.stdin.take();
        Ok(Self { child, leash })
    }

    /// How it ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Ends it and all that it has started, if it has not ended.
    pub(crate) fn end(&mut self) {
        drop(self.leash.take());
        // Killed now, it ends at once.
        drop(self.child.wait());
    }
}

/// The first process of the group becomes the command; its child holds the other end of the pipe.
const LEASH: &str = r#"
exec 3<&0
{ cat <&3 >/dev/null 2>&1; kill -KILL 0; } >/dev/null 2>&1 &
exec "$@" </dev/null 3<&-
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn run_script(name: &str, script: &str, limit: Duration) -> (End, String) {
        let path = env::temp_dir().join(format!("xtask-process-{name}-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("GREETING", "hello");
        let file = File::create(&path).expect("there is room for a file");
        let end = run(&command, &file, limit).expect("sh can be run");
        let output = fs::read_to_string(&path).expect("it was written");
        fs::remove_file(path).expect("it is ours");
        (end, output)
    }

    #[test]
    fn cargo_is_not_told_of_this_package() {
        assert!(
            env::var_os("CARGO_PKG_NAME").is_some(),
            "cargo runs this test"
        );
        let cargo = cargo();
        let is_removed = |wanted: &str| {
            let mut changed = cargo.get_envs();
            changed.any(|(name, value)| name == wanted && value.is_none())
        };
        assert!(is_removed("CARGO_PKG_NAME") && is_removed("CARGO_MANIFEST_DIR"));
        assert!(!is_removed("PATH"));
    }

    #[test]
    fn a_command_ends_by_itself_and_its_words_are_kept() {
        let (end, output) = run_script("own", "echo $GREETING; exit 7", Duration::from_secs(60));
        assert!(matches!(end, End::Own(status) if status.code() == Some(7)));
        assert_eq!(output, "hello\n");
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_with_its_children() {
        let script = "sleep 600 & echo $!; sleep 600";
        let (end, output) = run_script("late", script, Duration::from_millis(300));
        assert!(matches!(end, End::OutOfTime));
        let child = output.trim();
        let is_there = || {
            let state = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            // What nobody has buried yet is dead all the same.
            !state.is_empty() && !state.contains(") Z ")
        };
        assert!((0..500).any(|_| {
            thread::park_timeout(Duration::from_millis(10));
            !is_there()
        }));
    }
}
