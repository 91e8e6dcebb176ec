//! Sentinels that want to know who asks.

use crate::support::User;
use leasehold_servers::{Certificates, Sentinel, Server, StartError, require_server, skip};

#[test]
fn whose_password_was_wrong_is_told_by_run_and_by_doctor() {
    require_server();
    let master = Server::builder().password("hunter2").start();
    let master = master.expect("it starts");
    let sentinel = Sentinel::builder("locks", &master).password_of_servers("hunter2");
    let sentinel = sentinel.password("hunter3").start().expect("it starts");
    let port = sentinel.port();
    let user = User::new();
    let test = |words: &[&str], server: &str, options: &str| {
        let url = format!("redis+sentinel://:{server}@127.0.0.1:{port}/locks?{options}");
        let seen = user.run(words).env("LEASEHOLD_NODES", url).end();
        assert!(!format!("{seen:?}").contains("hunter"), "{seen:?}");
        seen
    };
    let run = ["run", "-n", "demo", "--", "echo", "hi"];
    test(&run, "hunter2", "sentinel_password=hunter3").assert(0, "hi\n", "");
    let of_sentinels = format!(
        "sentinel 127.0.0.1:{port}: authentication failed with sentinel_user and sentinel_password of the address"
    );
    let hint = "the master's name and both passwords";
    test(&run, "hunter2", "sentinel_password=hunter2").assert_says(122, &[&of_sentinels, hint]);
    let seen = test(&["doctor"], "hunter2", "sentinel_password=hunter2");
    assert!(
        seen.code == 122 && seen.stdout.contains(&of_sentinels),
        "{seen:?}"
    );
    let lacking = "needs a password of its own, as sentinel_password=… in the address";
    test(&run, "hunter2", "").assert_says(122, &[lacking]);
    let of_server = format!("names 127.0.0.1:{}: authentication failed", master.port());
    test(&run, "hunter3", "sentinel_password=hunter3").assert_says(122, &[&of_server]);
}

#[test]
fn a_job_locks_on_a_server_and_by_sentinels_that_speak_tls() {
    require_server();
    let certificates = match Certificates::generate() {
        Ok(certificates) => certificates,
        Err(error) => return skip(&format!("no certificates can be made: {error}")),
    };
    let master = match Server::builder().tls(&certificates).start() {
        Ok(master) => master,
        Err(error @ StartError::NoTls) => return skip(&format!("no TLS: {error}")),
        Err(error) => panic!("it starts: {error}"),
    };
    let sentinel = Sentinel::builder("locks", &master).tls(&certificates);
    let sentinel = sentinel.servers_tls().start().expect("it starts");
    let port = sentinel.tls_port().expect("it was asked for");
    let authority = certificates.authority();
    let authority = authority.display();
    let url = format!("rediss+sentinel://127.0.0.1:{port}/locks?ca={authority}");
    let user = User::new();
    let words = ["run", "-n", "demo", "--", "echo", "hi"];
    let by_tls = user.run(&words).env("LEASEHOLD_NODES", &url);
    by_tls.end().assert(0, "hi\n", "");
    let plain = url
        .replace("rediss", "redis")
        .replace("?ca", "?sentinel_tls=yes&ca");
    // The sentinel speaks it, and names a server that speaks nothing else.
    let seen = user.run(&words).env("LEASEHOLD_NODES", &plain).end();
    let port = master.tls_port().expect("it was asked for");
    let place = format!("names 127.0.0.1:{port}: ");
    seen.assert_says(122, &[&place]);
}
