//! `cargo xtask test`: all that CI checks, with all the setting up that it needs.

use crate::{install, skips::Skips, target_folder, tidy};
use leasehold_servers::{ServerBinary, stop_leftovers};
use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

/// Runs every step, and stops at the first that fails. `further` goes to `cargo test`.
pub(crate) fn run(root: &Path, further: &[&str]) -> ExitCode {
    let target = target_folder(root);
    let file = target.join(format!("skips-{}.txt", std::process::id()));
    let mut run = Run {
        root: root.to_owned(),
        target,
        further: further.iter().map(|&word| word.to_owned()).collect(),
        server: None,
        more_servers: Vec::new(),
        postgres: None,
        skips: Skips::new(file),
    };
    let count = STEPS.len();
    for (number, (title, step)) in STEPS.iter().enumerate() {
        println!("[{}/{count}] {title}", number + 1);
        if let Err(failure) = step(&mut run) {
            println!("FAILED in step {}, {title}: {}", number + 1, failure.reason);
            return ExitCode::from(failure.code);
        }
    }
    match run.skips.summary() {
        Ok(()) => {
            println!("all {count} steps passed");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

struct Run {
    root: PathBuf,
    target: PathBuf,
    further: Vec<String>,
    server: Option<ServerBinary>,
    /// Of other kinds, for what not every server has.
    more_servers: Vec<PathBuf>,
    postgres: Option<PathBuf>,
    skips: Skips,
}

struct Failure {
    reason: String,
    code: u8,
}

type Step = fn(&mut Run) -> Result<(), Failure>;

const STEPS: [(&str, Step); 10] = [
    ("servers to test against", Run::servers),
    ("formatting", Run::formatting),
    ("lints", Run::lints),
    ("the rules of the house", Run::tidy),
    ("the core without std", Run::core_without_std),
    ("sets of features", Run::features),
    ("tests", Run::tests),
    ("the model of the core", Run::model),
    ("simulated worlds", Run::simulator),
    ("documentation", Run::documentation),
];

impl Run {
    fn servers(&mut self) -> Result<(), Failure> {
        let binary = install::server(&self.target).map_err(fail)?;
        let version = binary.version().map_err(|error| fail(error.to_string()))?;
        println!("{version}, {}", binary.path().display());
        self.server = Some(binary);
        for name in MORE_SERVERS {
            match install::named(&self.target, name) {
                // Tests do not run in the folder from which the command was typed.
                Ok(binary) => self.more_servers.extend(std::path::absolute(binary.path())),
                Err(reason) => self.skips.add(reason),
            }
        }
        install::tools();
        self.postgres = install::postgres();
        if let Some(program) = &self.postgres {
            println!("PostgreSQL, {}", program.display());
        }
        Ok(())
    }

    fn formatting(&mut self) -> Result<(), Failure> {
        if !self.has("fmt") {
            self.skips.add("no rustfmt".to_owned());
            return Ok(());
        }
        self.cargo(&["fmt", "--all", "--check"])
    }

    fn lints(&mut self) -> Result<(), Failure> {
        if !self.has("clippy") {
            self.skips.add("no clippy".to_owned());
            return Ok(());
        }
        self.cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ])
    }

    fn tidy(&mut self) -> Result<(), Failure> {
        let findings = tidy::run(&self.root);
        findings.iter().for_each(|finding| println!("{finding}"));
        match findings.len() {
            0 => Ok(()),
            count => Err(fail(format!("{count} findings"))),
        }
    }

    fn core_without_std(&mut self) -> Result<(), Failure> {
        let Some(target) = BARE_TARGETS.iter().find(|target| is_installed(target)) else {
            let names = BARE_TARGETS.join(", ");
            let reason = format!(
                "no target without std is installed, of {names}; `rustup target add {}` installs one",
                BARE_TARGETS[0]
            );
            self.skips.add(reason);
            return Ok(());
        };
        println!("for {target}");
        self.cargo(&["check", "-p", "leasehold-core", "--target", target])
    }

    fn features(&mut self) -> Result<(), Failure> {
        for features in FEATURE_SETS {
            println!(
                "features: {}",
                if features.is_empty() {
                    "none"
                } else {
                    features
                }
            );
            self.cargo(&[
                "check",
                "-p",
                "leasehold",
                "--no-default-features",
                "--features",
                features,
            ])?;
        }
        Ok(())
    }

    fn tests(&mut self) -> Result<(), Failure> {
        stop_leftovers().map_err(|error| fail(error.to_string()))?;
        let mut words = vec!["test", "--workspace"];
        words.extend(self.further.iter().map(String::as_str));
        let outcome = self.cargo(&words);
        let count = stop_leftovers().map_err(|error| fail(error.to_string()))?;
        if count > 0 {
            println!("stopped servers that tests left behind: {count} folders");
        }
        outcome
    }

    fn model(&mut self) -> Result<(), Failure> {
        self.cargo(&["run", "--quiet", "--release", "-p", "leasehold-model"])
    }

    /// Another commit tries other worlds, and the same commit the same ones.
    fn simulator(&mut self) -> Result<(), Failure> {
        let from = first_seed(&self.root).to_string();
        let run = ["run", "--quiet", "--release", "-p", "leasehold-sim", "--"];
        let words = ["--seeds", SEEDS, "--from", &from];
        println!("seeds from {from}");
        self.cargo(&[&run[..], &words[..]].concat())
    }

    fn documentation(&mut self) -> Result<(), Failure> {
        // Libraries only: the command has the library's name, and its page would replace the library's.
        self.cargo(&["doc", "--workspace", "--no-deps", "--lib"])
    }

    fn has(&self, subcommand: &str) -> bool {
        let mut command = self.command(&[subcommand, "--version"]);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    }

    fn cargo(&self, words: &[&str]) -> Result<(), Failure> {
        let status = self.command(words).status();
        let status = status.map_err(|error| fail(format!("cargo: {error}")))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure {
            reason: format!("`cargo {}` ended with {status}", words.join(" ")),
            code: status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1),
        })
    }

    fn command(&self, words: &[&str]) -> Command {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(words)
            .current_dir(&self.root)
            .env("RUSTDOCFLAGS", "-D warnings")
            .env("LEASEHOLD_SKIPS", self.skips.file());
        if let Some(server) = &self.server {
            command.env("LEASEHOLD_SERVER", server.path());
        }
        if let Ok(paths) = env::join_paths(&self.more_servers) {
            command.env("LEASEHOLD_SERVERS", paths);
        }
        if let Some(program) = &self.postgres {
            command.env("LEASEHOLD_POSTGRES", program);
        }
        command
    }
}

fn fail(reason: String) -> Failure {
    Failure { reason, code: 1 }
}

fn is_installed(target: &str) -> bool {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output();
    output.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout);
        output.status.success() && Path::new(folder.trim()).is_dir()
    })
}

/// The first eight digits of the commit as a number; 0 where there is none.
fn first_seed(root: &Path) -> u64 {
    let output = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(root)
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.ok()
        .and_then(|text| u64::from_str_radix(text.get(..8)?, 16).ok())
        .unwrap_or(0)
}

/// What keeps plain locks without scripts, and what could but for one command.
const MORE_SERVERS: [&str; 2] = ["valkey-9.1", "valkey-8.1"];

/// How many worlds of each scenario.
const SEEDS: &str = "2000";

/// Targets that have no std at all, so that a hidden use of it cannot compile.
const BARE_TARGETS: [&str; 3] = [
    "thumbv7m-none-eabi",
    "x86_64-unknown-none",
    "riscv32imac-unknown-none-elf",
];

/// `tls` contains `redis`; the default set is what the tests are compiled with.
const FEATURE_SETS: [&str; 9] = [
    "",
    "file",
    "redis",
    "tls",
    "cancellation",
    "file,redis",
    "metrics",
    "tracing",
    "testing",
];
