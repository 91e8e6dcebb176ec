//! What `etcdctl lock` and `consul lock` ask: an agent of its own, on loopback and free ports.

use crate::moment;
use std::{
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A service that runs until this is dropped.
pub(super) struct Service {
    child: Child,
    /// The option that tells its clients where it is.
    pub(super) option: String,
}

impl Service {
    pub(super) fn etcd(folder: &Path) -> Result<Self, String> {
        let [url, peer] = [free()?, free()?].map(|at| format!("http://{at}"));
        let mut server = Command::new("etcd");
        server.arg("--data-dir").arg(folder.join("etcd"));
        server.args([
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
        ]);
        server.args(["--listen-peer-urls", &peer]);
        server.args(["--initial-advertise-peer-urls", &peer]);
        server.args(["--initial-cluster", &format!("default={peer}")]);
        server.arg("--unsafe-no-fsync");
        let option = format!("--endpoints={url}");
        let mut question = Command::new("etcdctl");
        question.env("ETCDCTL_API", "3");
        question.args([&option, "endpoint", "health"]);
        Self::start(server, option, question)
    }

    /// One that keeps everything in memory.
    pub(super) fn consul(program: &Path) -> Result<Self, String> {
        let mut server = Command::new(program);
        server.args(["agent", "-dev", "-bind=127.0.0.1", "-client=127.0.0.1"]);
        server.args(["-dns-port=-1", "-grpc-port=-1", "-grpc-tls-port=-1"]);
        for what in ["server", "serf-lan", "serf-wan"] {
            server.arg(format!("-{what}-port={}", free()?.port()));
        }
        let http = free()?;
        server.arg(format!("-http-port={}", http.port()));
        let option = format!("-http-addr={http}");
        let mut question = Command::new(program);
        question.args(["kv", "put", &option, "ready", "yes"]);
        Self::start(server, option, question)
    }

    /// Starts it, and waits until it answers the question.
    fn start(mut server: Command, option: String, mut question: Command) -> Result<Self, String> {
        let name = server.get_program().to_string_lossy().into_owned();
        let server = server.stdout(Stdio::null()).stderr(Stdio::null());
        let child = server
            .spawn()
            .map_err(|error| format!("no {name}: {error}"))?;
        let started = Self { child, option };
        let is_ready = moment::until(Duration::from_secs(30), || {
            let answer = question.output();
            let is_good = answer.is_ok_and(|answer| answer.status.success());
            is_good.then_some(())
        });
        let unready = || format!("{name} does not become healthy");
        is_ready.map(|()| started).ok_or_else(unready)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let address = listener.and_then(|listener| listener.local_addr());
    address.map_err(|error| error.to_string())
}
