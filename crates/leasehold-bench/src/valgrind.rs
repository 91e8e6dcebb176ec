//! What a part of this program does in user space, and what it has, counted by valgrind: other load on the machine
//! changes it little.

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
    /// All other calls of the kernel.
    pub(crate) calls: f64,
}

/// Whether it can be had.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Counts what a part of this program does, which writes nothing with an equals sign to its standard output.
pub(crate) fn count(words: &[&str]) -> Fallible<Count> {
    // Valgrind hides the fast clock that the kernel maps into each process, so each reading is a system call here.
    let options = [
        "--tool=callgrind",
        "--callgrind-out-file=/dev/stdout",
        "--trace-syscalls=yes",
    ];
    run(&options, words, Count::of)
}

/// How many bytes of memory a part of this program has not given back when it ends.
pub(crate) fn in_use(words: &[&str]) -> Fallible<f64> {
    let options = [
        "--tool=memcheck",
        "--leak-check=no",
        "--undef-value-errors=no",
    ];
    run(&options, words, |said, _| bytes_in_use(said))
}

/// Runs a part of this program. What valgrind says, and what came to the standard output, are understood by `find`.
fn run<T>(options: &[&str], words: &[&str], find: impl Fn(&str, &str) -> Option<T>) -> Fallible<T> {
    let program = env::current_exe()?;
    let mut command = Command::new("valgrind");
    let output = command.args(options).arg(program).args(words).output()?;
    let [told, said] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    match find(&said, &told) {
        Some(found) if output.status.success() => Ok(found),
        _ => {
            // What the program has told comes before what valgrind adds, whose last word is its reason.
            let (told, last) = (told.lines().next(), said.lines().next_back());
            let told = [told, last].map(Option::unwrap_or_default).join("; ");
            Err(format!("`{}` failed below valgrind: {told}", words.join(" ")).into())
        }
    }
}

/// `==9==     in use at exit: 12,345 bytes in 6 blocks`
fn bytes_in_use(said: &str) -> Option<f64> {
    let (_, rest) = said.split_once("in use at exit: ")?;
    let (bytes, _) = rest.split_once(" bytes")?;
    bytes.replace(',', "").parse().ok()
}

impl Count {
    /// From what valgrind said, with every system call, and the graph of calls that it wrote.
    fn of(said: &str, graph: &str) -> Option<Self> {
        let mut collected = said
            .lines()
            .filter_map(|line| line.split_once("Collected : "));
        let (_, instructions) = collected.next()?;
        let told = |words: &str| said.matches(words).count();
        let readings = told("sys_clock_gettime") as f64;
        Some(Self {
            instructions: instructions.trim().parse().ok()?,
            allocations: calls(graph, &ALLOCATORS) as f64,
            readings,
            calls: (told("SYSCALL[") - told(ENDS)) as f64 - readings,
        })
    }
}

/// How the second line of a call begins that may have waited.
const ENDS: &str = ") ... [async] -->";

impl Sub for Count {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            instructions: self.instructions - other.instructions,
            allocations: self.allocations - other.allocations,
            readings: self.readings - other.readings,
            calls: self.calls - other.calls,
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
            calls: self.calls / by,
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
SYSCALL[9,1](45) sys_recvfrom ( 7, 0x4042440, 16384, 0, 0x0, 0x0 ) --> [async] ...
SYSCALL[9,1](45) ... [async] --> Success(0xd)
==9== Collected : 1234
";
        let count = Count::of(said, graph).unwrap();
        assert_eq!((count.instructions, count.allocations), (1234.0, 9.0));
        assert_eq!((count.readings, count.calls), (2.0, 1.0));
        assert_eq!(Count::of("", graph), None, "it did not run to its end");
    }

    #[test]
    fn memory_is_what_was_not_given_back() {
        let said = "==9== HEAP SUMMARY:\n==9==     in use at exit: 1,234,567 bytes in 89 blocks\n";
        assert_eq!(bytes_in_use(said), Some(1_234_567.0));
        assert_eq!(bytes_in_use("==9== Command: ls"), None);
    }
}
