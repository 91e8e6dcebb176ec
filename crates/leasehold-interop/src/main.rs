//! The same resource locked by other people's libraries, really installed and run, and by leasehold: see
//! `cargo xtask interop --help`.
//!
//! From the ground up: `moment` is a tool; a `shim` is a process that speaks for a library by the lines of the
//! `protocol`, and `install` gets the libraries of the table of each `peer`. `serve` is the other end of the protocol,
//! for a `rust_library`, for a `recipe` that is `played`, and for leasehold as it was `earlier`, a `leasehold_library` that
//! is built from history. Leasehold in other languages is a `package` that is installed like other people's. `ours` is our side, and the `ground` is the servers. A
//! `scene` has both sides on one resource, where a `check`, a `mix` or a `crowd` says what must hold. A `campaign` tries everything,
//! the `control`s as well, and keeps a `record` of each peer, by what is known of its `differences`; the `report` tells it,
//! and a `page` of the documentation keeps it, with what became of the `fifteen` libraries of Redlock's page. Beside all
//! that, `commands` are seen at work, as `cargo xtask compare-commands`.

#![expect(
    clippy::print_stdout,
    reason = "the results are what the command is for, and shims speak by it"
)]
#![expect(
    clippy::print_stderr,
    reason = "what went wrong before there were results is told where errors are"
)]

mod args;
mod campaign;
mod check;
mod commands;
mod control;
mod crowd;
mod differences;
mod earlier;
mod fifteen;
mod ground;
mod install;
mod leasehold_library;
mod mix;
mod moment;
mod ours;
mod package;
mod peer;
mod played;
mod protocol;
mod recipe;
mod record;
mod report;
mod rust_library;
mod scene;
mod serve;
mod shim;

use args::Args;
use clap::Parser as _;
use leasehold_report::{Stamp, page, root};
use std::{env, path::PathBuf, process::ExitCode, sync::Arc, thread};
use tokio::signal::unix;

/// Any error ends what was begun, and is told.
type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        // What this program starts of itself.
        ["shim", name] => serve(name).map(|()| true),
        ["hold", further @ ..] => ours::hold(further).map(|()| true),
        // What the benchmark asks for.
        ["cycles", name, count, urls @ ..] => measure(name, count, urls).map(|()| true),
        ["commands", further @ ..] => commands::run(further).map(|()| true),
        _ => match Args::parse() {
            args if args.list => {
                print!("{}", report::list());
                Ok(true)
            }
            args => run(&args),
        },
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("leasehold-interop: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The other end of the protocol, in a process of its own.
fn serve(name: &str) -> Fallible<()> {
    if let Some(recipe) = recipe::named(name) {
        serve::serve(&mut played::Played::new(recipe));
        return Ok(());
    }
    // This version, as `earlier` is built from another one.
    if let Some(kind) = ours::Kind::named(name) {
        serve::serve(&mut leasehold_library::LeaseholdLibrary::new(kind));
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    serve::serve(&mut rust_library::RustLibrary::new(runtime));
    Ok(())
}

/// Lets a library of another language lock and unlock, and print what each cycle took, in microseconds.
fn measure(name: &str, count: &str, urls: &[&str]) -> Fallible<()> {
    use peer::Means::{Go, Maven, Npm, Package, Pip};
    let peer = args::named(name)?;
    if !matches!(
        peer.means,
        Npm(_) | Pip(_) | Go(_) | Maven { .. } | Package(..)
    ) {
        return Err(format!("{name} has no shim that measures itself").into());
    }
    let urls: Vec<String> = urls.iter().map(|&url| url.to_owned()).collect();
    install::Installed::get(peer, &target())?.measure(count.parse()?, &urls)
}

/// Tries and tells. True if everything is as it must be.
fn run(args: &Args) -> Fallible<bool> {
    let differences = differences::Differences::known()?;
    let (ground, target) = (Arc::new(ground::Ground::start()?), target());
    end_with_the_user(&ground);
    let campaign = campaign::Campaign {
        ground: &ground,
        differences: &differences,
        target: &target,
        mix_for: args.mix_for(),
        lanes: args.lanes,
    };
    let report = campaign.run(&args.peers())?;
    let (results, failures) = (report.markdown(), report.failures());
    let counts = format!("Mixes of {:?}; {}.", args.mix_for(), report.counts());
    println!("\n{results}");
    for (title, text) in [
        ("skipped, and not tried", report.skips()),
        ("what was seen of the known differences", report.seen()),
        ("what went wrong", failures),
    ] {
        if !text.is_empty() {
            println!("\n{title}:\n\n{}", text.trim_end());
        }
    }
    println!("\n{counts}");
    if args.write_docs {
        let stamp = Stamp::of(&root());
        page::write(
            &root().join("docs/COMPARE.md"),
            &[
                ("interop", &format!("{results}\n{counts}\n\nSeen {stamp}.")),
                ("fifteen", &fifteen::table(&report)),
            ],
        )?;
    }
    Ok(report.is_good())
}

/// Whoever ends this program ends its servers. Shims and holders end with their input, which is its end as well.
fn end_with_the_user(ground: &Arc<ground::Ground>) {
    // Not one more owner: a run that comes to its end takes its servers with it, whether or not this thread still waits.
    let ground = Arc::downgrade(ground);
    thread::spawn(move || {
        let asked = async {
            let mut terminate = unix::signal(unix::SignalKind::terminate())?;
            tokio::select! {
                pressed = tokio::signal::ctrl_c() => pressed,
                _ = terminate.recv() => Ok(()),
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        if runtime.and_then(|runtime| runtime.block_on(asked)).is_ok() {
            if let Some(ground) = ground.upgrade() {
                ground.stop();
            }
            std::process::exit(INTERRUPTED);
        }
    });
}

/// 128 and the number of `SIGINT`, as shells have it.
const INTERRUPTED: i32 = 130;

/// Where cargo builds.
fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}
