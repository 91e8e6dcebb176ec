//! Sentinels and servers that want to know who asks, each in its own way: passwords, users, TLS.

use crate::support::{block_on, eventually};
use leasehold::{LeaseGuard, LockManager, LockOptions, ManagerBuilder};
use leasehold_servers::{
    Certificates, Sentinel, SentinelBuilder, Server, StartError, require_server, skip,
};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);
const DOWN_AFTER: Duration = Duration::from_millis(500);

/// Of the servers.
const PASSWORD: &str = "hunter2";

/// Of the sentinels.
const OTHER: &str = "hunter3";

/// A user of the sentinels, and what the documentation says that such a user needs.
const USER: (&str, &str) = ("asker", "hunter4");
const RIGHTS: [&str; 4] = [
    "+ping",
    "+sentinel|myid",
    "+sentinel|master",
    "+sentinel|get-master-addr-by-name",
];

/// Who speaks TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    Nobody,
    Sentinels,
    Servers,
    Both,
}

/// A master and a replica with a password, and three sentinels with another one and a user of their own.
struct Group {
    master: Server,
    replica: Server,
    sentinels: [Sentinel; 3],
    certificates: Option<Certificates>,
    tls: Tls,
}

/// Three of them, who know the master by one user and let in another.
fn sentinels(
    master: &Server,
    certificates: Option<&Certificates>,
    tls: Tls,
) -> Result<[Sentinel; 3], StartError> {
    let start = || {
        let builder = sentinel(master).user(USER, &RIGHTS);
        let builder = match certificates {
            Some(certificates) => builder.tls(certificates),
            None => builder,
        };
        match tls {
            Tls::Servers | Tls::Both => builder.servers_tls(),
            Tls::Nobody | Tls::Sentinels => builder,
        }
        .start()
    };
    Ok([start()?, start()?, start()?])
}

impl Group {
    /// None, and says so, where there is no TLS to be had.
    fn start(tls: Tls) -> Option<Self> {
        require_server();
        let certificates = match tls {
            Tls::Nobody => None,
            _ => match Certificates::generate() {
                Ok(certificates) => Some(certificates),
                Err(error) => {
                    skip(&format!("no certificates can be made: {error}"));
                    return None;
                }
            },
        };
        let server = || {
            let mut builder = Server::builder()
                .password(PASSWORD)
                .option("masterauth", &[PASSWORD])
                .option("repl-diskless-sync-delay", &["0"]);
            if let (Tls::Servers | Tls::Both, Some(certificates)) = (tls, &certificates) {
                builder = builder
                    .tls(certificates)
                    .option("tls-replication", &["yes"]);
            }
            builder.start()
        };
        let master = match server() {
            Ok(master) => master,
            Err(error @ StartError::NoTls) => {
                skip(&format!("no TLS: {error}"));
                return None;
            }
            Err(error) => panic!("it starts: {error}"),
        };
        let replica = server().expect("it starts");
        let port = master.tls_port().unwrap_or(master.port()).to_string();
        let follow = ["REPLICAOF", "127.0.0.1", &port];
        replica.command(&follow).expect("it answers");
        await_replication(&replica);
        let sentinels = match sentinels(&master, certificates.as_ref(), tls) {
            Err(error @ StartError::NoTls) => {
                skip(&format!("no TLS: {error}"));
                return None;
            }
            sentinels => sentinels.expect("they start"),
        };
        await_acquaintance(&sentinels);
        Some(Self {
            master,
            replica,
            sentinels,
            certificates,
            tls,
        })
    }

    /// The address, with the login and the options that are to go into it.
    fn url(&self, login: &str, options: &[&str]) -> String {
        let is_tls = matches!(self.tls, Tls::Sentinels | Tls::Both);
        let hosts = self.sentinels.each_ref().map(|sentinel| {
            let port = sentinel.tls_port().filter(|_| is_tls);
            format!("127.0.0.1:{}", port.unwrap_or(sentinel.port()))
        });
        let (scheme, exception) = match self.tls {
            Tls::Nobody => ("redis", ""),
            Tls::Sentinels => ("redis", "sentinel_tls=yes"),
            Tls::Servers => ("rediss", "sentinel_tls=no"),
            Tls::Both => ("rediss", ""),
        };
        let ca = self.certificates.as_ref();
        let ca = ca.map(|files| format!("ca={}", files.authority().display()));
        let ca = ca.unwrap_or_default();
        let options = [options, &[exception, &ca]].concat();
        let hosts = hosts.join(",");
        format!(
            "{scheme}+sentinel://{login}{hosts}/locks?{}",
            options.join("&")
        )
    }

    fn await_failover(&self) {
        let port = self.replica.tls_port().unwrap_or(self.replica.port());
        for sentinel in &self.sentinels {
            eventually("the sentinel names the replica", || {
                sentinel
                    .master("locks")
                    .is_ok_and(|named| named == Some(port))
            });
        }
    }

    /// Takes a lock by this address, and takes it again from the replica when that is the master.
    fn survives_a_failover(&self, url: &str) {
        let manager = manager(url);
        assert!(block_on(wait(&manager).release()).is_released());
        self.master.kill().expect("it runs");
        self.await_failover();
        let guard = wait(&manager);
        let key = self.replica.command(&["GET", "r"]).expect("it answers");
        assert!(key.text().is_some(), "it is on the new master");
        assert!(block_on(guard.release()).is_released());
    }
}

/// Waits until the replica has its master's data.
fn await_replication(replica: &Server) {
    eventually("the replica follows", || {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| {
            info.text()
                .is_some_and(|info| info.contains("master_link_status:up"))
        })
    });
}

/// Waits until each sentinel knows the others, and the replica.
fn await_acquaintance(sentinels: &[Sentinel; 3]) {
    for sentinel in sentinels {
        eventually("the sentinels know each other and the replica", || {
            let usable = sentinel.command(&["SENTINEL", "CKQUORUM", "locks"]);
            let replicas = sentinel.command(&["SENTINEL", "REPLICAS", "locks"]);
            usable.is_ok_and(|told| {
                told.text()
                    .is_some_and(|told| told.contains("3 usable Sentinels"))
            }) && replicas.is_ok_and(|replicas| {
                format!("{replicas:?}").contains("\"master-link-status\"), Text(\"ok\")")
            })
        });
    }
}

/// A sentinel of that master that has a password of its own, and knows the master's.
fn sentinel(master: &Server) -> SentinelBuilder {
    Sentinel::builder("locks", master)
        .quorum(2)
        .down_after(DOWN_AFTER)
        .password(OTHER)
        .password_of_servers(PASSWORD)
}

fn builder(url: &str) -> ManagerBuilder {
    let ttl = 400 * MS;
    let options = LockOptions::new().ttl(ttl).node_limit(200 * MS);
    LockManager::builder()
        .max_ttl(ttl + 1_600 * MS)
        .clock_skew(Duration::ZERO)
        .cluster("a group")
        .nodes([url])
        .defaults(options)
}

fn manager(url: &str) -> LockManager {
    builder(url).build().expect("a good address")
}

fn wait(manager: &LockManager) -> LeaseGuard {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.acquire_within(PATIENCE)).expect("it comes about")
}

/// Why no lock is to be had at this address; no password is in it.
fn refusal(url: &str) -> String {
    let manager = builder(url).build_plain().expect("a good address");
    let mutex = manager.mutex("r").expect("a plain name");
    let tried = block_on(mutex.try_acquire()).map(drop);
    let why = tried.expect_err("nobody lets it in").to_string();
    assert!(!why.contains("hunter"), "{why}");
    why
}

const LOGIN: &str = ":hunter2@";
const BY_PASSWORD: &str = "sentinel_password=hunter3";
const BY_USER: [&str; 2] = ["sentinel_user=asker", "sentinel_password=hunter4"];

#[test]
fn sentinels_with_a_password_of_their_own_are_followed_through_a_failover() {
    let group = Group::start(Tls::Nobody).expect("it needs no TLS");
    let url = group.url(LOGIN, &[BY_PASSWORD]);
    group.survives_a_failover(&url);
}

#[test]
fn sentinels_with_a_user_of_their_own_are_followed_through_a_failover() {
    let group = Group::start(Tls::Nobody).expect("it needs no TLS");
    let url = group.url(LOGIN, &BY_USER);
    group.survives_a_failover(&url);
}

#[cfg(feature = "tls")]
#[test]
fn sentinels_and_servers_that_speak_tls_are_followed_through_a_failover() {
    let Some(group) = Group::start(Tls::Both) else {
        return;
    };
    let url = group.url(LOGIN, &BY_USER);
    group.survives_a_failover(&url);
}

#[cfg(feature = "tls")]
#[test]
fn servers_that_speak_tls_behind_sentinels_that_do_not_are_followed_through_a_failover() {
    let Some(group) = Group::start(Tls::Servers) else {
        return;
    };
    let url = group.url(LOGIN, &[BY_PASSWORD]);
    group.survives_a_failover(&url);
}

#[cfg(feature = "tls")]
#[test]
fn servers_that_speak_no_tls_behind_sentinels_that_do_are_followed_through_a_failover() {
    let Some(group) = Group::start(Tls::Sentinels) else {
        return;
    };
    let url = group.url(LOGIN, &BY_USER);
    group.survives_a_failover(&url);
}

#[cfg(feature = "tls")]
#[test]
fn sentinels_whose_certificates_nobody_trusts_are_told_with_the_option_for_them() {
    let Some(group) = Group::start(Tls::Sentinels) else {
        return;
    };
    let other = Certificates::generate().expect("as before");
    let strange = format!("sentinel_ca={}", other.authority().display());
    let why = refusal(&group.url(LOGIN, &[BY_PASSWORD, &strange]));
    for sentinel in &group.sentinels {
        let port = sentinel.tls_port().expect("it was asked for");
        let told = format!("sentinel 127.0.0.1:{port}: TLS failed (sentinel_ca=… in the address");
        assert!(why.contains(&told), "{why}");
    }
    let trusting = group
        .url(LOGIN, &[BY_PASSWORD])
        .replace("&ca=", "&sentinel_ca=");
    drop(wait(&manager(&trusting)));
    // TLS with those who speak none, and none with those who speak nothing else.
    let [first, ..] = &group.sentinels;
    let port = first.port();
    let plain = format!("rediss+sentinel://127.0.0.1:{port}/locks");
    // It waits for the end of what is no command.
    let manager = builder(&plain).build_plain().expect("a good address");
    eventually("the sentinel's silence is told", || {
        let tried = block_on(manager.mutex("r").expect("a plain name").try_acquire());
        let why = tried.map(drop).expect_err("nobody lets it in").to_string();
        why.contains("sentinel_tls=no in the address")
    });
    let port = first.tls_port().expect("it was asked for");
    let why = refusal(&format!("redis+sentinel://127.0.0.1:{port}/locks"));
    assert!(why.contains("sentinel_tls=yes in the address"), "{why}");
}

#[test]
fn a_wrong_password_of_sentinels_is_told_with_each_sentinel_and_the_way_out() {
    let group = Group::start(Tls::Nobody).expect("it needs no TLS");
    let each = |why: &str, told: &str| {
        for sentinel in &group.sentinels {
            let told = format!("sentinel 127.0.0.1:{}: {told}", sentinel.port());
            assert!(why.contains(&told), "{why}");
        }
    };
    let wrong = "authentication failed with sentinel_user and sentinel_password of the address";
    // The server's password is none of the sentinels', and is not tried with them.
    for options in [
        &["sentinel_password=hunter2"][..],
        &["sentinel_user=asker", "sentinel_password=hunter3"],
        &["sentinel_user=nobody", "sentinel_password=hunter4"],
    ] {
        each(&refusal(&group.url(LOGIN, options)), wrong);
    }
    let lacking = "needs a password of its own, as sentinel_password=… in the address";
    each(&refusal(&group.url(LOGIN, &[])), lacking);
    // Those who let us in name the server, which has another one.
    let why = refusal(&group.url(":hunter3@", &[BY_PASSWORD]));
    let place = format!("names 127.0.0.1:{}", group.master.port());
    assert!(why.contains(&place), "{why}");
    assert!(why.contains("authentication failed: WRONGPASS"), "{why}");
    assert!(!why.contains("sentinel_password"), "{why}");
}

#[test]
fn one_sentinel_with_another_password_leaves_a_majority_and_two_do_not() {
    require_server();
    let master = Server::builder().password(PASSWORD).start();
    let master = master.expect("it starts");
    let start = |password: &str| {
        let builder = Sentinel::builder("locks", &master).password_of_servers(PASSWORD);
        builder.password(password).start().expect("it starts")
    };
    let [one, two, odd, other] = [OTHER, OTHER, "hunter5", "hunter5"].map(start);
    let url = |sentinels: [&Sentinel; 3]| {
        let hosts = sentinels.map(|sentinel| format!("127.0.0.1:{}", sentinel.port()));
        let hosts = hosts.join(",");
        format!("redis+sentinel://{LOGIN}{hosts}/locks?{BY_PASSWORD}")
    };
    drop(wait(&manager(&url([&one, &two, &odd]))));
    let why = refusal(&url([&one, &odd, &other]));
    for sentinel in [&odd, &other] {
        let told = format!(
            "sentinel 127.0.0.1:{}: authentication failed with",
            sentinel.port()
        );
        assert!(why.contains(&told), "{why}");
    }
    assert!(why.contains("2 of 3 sentinels must agree"), "{why}");
}

#[test]
fn a_user_of_sentinels_who_may_not_ask_is_told_which_right_is_missing() {
    require_server();
    let master = Server::start().expect("it starts");
    for (left_out, told) in [
        ("+sentinel|master", "(+sentinel|master): NOPERM"),
        ("+sentinel|get-master-addr-by-name", "NOPERM"),
    ] {
        let rights: Vec<_> = RIGHTS
            .into_iter()
            .filter(|right| *right != left_out)
            .collect();
        let sentinel = Sentinel::builder("locks", &master).user(USER, &rights);
        let sentinel = sentinel.start().expect("it starts");
        let (port, options) = (sentinel.port(), BY_USER.join("&"));
        let why = refusal(&format!(
            "redis+sentinel://127.0.0.1:{port}/locks?{options}"
        ));
        let place = format!("sentinel 127.0.0.1:{port}: ");
        assert!(why.contains(&place) && why.contains(told), "{why}");
    }
}

#[cfg(feature = "config")]
#[test]
fn passwords_of_servers_and_of_sentinels_are_read_from_files_of_their_own() {
    let group = Group::start(Tls::Nobody).expect("it needs no TLS");
    let folder = std::env::temp_dir().join(format!("leasehold-logins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of one's own");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a folder of one's own");
    };
    let url = group.url("", &["sentinel_bound_ms=5000"]);
    write("servers", "hunter2\n");
    write("sentinels", "hunter3\n");
    let keys = "password_file = 'servers'\nsentinel_password_file = 'sentinels'\nmax_ttl = '3s'\nclock_skew = '2s'\n";
    write(
        "locks.toml",
        &format!("[clusters.a]\nnodes = ['{url}']\n{keys}"),
    );
    let built = LockManager::from_config(folder.join("locks.toml"));
    drop(wait(&built.expect("it is right")));
    write(
        "locks.toml",
        &format!("[clusters.a]\nnodes = ['redis://a']\n{keys}"),
    );
    let built = LockManager::from_config(folder.join("locks.toml")).map(drop);
    let why = built.expect_err("there are none").to_string();
    assert!(
        why.contains("sentinels is for sentinels, and no address names any"),
        "{why}"
    );
    std::fs::remove_dir_all(&folder).expect("it was there");
}
