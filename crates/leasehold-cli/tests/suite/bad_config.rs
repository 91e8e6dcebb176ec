//! What is wrong with a configuration file, or with what it leads to, is told in one line that names the place.

use crate::support::{Seen, User};
use leasehold_servers::{Server, require_server};
use std::{
    fs::{Permissions, set_permissions, write},
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    thread,
};

/// A user with a configuration file of this text.
fn user_with(text: &str) -> User {
    let user = User::new();
    put(&user, "l.toml", text);
    user
}

/// A file that its user alone can read.
fn put(user: &User, name: &str, text: &str) {
    let path = user.path(name);
    write(&path, text).expect("the folder is there");
    set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
}

fn run(user: &User, more: &[&str]) -> Seen {
    let config = user.path("l.toml");
    let words = [
        &["--config", &config],
        more,
        &["run", "--no-wait", "demo", "--", "true"],
    ]
    .concat();
    user.run(&words).end()
}

/// Every way in which a file can be wrong: its text, where in it, what is said, and the hint.
const WRONG: [(&str, &str, &str, &str); 20] = [
    (
        "require_nodes = 'yes'\n",
        ":1: ",
        "must be true or false, not a text",
        "",
    ),
    ("nodes = [", ":1: ", "not TOML: ", ""),
    ("[clusters.a]\nnodes = ['a\n", ":2: ", "not TOML: ", ""),
    (
        "[clusters.a]\nnodes = ['a']\nnodes = ['b']\n",
        ":3: ",
        "not TOML: duplicate key",
        "",
    ),
    (
        "cluster = 1\n",
        ":1: ",
        "nothing is called \"cluster\" here",
        "did you mean clusters?",
    ),
    (
        "timeout = 1\n",
        ":1: ",
        "nothing is called \"timeout\" here",
        "known are default, clusters, require_nodes",
    ),
    (
        "[clusters.a]\nnodes = ['a']\nmax-ttl = '30s'\n",
        ":3: ",
        "nothing is called \"max-ttl\" here",
        "did you mean max_ttl?",
    ),
    (
        "clusters = 3\n",
        ":1: ",
        "must be a table, such as [clusters.main], not a number",
        "",
    ),
    (
        "default = true\n",
        ":1: ",
        "must be a text, such as \"main\", not true or false",
        "",
    ),
    (
        "[clusters.a]\n\n",
        ":1: ",
        "cluster \"a\" has no nodes",
        "nodes = [\"redis://db1\", ",
    ),
    (
        "[clusters.a]\nnodes = 'a,b'\n",
        ":2: ",
        "nodes must be a list of addresses",
        "nodes = [",
    ),
    (
        "[clusters.a]\nnodes = ['redis://a,redis://b']\n",
        ":2: ",
        "there is a comma in an address",
        "",
    ),
    (
        "[clusters.a]\nnodes = [\n'a',\n'http://b']\n",
        ":4: ",
        "unknown scheme",
        "",
    ),
    (
        "[clusters.a]\nnodes = ['redis://:hush@b:x']\n",
        ":2: ",
        "port",
        "",
    ),
    (
        "[clusters.a]\nnodes = ['a']\nmax_ttl = 30\n",
        ":3: ",
        "must be a text, such as \"30s\", not a number",
        "",
    ),
    (
        "[clusters.a]\nnodes = ['a']\nmax_ttl = '30'\n",
        ":3: ",
        "no unit: say 30s or 30ms",
        "",
    ),
    (
        "[clusters.a]\nnodes = ['a']\nrestart_guard = 'on'\n",
        ":3: ",
        "no restart guard is called \"on\"; known are quarantine, trust-aof and off",
        "",
    ),
    (
        "[clusters.a]\nnodes = ['a']\nkey_format = 'x'\n",
        ":3: ",
        "has no {} for the resource's name",
        "",
    ),
    (
        "[clusters.a]\nnodes = ['a']\ntolerate_forgetful = 300\n",
        ":3: ",
        "must be a number of servers",
        "",
    ),
    (
        "default = 'mian'\n[clusters.main]\nnodes = ['a']\n",
        "",
        "has no cluster \"mian\", which default asks for",
        "did you mean \"main\"?",
    ),
];

#[test]
fn whatever_is_wrong_in_a_configuration_file_is_told_in_one_line_with_its_place() {
    for (text, place, what, hint) in WRONG {
        let user = user_with(text);
        let seen = run(&user, &[]);
        let start = format!("leasehold: {}{place}", user.path("l.toml"));
        let lines: Vec<_> = seen.stderr.lines().collect();
        assert_eq!(
            (seen.code, seen.stdout.as_str()),
            (2, ""),
            "{text}: {seen:?}"
        );
        assert!(lines[0].starts_with(&start), "{text}: {seen:?}");
        assert!(lines[0].contains(what), "{text}: {seen:?}");
        assert!(!seen.stderr.contains("hush"), "{seen:?}");
        let hints = &lines[1..];
        assert_eq!(hints.len(), hints.len().min(1), "{text}: {seen:?}");
        let hinted = hints
            .iter()
            .any(|line| line.starts_with("hint: ") && line.contains(hint));
        assert!(hint.is_empty() || hinted, "{text}: {seen:?}");
    }
}

#[test]
fn a_file_or_a_cluster_that_is_not_there_is_told() {
    let user = User::new();
    let seen = run(&user, &[]);
    let path = user.path("l.toml");
    seen.assert(
        2,
        "",
        &format!("leasehold: cannot read {path}: there is no such file\n"),
    );
    let user = user_with("[clusters.a]\nnodes = ['a']\n[clusters.b]\nnodes = ['b']\n");
    let seen = run(&user, &[]);
    seen.assert_says(
        2,
        &[
            "names several clusters and none as the default",
            "hint: choose one of a|b, by --use",
        ],
    );
    let seen = run(&user, &["--use", "c"]);
    seen.assert_says(
        2,
        &[
            "has no cluster \"c\", which was asked for",
            "hint: did you mean",
        ],
    );
    let words = ["run", "--use", "a", "demo", "--", "true"];
    let seen = user.run(&words).end();
    seen.assert_says(
        2,
        &[
            "no configuration file to find the cluster \"a\" in",
            "hint: --config",
        ],
    );
    // What is not text, or is a folder.
    write(user.path("l.toml"), [0xff, 0xfe]).expect("it is ours");
    run(&user, &[]).assert_says(2, &["it is not text"]);
    let folder = user.folder().display().to_string();
    let words = ["--config", &folder, "run", "demo", "--", "true"];
    user.run(&words)
        .end()
        .assert_says(2, &["cannot read ", "directory"]);
}

#[test]
fn servers_that_are_named_twice_are_refused() {
    let user = user_with("[clusters.a]\nnodes = ['a']\n");
    let words = [
        "run",
        "--nodes",
        "redis://127.0.0.1:1",
        "demo",
        "--",
        "true",
    ];
    let path = user.path("l.toml");
    let seen = user.run(&[&["--use", "a"], &words[..]].concat()).end();
    seen.assert_says(2, &["--nodes and --use both say which servers are meant"]);
    let seen = user.run(&[&["--config", &path], &words[..]].concat()).end();
    seen.assert_says(
        2,
        &["--nodes and --config both say which servers are meant"],
    );
    let seen = user.run(&["--use", "a", "servers", "status"]).end();
    seen.assert_says(2, &["--use says nothing here"]);
    let seen = user
        .run(&["run", "demo", "--", "true"])
        .env("LEASEHOLD_NODES", "redis://127.0.0.1:1")
        .env("LEASEHOLD_USE", "a")
        .end();
    seen.assert_says(
        2,
        &["LEASEHOLD_NODES and LEASEHOLD_USE both say which servers are meant\nhint: unset one"],
    );
}

#[test]
fn a_file_that_is_named_on_the_line_is_not_passed_over_for_a_variable() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = user_with(&format!("[clusters.a]\nnodes = ['{}']\n", server.url()));
    let path = user.path("l.toml");
    let run = |flags: &[&str]| {
        let words = [&["run"], flags, &["demo", "--", "true"]].concat();
        let run = user.run(&words);
        run.env("LEASEHOLD_NODES", "redis://127.0.0.1:1").end()
    };
    let says = "LEASEHOLD_NODES and --config both say which servers are meant\n\
                hint: unset LEASEHOLD_NODES, or choose servers of the file by --use NAME";
    // Whether it is there or not.
    for file in [&path, "/nowhere.toml"] {
        run(&["--config", file]).assert_says(2, &[says]);
    }
    run(&["--config", &path, "--use", "a"]).assert(0, "", "");
    run(&["--config", &path, "--local"]).assert(0, "", "");
    // An empty name says that no file is meant, and the variable counts.
    run(&["--config", "", "-w", "100ms"]).assert_says(122, &["127.0.0.1:1"]);
}

/// What is said of a file with a password that everybody can read.
fn warning_of(path: &str, mode: &str) -> String {
    format!(
        "leasehold: warning: everybody on this machine can read {path}, which has a password: its mode is {mode}\n\
         hint: chmod o-rwx {path}\n"
    )
}

#[test]
fn files_with_passwords_are_read_and_told_of_if_all_can_read_them() {
    let user =
        user_with("[clusters.a]\nnodes = ['redis://127.0.0.1:1']\npassword_file = 'secret'\n");
    let secret = user.path("secret");
    run(&user, &[]).assert_says(
        2,
        &[&format!("cannot read {secret}: there is no such file")],
    );
    put(&user, "secret", "\n");
    run(&user, &[]).assert_says(2, &[&format!("{secret} is no password")]);
    put(&user, "secret", "hush\n");
    let quiet = run(&user, &[]);
    // Nobody is there, which is all that is left to complain of.
    quiet.assert_says(122, &["cannot lock \"demo\""]);
    assert!(!quiet.stderr.contains("warning"), "{quiet:?}");
    set_permissions(&secret, Permissions::from_mode(0o644)).expect("it is ours");
    let seen = run(&user, &[]);
    let warning = warning_of(&secret, "0644");
    assert!(seen.stderr.starts_with(&warning), "{seen:?}");
    assert_eq!(seen.code, 122);
    assert!(!seen.stderr.contains("hush"), "{seen:?}");
    // A password in the file itself.
    put(
        &user,
        "l.toml",
        "[clusters.a]\nnodes = ['redis://:hush@127.0.0.1:1']\n",
    );
    let path = user.path("l.toml");
    assert!(!run(&user, &[]).stderr.contains("warning"));
    set_permissions(&path, Permissions::from_mode(0o604)).expect("it is ours");
    run(&user, &[]).assert_says(122, &[&warning_of(&path, "0604")]);
    // Addresses in a file of their own.
    put(&user, "l.toml", "[clusters.a]\nnodes_file = 'list'\n");
    put(&user, "list", "# ours\nredis://127.0.0.1:1,\n\nhttp://b\n");
    run(&user, &[]).assert_says(
        2,
        &[&format!("{}:4: ", user.path("list")), "unknown scheme"],
    );
    put(&user, "list", "# ours\nredis://127.0.0.1:1,\n");
    let list = user.path("list");
    set_permissions(&list, Permissions::from_mode(0o644)).expect("it is ours");
    let seen = run(&user, &[]);
    seen.assert_says(122, &["127.0.0.1:1: "]);
    assert!(!seen.stderr.contains("warning"), "it has none: {seen:?}");
    put(&user, "list", "redis://:hush@127.0.0.1:1\n");
    set_permissions(&list, Permissions::from_mode(0o644)).expect("it is ours");
    run(&user, &[]).assert_says(122, &[&warning_of(&list, "0644")]);
    put(&user, "list", "# ours\n");
    run(&user, &[]).assert_says(2, &["has no address of a node"]);
}

#[test]
fn who_answers_otherwise_than_a_server_is_told() {
    // A web server, more or less.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = [0; 1];
            drop(stream.read(&mut asked));
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    let user = user_with(&format!(
        "[clusters.a]\nnodes = ['redis://127.0.0.1:{port}']\n"
    ));
    run(&user, &[]).assert_says(
        122,
        &["Redis protocol", "hint: something else listens there"],
    );
}

#[test]
fn a_wrong_password_is_told_and_a_right_one_is_taken_from_its_file() {
    require_server();
    let server = Server::builder()
        .password("s@cret")
        .start()
        .expect("it starts");
    let text = format!(
        "[clusters.a]\nnodes = ['redis://127.0.0.1:{}']\npassword_file = 'secret'\nrestart_guard = 'off'\n",
        server.port()
    );
    let user = user_with(&text);
    put(&user, "secret", "wrong\n");
    let seen = run(&user, &[]);
    seen.assert_says(
        122,
        &["authentication failed", "hint: check user and password"],
    );
    assert!(!seen.stderr.contains("wrong\n"), "{seen:?}");
    put(&user, "secret", "s@cret\n");
    run(&user, &[]).assert(0, "", "");
}

#[test]
fn a_flag_counts_for_more_than_a_variable_and_a_variable_for_more_than_the_file() {
    require_server();
    let server = Server::builder().start().expect("it starts");
    let text = format!(
        "[clusters.a]\nnodes = ['redis://127.0.0.1:{}']\nnamespace = 'from-file'\n",
        server.port()
    );
    let user = user_with(&text);
    let config = user.path("l.toml");
    let has = |namespace: &str| {
        let key = format!("{namespace}:node");
        let found = server.command(&["EXISTS", &key]).expect("it answers");
        found.integer() == Some(1)
    };
    let words = ["--config", &config, "run", "demo", "--", "true"];
    user.run(&words).end().assert(0, "", "");
    assert!(has("from-file") && !has("from-variable"));
    let with = |words: &[&str]| user.run(words).env("LEASEHOLD_NAMESPACE", "from-variable");
    with(&words).end().assert(0, "", "");
    assert!(has("from-variable") && !has("from-flag"));
    let words = [
        "--config",
        &config,
        "run",
        "--namespace",
        "from-flag",
        "demo",
        "--",
        "true",
    ];
    with(&words).end().assert(0, "", "");
    assert!(has("from-flag") && !has("leasehold"));
    // Who names nodes gets nothing of what the file says about its own.
    let url = server.url();
    user.run(&["run", "demo", "--", "true"])
        .env("LEASEHOLD_CONFIG", &config)
        .env("LEASEHOLD_NODES", &url)
        .end()
        .assert(0, "", "");
    assert!(has("leasehold"));
    // Who names a cluster gets its nodes.
    let words = ["run", "--use", "a", "demo", "--", "true"];
    user.run(&words)
        .env("LEASEHOLD_CONFIG", &config)
        .env("LEASEHOLD_NODES", "redis://127.0.0.1:1")
        .end()
        .assert(0, "", "");
}

#[test]
fn the_users_own_file_is_found_and_a_folder_of_this_machine_can_stand_in_it() {
    let user = User::new();
    let folder = user.path("locks");
    std::fs::create_dir_all(user.path("leasehold")).expect("the name is new");
    put(
        &user,
        "leasehold/leasehold.toml",
        &format!("[clusters.here]\nnodes = ['file://{folder}']\n"),
    );
    let words = ["run", "demo", "--", "true"];
    let base = user.folder().display().to_string();
    // Nothing is said of a folder that was asked for.
    user.run(&words)
        .without("LEASEHOLD_CONFIG")
        .env("XDG_CONFIG_HOME", &base)
        .end()
        .assert(0, "", "");
    assert!(std::fs::exists(format!("{folder}/data.mdb")).expect("it can be asked"));
    let seen = user
        .run(&["admit", "--nodes", &format!("file://{folder}")])
        .end();
    seen.assert_says(2, &["this is for servers"]);
    user.run(&["admit"])
        .end()
        .assert_says(2, &["no servers given", "hint: name them by --nodes"]);
}
