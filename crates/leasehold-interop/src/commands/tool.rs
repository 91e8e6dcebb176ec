//! The commands, and what each needs to run.

use super::service::Service;
use crate::ours;
use leasehold_servers::ServerSet;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A lock command that can be run here.
pub(super) struct Tool {
    pub(super) kind: Kind,
    /// Its name and version, as it tells it.
    pub(super) version: String,
    program: PathBuf,
    folder: PathBuf,
    servers: Option<ServerSet>,
    service: Option<Service>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Flock,
    Consul,
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
        |target| Self::open(Kind::Consul, target),
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
            Kind::Consul => consul(&folder)?,
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
            service: None,
        };
        tool.version = match kind {
            Kind::Consul => CONSUL.replace("@v", " ").replace("consul", "consul lock"),
            Kind::Etcdctl => tool
                .ask(&["version"])?
                .replace("etcdctl version:", "etcdctl lock"),
            Kind::Fredlock => FREDLOCK.replace("==", " "),
            Kind::Flock => tool.ask(&["--version"])?,
            Kind::Leasehold => tool
                .ask(&["--version"])?
                .replace("leasehold", "leasehold run"),
        };
        match kind {
            Kind::Flock => {}
            Kind::Consul => tool.service = Some(Service::consul(&tool.program)?),
            Kind::Etcdctl => tool.service = Some(Service::etcd(&tool.folder)?),
            Kind::Fredlock | Kind::Leasehold => {
                let servers = ServerSet::start(1).map_err(|error| error.to_string())?;
                ours::admit(&servers.urls()).map_err(|error| error.to_string())?;
                tool.servers = Some(servers);
            }
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
            Kind::Consul => {
                // Its words would be joined for a shell. Nothing is tried once; its TTL is 15 s.
                command.args(["lock", &self.at(), "-shell=false"]);
                command.args(match wait {
                    Wait::Once => &["-timeout=1ms"][..],
                    Wait::Second => &["-timeout=1s"],
                    Wait::Long => &[],
                });
                command.arg(name);
            }
            Kind::Etcdctl => {
                command.env("ETCDCTL_API", "3").arg(self.at());
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
        match self.kind {
            Kind::Flock => return Ok(false),
            Kind::Consul => {
                self.ask(&["kv", "delete", &self.at(), "-recurse"])?;
            }
            Kind::Etcdctl => {
                self.ask(&[&self.at(), "del", "", "--from-key=true"])?;
            }
            Kind::Fredlock | Kind::Leasehold => {
                for server in self.servers.iter().flat_map(|servers| servers.iter()) {
                    let flushed = server.command(&["FLUSHALL"]);
                    flushed.map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(true)
    }

    /// The option that says where its service is.
    fn at(&self) -> String {
        let service = self.service.as_ref();
        service
            .map(|service| service.option.clone())
            .unwrap_or_default()
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

const CONSUL: &str = "consul@v1.20.1";

/// Builds it, which takes some minutes.
fn consul(folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join("consul");
    if program.exists() {
        return Ok(program);
    }
    let package = format!("github.com/hashicorp/{CONSUL}");
    println!("go builds {package} below {}", folder.display());
    let (module, _) = package.split_once('@').unwrap_or((&package, ""));
    let module_file = folder.join("go.mod");
    drop(fs::remove_file(&module_file));
    for words in [
        &["mod", "init", "commands"][..],
        &["get", &package],
        &["build", "-o", "consul", module],
    ] {
        let output = Command::new("go")
            .current_dir(folder)
            .env("GOWORK", "off")
            .args(words)
            .output();
        let output = output.map_err(|error| format!("consul lock: no go: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.trim().lines().next_back().unwrap_or_default();
            return Err(format!("consul lock: go cannot build it: {last}"));
        }
    }
    Ok(program)
}
