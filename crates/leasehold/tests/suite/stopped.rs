//! A holder that is stopped for longer than its lease, and looks at it when it goes on.

use crate::support::{block_on, cluster::Cluster};
use leasehold::{LockManager, LockOptions};
use leasehold_servers::require_server;
use std::{
    env,
    future::Future,
    io::{self, BufRead, BufReader, Write},
    pin::pin,
    process::{Child, Command, Stdio},
    task::{Context, Poll, Waker},
    time::Duration,
};

const TTL: Duration = Duration::from_millis(300);

fn manager(nodes: &str) -> LockManager {
    LockManager::builder()
        .nodes(nodes.split(','))
        .defaults(LockOptions::new().ttl(TTL))
        .build()
        .expect("good addresses")
}

/// Not a test of its own: the process that is stopped.
#[test]
#[expect(clippy::print_stdout, reason = "this is how it tells its parent")]
fn holder() {
    let Ok(nodes) = env::var("LEASEHOLD_STOPPED_NODES") else {
        return;
    };
    let mutex = manager(&nodes).mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    let mut lost = pin!(guard.lost());
    println!("\nheld");
    io::stdout().flush().expect("the parent listens");
    io::stdin()
        .lock()
        .read_line(&mut String::new())
        .expect("the parent speaks");
    // The first things that it does when it goes on.
    let is_valid = guard.is_valid();
    let told = lost.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let is_told = matches!(told, Poll::Ready(_));
    println!("\nvalid {is_valid}, told {is_told}");
}

struct Holder(Child);

impl Holder {
    fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([name, &self.0.id().to_string()])
            .status();
        assert!(status.is_ok_and(|status| status.success()), "it is there");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn whoever_was_stopped_beyond_the_lease_sees_it_at_the_first_look() {
    require_server();
    let cluster = Cluster::start(3);
    let nodes = cluster.servers.nodes();
    let child = Command::new(env::current_exe().expect("this program has a path"))
        .args(["--exact", "stopped::holder", "--nocapture"])
        .env("LEASEHOLD_STOPPED_NODES", &nodes)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut holder = Holder(child);
    let output = holder.0.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "held"));
    holder.signal("-STOP");
    // Its lease is over when another has the lock.
    let mutex = manager(&nodes).mutex("r").expect("a plain name");
    let other = block_on(mutex.acquire_within(Duration::from_secs(20))).expect("the TTL ends");
    let mut input = holder.0.stdin.take().expect("it is piped");
    input.write_all(b"look\n").expect("the pipe has room");
    holder.signal("-CONT");
    let answer = lines.find(|line| line.starts_with("valid"));
    assert_eq!(answer.as_deref(), Some("valid false, told true"));
    assert!(block_on(other.release()).is_released());
}
