//! The rows of the table, each played and told.

use super::tool::{Kind, Tool, Wait};
use crate::{Fallible, moment};
use std::{
    fs,
    io::Write,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

type Scene = fn(&Tool) -> Fallible<String>;

/// What each row is called, and how it is seen.
pub(super) const ROWS: [(&str, Scene); 11] = [
    ("held: tried once; waited a second", held),
    ("the command ends with 7; by SIGTERM", exit_codes),
    ("a job that fails frees the lock", failing_job),
    ("standard input", standard_input),
    ("TERM to the wrapper", |tool| signalled(tool, "TERM")),
    ("INT to the wrapper", |tool| signalled(tool, "INT")),
    (
        "the command runs for longer than the TTL of 2 s",
        long_command,
    ),
    ("the wrapper is killed by SIGKILL", |tool| {
        wrapper(tool, "KILL")
    }),
    ("the wrapper is stopped by SIGSTOP for 6 s", |tool| {
        wrapper(tool, "STOP")
    }),
    ("a process that the command leaves behind", left_behind),
    ("the lock is taken away on the server", taken_away),
];

/// How long something is given to happen: several TTLs.
const PATIENCE: Duration = Duration::from_secs(6);

/// A wrapper whose command writes its process id and runs until it is ended.
struct Held {
    wrapper: Child,
    command: String,
}

impl Held {
    fn start(tool: &Tool, name: &str) -> Fallible<Self> {
        let note = tool.file(&format!("{name}.pid"));
        let script = format!(
            "echo $$ > {0}.new && mv {0}.new {0}; exec sleep 60",
            note.display()
        );
        let wrapper = tool
            .lock(name, Wait::Long, &["sh", "-c", &script])
            .spawn()?;
        let mut held = Self {
            wrapper,
            command: String::new(),
        };
        held.command =
            content(&note).ok_or(format!("{}: the command did not begin", tool.version))?;
        Ok(held)
    }

    fn command_runs(&self) -> bool {
        runs(&self.command)
    }

    /// Whether the command has ended within the time.
    fn command_ends(&self) -> bool {
        moment::until(PATIENCE, || (!self.command_runs()).then_some(())).is_some()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.wrapper.kill());
        drop(self.wrapper.wait());
        if !self.command.is_empty() && self.command_runs() {
            drop(signal(&self.command, "KILL"));
        }
    }
}

fn held(tool: &Tool) -> Fallible<String> {
    let _holder = Held::start(tool, "held")?;
    let mut told = Vec::new();
    for wait in [Wait::Once, Wait::Second] {
        // A TTL that ends must not be taken for a lock that was refused.
        told.push(code(ended(tool.lock("held", wait, &["true"]).spawn()?)));
    }
    Ok(told.join("; "))
}

fn exit_codes(tool: &Tool) -> Fallible<String> {
    let mut told = Vec::new();
    for script in ["exit 7", "kill -TERM $$"] {
        told.push(code(ended(
            tool.lock("codes", Wait::Long, &["sh", "-c", script])
                .spawn()?,
        )));
    }
    Ok(told.join("; "))
}

fn failing_job(tool: &Tool) -> Fallible<String> {
    ended(tool.lock("fails", Wait::Long, &["false"]).spawn()?);
    let free = is_free(tool, "fails")?;
    Ok(if free { "yes" } else { "no" }.to_owned())
}

fn standard_input(tool: &Tool) -> Fallible<String> {
    let file = tool.file("input");
    let script = format!("cat > {}", file.display());
    let mut command = tool.lock("input", Wait::Long, &["sh", "-c", &script]);
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(b"hello")?;
    }
    ended(child);
    let passed = fs::read_to_string(file).is_ok_and(|text| text == "hello");
    Ok(if passed {
        "the command's"
    } else {
        "not passed"
    }
    .to_owned())
}

fn signalled(tool: &Tool, which: &str) -> Fallible<String> {
    let name = format!("signal-{which}");
    let [note, heard] = ["pid", "heard"].map(|end| tool.file(&format!("{name}.{end}")));
    let script = format!(
        "trap 'echo heard > {1}; exit 0' {which}; echo $$ > {0}.new && mv {0}.new {0}; \
         while :; do sleep 0.1; done",
        note.display(),
        heard.display()
    );
    let wrapper = tool
        .lock(&name, Wait::Long, &["sh", "-c", &script])
        .spawn()?;
    let mut held = Held {
        wrapper,
        command: String::new(),
    };
    held.command = content(&note).ok_or("the command did not begin")?;
    signal(&held.wrapper.id().to_string(), which)?;
    let wrapper = moment::until(PATIENCE, || held.wrapper.try_wait().ok().flatten());
    let was_heard = content(&heard).is_some();
    let command = match (was_heard, held.command_runs()) {
        (true, _) => "passed on",
        (false, true) => "the command is not told and runs on",
        (false, false) => "the command is ended by something else",
    };
    let wrapper = wrapper.map_or("the wrapper goes on".to_owned(), |status| {
        format!("the wrapper ends: {}", code(Some(status)))
    });
    Ok(format!("{command}; {wrapper}"))
}

fn long_command(tool: &Tool) -> Fallible<String> {
    let _holder = Held::start(tool, "long")?;
    moment::rest(PATIENCE);
    let free = is_free(tool, "long")?;
    Ok(if free {
        "**free**, while it runs"
    } else {
        "held"
    }
    .to_owned())
}

fn wrapper(tool: &Tool, which: &str) -> Fallible<String> {
    let name = format!("wrapper-{which}");
    let mut holder = Held::start(tool, &name)?;
    signal(&holder.wrapper.id().to_string(), which)?;
    if which == "KILL" {
        holder.wrapper.wait()?;
    }
    let ends = holder.command_ends();
    let free = is_free(tool, &name)?;
    let command = if ends {
        "the command is ended"
    } else {
        "the command runs on"
    };
    let lock = if free {
        "the lock is free"
    } else {
        "the lock is held"
    };
    Ok(format!("{command}; then {lock}"))
}

fn left_behind(tool: &Tool) -> Fallible<String> {
    let note = tool.file("behind.pid");
    let script = format!(
        "sleep 60 & echo $! > {0}.new && mv {0}.new {0}",
        note.display()
    );
    let mut wrapper = tool
        .lock("behind", Wait::Long, &["sh", "-c", &script])
        .spawn()?;
    let process = content(&note).ok_or("the command did not begin")?;
    let ends = moment::until(PATIENCE, || wrapper.try_wait().ok().flatten()).is_some();
    let free = is_free(tool, "behind")?;
    let lives = runs(&process);
    drop(signal(&process, "KILL"));
    ended(wrapper);
    let wrapper = if ends {
        ""
    } else {
        "; the wrapper waits for it"
    };
    let lock = if free {
        "does not keep the lock"
    } else {
        "keeps the lock"
    };
    let lives = if lives { "lives on" } else { "is ended" };
    Ok(format!("{lock}, {lives}{wrapper}"))
}

fn taken_away(tool: &Tool) -> Fallible<String> {
    let mut holder = Held::start(tool, "taken")?;
    if !tool.take_away()? {
        return Ok("cannot happen".to_owned());
    }
    if !holder.command_ends() {
        return Ok("not noticed: the command runs on".to_owned());
    }
    let status = moment::until(PATIENCE, || holder.wrapper.try_wait().ok().flatten());
    Ok(format!("the command is ended; {}", code(status)))
}

/// Whether somebody else gets the lock, within a moment.
fn is_free(tool: &Tool, name: &str) -> Fallible<bool> {
    // Who cannot be told to wait for so long and no longer is ended.
    let wait = match tool.kind {
        Kind::Etcdctl => Wait::Long,
        Kind::Flock | Kind::Consul | Kind::Fredlock | Kind::Leasehold => Wait::Second,
    };
    let got = tool.file(&format!("{name}.got"));
    drop(fs::remove_file(&got));
    let script = format!("echo got > {}", got.display());
    ended(tool.lock(name, wait, &["sh", "-c", &script]).spawn()?);
    Ok(got.exists())
}

/// How it has ended; None if it had to be ended after some seconds.
fn ended(mut child: Child) -> Option<ExitStatus> {
    let status = moment::until(PATIENCE, || child.try_wait().ok().flatten());
    if status.is_none() {
        drop(child.kill());
        drop(child.wait());
    }
    status
}

fn code(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("code {code}"),
        Some((None, signal)) => format!("signal {}", signal.unwrap_or_default()),
        None => "waits".to_owned(),
    }
}

/// What is in the file, once there is something.
fn content(path: &Path) -> Option<String> {
    let read = || {
        fs::read_to_string(path)
            .ok()
            .filter(|text| !text.is_empty())
    };
    let text = moment::until(PATIENCE, read)?;
    Some(text.trim().to_owned())
}

fn signal(process: &str, which: &str) -> Fallible<()> {
    let words = [&format!("-{which}"), process];
    let status = Command::new("kill")
        .args(words)
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("process {process} cannot be signalled").into());
    }
    Ok(())
}

fn runs(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}
