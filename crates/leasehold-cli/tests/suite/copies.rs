//! `--replicated` and `--on-disk`: votes that replicas or disks must have before they count.

use crate::support::{User, wait_until};
use leasehold_servers::{Server, require_server};

/// A server, and a replica of it once it has one.
fn server() -> Server {
    require_server();
    let builder = Server::builder().option("repl-diskless-sync-delay", &["0"]);
    builder.start().expect("it starts")
}

fn replica_of(server: &Server) -> Server {
    let replica = Server::builder().replica_of(server).start();
    let replica = replica.expect("it starts");
    wait_until(|| {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| {
            info.text()
                .is_some_and(|info| info.contains("master_link_status:up"))
        })
    });
    replica
}

#[test]
fn votes_that_too_few_replicas_have_give_no_lock_and_doctor_says_why() {
    let server = server();
    let user = User::new();
    let run = |words: &[&str]| {
        let test = user.run(words);
        test.env("LEASEHOLD_NODES", server.url())
    };
    let alone = "only 0 of 1 replicas confirmed it within 100 ms: it has 0; connect the others, or ask for fewer";
    let hint = "`leasehold doctor` tells how many replicas each server has";
    let words = [
        "run",
        "-n",
        "--replicated",
        "1",
        "demo",
        "--",
        "echo",
        "never",
    ];
    run(&words).end().assert_says(122, &[alone, hint]);
    let seen = run(&["doctor", "--replicated", "1"]).end();
    let told = "has 0 replicas, and its votes count only when 1 have them";
    assert!(seen.code == 122 && seen.stdout.contains(told), "{seen:?}");
    let _replica = replica_of(&server);
    // It may be slow at first.
    let words = [
        "run",
        "-w",
        "30s",
        "--replicated",
        "1,400ms",
        "demo",
        "--",
        "echo",
        "hi",
    ];
    let seen = run(&words).end();
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "hi\n"), "{seen:?}");
    let of_two = "of 2 replicas confirmed it within 70 ms: it has 1; connect the others";
    let words = ["run", "-n", "demo", "--", "echo", "never"];
    let by_variable = run(&words).env("LEASEHOLD_REPLICATED", "2,70ms");
    by_variable.end().assert_says(122, &[of_two]);
    let seen = run(&["doctor", "--replicated", "1"]).end();
    assert!(!seen.stdout.contains("votes count only"), "{seen:?}");
}

#[test]
fn copies_are_asked_for_by_a_configuration_file_too() {
    let server = server();
    let user = User::new();
    let path = user.path("locks.toml");
    let write = |keys: &str| {
        let text = format!("[clusters.a]\nnodes = ['{}']\n{keys}\n", server.url());
        std::fs::write(&path, text).expect("a folder of one's own");
    };
    let run = || {
        let words = [
            "run", "-n", "--config", &path, "demo", "--", "echo", "never",
        ];
        user.run(&words).end()
    };
    write("replicated = 1");
    run().assert_says(122, &["only 0 of 1 replicas confirmed it within 100 ms"]);
    write("replicated = '2,60ms'");
    run().assert_says(122, &["only 0 of 2 replicas confirmed it within 60 ms"]);
    write("replicated = 'all'");
    run().assert_says(
        2,
        &["locks.toml:3: \"all\" is no number of replicas: say 1"],
    );
    write("on_disk = 'memory'");
    run().assert_says(2, &["locks.toml:3: \"memory\" names no disks: say server"]);
    write("replicated = '1,2s'");
    run().assert_says(2, &["for a time from 1 ms to the node limit, 500 ms"]);
}

#[test]
fn a_server_that_cannot_put_votes_on_its_disk_is_not_used_and_doctor_says_why() {
    // Without a log, or without WAITAOF: whichever server is here.
    let server = server();
    let tells = server.command(&["WAITAOF", "0", "0", "1"]).is_ok();
    let user = User::new();
    let run = |words: &[&str]| {
        let test = user.run(words);
        test.env("LEASEHOLD_NODES", server.url())
    };
    let (why, of_doctor) = match tells {
        true => ("set appendonly yes there", "keeps no append-only file"),
        false => (
            "that needs Redis 7.2 or Valkey 7.2",
            "cannot tell what is on disks",
        ),
    };
    let words = [
        "run",
        "-n",
        "--on-disk",
        "server",
        "demo",
        "--",
        "echo",
        "never",
    ];
    run(&words).end().assert_says(122, &[why]);
    let seen = run(&["doctor", "--on-disk", "server"]).end();
    assert!(
        seen.code == 122 && seen.stdout.contains(of_doctor),
        "{seen:?}"
    );
    let words = ["run", "--on-disk", "ram", "demo", "--", "true"];
    run(&words)
        .end()
        .assert_says(2, &["names no disks: say server, 1 for a replica"]);
}
