//! A server of a newer Debian, beside the machine's own: its packages are unpacked below `target` and run by their own loader.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Where a server of this version is: a suite of Debian's that machines seldom have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release {
    suite: &'static str,
    /// What is unpacked. Libraries come from `sid`, and from the suite what it has newer.
    packages: &'static [&'static str],
    /// The program, below the folder into which they are unpacked.
    program: &'static str,
}

/// Redis 8.6.
pub(super) const REDIS_8_6: Release = Release {
    suite: "experimental",
    packages: &["redis-tools", "redis-server"],
    program: "usr/bin/redis-check-rdb",
};

/// Unpacks it into `folder` and returns the script that starts it. Nothing is installed, and apt's own lists stay as they
/// are.
///
/// # Errors
/// What could not be had, and why.
pub(super) fn get(release: Release, folder: &Path) -> Result<PathBuf, String> {
    let apt = Apt::begin(folder, release.suite)?;
    println!(
        "getting {} of Debian's {}, into {}, and nowhere else",
        release.packages.join(" and "),
        release.suite,
        folder.display()
    );
    let newest = release
        .packages
        .iter()
        .map(|package| format!("{package}/{}", release.suite));
    let wanted: Vec<String> = newest.chain(LIBRARIES.map(str::to_owned)).collect();
    let root = apt.unpack(&wanted)?;
    let loader = loader_below(&root).ok_or("its libc6 has no loader")?;
    let libraries = loader.parent().ok_or("its loader is nowhere")?;
    let script = folder.join("redis-server");
    let text = format!(
        "#!/bin/sh\nexec '{}' --argv0 redis-server --library-path '{}' '{}' \"$@\"\n",
        loader.display(),
        libraries.display(),
        root.join(release.program).display()
    );
    let written = fs::write(&script, text)
        .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)));
    written.map_err(|error| format!("{}: {error}", script.display()))?;
    Ok(script)
}

/// apt with lists of its own.
struct Apt {
    folder: PathBuf,
    config: PathBuf,
}

impl Apt {
    /// Reads the lists of `sid` and of this suite, from where the machine has its own.
    fn begin(folder: &Path, suite: &str) -> Result<Self, String> {
        let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
        let told = |error: io::Error| format!("{}: {error}", folder.display());
        // What an earlier attempt left would be kept.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(error)),
            _ => {}
        }
        for part in [
            "lists/partial",
            "cache/archives/partial",
            "packages",
            "root",
        ] {
            fs::create_dir_all(folder.join(part)).map_err(told)?;
        }
        let site = site()?;
        let sources = format!("deb {site} sid main\ndeb {site} {suite} main\n");
        fs::write(folder.join("sources.list"), sources).map_err(told)?;
        let here = folder.display();
        let config = folder.join("apt.conf");
        let settings = format!(
            "Dir::Etc::sourcelist \"{here}/sources.list\";\nDir::Etc::sourceparts \"-\";\n\
             Dir::State::lists \"{here}/lists\";\nDir::Cache \"{here}/cache\";\n\
             APT::Sandbox::User \"\";\nAcquire::Languages \"none\";\n"
        );
        fs::write(&config, settings).map_err(told)?;
        let apt = Self { folder, config };
        apt.run("apt-get", &["update"], &apt.folder)?;
        Ok(apt)
    }

    /// Downloads these packages and unpacks them; returns where.
    fn unpack(&self, packages: &[String]) -> Result<PathBuf, String> {
        let (packed, root) = (self.folder.join("packages"), self.folder.join("root"));
        let mut words = vec!["download"];
        words.extend(packages.iter().map(String::as_str));
        self.run("apt-get", &words, &packed)?;
        let files = fs::read_dir(&packed).map_err(|error| error.to_string())?;
        for file in files.flatten() {
            let (file, root) = (file.path(), root.display().to_string());
            self.run(
                "dpkg-deb",
                &["-x", &file.display().to_string(), &root],
                &packed,
            )?;
        }
        Ok(root)
    }

    fn run(&self, program: &str, words: &[&str], folder: &Path) -> Result<(), String> {
        let output = Command::new(program)
            .args(words)
            .env("APT_CONFIG", &self.config)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{program} cannot be run: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.is_empty());
        Err(format!(
            "{program} {}: {}",
            words.join(" "),
            last.unwrap_or("it failed")
        ))
    }
}

/// From where the machine's own packages come.
fn site() -> Result<String, String> {
    let output = Command::new("apt-get")
        .args([
            "indextargets",
            "--format",
            "$(SITE)",
            "Created-By: Packages",
        ])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("there is no apt-get: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Security has suites of its own.
    let site = text.lines().find(|line| !line.contains("security"));
    site.map(str::to_owned)
        .ok_or_else(|| "apt-get knows no sources of packages".to_owned())
}

fn loader_below(root: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(root.join("usr/lib")).ok()?.flatten();
    let mut files =
        folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let is_loader = |name: &str| name.starts_with("ld-linux") && name.contains(".so");
    let loader = files.find(|file| is_loader(&file.file_name().to_string_lossy()))?;
    Some(loader.path())
}

/// What the server is linked with, and the loader that goes with it.
const LIBRARIES: [&str; 10] = [
    "libatomic1",
    "libc6",
    "libgcc-s1",
    "libjemalloc2",
    "liblzf1",
    "libssl3t64",
    "libstdc++6",
    "libsystemd0",
    "libzstd1",
    "zlib1g",
];
