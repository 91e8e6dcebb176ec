use super::*;

fn shown(text: &str) -> String {
    text.parse::<RedisUrl>()
        .expect("a good address")
        .to_string()
}

fn wrong(text: &str) -> String {
    text.parse::<RedisUrl>()
        .expect_err("a bad address")
        .to_string()
}

#[test]
fn equal_addresses_are_written_alike() {
    for text in [
        "redis://db1",
        "redis://DB1:6379",
        "valkey://db1/0",
        "db1",
        "redis://u:p@db1/",
    ] {
        assert_eq!(shown(text), "redis://db1:6379", "{text}");
    }
    assert_eq!(shown("db1:7001"), "redis://db1:7001");
    assert_eq!(shown("redis://[::1]:7001/3"), "redis://[::1]:7001/3");
    assert_eq!(shown("redis://[::1]"), "redis://[::1]:6379");
    assert_eq!(
        shown("unix:///run/redis.sock?db=2"),
        "unix:///run/redis.sock/2".replace("/2", "")
    );
}

#[cfg(feature = "tls")]
#[test]
fn tls_may_name_its_authority() {
    let url: RedisUrl = "valkeys://db1?ca=/etc/my%20ca.pem"
        .parse()
        .expect("a good address");
    let Place::Tls { authority, .. } = &url.place else {
        panic!("{url:?}")
    };
    assert_eq!(
        authority.as_deref(),
        Some(std::path::Path::new("/etc/my ca.pem"))
    );
}

#[test]
fn logins_are_unescaped() {
    let url: RedisUrl = "redis://us%65r:p%40ss:w@db1"
        .parse()
        .expect("a good address");
    assert_eq!(
        (url.user.as_deref(), url.password.as_deref()),
        (Some("user"), Some("p@ss:w"))
    );
    let url: RedisUrl = "redis://:pw@db1".parse().expect("a good address");
    assert_eq!(
        (url.user.as_deref(), url.password.as_deref()),
        (None, Some("pw"))
    );
    let url: RedisUrl = "unix:///s?user=a&pass=b%26&db=4"
        .parse()
        .expect("a good address");
    assert_eq!(
        (url.user.as_deref(), url.password.as_deref()),
        (Some("a"), Some("b&"))
    );
    assert_eq!(url.database, 4);
}

#[test]
fn bad_addresses_are_told_with_the_way_out() {
    for (text, part) in [
        ("http://db1", r#""http" is no known kind; write redis://"#),
        ("redis://", "it has no host; write redis://host:6379"),
        ("", "it has no host"),
        ("redis://db1:99999", r#""99999" is no port"#),
        ("redis://db1:0", r#""0" is no port"#),
        ("redis://db1/one", r#""one" is no database"#),
        ("redis://:%zz@db1", "write %25 for %"),
        ("redis://[::1", "its host is malformed"),
        ("redis://a b", "its host is malformed"),
        ("unix://relative", "its path is not absolute"),
        ("redis://db1?timeout=5", r#"it has no option "timeout""#),
    ] {
        let message = wrong(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn a_password_is_never_shown() {
    let url: RedisUrl = "redis://me:hush@db1".parse().expect("a good address");
    assert!(!format!("{url} {url:?}").contains("hush"));
    for text in [
        "redis://me:hush@db1:x",
        "http://me:hush@db1",
        "unix://x?pass=hush",
        "me:hush@:1",
    ] {
        let error = text.parse::<RedisUrl>().expect_err("a bad address");
        assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
    }
}
