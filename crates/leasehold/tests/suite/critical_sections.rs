//! Processes that do a thing once at a time, and processes that are killed while they do it.
//!
//! The test program starts itself again as the workers. A worker locks, reads a number from a plain
//! file, writes it back one larger, and unlocks: any overlap of two workers loses a number.

use crate::support::block_on;
use leasehold::{LockManager, LockOptions, RestartGuard, clock::Clock};
use leasehold_servers::{ServerSet, require_server};
use std::{
    env,
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const WORKERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the workers meet.
struct Site {
    folder: PathBuf,
    /// `file`, or the servers' addresses.
    nodes: String,
    ttl: Duration,
}

impl Site {
    fn new(name: &str, nodes: &str, ttl: Duration) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sections-{name}"));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).expect("the target folder can be written");
        fs::write(folder.join("counter"), "0").expect("the counter can be written");
        Self {
            folder,
            nodes: nodes.to_owned(),
            ttl,
        }
    }

    fn start_worker(&self, sections: usize) -> Worker {
        let child = Command::new(env::current_exe().expect("this program has a path"))
            .args(["--exact", "critical_sections::worker", "--nocapture"])
            .env("LEASEHOLD_WORKER_FOLDER", &self.folder)
            .env("LEASEHOLD_WORKER_NODES", &self.nodes)
            .env("LEASEHOLD_WORKER_TTL_MS", self.ttl.as_millis().to_string())
            .env("LEASEHOLD_WORKER_SECTIONS", sections.to_string())
            .stdout(Stdio::null())
            .spawn()
            .expect("a worker starts");
        Worker(child)
    }

    fn counter(&self) -> usize {
        let text = fs::read_to_string(self.folder.join("counter")).expect("the counter is there");
        text.parse().expect("the counter is a number")
    }

    /// When the sections began, by the machine's clock.
    fn beginnings(&self) -> Vec<Duration> {
        let text = fs::read_to_string(self.folder.join("log")).expect("the log is there");
        let nanos = |line: &str| line.parse().expect("the log has one number per line");
        text.lines()
            .map(|line| Duration::from_nanos(nanos(line)))
            .collect()
    }
}

/// A process that does not outlive the test.
struct Worker(Child);

impl Worker {
    fn kill(&mut self) {
        self.0.kill().expect("the worker is ours");
        self.0.wait().expect("the worker is ours");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Not a test of its own: what the other tests start as processes.
#[test]
fn worker() {
    let Some(folder) = env::var_os("LEASEHOLD_WORKER_FOLDER").map(PathBuf::from) else {
        return;
    };
    let number = |name: &str| -> u64 {
        env::var(name)
            .expect("the parent says it")
            .parse()
            .expect("it is a number")
    };
    let nodes = env::var("LEASEHOLD_WORKER_NODES").expect("the parent says it");
    let builder = LockManager::builder();
    let builder = match nodes.as_str() {
        "file" => builder.file(folder.join("store")),
        urls => builder
            .restart_guard(RestartGuard::Off)
            .nodes(urls.split(',')),
    };
    let pause = Duration::from_millis(1)..=Duration::from_millis(10);
    let ttl = Duration::from_millis(number("LEASEHOLD_WORKER_TTL_MS"));
    let options = LockOptions::new().ttl(ttl).pause(pause);
    let manager = builder
        .defaults(options)
        .build()
        .expect("the nodes are good");
    let mutex = manager.mutex("the one").expect("a plain name");
    for _ in 0..number("LEASEHOLD_WORKER_SECTIONS") {
        let guard = block_on(mutex.acquire_within(PATIENCE)).expect("my turn comes");
        critical_section(&folder);
        assert!(guard.is_valid(), "the section took longer than the lease");
        drop(block_on(guard.release()));
    }
}

fn critical_section(folder: &Path) {
    let (inside, counter) = (folder.join("inside"), folder.join("counter"));
    enter(&inside);
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"));
    let now = Clock::system().now().since_origin().as_nanos();
    // In one write, so that a worker that is killed here leaves a whole line or none.
    let line = format!("{now}\n");
    log.and_then(|mut log| log.write_all(line.as_bytes()))
        .expect("the log can be written");
    let before: usize = fs::read_to_string(&counter)
        .expect("the counter can be read")
        .parse()
        .expect("nobody writes the counter meanwhile");
    thread::yield_now();
    // In one step, so that a worker that is killed here leaves the old number or the new one.
    let next = folder.join("counter.new");
    fs::write(&next, (before + 1).to_string()).expect("the counter can be written");
    fs::rename(&next, &counter).expect("the counter can be replaced");
    fs::remove_file(&inside).expect("nobody else leaves for me");
}

/// Notes that this process is inside. Finding another there that lives is what must not happen.
fn enter(inside: &Path) {
    let me = std::process::id().to_string();
    // The note appears with its text, or not at all.
    let draft = inside.with_extension(&me);
    fs::write(&draft, &me).expect("the folder can be written");
    while let Err(error) = fs::hard_link(&draft, inside) {
        assert_eq!(
            error.kind(),
            ErrorKind::AlreadyExists,
            "the folder cannot be used"
        );
        let other = fs::read_to_string(inside).expect("nobody leaves while I am inside");
        if is_running(&other) {
            let overlap = inside.with_file_name("overlap");
            fs::write(overlap, format!("{me} met {other}")).expect("the folder can be written");
            panic!("process {me} met process {other} in the critical section");
        }
        fs::remove_file(inside).expect("the dead do not remove it");
    }
    fs::remove_file(draft).expect("the draft is mine");
}

/// Whether a process runs; one that was killed and waits to be reaped does not.
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

fn eight_workers_count_exactly(name: &str, nodes: &str) {
    let site = Site::new(name, nodes, Duration::from_secs(10));
    let workers: Vec<_> = (0..WORKERS).map(|_| site.start_worker(200)).collect();
    for mut worker in workers {
        let status = worker.0.wait().expect("the worker is ours");
        assert!(status.success(), "a worker failed: {status}");
    }
    assert_eq!(site.counter(), WORKERS * 200);
}

/// Kills workers, often in their section, and starts others, until `kills` were killed.
fn killed_holders_do_no_harm(name: &str, nodes: &str, ttl: Duration, longest_stall: Duration) {
    let kills = 40;
    let site = Site::new(name, nodes, ttl);
    let mut workers: Vec<_> = (0..WORKERS)
        .map(|_| site.start_worker(usize::MAX >> 1))
        .collect();
    let sections = || site.beginnings().len();
    crate::support::eventually("the first section begins", || {
        site.folder.join("log").exists()
    });
    for kill in 0..kills {
        let before = sections();
        crate::support::eventually("the work goes on", || sections() > before + 2);
        // Whoever is inside now is the one to kill; if nobody is, any other will do.
        let inside = fs::read_to_string(site.folder.join("inside")).unwrap_or_default();
        let victim = workers
            .iter()
            .position(|worker| worker.0.id().to_string() == inside);
        let victim = &mut workers[victim.unwrap_or(kill % WORKERS)];
        victim.kill();
        *victim = site.start_worker(usize::MAX >> 1);
    }
    drop(workers);
    let overlap = fs::read_to_string(site.folder.join("overlap")).ok();
    assert_eq!(
        overlap, None,
        "two workers were in the critical section at once"
    );
    let beginnings = site.beginnings();
    let stall = beginnings
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .max();
    let stall = stall.expect("there were many sections");
    assert!(
        stall <= longest_stall,
        "nobody got the lock for {stall:?} (TTL {ttl:?})"
    );
}

#[test]
fn eight_processes_lose_no_count_on_the_file_store() {
    eight_workers_count_exactly("exact-file", "file");
}

#[test]
fn eight_processes_lose_no_count_on_one_node() {
    require_server();
    let servers = ServerSet::start(1).expect("the server starts");
    eight_workers_count_exactly("exact-1", &servers.nodes());
}

#[test]
fn eight_processes_lose_no_count_on_five_nodes() {
    require_server();
    let servers = ServerSet::start(5).expect("the servers start");
    eight_workers_count_exactly("exact-5", &servers.nodes());
}

#[test]
fn killed_holders_free_the_file_store_at_once() {
    // The stall is a tenth of the TTL: the lock is free because its holder is dead, not because it
    // expired.
    let ttl = Duration::from_secs(30);
    killed_holders_do_no_harm("kill-file", "file", ttl, ttl / 10);
}

#[test]
fn killed_holders_stall_five_nodes_for_their_ttl_at_most() {
    require_server();
    let servers = ServerSet::start(5).expect("the servers start");
    let ttl = Duration::from_millis(500);
    // One second on top for a machine that is busy with the other tests.
    let longest_stall = ttl + Duration::from_secs(1);
    killed_holders_do_no_harm("kill-5", &servers.nodes(), ttl, longest_stall);
}
