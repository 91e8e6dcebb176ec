//! `cargo xtask picture`: the terminal that the README shows, drawn from a run of the command on five servers.

use crate::git::git;
use std::{
    fmt::Write,
    fs, io,
    path::Path,
    process::{Command, ExitCode},
};

/// Runs the scene and writes the picture.
pub(crate) fn run(root: &Path) -> ExitCode {
    match draw(root) {
        Ok(()) => {
            println!("written: {PICTURE}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("no picture: {error}");
            ExitCode::FAILURE
        }
    }
}

fn draw(root: &Path) -> io::Result<()> {
    let build = Command::new("cargo")
        .args(["build", "--quiet", "-p", "leasehold-cli"])
        .current_dir(root)
        .status()?;
    if !build.success() {
        return Err(io::Error::other("the command does not compile"));
    }
    let stage = Stage::new(root)?;
    stage.run(BEFORE)?;
    let mut lines = Vec::new();
    for command in SCENE {
        lines.push((true, format!("$ {command}")));
        let said = stage.run(command)?;
        lines.extend(said.lines().flat_map(wrapped).map(|line| (false, line)));
    }
    let commit = git(root, &["log", "-1", "--format=commit %h, %cs"]).map_err(io::Error::other)?;
    fs::write(root.join(PICTURE), picture(&lines, &commit))
}

/// Where the scene is played: a folder and servers of its own, which are gone afterwards.
struct Stage {
    folder: std::path::PathBuf,
    path: String,
}

impl Stage {
    fn new(root: &Path) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("leasehold-picture-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", root.join("target/debug").display());
        Ok(Self { folder, path })
    }

    /// What the shell and its commands print, to whichever stream.
    fn run(&self, script: &str) -> io::Result<String> {
        // The nodes are written down by the first script, for those that follow.
        let script = format!("[ -f nodes ] && export LEASEHOLD_NODES=$(cat nodes)\n{script}");
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{script}")])
            .current_dir(&self.folder)
            .env("PATH", &self.path)
            .env("XDG_STATE_HOME", &self.folder)
            .env("LEASEHOLD_CONFIG", "")
            .output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the servers say where they are.
        let _ = self.run(AFTER);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn picture(lines: &[(bool, String)], commit: &str) -> String {
    let longest = lines.iter().map(|(_, line)| line.chars().count()).max();
    let width = PADDING * 2 + longest.unwrap_or(0) * COLUMN_TENTHS / 10;
    let height = PADDING * 2 + lines.len() * LINE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <desc>Drawn by `cargo xtask picture` from a run on five servers, {commit}.</desc>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1f24\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"13\" xml:space=\"preserve\">\n"
    );
    for (number, (is_command, line)) in lines.iter().enumerate() {
        let y = PADDING + number * LINE + LINE * 3 / 4;
        let colour = if *is_command { "#7ee787" } else { "#d0d7de" };
        let length = line.chars().count() * COLUMN_TENTHS / 10;
        // A length, so that lines fit whatever font there is.
        let _ = writeln!(
            svg,
            "<text x=\"{PADDING}\" y=\"{y}\" fill=\"{colour}\" textLength=\"{length}\">{}</text>",
            escaped(line)
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// A line as a terminal shows it that has too few columns.
fn wrapped(line: &str) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    let rows = characters.chunks(COLUMNS).map(|row| row.iter().collect());
    rows.collect()
}

fn escaped(line: &str) -> String {
    line.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

const PICTURE: &str = "docs/terminal.svg";

/// Servers, the job, and a machine that is at another one.
const BEFORE: &str = "
leasehold servers start -n 5 > nodes
export LEASEHOLD_NODES=$(cat nodes)
printf '#!/bin/sh\\necho \"report written, token $LEASEHOLD_FENCING_TOKEN\"\\n' > report.sh
chmod +x report.sh
leasehold run --label web2 migrate -- sleep 30 >/dev/null 2>&1 &
echo $! > holder
sleep 1";

const SCENE: [&str; 4] = [
    "leasehold run nightly-report -- ./report.sh",
    "leasehold run --no-wait migrate -- ./migrate.sh",
    "leasehold status migrate",
    "leasehold doctor | tail -1",
];

const AFTER: &str = "kill $(cat holder); leasehold servers stop";

const COLUMNS: usize = 100;

/// In pixels; the width of a character in tenths of them.
const PADDING: usize = 16;
const LINE: usize = 19;
const COLUMN_TENTHS: usize = 78;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_wrapped_and_loses_nothing() {
        let line = "é".repeat(COLUMNS + 1);
        assert_eq!(wrapped(&line).concat(), line);
        assert_eq!(wrapped(&line).len(), 2);
    }

    #[test]
    fn what_a_terminal_shows_is_no_markup() {
        let svg = picture(&[(true, "$ a <b> & c".to_owned())], "commit 1");
        assert!(svg.contains("$ a &lt;b&gt; &amp; c</text>"), "{svg}");
    }
}
