use super::*;
use crate::{require_server, wait};
use std::time::Duration;

fn number(server: &Server, words: &[&str]) -> i64 {
    server.command(words).unwrap().integer().unwrap()
}

#[test]
fn a_server_is_gone_with_its_value() {
    require_server();
    let server = Server::start().unwrap();
    assert_eq!(
        server.command(&["PING"]).unwrap(),
        Reply::Text("PONG".to_owned())
    );
    let (port, folder) = (server.port(), server.folder().to_owned());
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
    assert!(Connection::open(port).is_err());
}

#[test]
fn a_restart_forgets_unless_the_data_was_saved() {
    require_server();
    let server = Server::start().unwrap();
    let first = server.pid().unwrap();
    server.command(&["SET", "a", "1"]).unwrap();
    server.save().unwrap();
    server.restart().unwrap();
    assert_ne!(server.pid().unwrap(), first);
    assert_eq!(number(&server, &["EXISTS", "a"]), 1);
    server.restart_empty().unwrap();
    assert_eq!(number(&server, &["EXISTS", "a"]), 0);
    server.command(&["SET", "b", "1"]).unwrap();
    server.kill().unwrap();
    assert_eq!(server.pid(), None);
    assert!(server.command(&["PING"]).is_err());
    server.restart().unwrap();
    assert_eq!(number(&server, &["EXISTS", "b"]), 0);
}

#[test]
fn a_paused_server_answers_when_it_is_resumed() {
    require_server();
    let server = Server::start().unwrap();
    let mut connection = server.connect().unwrap();
    server.pause().unwrap();
    connection.set_patience(Duration::from_millis(30)).unwrap();
    assert!(connection.command(&["PING"]).is_err());
    server.resume().unwrap();
    connection.set_patience(Duration::from_secs(5)).unwrap();
    assert_eq!(connection.receive().unwrap().text(), Some("PONG"));
}

#[test]
fn a_password_is_asked_for_and_part_of_the_address() {
    require_server();
    let server = Server::builder().password("a/b").start().unwrap();
    assert_eq!(
        server.url(),
        format!("redis://:a%2Fb@127.0.0.1:{}", server.port())
    );
    assert!(server.command(&["PING"]).is_ok());
    let stranger = Connection::open(server.port()).unwrap().command(&["PING"]);
    assert!(stranger.unwrap_err().to_string().starts_with("NOAUTH"));
}

#[test]
fn a_replica_follows_its_primary() {
    require_server();
    // By default a primary waits five seconds for further replicas to come.
    let primary = Server::builder()
        .option("repl-diskless-sync-delay", &["0"])
        .start()
        .unwrap();
    let replica = Server::builder().replica_of(&primary).start().unwrap();
    primary.command(&["SET", "a", "1"]).unwrap();
    let arrived = wait::until(Duration::from_secs(20), || {
        (number(&replica, &["EXISTS", "a"]) == 1).then_some(())
    });
    assert!(arrived.is_some(), "{}", replica.log());
}

#[test]
fn a_unix_socket_is_there_if_asked_for() {
    require_server();
    let server = Server::builder().unix_socket().start().unwrap();
    let path = server.unix_socket().unwrap();
    assert!(std::os::unix::net::UnixStream::connect(path).is_ok());
}

#[test]
fn a_taken_port_and_a_wrong_option_are_told() {
    require_server();
    let server = Server::start().unwrap();
    let taken = Server::builder().port(server.port()).start().unwrap_err();
    assert!(
        matches!(taken, StartError::PortTaken { port } if port == server.port()),
        "{taken}"
    );
    let wrong = Server::builder()
        .option("no-such-option", &["1"])
        .start()
        .unwrap_err();
    assert!(wrong.to_string().contains("no-such-option"), "{wrong}");
}

#[test]
fn tls_is_offered_beside_the_plain_port() {
    require_server();
    let certificates = match Certificates::generate() {
        Ok(certificates) => certificates,
        Err(error) => return crate::skip(&format!("no certificates: {error}")),
    };
    let server = match Server::builder().tls(&certificates).start() {
        Ok(server) => server,
        Err(StartError::NoTls) => return crate::skip("no TLS: the server was built without it"),
        Err(error) => panic!("{error}"),
    };
    assert!(server.tls_url().unwrap().starts_with("rediss://127.0.0.1:"));
    assert!(std::net::TcpStream::connect(("127.0.0.1", server.tls_port.unwrap())).is_ok());
}
