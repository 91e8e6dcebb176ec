//! How fast, how fair and how steady leasehold is, beside others, in one run: see `cargo xtask bench --help`.
//!
//! All subjects of a workload take turns within each round, each round beginning with another one, and what counts is
//! the ratio within a round: other load slows all of them. Nothing here fails for being slow.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod against;
mod args;
mod awake;
mod bar;
mod bare;
mod bare_waiter;
mod commands;
mod comparison;
mod conditions;
mod contest;
mod costs;
mod effort;
mod foreign;
mod ledger;
mod moment;
mod plot;
mod report;
mod resident;
mod sample;
mod subject;
mod turn;
mod valgrind;
mod workload;

use args::Args;
use clap::Parser as _;
use conditions::Conditions;
use effort::Effort;
use leasehold_report::{page, root};
use report::Report;
use serde_json::json;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use workload::{BUSY, ON_SCALE, Workload};

/// Any error ends a workload, and is told.
type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        // What this program starts of itself.
        ["spin"] => {
            awake::spin();
            Ok(true)
        }
        ["cycles" | "contender" | "holder" | "names", ..] => play(&words).map(|()| true),
        ["turns", ..] => take_turns(&Args::parse_from(&words)),
        _ => bench(&Args::parse()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A part in a workload that needs several processes.
fn play(words: &[&str]) -> Fallible<()> {
    let urls = |nodes: &str| nodes.split(',').map(str::to_owned).collect::<Vec<_>>();
    let subject = |name: &str| subject::Subject::named(name).ok_or("no such subject");
    match *words {
        ["cycles", name, tasks, count, nodes] => {
            workload::instructions::cycles(name, tasks.parse()?, count.parse()?, &urls(nodes))
        }
        ["contender", name, key, window, nodes] => {
            let window = Duration::from_millis(window.parse()?);
            workload::processes::contender(subject(name)?, key, window, &urls(nodes))
        }
        ["holder", name, leases, time, nodes] => {
            let time = Duration::from_millis(time.parse()?);
            workload::held::hold(subject(name)?, leases.parse()?, time, &urls(nodes))
        }
        ["names", name, names, nodes] => {
            let bytes = workload::names::grown(subject(name)?, names.parse()?, &urls(nodes))?;
            println!("{bytes}");
            Ok(())
        }
        _ => Err("no such part".into()),
    }
}

/// Measures and tells. True if everything could be run.
fn bench(args: &Args) -> Fallible<bool> {
    let effort = &args.effort();
    // Tried, since the head of the output tells whether it can be had.
    let kept = match awake::Awake::keep() {
        Ok(_) => "Where tasks leave the cores idle, a spinning process of the idle class keeps each awake.".to_owned(),
        Err(reason) => format!("The cores may have slept: {reason}."),
    };
    let conditions = Conditions::look(effort, kept)?;
    if let Some(commit) = &args.against {
        return against::run(args, commit, &conditions);
    }
    println!("{}", conditions.markdown());
    let mut reports = Vec::new();
    for workload in args.chosen() {
        let started = moment::Moment::now();
        let report = measure(workload, effort);
        println!("{}\n({:.0?})\n", report.markdown(), started.elapsed());
        reports.push(report);
    }
    let (met, all) = count(&reports.iter().collect::<Vec<_>>());
    println!("{met} of {all} bars were met.");
    write(args, &conditions, &reports)?;
    Ok(reports.iter().all(|report| report.failure.is_none()))
}

/// Measures when it is told to, and tells the results in one line.
fn take_turns(args: &Args) -> Fallible<bool> {
    turn::begin();
    if turn::comes() {
        let chosen = args.chosen();
        let reports = chosen.map(|workload| measure(workload, &args.effort()).json());
        println!("{}", json!({ "workloads": reports.collect::<Vec<_>>() }));
    }
    Ok(true)
}

fn measure(workload: &'static Workload, effort: &Effort) -> Report {
    // Why it is refused, if it is, stands at the head of the output.
    let _awake = match BUSY.contains(&workload.name) {
        true => None,
        false => awake::Awake::keep().ok(),
    };
    let mut ledger = ledger::Ledger::default();
    let failure = (workload.run)(effort, &mut ledger).err();
    let verdicts = (workload.bars)(effort);
    let verdicts = verdicts.iter().map(|bar| bar.judge(&ledger)).collect();
    Report {
        workload,
        ledger,
        verdicts,
        failure: failure.map(|error| error.to_string()),
    }
}

fn count(reports: &[&Report]) -> (usize, usize) {
    let verdicts = || reports.iter().flat_map(|report| &report.verdicts);
    (
        verdicts().filter(|verdict| verdict.is_met()).count(),
        verdicts().count(),
    )
}

fn write(args: &Args, conditions: &Conditions, reports: &[Report]) -> Fallible<()> {
    let results = reports.iter().map(Report::json).collect::<Vec<_>>();
    let values = json!({ "conditions": conditions.json(), "workloads": results });
    let values = serde_json::to_string_pretty(&values)? + "\n";
    let folder = target().join("bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("results.json"), &values)?;
    if let Some(path) = &args.json {
        fs::write(path, &values)?;
    }
    charts(&folder, reports)?;
    if args.write_docs {
        let docs = root().join("docs");
        charts(&docs.join("bench"), reports)?;
        let is_on_scale = |report: &&Report| ON_SCALE.contains(&report.workload.name);
        let (scale, performance): (Vec<_>, Vec<_>) = reports.iter().partition(is_on_scale);
        if !performance.is_empty() {
            let costs = costs::markdown(conditions, reports);
            let missed = missed(conditions, &performance);
            let parts = [("costs", &*costs), ("missed", &missed)];
            page::write(&docs.join("PERFORMANCE.md"), &parts)?;
            let figures = told(conditions, &performance, "");
            page::write(&docs.join("bench/FIGURES.md"), &[("bench", &figures)])?;
        }
        if !scale.is_empty() {
            let text = told(conditions, &scale, "bench/");
            page::write(&docs.join("SCALE.md"), &[("scale", &text)])?;
        }
    }
    Ok(())
}

/// Which bars were missed, of how many.
fn missed(conditions: &Conditions, reports: &[&Report]) -> String {
    let verdicts = reports.iter().flat_map(|report| &report.verdicts);
    let missed = verdicts.filter(|verdict| !verdict.is_met());
    let lines: Vec<_> = missed.map(bar::Verdict::line).collect();
    let begin = begin(conditions, reports);
    match lines.is_empty() {
        true => begin,
        false => format!("{begin}\n{}{}\n", report::BARS, lines.join("\n")),
    }
}

fn begin(conditions: &Conditions, reports: &[&Report]) -> String {
    let (met, all) = count(reports);
    let conditions = conditions.markdown();
    format!("{conditions}\n{met} of {all} bars were met.\n")
}

/// All that was measured, with the charts of this folder.
fn told(conditions: &Conditions, reports: &[&Report], folder: &str) -> String {
    let mut text = begin(conditions, reports);
    for report in reports {
        let (title, name) = (report.workload.title, report.workload.name);
        text += &format!("\n{}\n![{title}]({folder}{name}.svg)\n", report.markdown());
    }
    text
}

fn charts(folder: &Path, reports: &[Report]) -> Fallible<()> {
    fs::create_dir_all(folder)?;
    for report in reports {
        if let Some(chart) = plot::svg(report) {
            fs::write(folder.join(format!("{}.svg", report.workload.name)), chart)?;
        }
    }
    Ok(())
}

/// Where cargo builds.
fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}
