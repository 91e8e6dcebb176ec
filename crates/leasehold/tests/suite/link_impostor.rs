//! What the link makes of something that says what no server says, or not when a server would.

use crate::support::driven::{Driven, MINUTE, acquire, fault, impostor, overheard, release};
use leasehold::link::LinkEvent;
use leasehold_core::{FaultKind, Vote};
use std::time::Duration;

#[test]
fn what_is_no_such_server_is_told_apart() {
    let mut link = Driven::new(&impostor(&["HTTP/1.1 400 Bad Request\r\n\r\n"]));
    let sent = link.send(&acquire("r", "us", MINUTE));
    let (answered, vote) = link.reply();
    assert_eq!(
        answered, sent,
        "what waited for the first connection is told how it ended"
    );
    let (kind, text) = fault(&vote);
    assert_eq!(kind, FaultKind::Down);
    assert!(text.contains("does not speak the Redis protocol"), "{text}");
}

#[test]
fn a_server_that_is_loading_is_down_in_its_own_words() {
    let loading = "LOADING Redis is loading the dataset in memory";
    let busy = impostor(&[
        "%1\r\n+server\r\n+redis\r\n+OK\r\n+OK\r\n-LOADING Redis is loading the dataset in memory\r\n",
    ]);
    assert_eq!(Driven::new(&busy).down(), loading);
}

/// What a server says to an introduction that it likes, and what it tells of itself then: all in one write.
const GREETING: &str = "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n*0\r\n\
                        *5\r\n$0\r\n\r\n$1\r\nc\r\n$1\r\nt\r\n:0\r\n_\r\n";

/// Two grants in one write.
const GRANTED_TWICE: &str = "$7\r\ngranted\r\n$7\r\ngranted\r\n";

/// The reply to a call of two votes.
const GRANTED_BOTH: &str = "*2\r\n$7\r\ngranted\r\n$7\r\ngranted\r\n";

#[test]
fn what_was_given_leaves_before_the_next_answer_is_taken() {
    let (address, heard) = overheard(&[GREETING, GRANTED_BOTH, ""]);
    let mut link = Driven::up(&address);
    for resource in ["a", "b"] {
        link.send(&acquire(resource, "us", MINUTE));
    }
    assert_eq!(link.reply(), (1, Vote::GRANTED));
    link.send(&release("a", "us"));
    assert_eq!(link.reply(), (2, Vote::GRANTED));
    // The link is not polled any more.
    let says = b"$1\r\na\r\n$2\r\nus\r\n";
    let is_release = |bytes: Vec<u8>| bytes.windows(says.len()).any(|part| part == says);
    let patience = Duration::from_secs(10);
    let mut reads = std::iter::from_fn(|| heard.recv_timeout(patience).ok());
    assert!(
        reads.any(is_release),
        "the node has nothing to do meanwhile"
    );
}

#[test]
fn a_hint_that_comes_with_the_greeting_is_told() {
    let mut link = Driven::up(&impostor(&[
        "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n*0\r\n\
         *5\r\n$0\r\n\r\n$1\r\nc\r\n$1\r\nt\r\n:0\r\n_\r\n\
         >2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n",
    ]));
    let told = loop {
        match link.event() {
            LinkEvent::Changed(Some(resource)) => break resource,
            LinkEvent::Changed(None) => {}
            other => panic!("a hint was expected: {other:?}"),
        }
    };
    assert_eq!(told.as_str(), "a");
}

#[test]
fn an_answer_that_no_script_gives_ends_the_connection() {
    let mut link = Driven::up(&impostor(&[GREETING, ":7\r\n"]));
    link.send(&acquire("r", "us", MINUTE));
    link.send(&release("r", "us"));
    for expected in [1, 2] {
        let (answered, vote) = link.reply();
        assert_eq!(
            (answered, fault(&vote).0),
            (expected, FaultKind::Disconnected)
        );
    }
    assert_eq!(
        link.down(),
        "the node gave an answer that none of our scripts gives"
    );
}

#[test]
fn an_answer_that_was_not_asked_for_ends_the_connection() {
    let mut link = Driven::up(&impostor(&[GREETING, GRANTED_TWICE]));
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    assert_eq!(link.down(), "the node answered what it was not asked");
}

#[test]
fn a_server_that_repeats_the_password_does_not_make_us_tell_it() {
    let old = impostor(&[
        "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'u' 'hush' \r\n\
         -NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n\
         -NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n\
         -NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n\
         -NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n\
         -NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n\
         -NOAUTH Authentication required.\r\n",
        "-ERR hush is no password\r\n",
    ]);
    let mut link = Driven::new(&format!("redis://u:hush@{old}"));
    assert_eq!(link.down(), "authentication failed: ERR *** is no password");
}
