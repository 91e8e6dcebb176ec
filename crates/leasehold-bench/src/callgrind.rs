//! What a part of this program does in user space, counted by callgrind: other load on the machine changes it little.

use crate::Fallible;
use std::{
    collections::HashMap,
    env,
    ops::{Div, Sub},
    process::Command,
};

/// What one run did, or the difference of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Count {
    pub(crate) instructions: f64,
    /// Calls of `malloc` and its like; not of `free`.
    pub(crate) allocations: f64,
    /// Readings of system clocks.
    pub(crate) readings: f64,
}

/// Whether it can be had.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Runs a part of this program, which writes nothing with an equals sign to its standard output.
pub(crate) fn count(words: &[&str]) -> Fallible<Count> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/stdout"])
        // Valgrind hides the fast clock that the kernel maps into each process, so each reading is a system call here.
        .arg("--trace-syscalls=yes")
        .arg(env::current_exe()?)
        .args(words)
        .output()?;
    let [graph, said] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    match Count::of(&said, &graph) {
        Some(count) if output.status.success() => Ok(count),
        _ => {
            // What the program has told comes before the graph, and what valgrind has, last.
            let (told, last) = (graph.lines().next(), said.lines().next_back());
            let told = [told, last].map(Option::unwrap_or_default).join("; ");
            Err(format!("`{}` failed below valgrind: {told}", words.join(" ")).into())
        }
    }
}

impl Count {
    /// From what valgrind said, with every system call, and the graph of calls that it wrote.
    fn of(said: &str, graph: &str) -> Option<Self> {
        let mut collected = said
            .lines()
            .filter_map(|line| line.split_once("Collected : "));
        let (_, instructions) = collected.next()?;
        Some(Self {
            instructions: instructions.trim().parse().ok()?,
            allocations: calls(graph, &ALLOCATORS) as f64,
            readings: said.matches("sys_clock_gettime").count() as f64,
        })
    }
}

impl Sub for Count {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            instructions: self.instructions - other.instructions,
            allocations: self.allocations - other.allocations,
            readings: self.readings - other.readings,
        }
    }
}

impl Div<f64> for Count {
    type Output = Self;

    fn div(self, by: f64) -> Self {
        Self {
            instructions: self.instructions / by,
            allocations: self.allocations / by,
            readings: self.readings / by,
        }
    }
}

/// How often functions of these names were called: `cfn=(7) malloc`, and `calls=3 0` in the line after it. A name is
/// told once, whether as a caller's or as a callee's, and is its number from then on.
fn calls(graph: &str, names: &[&str]) -> u64 {
    let mut known = HashMap::new();
    let (mut callee, mut sum) = ("", 0);
    for line in graph.lines() {
        let (kind, rest) = line.split_once('=').unwrap_or_default();
        match kind {
            "fn" | "cfn" => {
                let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
                if !name.is_empty() {
                    // Calls out of themselves have a number behind their names.
                    let name = name.split(['\'', '@']).next().unwrap_or(name);
                    known.insert(number, name);
                }
                if kind == "cfn" {
                    callee = known.get(number).copied().unwrap_or_default();
                }
            }
            "calls" if names.contains(&callee) => {
                let count = rest.split(' ').next().unwrap_or_default();
                sum += count.parse::<u64>().unwrap_or(0);
            }
            _ => {}
        }
    }
    sum
}

const ALLOCATORS: [&str; 6] = [
    "malloc",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_the_name_of_the_callee() {
        let graph = "\
fn=(1) main
cob=(2)
cfn=(7) malloc
calls=3 0
12 90
cfn=(8) free
calls=50 0
12 90
fn=(7)
1 20
fn=(9) grow
cfn=(7)
calls=4 0
3 1
cfn=(11) realloc'2
calls=2 0
3 1
";
        let said = "\
SYSCALL[9,1](228) sys_clock_gettime( 1, 0x1ffefff )[sync] --> Success(0x0)
SYSCALL[9,2](228) sys_clock_gettime( 7, 0x1ffefff )[sync] --> Success(0x0)
==9== Collected : 1234
";
        let count = Count::of(said, graph).unwrap();
        assert_eq!((count.instructions, count.allocations), (1234.0, 9.0));
        assert_eq!(count.readings, 2.0);
        assert_eq!(Count::of("", graph), None, "it did not run to its end");
    }
}
