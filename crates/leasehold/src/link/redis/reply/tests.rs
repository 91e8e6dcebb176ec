use super::*;
use leasehold_core::{PermitCount, TakenPermits};

fn told(vote: Vote, micros: u64) -> Option<Reply> {
    let time = Some(Duration::from_micros(micros));
    let verdict = Verdict::Vote(vote);
    Some(Reply { verdict, time })
}

fn refused(holder: Option<&[u8]>, remaining_ms: Option<u64>) -> Option<Reply> {
    Some(untimed(Verdict::Vote(Vote::Refused(Refusal {
        holder: holder.and_then(Owner::from_bytes),
        remaining: remaining_ms.map(Duration::from_millis),
        queued: None,
        permits: None,
    }))))
}

#[test]
fn a_refusal_tells_holder_and_remaining_time_as_far_as_there_are_any() {
    for (holder, pttl_ms, expected) in [
        (Frame::Text(b"me"), 70, refused(Some(b"me"), Some(70))),
        (Frame::Text(b"me"), -1, refused(Some(b"me"), None)),
        (Frame::Text(b""), 70, refused(None, Some(70))),
        (Frame::Text(&[b'x'; 256]), 0, refused(None, Some(0))),
        (Frame::Null, -2, refused(None, None)),
        (Frame::Integer(1), 70, None),
    ] {
        let reply = Frame::List(vec![Frame::Integer(0), holder, Frame::Integer(pttl_ms)]);
        assert_eq!(of_script(&reply), expected, "{reply:?}");
    }
}

#[test]
fn a_grant_tells_its_counter_to_the_last_digit_and_the_time() {
    let grant = |behind: &str| of_script(&Frame::Text(format!("granted{behind}").as_bytes()));
    let counter = |number| Vote::Granted {
        counter: FencingToken::new(number),
    };
    for (behind, expected) in [
        (" 1 0 5", told(counter(1), 5)),
        (
            " 9007199254740991 1 6",
            told(counter(9_007_199_254_740_991), 1_000_006),
        ),
        (" - 0 5", told(Vote::GRANTED, 5)),
        ("", Some(untimed(Verdict::Vote(Vote::GRANTED)))),
    ] {
        assert_eq!(grant(behind), expected, "{behind}");
    }
    for counter in ["0", "9007199254740992", "1.79e+15", "-1", "", "--"] {
        assert_eq!(grant(&format!(" {counter} 0 5")), None, "{counter}");
    }
    for wrong in [
        " ",
        "!",
        " 1",
        " 1 0",
        " 1 0 5 ",
        " 1 0 5 6",
        " 1 -1 5",
        " 1 0 x",
        " 1 18446744073709551615 1000000",
    ] {
        assert_eq!(grant(wrong), None, "{wrong:?}");
    }
}

#[test]
fn a_refusal_of_a_fair_lock_tells_ticket_and_place() {
    let place = |digits: &'static [u8], ahead| {
        let place = [Frame::Text(digits), Frame::Integer(ahead)];
        [&[Frame::Integer(5)][..], &place].concat()
    };
    let free = [Frame::Integer(2), Frame::Integer(900)];
    let held = [Frame::Integer(0), Frame::Text(b"me"), Frame::Integer(900)];
    let told_of = |head: &[Frame<'static>], digits, ahead| {
        of_script(&Frame::List([head, &place(digits, ahead)].concat()))
    };
    for (head, holder, barrier) in [
        (&free[..], None, Barrier::Queue),
        (&held[..], Owner::from_bytes(b"me"), Barrier::Key),
    ] {
        let refusal = Refusal {
            holder,
            remaining: Some(Duration::from_millis(900)),
            queued: Some(Queued {
                ticket: Ticket::LAST,
                ahead: 3,
                barrier,
            }),
            permits: None,
        };
        let expected = told(Vote::Refused(refusal), 5);
        assert_eq!(told_of(head, b"9007199254740991", 3), expected);
        assert_eq!(told_of(head, b"9007199254740992", 3), None);
        assert_eq!(told_of(head, b"1", -1), None);
    }
}

#[test]
fn a_refusal_of_a_permit_tells_which_slots_are_taken_and_where_the_caller_stands() {
    let ms = Duration::from_millis;
    let refusal = |queued| Refusal {
        holder: None,
        remaining: Some(ms(70)),
        queued,
        permits: Some(Box::new(TakenPermits {
            of: PermitCount::new(256).expect("in range"),
            slots: vec![(0, ms(1_500)), (7, ms(70)), (255, ms(900))],
        })),
    };
    let said = [
        Frame::Integer(4),
        Frame::Integer(256),
        Frame::Text(b"7 70 255 900 0 1500"),
        Frame::Integer(5),
    ];
    let alone = of_script(&Frame::List(said.to_vec()));
    assert_eq!(alone, told(Vote::Refused(refusal(None)), 5));
    let queued = Queued {
        ticket: Ticket::LAST,
        ahead: 2,
        barrier: Barrier::Key,
    };
    let place = [Frame::Text(b"9007199254740991"), Frame::Integer(2)];
    let in_queue = of_script(&Frame::List([&said[..], &place].concat()));
    assert_eq!(in_queue, told(Vote::Refused(refusal(Some(queued))), 5));
}

#[test]
fn what_no_script_says_of_permits_is_no_vote() {
    let said = |of, slots: Frame<'static>| {
        let parts = vec![Frame::Integer(4), Frame::Integer(of), slots];
        let time = vec![Frame::Integer(5)];
        of_script(&Frame::List([parts, time].concat()))
    };
    assert!(said(2, Frame::Text(b"1 70")).is_some());
    for of in [i64::MIN, -1, 0, 1, 257, 65_538, i64::MAX] {
        assert_eq!(said(of, Frame::Text(b"1 70")), None, "{of}");
    }
    for slots in [
        "",
        " ",
        "1",
        "1 ",
        "1 70 ",
        "1 70 0",
        "2 70",
        "-1 70",
        "1 -70",
        "a 70",
        "1 70 1 80",
        "1  70",
        "1 70.5",
    ] {
        assert_eq!(said(2, Frame::Text(slots.as_bytes())), None, "{slots:?}");
    }
    assert_eq!(said(2, Frame::Null), None);
    assert_eq!(said(2, Frame::Integer(1)), None);
    assert_eq!(of_script(&Frame::List(vec![Frame::Integer(4)])), None);
}

#[test]
fn an_abstention_tells_why_and_for_how_long() {
    let reply = Frame::List(vec![
        Frame::Integer(-1),
        Frame::Text(b"changed"),
        Frame::Integer(1_500),
        Frame::Integer(7),
    ]);
    let abstention = Abstention {
        cause: AbstentionCause::Changed,
        left: Duration::from_millis(1_500),
    };
    let vote = Vote::Unknown(Fault::abstained(&abstention));
    assert_eq!(of_script(&reply), told(vote, 7));
}

#[test]
fn a_disagreement_tells_what_the_others_agreed_on() {
    let reply = Frame::List(vec![
        Frame::Integer(-2),
        Frame::Text(b"0123"),
        Frame::Text(b"version=1 count=5"),
        Frame::Integer(7),
    ]);
    let Some(Reply {
        verdict: Verdict::Vote(Vote::Unknown(fault)),
        ..
    }) = of_script(&reply)
    else {
        panic!("no fault");
    };
    assert_eq!(fault.kind(), FaultKind::Disagrees);
    assert!(fault.to_string().ends_with(": version=1 count=5"));
}

#[test]
fn a_server_that_has_voted_under_another_address_says_so() {
    let twin = || Vote::Unknown(Fault::same_node());
    let timed = vec![Frame::Integer(-3), Frame::Integer(7)];
    assert_eq!(of_script(&Frame::List(timed)), told(twin(), 7));
    let untold = Some(untimed(Verdict::Vote(twin())));
    assert_eq!(of_script(&Frame::List(vec![Frame::Integer(-3)])), untold);
}

#[test]
fn the_reply_to_a_plain_set_is_ok_or_nothing() {
    let voted = |vote| Some(untimed(Verdict::Vote(vote)));
    assert_eq!(of_set(&Frame::Text(b"OK")), voted(Vote::GRANTED));
    assert_eq!(
        of_set(&Frame::Null),
        voted(Vote::Refused(Refusal::default()))
    );
    assert_eq!(of_set(&Frame::Integer(1)), None);
}

#[test]
fn a_reply_that_no_script_of_ours_gives_is_no_vote() {
    for reply in [
        Frame::Integer(0),
        Frame::Integer(1),
        Frame::List(vec![Frame::Integer(-1), Frame::Null, Frame::Integer(-5)]),
        Frame::Null,
        Frame::Text(b"OK"),
        Frame::Text(b"granted\xff"),
        Frame::Other,
        Frame::List(vec![]),
        Frame::List(vec![Frame::Integer(1)]),
    ] {
        assert_eq!(of_script(&reply), None, "{reply:?}");
    }
}

#[test]
fn only_an_error_of_which_it_is_certain_says_that_nothing_happened() {
    for (error, certain) in [
        (
            "OOM command not allowed when used memory > 'maxmemory'.",
            true,
        ),
        ("MOVED 1 h:1", true),
        ("LOADING", true),
        ("ERR ACL failure in script: no permissions", true),
        (
            "ERR The user executing the script can't run this command or subcommand",
            true,
        ),
        ("ERR server closed connection", false),
        ("ERR", false),
        ("OOMPH", false),
        ("", false),
    ] {
        match of_error(&Frame::Error(error.as_bytes())) {
            Some(Verdict::Vote(Vote::Unknown(fault))) => {
                assert_eq!(fault.kind(), FaultKind::Rejected);
                assert!(certain, "{error}");
            }
            Some(Verdict::Unclear(words)) => {
                assert_eq!(words, error);
                assert!(!certain, "{error}");
            }
            other => panic!("{error}: {other:?}"),
        }
    }
}

#[test]
fn an_error_is_kept_in_the_nodes_words() {
    let error =
        b"READONLY You can't write against a read only replica. script: 3070a0, on @user_script:6.";
    let Some(Verdict::Vote(Vote::Unknown(fault))) = of_error(&Frame::Error(error)) else {
        panic!("not unknown");
    };
    assert_eq!(fault.kind(), FaultKind::Rejected);
    assert_eq!(
        fault.to_string(),
        "READONLY You can't write against a read only replica."
    );
    assert_eq!(words(b"ERR a\r\nb\xff"), "ERR a  b\u{fffd}");
    assert_eq!(words(&[b'x'; 999]).chars().count(), LONGEST_WORDS + 1);
}
