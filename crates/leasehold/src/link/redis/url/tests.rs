use super::*;
use leasehold_core::discovery::Rule;
use proptest::prelude::*;
use std::time::Duration;

fn parse(text: &str) -> RedisUrl {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    text.parse::<RedisUrl>()
        .expect_err("not an address")
        .to_string()
}

#[test]
fn an_address_is_shown_in_one_spelling_and_without_secrets() {
    for (text, shown) in [
        ("localhost", "redis://localhost:6379"),
        ("LocalHost:7000", "redis://localhost:7000"),
        ("redis://h", "redis://h:6379"),
        ("VALKEY://h:1/3", "redis://h:1/3"),
        ("redis://user:secret@h/0", "redis://h:6379"),
        ("redis://:p%40ss@[0:0::1]:7000/", "redis://[::1]:7000"),
        (
            "unix:///run/a%20b.sock?db=1&user=u&pass=p",
            "unix:///run/a%20b.sock?db=1",
        ),
        ("redis+unix:///run/redis.sock", "unix:///run/redis.sock"),
        (
            "Redis+Sentinel://u:secret@S-2,[0::1]:7/my.master-1/3?sentinel_password=secret",
            "redis+sentinel://s-2:26379,[::1]:7/my.master-1/3",
        ),
        ("valkey+sentinel://s/m/", "redis+sentinel://s:26379/m"),
        (
            "Redis+Cluster://u:secret@A,[0::1]:7,a/0",
            "redis+cluster://a:6379,[::1]:7",
        ),
        ("valkey+cluster://c/", "redis+cluster://c:6379"),
    ] {
        let url = parse(text);
        assert_eq!(url.to_string(), shown, "{text}");
        assert_eq!(format!("{url:?}"), format!("RedisUrl({shown})"));
    }
}

#[test]
fn a_scheme_without_slashes_is_no_host_with_a_bad_port() {
    for text in [
        "redis:/h",
        "redis:h",
        "REDISS:",
        "redis+cluster:a,b",
        "unix:/s",
        "file:/f",
    ] {
        let told = error(text);
        assert!(
            told.contains("has no `//` behind its scheme; write redis://"),
            "{told}"
        );
        assert!(!told.contains("…:"), "{told}");
    }
    // A host may be called so, and a user.
    assert_eq!(parse("redis:6379/1").to_string(), "redis://redis:6379/1");
    assert_eq!(
        parse("redis:secret@h")
            .login
            .map(|login| login.password)
            .as_deref(),
        Some("secret")
    );
    assert!(error("host:x").contains("has a port that is not a number"));
}

#[test]
fn user_and_password_are_decoded() {
    for (text, user, password) in [
        ("redis://u:p%40%2F@h", Some("u"), "p@/"),
        ("redis://:p:q@h", None, "p:q"),
        ("redis://u@h", Some("u"), ""),
        ("unix:///s?user=u&pass=a%26b", Some("u"), "a&b"),
    ] {
        let login = parse(text).login.expect(text);
        assert_eq!(login.user.as_deref(), user, "{text}");
        assert_eq!(login.password, password, "{text}");
    }
    assert!(parse("redis://@h").login.is_none());
    assert!(parse("redis://:@h").login.is_none());
}

#[test]
fn two_spellings_of_a_node_have_one_name() {
    let name = parse("redis://Node-1").name();
    for text in [
        "node-1:6379",
        "valkey://u:p@NODE-1/7",
        "redis://node-1:6379",
    ] {
        assert_eq!(parse(text).name(), name, "{text}");
    }
    assert_ne!(parse("node-1:6380").name(), name);
    assert_eq!(parse("[::1]").name(), parse("[0:0::1]:6379").name());
    let name = parse("redis+sentinel://s1,s2:7/m").name();
    assert_eq!(name.to_string(), "m@s1:26379+s2:7");
    let other_order = parse("redis+sentinel://u:p@s2:7,S1:26379,s2:7/m/2?sentinel_password=p");
    assert_eq!(other_order.name(), name);
    assert_ne!(parse("redis+sentinel://s1,s2:7/n").name(), name);
    let name = parse("redis+cluster://c2:7,c1").name();
    assert_eq!(name.to_string(), "cluster@c1:6379+c2:7");
    assert_eq!(parse("valkey+cluster://:p@C1,c2:7,c1").name(), name);
}

#[cfg(feature = "tls")]
#[test]
fn the_servers_of_a_cluster_are_spoken_to_as_its_address_says() {
    let url = parse("rediss+cluster://u:p@a,b:1?ca=/x");
    let server = url.at("c", 7);
    assert_eq!(server.to_string(), "rediss://c:7");
    assert!(server.login == url.login && server.login.is_some());
    let Endpoint::Tcp { tls, .. } = server.place else {
        panic!("not TCP");
    };
    assert!(tls == Some(Roots::File("/x".into())));
    assert_eq!(
        parse("redis+cluster://a").at("c", 7).to_string(),
        "redis://c:7"
    );
}

#[test]
fn sentinels_have_a_login_of_their_own() {
    let url = parse("redis+sentinel://u:p@s2,s1:7/m/4?sentinel_user=v&sentinel_password=q%26");
    let Endpoint::Named(sentinels) = url.place else {
        panic!("not by sentinels");
    };
    let hosts: Vec<_> = (0..2).map(|turn| sentinels.name(turn)).collect();
    assert_eq!(hosts, ["s2:26379", "s1:7"]);
    assert_eq!((sentinels.master.as_str(), url.database), ("m", 4));
    let (of_node, of_sentinels) = (url.login.expect("one"), sentinels.login.expect("one"));
    assert_eq!(of_node.user.as_deref(), Some("u"));
    assert_eq!(of_node.password, "p");
    assert_eq!(of_sentinels.user.as_deref(), Some("v"));
    assert_eq!(of_sentinels.password, "q&");
    let Endpoint::Named(sentinels) = parse("redis+sentinel://u:p@s/m").place else {
        panic!("not by sentinels");
    };
    assert!(
        sentinels.login.is_none(),
        "the node's password is not theirs"
    );
}

#[cfg(feature = "tls")]
#[test]
fn sentinels_speak_tls_as_the_server_does_unless_an_option_says_otherwise() {
    let file = |path: &str| Some(Roots::File(path.into()));
    let system = || Some(Roots::System);
    for (text, server, sentinels) in [
        ("redis+sentinel://s/m", None, None),
        ("rediss+sentinel://s/m", system(), system()),
        ("rediss+sentinel://s/m?ca=/a", file("/a"), file("/a")),
        (
            "rediss+sentinel://s/m?ca=/a&sentinel_ca=/b",
            file("/a"),
            file("/b"),
        ),
        ("rediss+sentinel://s/m?sentinel_ca=/b", system(), file("/b")),
        ("rediss+sentinel://s/m?sentinel_tls=no", system(), None),
        (
            "rediss+sentinel://s/m?sentinel_tls=no&ca=/a",
            file("/a"),
            None,
        ),
        ("redis+sentinel://s/m?sentinel_tls=yes", None, system()),
        (
            "redis+sentinel://s/m?sentinel_tls=yes&ca=/a",
            None,
            file("/a"),
        ),
        (
            "redis+sentinel://s/m?sentinel_ca=/b&sentinel_tls=yes",
            None,
            file("/b"),
        ),
    ] {
        let Endpoint::Named(named) = parse(text).place else {
            panic!("not by sentinels");
        };
        assert!(named.server_tls == server, "{text}");
        assert!(named.tls == sentinels, "{text}");
    }
    for text in [
        "redis+sentinel://s/m?ca=/a",
        "redis+sentinel://s/m?sentinel_ca=/a",
        "rediss+sentinel://s/m?sentinel_tls=no&sentinel_ca=/a",
        "rediss+sentinel://s/m?sentinel_tls=maybe",
        "rediss+sentinel://s/m?ca=",
    ] {
        assert!(error(text).contains("unknown option"), "{text}");
    }
}

#[test]
fn a_majority_of_distinct_sentinels_is_needed_unless_the_address_says_otherwise() {
    let sentinels = |text: &str| match parse(text).place {
        Endpoint::Named(sentinels) => sentinels,
        _ => panic!("not by sentinels"),
    };
    let usual = sentinels("redis+sentinel://s,t,S:26379/m");
    assert_eq!(usual.hosts.len(), 2, "one of them was given twice");
    assert_eq!(usual.rule, Rule::DEFAULT);
    let other = "redis+sentinel://s/m?sentinel_bound_ms=2000&dangerous_sentinel_minority=yes";
    let rule = Rule {
        bound: Duration::from_secs(2),
        needs_majority: false,
    };
    assert_eq!(sentinels(other).rule, rule);
}

#[test]
fn an_address_may_stand_between_spaces() {
    assert_eq!(" redis://h:1\n".parse(), "redis://h:1".parse::<RedisUrl>());
}

#[test]
fn an_error_names_the_input_the_reason_and_the_way_out() {
    for (text, expected) in [
        ("http://h", "unknown scheme; known are redis"),
        ("redis://:secret@", "\"redis://…@\" has no valid host"),
        ("", "no valid host"),
        ("redis://::1", "no valid host"),
        ("redis://a,redis://b", "is several addresses in one"),
        ("redis://a:1,b:2", "is several addresses in one"),
        ("redis://h::1", "an IPv6 address in brackets"),
        ("redis://h:0", "from 1 to 65535"),
        ("redis://h/zero", "a database that is not a number"),
        ("unix://run/redis.sock", "no absolute path"),
        ("redis://h?ca=/x", "\"redis://h…\" has an unknown option"),
        ("redis+sentinel://s", "names no master"),
        ("redis+sentinel://s,t/", "write redis+sentinel://host:26379"),
        ("redis+sentinel://s/m,redis", "names no master"),
        ("redis+sentinel://s,/m", "no valid host"),
        ("redis+sentinel://s,t:0/m", "from 1 to 65535"),
        ("redis+sentinel://s/m/x", "a database that is not a number"),
        ("redis+sentinel://s/m?pass=x", "sentinel_password"),
        (
            "redis+sentinel://s/m?sentinel_bound_ms=1499",
            "from 1500 to 3600000",
        ),
        (
            "redis+sentinel://s/m?sentinel_bound_ms=10s",
            "from 1500 to 3600000",
        ),
        (
            "redis+sentinel://s/m?dangerous_sentinel_minority=no",
            "dangerous_sentinel_minority=yes",
        ),
        (
            "redis+cluster://a,b/1",
            "\"redis+cluster://a…\" names a database",
        ),
        ("redis+cluster://a,,b", "no valid host"),
        ("redis+cluster://a,b:0", "from 1 to 65535"),
        (
            "redis+cluster://a,b?ca=/x",
            "ca for rediss and rediss+cluster",
        ),
        ("redis+cluster://a,b?x=1", "an unknown option"),
        ("redis://:pa/ss@h", "write %40, %2F, %3F or %23"),
        ("redis://:pa%ss@h", "write %25"),
    ] {
        let error = error(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn an_error_shows_only_what_certainly_is_no_password() {
    for (text, shown) in [
        ("redis://:hunter2", "redis://…"),
        ("redis://me:hunter2", "redis://me:…"),
        ("redis://me:hunter2:6379", "redis://me:…"),
        ("redis://me:123456", "redis://me:…"),
        ("redis://:p#hunter2", "redis://…"),
        ("redis://h:70000/1", "redis://h:70000/1"),
        ("redis://h/zero", "redis://h/…"),
        ("redis://me:hunter2@h:x", "redis://…@h:…"),
        ("redis://me:hunter2@", "redis://…@"),
        ("redis://me:hun/ter2@h:1/2", "redis://…@h:1/2"),
        ("redis://me:hun?ter2@h:1/2", "redis://…"),
        ("redis://me:2@[::1]:0", "redis://…@[::1]:0"),
        ("redis://[hunter2]", "redis://…"),
        ("redis://h,hunter2", "redis://h…"),
        ("redis://me:hun@/ter2", "redis://…@…"),
        ("me:hunter2", "me:…"),
        ("http://me:hunter2@h", "http://…@h"),
        ("hunter2://h", "…://h"),
        ("redis:://me:hunter2@h", "…"),
        ("unix:///run/s?pass=hunter2&x", "unix:///run/s…"),
        ("unix:///run/spass=hunter2?x", "unix:///run/…"),
        ("unix://me:hunter2", "unix://me:…"),
        ("redis+sentinel://me:hunter2,s/m", "redis+sentinel://me:…"),
        ("redis+sentinel://s:1/hunter2@", "redis+sentinel://…@"),
        (
            "redis+sentinel://s:1/m?password=hunter2",
            "redis+sentinel://s:1/…",
        ),
    ] {
        let error = error(text);
        assert!(error.starts_with(&format!("{shown:?} ")), "{text}: {error}");
    }
}

#[cfg(feature = "tls")]
#[test]
fn the_roots_of_a_tls_node_may_come_from_a_file() {
    let Endpoint::Tcp { tls, .. } = parse("rediss://h?ca=/etc/my%20ca.pem").place else {
        panic!("not TCP");
    };
    assert!(tls == Some(Roots::File("/etc/my ca.pem".into())));
    assert_eq!(parse("valkeys://h:1").to_string(), "rediss://h:1");
}

#[cfg(not(feature = "tls"))]
#[test]
fn tls_that_was_not_compiled_in_is_asked_for_by_its_feature() {
    assert!(error("rediss://h").contains("enable the feature `tls`"));
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,40}") {
        let _ = text.parse::<RedisUrl>();
    }

    #[test]
    fn a_password_is_never_shown(noise in "[/?#@:%&=a-z0-9\\[\\]]{0,6}", end in "[/?@:a-z0-9\\[\\]]{0,6}") {
        for text in [
            format!("redis://user:{noise}SECRET{noise}@h{end}"),
            format!("{noise}SECRET@h{end}"),
            format!("unix:///s?db=0&pass={noise}SECRET{end}"),
            format!("redis+sentinel://user:{noise}SECRET{noise}@s,t/m{end}"),
            format!("redis+sentinel://s/m?sentinel_password={noise}SECRET{end}"),
            format!("redis+cluster://user:{noise}SECRET{noise}@s,t{end}"),
        ] {
            let shown = match text.parse::<RedisUrl>() {
                Ok(url) => format!("{url} {url:?} {}", url.name()),
                Err(error) => format!("{error} {error:?}"),
            };
            prop_assert!(!shown.contains("SECRET"), "{text}: {shown}");
        }
    }

    /// Except for an `@` too many: what is behind one cannot be told from a host.
    #[test]
    fn no_slip_of_the_pen_shows_the_password(
        password in prop_oneof!["[a-zA-Z0-9]{6,12}", "[0-9]{6,9}", "[a-z0-9@:/?#%,&=. -]{6,12}"],
        user in prop_oneof!["", "user"],
        scheme in prop_oneof!["redis", "redis+sentinel", "redis+cluster"],
        at in prop_oneof!["@", ""],
        host in prop_oneof!["node-1", "", "[::1]"],
        port in prop_oneof![":6379/0", "/0", ""],
        slips in proptest::collection::vec(("[#/:,? ]", 0_usize..60), 0..3),
    ) {
        let rest = format!("{scheme}://{user}:{at}{host}{port}");
        prop_assume!(!rest.contains(&password) && !password.starts_with('@'));
        let mut text = format!("{scheme}://{user}:{password}{at}{host}{port}");
        for (slip, place) in slips {
            text.insert_str(place.min(text.len()), &slip);
        }
        if let Err(error) = text.parse::<RedisUrl>() {
            let shown = format!("{error} {error:?}");
            prop_assert!(!shown.contains(&password), "{text}: {shown}");
        }
    }

    #[test]
    fn what_is_shown_can_be_parsed_again(host in "[a-z][a-z0-9.-]{0,9}", port in 1u16.., db in 0u32..99) {
        for text in [
            format!("redis://{host}:{port}/{db}"),
            format!("redis+sentinel://{host}:{port},{host}/{host}/{db}"),
            format!("redis+cluster://{host}:{port},{host}"),
        ] {
            let url = parse(&text);
            prop_assert!(parse(&url.to_string()) == url);
        }
    }

    #[test]
    fn what_is_shown_of_a_socket_is_the_address_of_the_same_one(path in "(/[a-z%?#,@:& \t\n\u{b}\u{1b}\u{a0}é]{0,4}){1,3}", database in 0u32..99) {
        let url = RedisUrl {
            place: Endpoint::Unix(path.into()),
            login: None,
            database,
        };
        let again: RedisUrl = url.to_string().parse().expect("it was shown");
        prop_assert!(again == url, "{url}");
    }
}
