//! Gets the libraries, by their package names, with the clients that everybody uses.

use crate::{
    earlier::Earlier,
    package::{Built, Language},
    peer::{Means, Peer},
    shim::Shim,
};
use std::{
    env, fs,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
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
    /// Of what is compiled: its program, or why it cannot be built.
    program: Option<Result<PathBuf, String>>,
}

impl Installed {
    /// Installs what a peer needs into a folder of its own, unless it is there. What npm, pip, go and mvn have to say goes
    /// to a file.
    ///
    /// # Errors
    /// Why it cannot be had here: there is no such program, or it failed.
    pub(crate) fn get(peer: &'static Peer, target: &Path) -> Result<Self, String> {
        let mut installed = Self {
            peer,
            // Those that share a shim share what it needs.
            folder: target.join("interop").join(peer.shim()),
            program: None,
        };
        if let Means::Earlier(_) = peer.means {
            let earlier = Earlier::get(target)?;
            installed.program = Some(earlier.build().map(|()| earlier.program()));
        }
        let named = peer.packages().iter();
        let mut packages: Vec<String> = named.map(|&package| package.to_owned()).collect();
        if let Means::Package(language, _) = peer.means {
            match language.build(target)? {
                Built::File(file) => packages.push(file.display().to_string()),
                Built::Broken(why) => {
                    installed.program = Some(Err(why));
                    return Ok(installed);
                }
            }
        }
        let stamp = installed.folder.join("installed");
        let wanted =
            stamp_of(&packages).map_err(|error| installed.wrong("has no package", &error))?;
        let is_there = fs::read_to_string(&stamp).is_ok_and(|text| text == wanted);
        if !is_there {
            // What an earlier, other or broken installation left would be kept.
            match fs::remove_dir_all(&installed.folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(installed.wrong("cannot be cleared", &error));
                }
                _ => {}
            }
            installed.install(&packages)?;
        }
        installed.look_for_runtime()?;
        installed
            .copy_shim()
            .and_then(|()| fs::write(&stamp, wanted))
            .map_err(|error| installed.wrong("cannot be written to", &error))?;
        installed.program = installed.compile().or(installed.program.take());
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
        let (name, shim) = (self.peer.name, self.peer.shim());
        if let Some(program) = &self.program {
            let program = program.as_ref().map_err(Clone::clone)?;
            let mut command = Command::new(program);
            match self.peer.means {
                Means::Earlier(kind) => drop(command.arg(kind.name())),
                Means::Maven { .. } => {
                    command = java(program);
                    command.arg(format!("-Dpeer={name}")).arg("Shim");
                }
                _ => {}
            }
            return Ok(command);
        }
        let mut command = match self.peer.means {
            Means::Npm(_) | Means::Package(Language::Node, _) => {
                let mut command = Command::new("node");
                command.arg(self.folder.join(format!("{shim}.shim.mjs")));
                command
            }
            Means::Pip(_) | Means::Package(Language::Python, _) => {
                let mut command = Command::new(self.python());
                command.arg(self.folder.join(format!("{shim}.shim.py")));
                command
            }
            Means::Go(_) | Means::Maven { .. } => return Err("is not compiled".into()),
            Means::Rust | Means::Played | Means::Earlier(_) => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["shim", name]);
                command
            }
        };
        if let Means::Package(_, kind) = self.peer.means {
            command.env("KIND", kind.name());
        }
        Ok(command)
    }

    fn install(&self, packages: &[String]) -> Result<(), String> {
        fs::create_dir_all(&self.folder).map_err(|error| self.wrong("cannot be made", &error))?;
        match self.peer.means {
            Means::Npm(_) | Means::Package(Language::Node, _) => {
                eprintln!("npm installs {} for {}", packages.join(" "), self.peer.name);
                let mut npm = Command::new("npm");
                npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
                    .arg(&self.folder)
                    .args(packages);
                self.run(npm)
            }
            Means::Pip(_) | Means::Package(Language::Python, _) => {
                eprintln!("pip installs {} for {}", packages.join(" "), self.peer.name);
                let mut venv = Command::new("python3");
                venv.args(["-m", "venv"]).arg(self.venv());
                self.run(venv)?;
                let mut pip = Command::new(self.python());
                pip.args(["-m", "pip", "install", "--disable-pip-version-check"])
                    .args(packages);
                self.run(pip)
            }
            Means::Go(_) => {
                eprintln!("go gets {} for {}", packages.join(" "), self.peer.name);
                self.copy_shim()
                    .map_err(|error| self.wrong("cannot be written to", &error))?;
                let mut got = vec!["get"];
                got.extend(packages.iter().map(String::as_str));
                for words in [
                    &["mod", "init", "shim"][..],
                    &got,
                    // What the shim imports is got as well, so that to compile it needs no network.
                    &["list", "-mod=mod", "-deps", "."],
                ] {
                    let mut go = self.go();
                    go.args(words);
                    self.run(go)?;
                }
                Ok(())
            }
            Means::Maven { .. } => {
                eprintln!("mvn gets {} for {}", packages.join(" "), self.peer.name);
                fs::write(self.folder.join("pom.xml"), project(packages))
                    .map_err(|error| self.wrong("cannot be written to", &error))?;
                let mut mvn = Command::new("mvn");
                mvn.args(["--batch-mode", COPY_DEPENDENCIES, "-DoutputDirectory=lib"])
                    .current_dir(&self.folder);
                self.run(mvn)
            }
            Means::Rust | Means::Played | Means::Earlier(_) => Ok(()),
        }
    }

    /// Whether what was installed can be started, which an earlier run does not tell.
    fn look_for_runtime(&self) -> Result<(), String> {
        let mut command = match self.peer.means {
            Means::Npm(_) | Means::Package(Language::Node, _) => Command::new("node"),
            Means::Pip(_) | Means::Package(Language::Python, _) => Command::new(self.python()),
            Means::Go(_) => {
                let mut go = self.go();
                go.arg("version");
                return self.run(go);
            }
            Means::Maven { .. } => {
                let mut java = Command::new("java");
                java.arg("-version");
                self.run(java)?;
                Command::new("javac")
            }
            Means::Rust | Means::Played | Means::Earlier(_) => return Ok(()),
        };
        command.arg("--version");
        self.run(command)
    }

    /// Compiles the shim, where that is to be done. What goes wrong is no reason to skip a peer: all that it needs is there.
    fn compile(&self) -> Option<Result<PathBuf, String>> {
        let (compiler, program) = match self.peer.means {
            Means::Go(_) => {
                let mut go = self.go();
                go.args(["build", "-mod=mod", "-buildvcs=false", "-o", "shim", "."]);
                (go, self.folder.join("shim"))
            }
            Means::Maven { shim, .. } => {
                let mut javac = Command::new("javac");
                javac
                    .args(["-d", "lib/classes", "-cp", "lib/*", "Line.java"])
                    .arg(format!("{shim}.shim.java"))
                    .current_dir(&self.folder);
                (javac, self.folder.join("lib"))
            }
            _ => return None,
        };
        Some(self.run(compiler).map(|()| program))
    }

    /// In the folder of the shim, which is a module of its own.
    fn go(&self) -> Command {
        let mut go = Command::new("go");
        go.current_dir(&self.folder).env("GOWORK", "off");
        go
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
        let shim = self.peer.shim();
        let files = match self.peer.means {
            Means::Npm(_) | Means::Package(Language::Node, _) => {
                ["line.mjs".to_owned(), format!("{shim}.shim.mjs")]
            }
            Means::Pip(_) | Means::Package(Language::Python, _) => {
                ["line.py".to_owned(), format!("{shim}.shim.py")]
            }
            Means::Go(_) => ["line.go".to_owned(), format!("{shim}.shim.go")],
            Means::Maven { .. } => ["Line.java".to_owned(), format!("{shim}.shim.java")],
            Means::Rust | Means::Played | Means::Earlier(_) => return Ok(()),
        };
        for file in files {
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

/// What tells whether these are installed: their names with versions, and of a file what is in it.
fn stamp_of(packages: &[String]) -> io::Result<String> {
    let mut stamp = packages.join(" ");
    for file in packages.iter().filter(|package| package.starts_with('/')) {
        let mut hasher = DefaultHasher::new();
        fs::read(file)?.hash(&mut hasher);
        stamp += &format!(" {:016x}", hasher.finish());
    }
    Ok(stamp)
}

/// A machine that is soon started, with what is in that folder.
fn java(lib: &Path) -> Command {
    let mut java = Command::new("java");
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]);
    java.arg("-cp")
        .arg(format!("{0}/classes:{0}/*", lib.display()));
    java
}

/// What mvn needs to know of the artifacts, whose dependencies it looks for itself.
fn project(artifacts: &[String]) -> String {
    let dependency = |artifact: &String| {
        let mut parts = artifact.split(':');
        let mut element = |name: &str| {
            let text = parts.next().unwrap_or_default();
            format!("<{name}>{text}</{name}>")
        };
        let parts = ["groupId", "artifactId", "version"].map(&mut element);
        format!("    <dependency>{}</dependency>\n", parts.concat())
    };
    let dependencies: String = artifacts.iter().map(dependency).collect();
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  \
         <groupId>shim</groupId><artifactId>shim</artifactId><version>0</version>\n  \
         <dependencies>\n{dependencies}  </dependencies>\n</project>\n"
    )
}

const COPY_DEPENDENCIES: &str =
    "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Kept, Nodes};

    const MISSING: Peer = Peer {
        name: "missing",
        about: "",
        means: Means::Pip(&["leasehold-no-such-package==0.0.0"]),
        nodes: Nodes::One,
        key: "{}",
        kept: Kept::Value,
        extends: false,
        several: false,
    };

    #[test]
    fn what_fails_is_told_with_its_log() {
        let folder = env::temp_dir().join(format!("leasehold-interop-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let installed = Installed {
            peer: &MISSING,
            folder: folder.clone(),
            program: None,
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

    #[test]
    fn a_file_that_was_built_anew_is_installed_anew() {
        let name = format!("leasehold-interop-{}.whl", std::process::id());
        let file = env::temp_dir().join(name);
        let stamp = |text: &str| {
            fs::write(&file, text).unwrap();
            stamp_of(&["redis==8.1.0".to_owned(), file.display().to_string()]).unwrap()
        };
        let first = stamp("one");
        assert_ne!(stamp("two"), first);
        assert_eq!(stamp("one"), first);
        fs::remove_file(&file).unwrap();
        assert!(stamp_of(&[file.display().to_string()]).is_err());
    }

    #[test]
    fn artifacts_are_told_in_their_parts() {
        let project = project(&["org.a:b-c:1.2".to_owned()]);
        let parts = "<groupId>org.a</groupId><artifactId>b-c</artifactId><version>1.2</version>";
        assert!(
            project.contains(&format!("<dependency>{parts}</dependency>")),
            "{project}"
        );
    }
}
