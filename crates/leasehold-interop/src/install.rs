//! Gets the libraries, by their package names, with the clients that everybody uses.

use crate::{
    earlier::Earlier,
    peer::{Means, Peer},
    shim::Shim,
};
use std::{
    env, fs,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A peer that can be started.
#[derive(Clone, Debug)]
pub(crate) struct Installed {
    pub(crate) peer: &'static Peer,
    /// Where its packages, its shim and its logs are.
    folder: PathBuf,
    /// Of leasehold as it was: its program, or why it cannot be built.
    earlier: Option<Result<PathBuf, String>>,
}

impl Installed {
    /// Installs what a peer needs into a folder of its own, unless it is there. What npm and pip have to say goes to a
    /// file.
    ///
    /// # Errors
    /// Why it cannot be had here: there is no such program, or it failed.
    pub(crate) fn get(peer: &'static Peer, target: &Path) -> Result<Self, String> {
        let folder = target.join("interop").join(peer.name);
        let earlier = match peer.means {
            Means::Earlier(_) => {
                let earlier = Earlier::get(target)?;
                Some(earlier.build().map(|()| earlier.program()))
            }
            _ => None,
        };
        let installed = Self {
            peer,
            folder,
            earlier,
        };
        let packages = match &peer.means {
            Means::Npm(packages) | Means::Pip(packages) => packages,
            Means::Rust | Means::Played | Means::Earlier(_) => &[][..],
        };
        let (stamp, wanted) = (installed.folder.join("installed"), packages.join(" "));
        let is_there = fs::read_to_string(&stamp).is_ok_and(|text| text == wanted);
        if !is_there {
            // What an earlier, other or broken installation left would be kept.
            match fs::remove_dir_all(&installed.folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(installed.wrong("cannot be cleared", &error));
                }
                _ => {}
            }
            installed.install(packages)?;
        }
        installed.look_for_runtime()?;
        installed
            .copy_shim()
            .and_then(|()| fs::write(&stamp, wanted))
            .map_err(|error| installed.wrong("cannot be written to", &error))?;
        Ok(installed)
    }

    /// Starts its shim on these nodes.
    pub(crate) fn start(&self, urls: &[String]) -> crate::Fallible<Shim> {
        Shim::start(self.shim()?, &self.folder.join("stderr.log"), urls)
    }

    /// Lets its shim lock and unlock so many new keys, and print what each cycle took.
    pub(crate) fn measure(&self, cycles: usize, urls: &[String]) -> crate::Fallible<()> {
        let mut shim = self.shim()?;
        shim.arg("cycles").arg(cycles.to_string()).args(urls);
        let status = shim.stdin(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("{} ended with {status}", self.peer.name).into());
        }
        Ok(())
    }

    fn shim(&self) -> crate::Fallible<Command> {
        let name = self.peer.name;
        if let (Means::Earlier(kind), Some(program)) = (&self.peer.means, &self.earlier) {
            let mut command = Command::new(program.as_ref().map_err(Clone::clone)?);
            command.arg(kind.name());
            return Ok(command);
        }
        Ok(match self.peer.means {
            Means::Npm(_) => {
                let mut command = Command::new("node");
                command.arg(self.folder.join(format!("{name}.shim.mjs")));
                command
            }
            Means::Pip(_) => {
                let mut command = Command::new(self.python());
                command.arg(self.folder.join(format!("{name}.shim.py")));
                command
            }
            Means::Rust | Means::Played | Means::Earlier(_) => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["shim", name]);
                command
            }
        })
    }

    fn install(&self, packages: &[&str]) -> Result<(), String> {
        fs::create_dir_all(&self.folder).map_err(|error| self.wrong("cannot be made", &error))?;
        match self.peer.means {
            Means::Npm(_) => {
                eprintln!("npm installs {} for {}", packages.join(" "), self.peer.name);
                let mut npm = Command::new("npm");
                npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
                    .arg(&self.folder)
                    .args(packages);
                self.run(npm)
            }
            Means::Pip(_) => {
                eprintln!("pip installs {} for {}", packages.join(" "), self.peer.name);
                let mut venv = Command::new("python3");
                venv.args(["-m", "venv"]).arg(self.venv());
                self.run(venv)?;
                let mut pip = Command::new(self.python());
                pip.args(["-m", "pip", "install", "--disable-pip-version-check"])
                    .args(packages);
                self.run(pip)
            }
            Means::Rust | Means::Played | Means::Earlier(_) => Ok(()),
        }
    }

    /// Whether what was installed can be started, which an earlier run does not tell.
    fn look_for_runtime(&self) -> Result<(), String> {
        let mut command = match self.peer.means {
            Means::Npm(_) => Command::new("node"),
            Means::Pip(_) => Command::new(self.python()),
            Means::Rust | Means::Played | Means::Earlier(_) => return Ok(()),
        };
        command.arg("--version");
        self.run(command)
    }

    /// Runs a program whose output goes to the log.
    fn run(&self, mut command: Command) -> Result<(), String> {
        let log = self.folder.join("install.log");
        let file = || File::options().create(true).append(true).open(&log);
        let (out, error) = file()
            .and_then(|out| Ok((out, file()?)))
            .map_err(|error| self.wrong("cannot be written to", &error))?;
        let program = command.get_program().to_string_lossy().into_owned();
        let status = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(error)
            .status()
            .map_err(|error| format!("{program} cannot be run: {error}"))?;
        if status.success() {
            return Ok(());
        }
        let program = Path::new(&program).file_name().unwrap_or_default();
        Err(format!(
            "{} failed with {status}; is there a network? What it said: {}",
            program.display(),
            log.display()
        ))
    }

    /// A shim stands beside its packages, since that is where a module looks for them.
    fn copy_shim(&self) -> io::Result<()> {
        let shims = Path::new(env!("CARGO_MANIFEST_DIR")).join("shims");
        let ending = match self.peer.means {
            Means::Npm(_) => "mjs",
            Means::Pip(_) => "py",
            Means::Rust | Means::Played | Means::Earlier(_) => return Ok(()),
        };
        for file in [
            format!("line.{ending}"),
            format!("{}.shim.{ending}", self.peer.name),
        ] {
            fs::copy(shims.join(&file), self.folder.join(&file))?;
        }
        Ok(())
    }

    fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    fn python(&self) -> PathBuf {
        self.venv().join("bin").join("python")
    }

    fn wrong(&self, what: &str, error: &io::Error) -> String {
        format!("{} {what}: {error}", self.folder.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Nodes;

    const MISSING: Peer = Peer {
        name: "missing",
        about: "",
        means: Means::Pip(&["leasehold-no-such-package==0.0.0"]),
        nodes: Nodes::One,
        key: "{}",
        extends: false,
    };

    #[test]
    fn what_fails_is_told_with_its_log() {
        let folder = env::temp_dir().join(format!("leasehold-interop-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let installed = Installed {
            peer: &MISSING,
            folder: folder.clone(),
            earlier: None,
        };
        let mut command = Command::new("sh");
        command.args(["-c", "echo no route >&2; exit 7"]);
        let why = installed.run(command).unwrap_err();
        assert!(
            why.contains("exit status: 7") && why.contains("install.log"),
            "{why}"
        );
        let log = fs::read_to_string(folder.join("install.log")).unwrap();
        assert_eq!(log, "no route\n");
        let why = installed.run(Command::new("leasehold-no-such-program"));
        assert!(why.unwrap_err().contains("cannot be run"));
        fs::remove_dir_all(folder).unwrap();
    }
}
