//! `cargo xtask dist`: what operators install. The command as one static program, in an archive, in a Debian package and in a
//! container image; each is tried as it is. Nothing is published.

mod archive;
mod debian;
mod image;
mod stage;

use crate::{
    process::{cargo, output_of},
    target_folder,
};
use stage::Stage;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// What was made, or why it was not.
enum Made {
    File(PathBuf),
    /// A tool for it is not here.
    Skipped(String),
}

/// Makes all of it.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    if !words.is_empty() {
        println!(
            "`{}` is not known: `cargo xtask dist` takes no arguments",
            words.join(" ")
        );
        return ExitCode::from(2);
    }
    match all(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn all(root: &Path) -> Result<(), String> {
    let folder = target_folder(root).join("dist");
    emptied(&folder)?;
    let target = Target::of_this_machine(root)?;
    println!("{}: {}", target.name, target.why);
    let program = target.build(root)?;
    tried(&program)?;
    let stage = Stage::new(root, &folder, &program)?;
    let mut skipped = 0;
    for made in [
        archive::make(&stage, &folder, &target.name)?,
        debian::make(&stage, &folder)?,
        image::make(&stage, &folder)?,
    ] {
        match made {
            Made::File(file) => {
                let bytes = fs::metadata(&file)
                    .map_err(|error| told(&file, &error))?
                    .len();
                println!("made: {} ({} kB)", file.display(), bytes.div_ceil(1000));
            }
            Made::Skipped(why) => {
                skipped += 1;
                println!("SKIPPED: {why}");
            }
        }
    }
    println!("{} made and tried, {skipped} skipped", 3 - skipped);
    Ok(())
}

/// For what the program is built.
struct Target {
    name: String,
    why: String,
}

impl Target {
    /// With musl, if the compiler has its standard library and a C compiler for it is here; otherwise with this machine's C
    /// library.
    fn of_this_machine(root: &Path) -> Result<Self, String> {
        let said = output_of(root, Command::new("rustc").arg("-vV"))?;
        let host = said.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.ok_or("rustc does not tell what this machine is")?;
        let sysroot = output_of(root, Command::new("rustc").args(["--print", "sysroot"]))?;
        let musl = host.replace("-gnu", "-musl");
        let library = Path::new(sysroot.trim()).join("lib/rustlib").join(&musl);
        // Debian's package musl-tools has it under this name.
        let compiler = format!("{}-gcc", musl.replace("-unknown", ""));
        let (name, why) = match (library.is_dir(), is_there(&compiler)) {
            (true, true) => (musl, "with musl".to_owned()),
            (false, _) => (
                host.to_owned(),
                format!("with this machine's C library; `rustup target add {musl}` gets musl"),
            ),
            (true, false) => (
                host.to_owned(),
                format!(
                    "with this machine's C library; for musl, {compiler} is missing (musl-tools)"
                ),
            ),
        };
        Ok(Self { name, why })
    }

    /// Builds the program, which needs no library of the machine where it runs, and tells where it is.
    fn build(&self, root: &Path) -> Result<PathBuf, String> {
        let folder = target_folder(root).join("dist-build");
        let mut build = cargo();
        build.env(
            "RUSTFLAGS",
            "-C target-feature=+crt-static -C strip=symbols",
        );
        build.args([
            "build",
            "--locked",
            "--release",
            "--package",
            "leasehold-cli",
        ]);
        build
            .args(["--target", &self.name, "--target-dir"])
            .arg(&folder);
        output_of(root, &mut build)?;
        let program = folder.join(&self.name).join("release/leasehold");
        // Of a static program it prints this, of another the libraries. Some end with an error besides.
        let libraries = Command::new("ldd").arg(&program).output();
        let libraries = libraries.map_err(|error| format!("ldd cannot be run: {error}"))?;
        let said =
            String::from_utf8_lossy(&[libraries.stdout, libraries.stderr].concat()).into_owned();
        match said.contains("statically linked") || said.contains("not a dynamic executable") {
            true => Ok(program),
            false => Err(format!("{} is not static:\n{said}", program.display())),
        }
    }
}

/// Runs a program under a lock of this program, in a file.
fn tried(program: &Path) -> Result<(), String> {
    let home = program.with_file_name("tried");
    emptied(&home)?;
    let mut run = Command::new(program);
    run.args(["run", "dist", "--", "printenv", "LEASEHOLD_RESOURCE"]);
    run.env("XDG_STATE_HOME", &home)
        .env("LEASEHOLD_CONFIG", "")
        .env_remove("LEASEHOLD_NODES");
    let said = output_of(&home, &mut run)?;
    match said.trim() {
        "dist" => Ok(()),
        other => Err(format!("`leasehold run` ran something else: {other}")),
    }
}

/// A folder with nothing in it.
fn emptied(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(told(folder, &error)),
        _ => fs::create_dir_all(folder).map_err(|error| told(folder, &error)),
    }
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Whether this program is here.
fn is_there(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").output();
    asked.is_ok_and(|asked| asked.status.success())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
