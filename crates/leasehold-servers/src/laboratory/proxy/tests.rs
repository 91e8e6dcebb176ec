use super::*;
use crate::{Reply, Server, require_server, wait::until};

struct Setup {
    server: Server,
    proxy: Proxy,
}

fn setup() -> Setup {
    require_server();
    let server = Server::start().unwrap();
    let proxy = Proxy::start(server.port()).unwrap();
    Setup { server, proxy }
}

impl Setup {
    fn connect(&self) -> Connection {
        Connection::open(self.proxy.port()).unwrap()
    }

    /// Waits until the server has the key: the proxy does not tell when a request has arrived.
    fn has(&self, key: &str) -> bool {
        let check = || {
            let reply = self.server.command(&["EXISTS", key]).unwrap();
            (reply.integer() == Some(1)).then_some(())
        };
        wait::until(PATIENCE, check).is_some()
    }
}

const BLINK: Duration = Duration::from_millis(40);

#[test]
fn a_proxy_passes_large_and_small_in_both_directions() {
    let setup = setup();
    let mut connection = setup.connect();
    let large = "x".repeat(1_000_000);
    connection.command(&["SET", "a", &large]).unwrap();
    let reply = connection.command(&["GET", "a"]).unwrap();
    assert_eq!(reply.text().map(str::len), Some(1_000_000));
    assert_eq!(setup.proxy.accepted(), 1);
}

#[test]
fn a_delay_keeps_order_and_is_paid_once_for_many() {
    let setup = setup();
    let mut connection = setup.connect();
    setup.proxy.set(Mode::Delay(BLINK));
    let start = wait::now();
    for _ in 0..50 {
        connection.send(&["INCR", "a"]).unwrap();
    }
    for expected in 1..=50 {
        assert_eq!(connection.receive().unwrap().integer(), Some(expected));
    }
    let took = wait::now() - start;
    assert!(took >= 2 * BLINK, "{took:?}");
    // One by one it would take a hundred times the delay.
    assert!(took < 50 * BLINK, "{took:?}");
}

#[test]
fn dropped_replies_leave_the_connection_open_and_the_request_done() {
    let setup = setup();
    let mut connection = setup.connect();
    setup.proxy.set(Mode::DropReplies);
    connection.set_patience(BLINK).unwrap();
    let lost = connection.command(&["SET", "a", "1"]).unwrap_err();
    assert!(
        matches!(
            lost.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        ),
        "{lost}"
    );
    assert!(setup.has("a"));
    connection.send(&["SET", "b", "1"]).unwrap();
    assert!(setup.has("b"));
    // Answers would now be taken for those of other requests.
    setup.proxy.set(Mode::Pass);
    connection.set_patience(PATIENCE).unwrap();
    assert!(connection.receive().is_err());
    assert!(setup.connect().command(&["PING"]).is_ok());
}

#[test]
fn a_reply_may_be_lost_with_its_connection() {
    let setup = setup();
    setup.proxy.set(Mode::DropRepliesThenClose);
    let lost = setup.connect().command(&["SET", "a", "1"]).unwrap_err();
    assert!(
        matches!(
            lost.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
        ),
        "{lost}"
    );
    assert!(setup.has("a"));
}

#[test]
fn a_black_hole_gives_back_what_it_held() {
    let setup = setup();
    let mut connection = setup.connect();
    connection.command(&["PING"]).unwrap();
    setup.proxy.set(Mode::BlackHole);
    connection.set_patience(BLINK).unwrap();
    assert!(connection.command(&["SET", "a", "1"]).is_err());
    let mut late = setup.connect();
    late.send(&["SET", "b", "1"]).unwrap();
    let there = setup.server.command(&["EXISTS", "a", "b"]).unwrap();
    assert_eq!(there.integer(), Some(0));
    setup.proxy.set(Mode::Pass);
    connection.set_patience(PATIENCE).unwrap();
    assert_eq!(connection.receive().unwrap().text(), Some("OK"));
    assert_eq!(late.receive().unwrap().text(), Some("OK"));
}

#[test]
fn refused_connections_come_back_on_the_same_port_which_nobody_else_has_meanwhile() {
    let setup = setup();
    let mut connection = setup.connect();
    connection.command(&["PING"]).unwrap();
    for _ in 0..3 {
        setup.proxy.set(Mode::Refuse);
        let refused = Connection::open(setup.proxy.port()).expect_err("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, setup.proxy.port()));
        let taken = other.expect_err("it is kept").kind();
        assert_eq!(taken, io::ErrorKind::AddrInUse);
        assert!(connection.command(&["PING"]).is_err());
        setup.proxy.set(Mode::Pass);
        connection = setup.connect();
        connection.command(&["PING"]).unwrap();
    }
}

#[test]
fn a_cut_closes_what_is_open_and_nothing_else() {
    let setup = setup();
    let mut connection = setup.connect();
    connection.command(&["PING"]).unwrap();
    setup.proxy.cut();
    assert!(connection.command(&["PING"]).is_err());
    assert!(setup.connect().command(&["PING"]).is_ok());
}

#[test]
fn a_dead_server_closes_the_connection_and_a_new_one_reaches_its_successor() {
    let setup = setup();
    let mut connection = setup.connect();
    connection.command(&["PING"]).unwrap();
    setup.server.restart().unwrap();
    assert!(connection.command(&["PING"]).is_err());
    assert!(setup.connect().command(&["PING"]).is_ok());
}

#[test]
fn a_proxy_ends_in_every_mode() {
    let modes = [
        Mode::Pass,
        Mode::Delay(Duration::from_secs(3600)),
        Mode::DropReplies,
        Mode::BlackHole,
        Mode::Refuse,
    ];
    for mode in modes {
        let setup = setup();
        let mut connection = setup.connect();
        setup.proxy.set(mode);
        // Refused connections are closed already.
        drop(connection.send(&["PING"]));
        let Setup { proxy, .. } = setup;
        let port = proxy.port();
        drop(proxy);
        // A process that another test is just starting has a copy of the listener, until it runs its program.
        let refused = || Connection::open(port).is_err().then_some(());
        assert!(until(PATIENCE, refused).is_some(), "{mode:?}");
    }
}

#[test]
fn an_address_moves_to_another_server() {
    require_server();
    let servers = [Server::start().unwrap(), Server::start().unwrap()];
    let proxy = Proxy::start(servers[0].port()).unwrap();
    let mut before = Connection::open(proxy.port()).unwrap();
    before.command(&["SET", "a", "first"]).unwrap();
    proxy.retarget(servers[1].port());
    assert!(before.command(&["GET", "a"]).is_err());
    let mut after = Connection::open(proxy.port()).unwrap();
    assert_eq!(after.command(&["GET", "a"]).unwrap(), Reply::Nil);
}
