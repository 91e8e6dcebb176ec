//! The commands that look, on real servers and on this machine's store.

use crate::support::{Place, Running, Seen, User, wait_until};
use leasehold_servers::{ServerSet, require_server};

/// Servers, and a user who has told the command of them.
struct Site {
    user: User,
    servers: ServerSet,
}

impl Site {
    fn new(count: usize) -> Self {
        require_server();
        let servers = ServerSet::start(count).expect("they start");
        let user = User::new();
        Self { user, servers }
    }

    fn run(&self, words: &[&str]) -> Seen {
        let test = self.user.run(words);
        test.env("LEASEHOLD_NODES", self.servers.nodes()).end()
    }

    /// Holds the lock until it is told to end. Tells the holder as others see it.
    fn hold(&self, resource: &str) -> (Running, String) {
        let script = "echo $PPID; sleep 30";
        let words = ["run", resource, "--", "sh", "-c", script];
        let test = self.user.run(&words);
        let mut run = test.env("LEASEHOLD_NODES", self.servers.nodes()).start();
        let holder = format!("pid {} on ", run.line());
        (run, holder)
    }
}

/// As a program of the library signs that does not say what it is called.
const OWNER: &str = "9f3a1c0d2b7e85ac2636a4edd080b0fb72d69c6e";

fn end(run: Running) {
    run.signal(rustix::process::Signal::TERM);
    run.end_alone();
}

#[test]
fn a_prefix_under_which_nothing_is_locked_is_named_and_told_from_a_pattern() {
    let place = Place::local();
    let mut holder = place.run(&["hold", "orders/1"]).keeping_stdin();
    assert_eq!(holder.line(), "LEASEHOLD_RESOURCE=orders/1");
    let list = |prefix| place.end(&["list", prefix]);
    let none =
        |prefix: &str| format!("leasehold: nothing whose name begins with {prefix:?} is locked\n");
    list("zzz").assert(0, "", &none("zzz"));
    let hint = "hint: PREFIX is how names begin, and no pattern: leave * and ? out\n";
    list("orders/*").assert(0, "", &(none("orders/*") + hint));
    assert!(list("orders/").stdout.contains("orders/1"));
    let picture = place.end(&["watch", "--once", "zzz"]).stdout;
    let line = "\nnothing whose name begins with \"zzz\" is locked\n";
    assert!(picture.contains(line), "{picture}");
    holder.close_stdin();
    assert_eq!(holder.end().code, 0);
}

#[test]
fn status_tells_by_its_code_and_its_words_who_holds_a_lock() {
    let site = Site::new(3);
    let free = site.run(&["status", "demo"]);
    assert_eq!((free.code, free.stderr.as_str()), (0, ""), "{free:?}");
    assert!(free.stdout.starts_with("\"demo\" is free\n"), "{free:?}");
    let (run, holder) = site.hold("demo");
    let held = site.run(&["status", "demo"]);
    assert_eq!((held.code, held.stderr.as_str()), (121, ""), "{held:?}");
    let first = held.stdout.lines().next().unwrap_or_default();
    assert!(
        first.starts_with(&format!("\"demo\" is held by {holder}")),
        "{held:?}"
    );
    assert!(held.stdout.contains("\n  since  20"), "{held:?}");
    assert_eq!(held.stdout.matches("the holder's").count(), 3, "{held:?}");
    let json = site.run(&["status", "--json", "demo"]);
    assert_eq!((json.code, json.stdout.lines().count()), (121, 1));
    for part in [
        "{\"resource\":\"demo\",\"state\":\"held\",",
        "\"quorum\":2,",
        "\"since_unix_s\":1",
    ] {
        assert!(json.stdout.contains(part), "{json:?}");
    }
    end(run);
    // One server away is told, and two are too many.
    let mut servers = site.servers.iter();
    servers.next().expect("three").kill().expect("it runs");
    let seen = site.run(&["status", "demo"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(
        seen.stdout.contains("cannot be read: connection refused"),
        "{seen:?}"
    );
    servers.next().expect("three").kill().expect("it runs");
    let seen = site.run(&["status", "demo"]);
    assert_eq!(seen.code, 122, "{seen:?}");
    assert!(
        seen.stdout
            .contains("\"demo\" may be held or free: 1 of 3 nodes answer, 2 must"),
        "{seen:?}"
    );
}

#[test]
fn list_tells_locks_and_leftovers() {
    let site = Site::new(3);
    let nothing = site.run(&["list"]);
    nothing.assert(0, "", "leasehold: nothing is locked\n");
    let (run, holder) = site.hold("orders/1");
    let first = site.servers.iter().next().expect("three");
    let words = ["SET", "orders/2", OWNER, "PX", "60000"];
    first.command(&words).expect("it is taken");
    let all = site.run(&["list"]);
    let lines: Vec<_> = all.stdout.lines().collect();
    assert_eq!((all.code, lines.len()), (0, 3), "{all:?}");
    assert!(
        lines[1].starts_with("orders/1  3/3 ") && lines[1].contains(&holder),
        "{all:?}"
    );
    assert!(lines[2].starts_with("orders/2  1/3 "), "{all:?}");
    assert!(
        lines[2].ends_with("owner 9f3a1c0d2b7e…, left over or under way"),
        "{all:?}"
    );
    let one = site.run(&["list", "orders/1"]);
    assert_eq!(one.stdout.lines().count(), 2, "{one:?}");
    let json = site.run(&["list", "--json"]);
    assert_eq!(json.stdout.lines().count(), 2, "{json:?}");
    let few = site.run(&["list", "--most", "1"]);
    let incomplete = "the list is incomplete: there may be locks among the keys that were not read";
    few.assert_says(125, &["has more than 1 keys that may be locks", incomplete]);
    assert_eq!(few.stdout.lines().count(), 2, "{few:?}");
    end(run);
    for server in site.servers.iter().take(2) {
        server.kill().expect("it runs");
    }
    let seen = site.run(&["list"]);
    seen.assert_says(122, &["2 of 3 nodes could not be listed"]);
}

#[test]
fn force_release_says_whom_it_puts_out_asks_and_does_it() {
    let site = Site::new(3);
    site.run(&["force-release", "demo"]).assert(
        0,
        "",
        "leasehold: \"demo\" is free; nothing was changed\n",
    );
    let (run, holder) = site.hold("demo");
    let says = format!("leasehold: \"demo\" is held by {holder}");
    let seen = site.run(&["force-release", "demo"]);
    seen.assert_says(
        2,
        &[
            &says,
            "cannot ask without a terminal; nothing was changed",
            "hint: --yes",
        ],
    );
    assert_eq!(site.run(&["status", "demo"]).code, 121);
    let seen = site.run(&["force-release", "--yes", "demo"]);
    seen.assert_says(0, &[&says]);
    assert!(
        seen.stdout.starts_with(&holder) && seen.stdout.ends_with("\treleased by force\n"),
        "{seen:?}"
    );
    // Its holder may have given a key again that was gone before the others were.
    wait_until(|| site.run(&["status", "demo"]).code == 0);
    end(run);
    let first = site.servers.iter().next().expect("three");
    let words = ["SET", "demo", OWNER, "PX", "60000"];
    first.command(&words).expect("it is taken");
    let seen = site.run(&["force-release", "--yes", "demo"]);
    seen.assert_says(
        0,
        &["left over or under way on some nodes: owner 9f3a1c0d2b7e…"],
    );
    let left = first.command(&["EXISTS", "demo"]).expect("it answers");
    assert_eq!(left.integer(), Some(0), "{seen:?}");
}

#[test]
fn wait_ends_when_the_lock_is_free_and_takes_nothing() {
    let site = Site::new(3);
    site.run(&["wait", "demo"]).assert(0, "", "");
    let (run, holder) = site.hold("demo");
    let seen = site.run(&["wait", "--wait", "300ms", "demo"]);
    seen.assert_says(
        124,
        &[
            "leasehold: after 300 ms, \"demo\" is still held by ",
            &holder,
        ],
    );
    // However short the wait is, the servers are heard first.
    let seen = site.run(&["wait", "--wait", "1ms", "demo"]);
    seen.assert_says(124, &["still held by ", &holder]);
    let test = site.user.run(&["wait", "--json", "demo"]);
    let waiting = test.env("LEASEHOLD_NODES", site.servers.nodes()).start();
    end(run);
    let seen = waiting.end();
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
    assert!(seen.stdout.contains("\"state\":\"free\""), "{seen:?}");
    assert_eq!(site.run(&["status", "demo"]).code, 0);
    for server in site.servers.iter().take(2) {
        server.kill().expect("it runs");
    }
    let seen = site.run(&["wait", "demo"]);
    seen.assert_says(
        122,
        &["cannot tell whether \"demo\" is free", "connection refused"],
    );
}

#[test]
fn watch_draws_frames_of_text_where_there_is_no_terminal() {
    let site = Site::new(3);
    let (run, holder) = site.hold("demo");
    let once = site.run(&["watch", "--once"]);
    assert_eq!((once.code, once.stderr.as_str()), (0, ""), "{once:?}");
    assert!(!once.stdout.contains('\x1b'), "{once:?}");
    for part in [
        "3 of 3 nodes vote",
        "\nNODE ",
        "\nLOCK  NODES  LEFT",
        "demo  ●●●",
        &holder,
    ] {
        assert!(once.stdout.contains(part), "no {part:?} in {once:?}");
    }
    let test = site.user.run(&["watch", "--every", "200ms"]);
    let mut watching = test.env("LEASEHOLD_NODES", site.servers.nodes()).start();
    let mut pictures = 0;
    while pictures < 2 {
        pictures += usize::from(watching.line().starts_with("LOCK "));
    }
    end(run);
    while watching.line() != "nothing is locked" {}
    // Not INT, which whoever runs tests in the background has told all to ignore.
    watching.signal(rustix::process::Signal::TERM);
    watching.end_alone();
}

#[test]
fn watch_tells_programs_of_nodes_and_locks_a_line_for_each_picture() {
    let site = Site::new(3);
    let (run, _holder) = site.hold("demo");
    let test = site.user.run(&["watch", "--json", "--every", "200ms"]);
    let mut watching = test.env("LEASEHOLD_NODES", site.servers.nodes()).start();
    for _ in 0..2 {
        let line = watching.line();
        for part in [
            "{\"at_unix_ms\":1",
            "\"verdict\":\"",
            "\"locks\":[{\"resource\":\"demo\",\"state\":\"held\",",
        ] {
            assert!(line.contains(part), "no {part} in {line}");
        }
        assert!(line.ends_with('}'), "{line}");
    }
    watching.signal(rustix::process::Signal::TERM);
    watching.end_alone();
    end(run);
}

#[test]
fn a_node_that_hangs_costs_a_moment_and_too_many_hide_what_is_locked() {
    let site = Site::new(3);
    let (run, holder) = site.hold("demo");
    let servers: Vec<_> = site.servers.iter().collect();
    servers[0].pause().expect("it runs");
    // Each is asked for half a second at most, where it would take five: see `ANSWER`.
    let list = site.run(&["list"]);
    list.assert_says(0, &["the node did not answer within 500ms"]);
    assert!(list.stdout.contains(&holder), "{list:?}");
    let watch = site.run(&["watch", "--once"]);
    for part in ["the node did not answer within 500ms", "demo  ?●●"] {
        assert!(watch.stdout.contains(part), "no {part} in {watch:?}");
    }
    servers[1].pause().expect("it runs");
    let watch = site.run(&["watch", "--once"]);
    let unknown = "what is locked is not known: 2 of 3 nodes do not tell";
    assert!(watch.stdout.contains(unknown), "{watch:?}");
    let json = site.run(&["watch", "--once", "--json"]);
    assert!(json.stdout.contains("\"locks\":null"), "{json:?}");
    let list = site.run(&["list"]);
    list.assert_says(122, &["2 of 3 nodes could not be listed"]);
    for seen in [&watch, &list] {
        let said = [seen.stdout.as_str(), &seen.stderr].concat();
        assert!(!said.contains("nothing is locked"), "{seen:?}");
    }
    for server in &servers[..2] {
        server.resume().expect("it is there");
    }
    end(run);
}

#[test]
fn doctor_tells_by_its_code_and_its_words_what_is_wrong() {
    let site = Site::new(3);
    let guarded = |words: &[&str]| {
        let test = site.user.run(words).guarded();
        test.env("LEASEHOLD_NODES", site.servers.nodes()).end()
    };
    let new = guarded(&["doctor"]);
    assert_eq!(new.code, 122, "{new:?}");
    for part in [
        "3 nodes, 2 must agree\n",
        "; votes in 3",
        "it is new to these locks",
        "do:  wait 32.3 s; or, if it has forgotten",
        "verdict: broken: 0 of 3 nodes vote, 2 must; no lock can be acquired",
    ] {
        assert!(new.stdout.contains(part), "no {part:?} in {new:?}");
    }
    assert_eq!(guarded(&["admit", "--yes"]).code, 0);
    let sound = guarded(&["doctor"]);
    assert_eq!((sound.code, sound.stderr.as_str()), (0, ""), "{sound:?}");
    assert!(
        sound.stdout.contains("verdict: sound: 3 of 3 nodes vote"),
        "{sound:?}"
    );
    let json = guarded(&["doctor", "--json"]);
    assert!(
        json.stdout.starts_with("{\"verdict\":\"sound\","),
        "{json:?}"
    );
    assert_eq!(json.stdout.lines().count(), 1);
    let off = site.run(&["doctor"]);
    assert_eq!(
        off.code, 2,
        "another guard is another configuration: {off:?}"
    );
    assert!(
        off.stdout.contains("is used with another configuration"),
        "{off:?}"
    );
}

#[test]
fn doctor_tells_how_many_nodes_more_may_be_away() {
    let site = Site::new(3);
    let guarded = |words: &[&str]| {
        let test = site.user.run(words).guarded();
        test.env("LEASEHOLD_NODES", site.servers.nodes()).end()
    };
    assert_eq!(guarded(&["admit", "--yes"]).code, 0);
    let mut servers = site.servers.iter();
    let (first, second) = (
        servers.next().expect("three"),
        servers.next().expect("three"),
    );
    first.kill().expect("it runs");
    let words = [
        "CONFIG",
        "SET",
        "maxmemory",
        "100mb",
        "maxmemory-policy",
        "allkeys-lru",
    ];
    second.command(&words).expect("it is taken");
    let weak = guarded(&["doctor"]);
    assert_eq!(weak.code, 122, "{weak:?}");
    for part in [
        "cannot be reached: connection refused",
        "may evict locks",
        "do:  ",
    ] {
        assert!(weak.stdout.contains(part), "no {part:?} in {weak:?}");
    }
    let words = ["CONFIG", "SET", "maxmemory-policy", "noeviction"];
    second.command(&words).expect("it is taken");
    let weak = guarded(&["doctor"]);
    assert_eq!(weak.code, 120, "{weak:?}");
    let verdict = "verdict: weakened: 2 of 3 nodes vote; locks work, but no other node may fail\n";
    assert!(weak.stdout.ends_with(verdict), "{weak:?}");
}

#[test]
fn the_store_of_this_machine_is_looked_at_as_servers_are() {
    let user = User::new();
    let looking = format!(
        "leasehold: no nodes given: looking at this machine only, in {}\n",
        user.path("leasehold")
    );
    let mut holder = user
        .run(&["run", "demo", "--", "sh", "-c", "echo $PPID; sleep 30"])
        .start();
    let pid = holder.line();
    let held = user.run(&["status", "demo"]).end();
    assert_eq!(
        (held.code, held.stderr.as_str()),
        (121, looking.as_str()),
        "{held:?}"
    );
    assert!(
        held.stdout.contains(&format!("held by pid {pid} on ")),
        "{held:?}"
    );
    let doctor = user.run(&["doctor"]).guarded().end();
    assert_eq!(
        (doctor.code, doctor.stderr.as_str()),
        (0, looking.as_str()),
        "{doctor:?}"
    );
    for part in [
        &format!("file  {}/data.mdb\n", user.path("leasehold")),
        "MiB used, on this machine only",
        &format!("pid {pid} lives and holds \"demo\"\n"),
        "verdict: sound: 1 of 1 nodes vote; locks work\n",
    ] {
        assert!(doctor.stdout.contains(part), "no {part:?} in {doctor:?}");
    }
    let list = user.run(&["list"]).end();
    assert!(list.stdout.contains("demo      1/1 "), "{list:?}");
    let waiting = user.run(&["wait", "demo"]).start();
    end(holder);
    let seen = waiting.end();
    assert_eq!(seen.code, 0, "{seen:?}");
    let free = || user.run(&["status", "demo"]).end().code == 0;
    wait_until(free);
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let user = User::new();
    let help = user.run(&["--help"]).end().stdout;
    let manual = user.run(&["man"]).end();
    assert_eq!((manual.code, manual.stderr.as_str()), (0, ""), "{manual:?}");
    assert!(manual.stdout.contains(".TH leasehold 1"), "{manual:?}");
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = names.take_while(|line| !line.is_empty());
    // What is further in is the rest of a long line, and `help` has no page of its own.
    let names = names.filter(|line| !line.starts_with("   ") && !line.starts_with("  help "));
    let names: Vec<_> = names
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.contains(&"doctor") && names.len() >= 10, "{help}");
    for shell in ["bash", "zsh", "fish"] {
        let seen = user.run(&["completions", shell]).end();
        assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
        for name in &names {
            assert!(seen.stdout.contains(name), "{shell} does not know {name}");
        }
    }
    for name in &names {
        let heading = format!("LEASEHOLD {}", name.to_uppercase());
        assert!(manual.stdout.contains(&heading), "no {heading}");
    }
}

#[test]
fn bench_measures_locks_beside_the_round_trip() {
    let site = Site::new(3);
    let seen = site.run(&["bench", "--for", "200ms"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
    let lines: Vec<_> = seen.stdout.lines().collect();
    let starts = ["", "acquire ", "release ", "round trip "];
    assert_eq!(lines.len(), starts.len(), "{seen:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{seen:?}");
    }
    let count = lines[0]
        .split(' ')
        .next()
        .and_then(|count| count.parse::<u32>().ok());
    assert!(count.is_some_and(|count| count > 1), "{seen:?}");
    // Nothing is left of it.
    site.run(&["list"])
        .assert(0, "", "leasehold: nothing is locked\n");
    for server in site.servers.iter().take(2) {
        server.kill().expect("it runs");
    }
    let seen = site.run(&["bench", "--for", "200ms"]);
    seen.assert_says(122, &["cannot lock", "hint: `leasehold doctor`"]);
}
