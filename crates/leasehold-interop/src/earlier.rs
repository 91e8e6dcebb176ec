//! Leasehold as it was before: a shim that is built from history.
//!
//! The sources of one earlier commit are taken out of this clone's history, and what a shim is made of is put among them as
//! an example. It says what the shims of other libraries say, and whatever it does is done by the code of that time.

use leasehold_report::root;
use std::{
    env, fs,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The version before this one: the last whose requests are each a call of their own, also where several leave together.
///
/// A change to what is said on the wire or written on the nodes puts here the last commit before it. It is named
/// nowhere else. What has to be told apart is which clients may be in use at the same time.
const REVISION: &str = "2bb31b002de4c8b7f4461975800337c5c1899b65";

/// The program of the shim.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    folder: PathBuf,
}

impl Earlier {
    /// Takes the sources out of history, unless they are there.
    ///
    /// # Errors
    /// Why they cannot be had here: this is no clone, or one without that commit.
    pub(crate) fn get(target: &Path) -> Result<Self, String> {
        let folder = target.join("interop").join("earlier");
        let this = Self { folder };
        let (source, stamp) = (this.source(), this.folder.join("revision"));
        let commit = format!("{REVISION}^{{commit}}");
        let is_known = git().args(["cat-file", "-e", &commit]).output();
        if !is_known.is_ok_and(|known| known.status.success()) {
            return Err(format!(
                "there is no history here with the commit {REVISION}; a full clone has it"
            ));
        }
        if fs::read_to_string(&stamp).is_ok_and(|text| text == REVISION) {
            return Ok(this);
        }
        drop(fs::remove_dir_all(&source));
        fs::create_dir_all(&source).map_err(|error| this.wrong("cannot be made", &error))?;
        let archive = this.folder.join("source.tar");
        let taken = git()
            .args(["archive", "--format=tar", "--output"])
            .arg(&archive)
            .arg(REVISION)
            .status();
        let unpacked = Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(&source)
            .status();
        for (program, ended) in [("git", taken), ("tar", unpacked)] {
            match ended {
                Ok(status) if status.success() => {}
                Ok(status) => return Err(format!("{program} failed with {status}")),
                Err(error) => return Err(format!("{program} cannot be run: {error}")),
            }
        }
        let written = fs::remove_file(&archive).and_then(|()| fs::write(&stamp, REVISION));
        written.map_err(|error| this.wrong("cannot be written to", &error))?;
        Ok(this)
    }

    /// Puts the shim among the sources, and builds it.
    ///
    /// # Errors
    /// That it cannot be built: then this program does not fit that version any more, which is a defect.
    pub(crate) fn build(&self) -> Result<(), String> {
        let place = self
            .source()
            .join("crates/leasehold-interop/examples/earlier");
        let log = self.folder.join("build.log");
        let copied = fs::create_dir_all(&place).and_then(|()| {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            put(&here.join("shims/earlier.rs"), &place.join("main.rs"))?;
            for file in PARTS {
                put(&here.join("src").join(file), &place.join(file))?;
            }
            File::create(&log)
        });
        let file = copied.map_err(|error| self.wrong("cannot be written to", &error))?;
        let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--release", "--locked", "-p", "leasehold-interop"])
            .args(["--example", "earlier"])
            .current_dir(self.source())
            .env("CARGO_TARGET_DIR", self.built())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .status()
            .map_err(|error| format!("cargo cannot be run: {error}"))?;
        match status.success() {
            true => Ok(()),
            false => Err(format!(
                "the shim cannot be built with leasehold of the commit {REVISION}: {}",
                log.display()
            )),
        }
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.built().join("release/examples/earlier")
    }

    fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    fn built(&self) -> PathBuf {
        self.folder.join("target")
    }

    fn wrong(&self, what: &str, error: &io::Error) -> String {
        format!("{} {what}: {error}", self.folder.display())
    }
}

/// Copies a file, unless it is there: what is written anew is built anew.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    let text = fs::read(from)?;
    if fs::read(to).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(to, text)
}

fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(root()).stdin(Stdio::null());
    git
}

/// What the shim is made of, beside its own file.
const PARTS: [&str; 6] = [
    "crowd.rs",
    "leasehold_library.rs",
    "moment.rs",
    "ours.rs",
    "protocol.rs",
    "serve.rs",
];
