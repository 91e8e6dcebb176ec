//! Keeps the processors awake while something is measured.
//!
//! On a virtual machine an idle processor takes longer to wake than a lock takes, and a quiet benchmark is slower than a
//! busy one. One process per processor spins in the idle class: it gets only what nobody else wants. Where many tasks
//! leave no processor idle, it would only delay who wakes up.

use std::{
    env, io,
    process::{Child, Command, Stdio},
    thread,
};

/// The spinning processes. They end with this value, or with the process that has it.
#[derive(Debug)]
pub(crate) struct Awake {
    spinners: Vec<Child>,
}

impl Awake {
    /// Starts them, or says why there are none.
    pub(crate) fn keep() -> Result<Self, String> {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let mut awake = Self {
            spinners: Vec::new(),
        };
        for _ in 0..count {
            let spinner = spinner().map_err(|error| format!("chrt cannot be run: {error}"))?;
            awake.spinners.push(spinner);
        }
        // Refused at once, if at all.
        crate::moment::rest(std::time::Duration::from_millis(100));
        for spinner in &mut awake.spinners {
            if let Ok(Some(status)) = spinner.try_wait() {
                return Err(format!("the idle class is refused: {status}"));
            }
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for spinner in &mut self.spinners {
            drop(spinner.kill());
            drop(spinner.wait());
        }
    }
}

fn spinner() -> io::Result<Child> {
    Command::new("chrt")
        .args(["--idle", "0"])
        .arg(env::current_exe()?)
        .arg("spin")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// What a spinning process does, until its parent is gone.
pub(crate) fn spin() {
    thread::spawn(|| {
        loop {
            std::hint::spin_loop();
        }
    });
    // It ends, or fails, when nobody has the other end any more.
    drop(io::copy(&mut io::stdin(), &mut io::sink()));
}
