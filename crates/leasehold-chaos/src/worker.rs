//! One place for a client: the process that is there now, and those that were there before.

use crate::{
    chronicle::{COMPLAINTS, Chronicle},
    client::Orders,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    env,
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A client process, killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    orders: Orders,
    folder: PathBuf,
    number: usize,
    life: usize,
    child: Option<Child>,
}

impl Worker {
    /// A place where no process is yet.
    pub(crate) fn new(number: usize, folder: &Path, orders: Orders) -> Self {
        Self {
            orders,
            folder: folder.to_owned(),
            number,
            life: 0,
            child: None,
        }
    }

    /// The name of the process and its journal: `client-3.2`.
    fn name(&self) -> String {
        format!("client-{}.{}", self.number, self.life)
    }

    /// The next process finds the nodes there.
    pub(crate) fn go_to(&mut self, ports: Vec<u16>) {
        self.orders.ports = ports;
    }

    /// Starts the next process.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        self.life += 1;
        self.orders.journal = self.folder.join(format!("{}.journal", self.name()));
        self.orders.seed = self.orders.seed.wrapping_add(1);
        let complaints = File::create(self.complaints())?;
        let mut command = Command::new(env::current_exe()?);
        command
            .args(self.orders.words())
            // It ends when this end of the pipe is closed, which no death of ours can prevent.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(complaints)
            // A group without a parent is woken by the kernel: so a stopped one ends as well.
            .process_group(0);
        self.child = Some(command.spawn()?);
        Ok(())
    }

    /// Kills the process, and waits until it is gone. That it had ended by itself is a failure. False if
    /// there was none to kill.
    pub(crate) fn kill(&mut self, chronicle: &Chronicle) -> bool {
        let name = self.name();
        let Some(mut child) = self.child.take() else {
            return false;
        };
        if let Ok(Some(status)) = child.try_wait() {
            // What it complained of goes before this: see `complaint`.
            chronicle.fail(format!("{name} ended by itself ({status})"));
            return false;
        }
        chronicle.death(&name);
        end(&mut child);
        true
    }

    /// Stops the process where it is, or lets it go on.
    ///
    /// # Errors
    /// [`NotFound`](io::ErrorKind::NotFound) if it is killed, or that the operating system refuses.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let child = self.child.as_ref().ok_or(io::ErrorKind::NotFound)?;
        // It may have ended by itself, which `kill` will find.
        Ok(kill_process(Pid::from_child(child), signal)?)
    }

    /// Where the process writes its panics.
    fn complaints(&self) -> PathBuf {
        self.folder.join(format!("{}.{COMPLAINTS}", self.name()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            end(child);
        }
    }
}

fn end(child: &mut Child) {
    // It may have ended by itself; it is ours to bury in any case.
    drop(child.kill());
    drop(child.wait());
}
