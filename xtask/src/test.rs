//! `cargo xtask test`: all that CI checks, with all the setting up that it needs.
//!
//! What is quick, and what all the rest needs, is done first and alone. Then the tests run, of which most wait for servers
//! and their clocks, and beside them what computes.

mod crew;
mod incremental;
mod programs;
mod stopwatch;

use crate::{
    git::number_of_commit,
    install, mutants,
    process::cargo,
    skips::{ARGUMENTS, Skips, is_ci},
    target_folder, tidy,
    took::{now, seconds},
};
use crew::{Done, Lane, Task};
use incremental::is_incremental;
use leasehold_servers::{ServerBinary, stop_leftovers};
use programs::Program;
use std::{
    collections::VecDeque,
    env,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
    time::Duration,
};

/// Runs every step, and stops at the first that fails. `further` goes to `cargo test`.
pub(crate) fn run(root: &Path, further: &[&str]) -> ExitCode {
    let target = target_folder(root);
    let file = target.join(format!("skips-{}.txt", std::process::id()));
    let mut run = Run {
        is_incremental: is_incremental(&target),
        root: root.to_owned(),
        target,
        further: further.iter().map(|&word| word.to_owned()).collect(),
        server: None,
        more_servers: Vec::new(),
        postgres: None,
        mariadb: None,
        programs: Vec::new(),
        skips: Skips::new(file),
        took: Vec::new(),
    };
    let begun = now();
    match run.all() {
        Ok(()) => run.tell(begun.elapsed()),
        Err(failure) => {
            println!("FAILED: {}: {}", failure.title, failure.reason);
            ExitCode::from(failure.code)
        }
    }
}

struct Run {
    root: PathBuf,
    target: PathBuf,
    further: Vec<String>,
    is_incremental: bool,
    server: Option<ServerBinary>,
    /// Of other kinds, for what not every server has.
    more_servers: Vec<PathBuf>,
    postgres: Option<PathBuf>,
    mariadb: Option<PathBuf>,
    /// The test programs, and the tests of each.
    programs: Vec<(Program, Vec<String>)>,
    skips: Skips,
    /// What was done, and how long it took.
    took: Vec<Done>,
}

struct Failure {
    title: String,
    reason: String,
    code: u8,
}

type Step = fn(&mut Run) -> Result<(), String>;

/// What is done first, one after the other.
const FIRST: [(&str, Step); 4] = [
    ("servers to test against", Run::servers),
    ("formatting", Run::formatting),
    ("the rules of the house", Run::tidy),
    ("building the tests", Run::build),
];

impl Run {
    fn all(&mut self) -> Result<(), Failure> {
        for (title, step) in FIRST {
            println!("[{title}]");
            let begun = now();
            step(self).map_err(|reason| fail(title, reason))?;
            self.took.push(Done {
                title: title.to_owned(),
                took: begun.elapsed(),
                tests: Vec::new(),
            });
        }
        let clean = || stop_leftovers().map_err(|error| fail("servers", error.to_string()));
        clean()?;
        let waiting = Lane {
            tasks: self.tests(),
            at_once: 2,
        };
        let computing = Lane {
            tasks: self.computing(),
            at_once: 1,
        };
        let exploring = Lane {
            tasks: self.exploring(),
            at_once: 1,
        };
        println!("[tests, and beside them what computes]");
        let outcome = crew::work(vec![waiting, computing, exploring], &self.target);
        let count = clean()?;
        if count > 0 {
            println!("stopped servers that tests left behind: {count} folders");
        }
        let code = |code: Option<i32>| code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        self.took.extend(outcome.map_err(|failed| Failure {
            title: failed.title,
            reason: failed.reason,
            code: code(failed.code),
        })?);
        Ok(())
    }

    /// What was done, what took long, and what was not done.
    fn tell(self, whole: Duration) -> ExitCode {
        println!("\nhow long each step took:");
        for Done { title, took, .. } in &self.took {
            println!("{:>12}  {title}", seconds(*took));
        }
        let tests = self.took.iter().flat_map(|done| {
            let named =
                |(name, took): &(String, Duration)| (*took, format!("{name} ({})", done.title));
            done.tests.iter().map(named)
        });
        let mut tests: Vec<_> = tests.collect();
        tests.sort_unstable_by(|one, other| other.cmp(one));
        if !tests.is_empty() {
            println!("the slowest of {} tests that were timed:", tests.len());
        }
        for (took, name) in tests.iter().take(SLOWEST) {
            println!("{:>12}  {name}", seconds(*took));
        }
        let (steps, whole) = (self.took.len(), seconds(whole));
        match self.skips.summary() {
            Ok(()) => {
                println!("all {steps} steps that were run passed; {whole}");
                ExitCode::SUCCESS
            }
            Err(reason) => {
                println!("FAILED: {reason}; {whole}");
                ExitCode::FAILURE
            }
        }
    }

    fn servers(&mut self) -> Result<(), String> {
        // First: servers may come by pip, which is a program in Python.
        install::tools();
        let binary = install::server(&self.target)?;
        let version = binary.version().map_err(|error| error.to_string())?;
        println!("{version}, {}", binary.path().display());
        self.server = Some(binary);
        for name in MORE_SERVERS {
            match install::named(&self.target, name) {
                // Tests do not run in the folder from which the command was typed.
                Ok(binary) => self.more_servers.extend(std::path::absolute(binary.path())),
                Err(reason) => self.skips.add(reason),
            }
        }
        self.postgres = install::postgres();
        if let Some(program) = &self.postgres {
            println!("PostgreSQL, {}", program.display());
        }
        self.mariadb = install::mariadb();
        if let Some(program) = &self.mariadb {
            println!("MariaDB, {}", program.display());
        }
        Ok(())
    }

    fn formatting(&mut self) -> Result<(), String> {
        if !self.has("fmt") {
            self.skips.add("no rustfmt".to_owned());
            return Ok(());
        }
        self.cargo(&["fmt", "--all", "--check"])
    }

    fn tidy(&mut self) -> Result<(), String> {
        let findings = tidy::run(&self.root);
        findings.iter().for_each(|finding| println!("{finding}"));
        match findings.len() {
            0 => Ok(()),
            count => Err(format!("{count} findings")),
        }
    }

    /// Builds the test programs, and looks what is in them.
    fn build(&mut self) -> Result<(), String> {
        if !self.further.is_empty() {
            // Cargo does it when it runs them.
            self.skips.add(ARGUMENTS.to_owned());
            return Ok(());
        }
        let words = ["test", "--workspace", "--no-run"];
        let mut command = self.command(&words);
        command.arg("--message-format=json-render-diagnostics");
        for program in programs::build(command)? {
            let tests = program.tests()?;
            self.programs.push((program, tests));
        }
        let named =
            |package: &str, words: &[&str]| programs::tests_of(&self.programs, package, words);
        match mutants::missing_killers(&self.root, named)?.as_slice() {
            [] => Ok(()),
            missing => Err(format!(
                "mutants name tests that are not there:\n{}",
                missing.join("\n")
            )),
        }
    }

    /// What waits for most of its time.
    fn tests(&self) -> VecDeque<Task> {
        if !self.further.is_empty() {
            let mut command = self.command(&["test", "--workspace"]);
            command.args(&self.further);
            return VecDeque::from([task("tests", [command])]);
        }
        let waiting = self.programs.iter().filter(|it| it.0.package != SIMULATOR);
        waiting.map(|program| self.tests_of(program)).collect()
    }

    fn tests_of(&self, (program, tests): &(Program, Vec<String>)) -> Task {
        let at_once = 2 * thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut command = Command::new(&program.file);
        command
            .args(["--test-threads", &at_once.to_string()])
            .current_dir(&program.folder)
            .env("CARGO_MANIFEST_DIR", &program.folder);
        self.surround(&mut command);
        let mut task = task(&program.title(), [command]);
        task.tests = Some((tests.clone(), at_once));
        task
    }

    /// What computes: one step after the other, most of them compilers.
    fn computing(&mut self) -> VecDeque<Task> {
        let mut tasks = VecDeque::new();
        if self.has("clippy") {
            let words = "clippy --workspace --all-targets -- -D warnings";
            tasks.push_back(self.task("lints", &[words]));
        } else {
            self.skips.add("no clippy".to_owned());
        }
        if let Some(target) = BARE_TARGETS.iter().find(|target| is_installed(target)) {
            let words = format!("check -p leasehold-core --target {target}");
            tasks.push_back(self.task(&format!("the core without std, for {target}"), &[&words]));
        } else {
            let names = BARE_TARGETS.join(", ");
            self.skips.add(format!(
                "no target without std is installed, of {names}; `rustup target add {}` installs one",
                BARE_TARGETS[0]
            ));
        }
        let check = "check -p leasehold --no-default-features --features";
        let sets = FEATURE_SETS.map(|features| match features {
            "" => "check -p leasehold --no-default-features".to_owned(),
            features => format!("{check} {features}"),
        });
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        tasks.push_back(self.task("sets of features", &sets));
        if self.further.is_empty() {
            let words = "test --workspace --doc";
            tasks.push_back(self.task("examples in the documentation", &[words]));
        }
        // Libraries only: the command has the library's name, and its page would replace the library's.
        let words = "doc --workspace --no-deps --lib";
        tasks.push_back(self.task("documentation", &[words]));
        tasks
    }

    /// What computes for minutes, with a thread for each core: simulated worlds, and the model of the core. So it begins at once
    /// and uses every core that the others leave idle, instead of waiting for its turn among them.
    fn exploring(&self) -> VecDeque<Task> {
        let from = number_of_commit(&self.root);
        let (seeds, lua) = SEEDS;
        let its = self.programs.iter().filter(|it| it.0.package == SIMULATOR);
        let tests = its.map(|program| {
            let mut task = self.tests_of(program);
            task.title += &format!(
                ": {seeds} worlds of each scenario, {lua} of each that runs Lua, from seed {from}"
            );
            for command in &mut task.commands {
                command.env("LEASEHOLD_WORLDS", format!("{from} {seeds} {lua}"));
                *command = yielding(command, LAST);
            }
            task
        });
        let mut tasks: VecDeque<_> = tests.collect();
        let model = "run --quiet --release -p leasehold-model";
        tasks.push_back(task("the model of the core", [self.yielding(model, LAST)]));
        if is_ci() {
            let (seeds, lua) = SEEDS_OF_CI;
            let title = format!(
                "simulated worlds: {seeds} seeds of each scenario, {lua} of each that runs Lua, from {from}"
            );
            let line = format!(
                "run --quiet --release -p {SIMULATOR} -- --seeds {seeds} --lua-seeds {lua} --from {from}"
            );
            tasks.push_back(task(&title, [self.yielding(&line, LAST)]));
        }
        tasks
    }

    /// Cargo with these words, one line after the other, whenever nobody else has something to do.
    fn task(&self, title: &str, lines: &[&str]) -> Task {
        task(title, lines.iter().map(|line| self.yielding(line, LATER)))
    }

    fn yielding(&self, line: &str, niceness: &str) -> Command {
        yielding(
            &self.command(&line.split(' ').collect::<Vec<_>>()),
            niceness,
        )
    }

    fn has(&self, subcommand: &str) -> bool {
        let mut command = self.command(&[subcommand, "--version"]);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    }

    fn cargo(&self, words: &[&str]) -> Result<(), String> {
        let status = self.command(words).status();
        let status = status.map_err(|error| format!("cargo: {error}"))?;
        if status.success() {
            return Ok(());
        }
        Err(format!("`cargo {}` ended with {status}", words.join(" ")))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = cargo();
        command.args(words).current_dir(&self.root);
        if !self.is_incremental {
            command.env("CARGO_INCREMENTAL", "0");
        }
        self.surround(&mut command);
        command
    }

    /// What commands and tests find in their environment.
    fn surround(&self, command: &mut Command) {
        command
            .env("RUSTDOCFLAGS", "-D warnings")
            .env("LEASEHOLD_SKIPS", self.skips.file());
        if let Some(server) = &self.server {
            command.env("LEASEHOLD_SERVER", server.path());
        }
        if let Ok(paths) = env::join_paths(&self.more_servers) {
            command.env("LEASEHOLD_MORE_SERVERS", paths);
        }
        if let Some(program) = &self.postgres {
            command.env("LEASEHOLD_POSTGRES", program);
        }
        if let Some(program) = &self.mariadb {
            command.env("LEASEHOLD_MARIADB", program);
        }
    }
}

fn task(title: &str, commands: impl IntoIterator<Item = Command>) -> Task {
    Task {
        title: title.to_owned(),
        commands: commands.into_iter().collect(),
        tests: None,
    }
}

/// The same command with this niceness.
fn yielding(command: &Command, niceness: &str) -> Command {
    let mut yielding = Command::new("nice");
    yielding.args(["-n", niceness]);
    yielding.arg(command.get_program()).args(command.get_args());
    yielding.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => yielding.env(name, value),
            None => yielding.env_remove(name),
        };
    }
    yielding
}

fn fail(title: &str, reason: String) -> Failure {
    Failure {
        title: title.to_owned(),
        reason,
        code: 1,
    }
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

/// What keeps plain locks without scripts, what could but for one command, and what tells the truth of its disk.
const MORE_SERVERS: [&str; 3] = ["valkey-9.1", "valkey-8.1", "redis-8.2"];

/// How many tests are told that took longest.
const SLOWEST: usize = 10;

const SIMULATOR: &str = "leasehold-sim";

/// How many worlds of each scenario, and of each whose nodes run the scripts: one such world takes as long as two to six others.
/// They run in the program of the simulator's tests, which is there: to build the simulator for speed takes longer.
const SEEDS: (u32, u32) = (40, 8);

/// Further ones in CI, where nobody waits.
const SEEDS_OF_CI: (u32, u32) = (1500, 300);

/// How nice what computes is: it yields to tests that wait, and the worlds yield to both.
const LATER: &str = "10";
const LAST: &str = "19";

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
