//! The commands, and what each needs to run.

use crate::{moment, ours};
use leasehold_servers::ServerSet;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A lock command that can be run here.
pub(super) struct Tool {
    pub(super) kind: Kind,
    /// Its name and version, as it tells it.
    pub(super) version: String,
    program: PathBuf,
    folder: PathBuf,
    servers: Option<ServerSet>,
    etcd: Option<(Child, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Flock,
    Etcdctl,
    Fredlock,
    Leasehold,
}

/// How long a command waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Once,
    Second,
    Long,
}

type Open = fn(&Path) -> Result<Tool, String>;

impl Tool {
    /// Everybody who is compared. Those that no package brings are told as skipped.
    pub(super) const ALL: [Open; 6] = [
        |target| Self::open(Kind::Flock, target),
        |_| {
            Err(
                "`consul lock`: no package of Debian has it, and this program does not run it"
                    .to_owned(),
            )
        },
        |target| Self::open(Kind::Etcdctl, target),
        |target| Self::open(Kind::Fredlock, target),
        |_| {
            Err("cronlock: neither npm nor pip has it, and this program does not run it".to_owned())
        },
        |target| Self::open(Kind::Leasehold, target),
    ];

    fn open(kind: Kind, target: &Path) -> Result<Self, String> {
        let folder = target.join(format!("interop/commands/{kind:?}"));
        drop(fs::remove_dir_all(folder.join("run")));
        let made = fs::create_dir_all(folder.join("run"));
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = match kind {
            Kind::Flock => "flock".into(),
            Kind::Etcdctl => "etcdctl".into(),
            Kind::Fredlock => fredlock(&folder)?,
            Kind::Leasehold => env::var_os("LEASEHOLD_COMMAND")
                .map_or_else(|| target.join("debug/leasehold"), PathBuf::from),
        };
        let mut tool = Self {
            kind,
            version: String::new(),
            program,
            folder: folder.join("run"),
            servers: None,
            etcd: None,
        };
        tool.version = match kind {
            Kind::Etcdctl => tool
                .ask(&["version"])?
                .replace("etcdctl version:", "etcdctl lock"),
            Kind::Fredlock => FREDLOCK.replace("==", " "),
            Kind::Flock => tool.ask(&["--version"])?,
            Kind::Leasehold => tool
                .ask(&["--version"])?
                .replace("leasehold", "leasehold run"),
        };
        if kind == Kind::Etcdctl {
            tool.etcd = Some(etcd(&tool.folder)?);
        } else if kind != Kind::Flock {
            let servers = ServerSet::start(1).map_err(|error| error.to_string())?;
            ours::admit(&servers.urls()).map_err(|error| error.to_string())?;
            tool.servers = Some(servers);
        }
        Ok(tool)
    }

    /// A place for a file of a scene.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The command that runs these words under the lock, with a TTL of two seconds where there is one.
    pub(super) fn lock(&self, name: &str, wait: Wait, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let mut options: Vec<String> = Vec::new();
        let text = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        match (self.kind, wait) {
            (Kind::Flock | Kind::Leasehold, Wait::Once) => options.push("-n".to_owned()),
            (Kind::Flock, Wait::Second) => options.extend(text(&["-w", "1"])),
            (Kind::Leasehold, Wait::Second) => options.extend(text(&["-w", "1s"])),
            _ => {}
        }
        match self.kind {
            Kind::Flock => {
                command.args(options).arg(self.file(name));
            }
            Kind::Etcdctl => {
                let url = self.etcd.as_ref().map_or("", |(_, url)| url.as_str());
                command
                    .env("ETCDCTL_API", "3")
                    .arg(format!("--endpoints={url}"));
                command.args(["lock", "--ttl=2", name, "--"]);
            }
            Kind::Fredlock => {
                let seconds = match wait {
                    Wait::Once => "0",
                    Wait::Second => "1",
                    Wait::Long => "15",
                };
                // Its own, where it is not about the TTL: it does not extend, and would let go amid a row.
                let ttl = if name == "long" { "2" } else { "300" };
                let packages = self.folder.with_file_name("packages");
                command
                    .env("PYTHONPATH", packages)
                    .args(["--redis-url", &self.url(), "--name", name])
                    .args(["--auto-release-time", ttl, "--wait-timeout", seconds])
                    .args(["run", "--"]);
            }
            Kind::Leasehold => {
                command.arg("run").args(options);
                command.args(["--nodes", &self.url(), "--ttl", "2s", name, "--"]);
            }
        }
        command.args(words).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Takes the lock away behind the back of its holder. False where nobody can.
    pub(super) fn take_away(&self) -> Result<bool, String> {
        match (&self.servers, &self.etcd) {
            (Some(servers), _) => {
                let flushed = servers.iter().map(|server| server.command(&["FLUSHALL"]));
                let flushed: Result<Vec<_>, _> = flushed.collect();
                flushed.map_err(|error| error.to_string())?;
                Ok(true)
            }
            (None, Some((_, url))) => {
                let url = format!("--endpoints={url}");
                self.ask(&[&url, "del", "", "--from-key=true"])?;
                Ok(true)
            }
            (None, None) => Ok(false),
        }
    }

    fn url(&self) -> String {
        let urls = self.servers.as_ref().map(ServerSet::urls);
        urls.unwrap_or_default().join(",")
    }

    fn ask(&self, words: &[&str]) -> Result<String, String> {
        let output = Command::new(&self.program)
            .env("ETCDCTL_API", "3")
            .args(words)
            .output();
        let output = output.map_err(|error| format!("{}: {error}", self.program.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stdout);
        Ok(said.lines().next().unwrap_or_default().to_owned())
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.etcd {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

const FREDLOCK: &str = "fredlock==0.1.3";
// With 3.0.1, which it would get, fredlock does not begin: it asks for a name that is gone.
const POTTERY: &str = "pottery==3.0.0";

fn fredlock(folder: &Path) -> Result<PathBuf, String> {
    let packages = folder.join("packages");
    let program = packages.join("bin/fredlock");
    if !program.exists() {
        let output = Command::new("pip")
            .args(["install", "--quiet", "--target"])
            .arg(&packages)
            .args([FREDLOCK, POTTERY])
            .output();
        let output = output.map_err(|error| format!("fredlock: no pip: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("fredlock cannot be installed: {}", said.trim()));
        }
    }
    Ok(program)
}

fn etcd(folder: &Path) -> Result<(Child, String), String> {
    let free =
        || std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let [url, peer] = [free(), free()].map(|address| address.map(|at| format!("http://{at}")));
    let (url, peer) = (
        url.map_err(|error| error.to_string())?,
        peer.map_err(|error| error.to_string())?,
    );
    let child = Command::new("etcd")
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args([
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
        ])
        .args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ])
        .args([
            "--initial-cluster",
            &format!("default={peer}"),
            "--unsafe-no-fsync",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("etcdctl lock: no etcd: {error}"))?;
    let started = (child, url);
    let ready = moment::until(Duration::from_secs(30), || {
        let asked = Command::new("etcdctl")
            .env("ETCDCTL_API", "3")
            .args([&format!("--endpoints={}", started.1), "endpoint", "health"])
            .output();
        asked
            .is_ok_and(|output| output.status.success())
            .then_some(())
    });
    if ready.is_none() {
        let (mut child, _) = started;
        drop(child.kill());
        drop(child.wait());
        return Err("etcdctl lock: etcd does not become healthy".to_owned());
    }
    Ok(started)
}
