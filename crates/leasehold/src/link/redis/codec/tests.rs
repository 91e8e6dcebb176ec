use super::*;
use proptest::prelude::*;

/// A frame that owns its bytes, to be written down and read back.
#[derive(Clone, Debug)]
enum Sample {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    LongError(Vec<u8>),
    Verbatim(Vec<u8>),
    Null2,
    NullList2,
    Null3,
    Double,
    List(Vec<Sample>),
    Map(Vec<(Sample, Sample)>),
    Push(Vec<Sample>),
    Attributed(Box<Sample>, Box<Sample>),
}

impl Sample {
    fn write(&self, wire: &mut Vec<u8>) {
        let line = |wire: &mut Vec<u8>, text: String| {
            wire.extend_from_slice(text.as_bytes());
            wire.extend_from_slice(b"\r\n");
        };
        let bulk = |wire: &mut Vec<u8>, kind: char, text: &[u8]| {
            line(wire, format!("{kind}{}", text.len()));
            wire.extend_from_slice(text);
            wire.extend_from_slice(b"\r\n");
        };
        match self {
            Self::Simple(text) => line(wire, format!("+{text}")),
            Self::Error(text) => line(wire, format!("-{text}")),
            Self::Integer(number) => line(wire, format!(":{number}")),
            Self::Bulk(text) => bulk(wire, '$', text),
            Self::LongError(text) => bulk(wire, '!', text),
            Self::Verbatim(text) => bulk(wire, '=', &[b"txt:", &text[..]].concat()),
            Self::Null2 => line(wire, "$-1".into()),
            Self::NullList2 => line(wire, "*-1".into()),
            Self::Null3 => line(wire, "_".into()),
            Self::Double => line(wire, ",1.5".into()),
            Self::List(samples) => {
                line(wire, format!("*{}", samples.len()));
                samples.iter().for_each(|sample| sample.write(wire));
            }
            Self::Push(samples) => {
                line(wire, format!(">{}", samples.len()));
                samples.iter().for_each(|sample| sample.write(wire));
            }
            Self::Map(pairs) => {
                line(wire, format!("%{}", pairs.len()));
                for (key, value) in pairs {
                    key.write(wire);
                    value.write(wire);
                }
            }
            Self::Attributed(attribute, sample) => {
                line(wire, "|1".into());
                line(wire, "+key".into());
                attribute.write(wire);
                sample.write(wire);
            }
        }
    }

    fn frame(&self) -> Frame<'_> {
        match self {
            Self::Simple(text) => Frame::Text(text.as_bytes()),
            Self::Error(text) => Frame::Error(text.as_bytes()),
            Self::Integer(number) => Frame::Integer(*number),
            Self::Bulk(text) | Self::Verbatim(text) => Frame::Text(text),
            Self::LongError(text) => Frame::Error(text),
            Self::Null2 | Self::NullList2 | Self::Null3 => Frame::Null,
            Self::Double => Frame::Other,
            Self::List(samples) => Frame::List(samples.iter().map(Self::frame).collect()),
            Self::Push(samples) => Frame::Push(samples.iter().map(Self::frame).collect()),
            Self::Map(pairs) => Frame::List(
                pairs
                    .iter()
                    .flat_map(|(key, value)| [key.frame(), value.frame()])
                    .collect(),
            ),
            Self::Attributed(_, sample) => sample.frame(),
        }
    }
}

fn sample() -> impl Strategy<Value = Sample> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..20);
    let leaf = prop_oneof![
        "[ -~]{0,12}".prop_map(Sample::Simple),
        "[A-Z]{3,8} [ -~]{0,12}".prop_map(Sample::Error),
        any::<i64>().prop_map(Sample::Integer),
        bytes().prop_map(Sample::Bulk),
        bytes().prop_map(Sample::LongError),
        bytes().prop_map(Sample::Verbatim),
        Just(Sample::Null2),
        Just(Sample::NullList2),
        Just(Sample::Null3),
        Just(Sample::Double),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let list = || proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            list().prop_map(Sample::List),
            list().prop_map(Sample::Push),
            proptest::collection::vec((inner.clone(), inner.clone()), 0..3).prop_map(Sample::Map),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| Sample::Attributed(Box::new(a), Box::new(b))),
        ]
    })
}

proptest! {
    #[test]
    fn a_frame_is_the_same_wherever_it_is_split(
        samples in proptest::collection::vec(sample(), 1..4),
        mut cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut wire = Vec::new();
        samples.iter().for_each(|sample| sample.write(&mut wire));
        cuts.sort_by_key(|cut| cut.index(wire.len()));
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(wire.len())).collect();
        ends.push(wire.len());

        let (mut received, mut start, mut left) = (ReceiveBuffer::default(), 0, samples.iter());
        for end in ends {
            received.space()[..end - start].copy_from_slice(&wire[start..end]);
            received.filled(end - start);
            start = end;
            while let Some(frame) = received.take().expect("well formed") {
                prop_assert_eq!(Some(frame), left.next().map(Sample::frame));
            }
        }
        prop_assert!(left.next().is_none());
    }

    #[test]
    fn the_beginning_of_a_frame_is_incomplete_not_wrong(sample in sample()) {
        let mut wire = Vec::new();
        sample.write(&mut wire);
        for end in 0..wire.len() {
            prop_assert_eq!(decode(&wire[..end]), Ok(None), "{} of {}", end, wire.len());
        }
        prop_assert_eq!(decode(&wire), Ok(Some((sample.frame(), wire.len()))));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Some((_, length))) = decode(&bytes) {
            prop_assert!(length <= bytes.len());
        }
    }

    #[test]
    fn no_bytes_that_look_like_the_protocol_panic(text in "([-+:$*_#,(!=%~>|][-0-9]{0,3}\r\n){0,30}") {
        let _ = decode(text.as_bytes());
    }
}

#[test]
fn other_speakers_are_known_by_their_first_byte() {
    assert_eq!(decode(b"H"), Err(Malformed::Foreign));
    assert_eq!(decode(b"\x15\x03\x01"), Err(Malformed::Tls));
    assert_eq!(decode(b"+OK\rX"), Err(Malformed::Foreign));
    assert_eq!(decode(b":1x\r\n"), Err(Malformed::Foreign));
    assert_eq!(decode(b"$-2\r\n"), Err(Malformed::Foreign));
}

#[test]
fn sizes_and_depth_are_bounded_before_the_bytes_arrive() {
    assert_eq!(decode(b"$1048576\r\n"), Ok(None));
    assert_eq!(decode(b"$1048577\r\n"), Err(Malformed::TooLarge));
    assert_eq!(
        decode(b"$9223372036854775807\r\n"),
        Err(Malformed::TooLarge)
    );
    assert_eq!(
        decode(b"*9223372036854775807\r\n"),
        Err(Malformed::TooLarge)
    );
    assert_eq!(decode("*1\r\n".repeat(8).as_bytes()), Ok(None));
    assert_eq!(
        decode("*1\r\n".repeat(9).as_bytes()),
        Err(Malformed::TooDeep)
    );
    assert_eq!(
        decode("|1\r\n+a\r\n+b\r\n".repeat(99).as_bytes()),
        Err(Malformed::TooDeep)
    );
    assert_eq!(decode(&[b'+'; 70_000]), Err(Malformed::TooLarge));
    let mut list = b"*60000\r\n".to_vec();
    encode(&mut list, &[&vec![b'x'; LARGEST_BULK]]);
    assert_eq!(decode(&list), Ok(None), "the rest is still to come");
    encode(&mut list, &[&[b'x'; 64 * 1024]]);
    assert_eq!(decode(&list), Err(Malformed::TooLarge));
}

#[test]
fn a_frame_as_large_as_its_limits_is_read_through() {
    let mut wire = Vec::new();
    encode(&mut wire, &[&vec![b'x'; LARGEST_BULK]]);
    let mut received = ReceiveBuffer::default();
    let mut rest = &wire[..];
    while !rest.is_empty() {
        assert_eq!(received.take(), Ok(None));
        let space = received.space();
        let count = space.len().min(rest.len());
        space[..count].copy_from_slice(&rest[..count]);
        received.filled(count);
        rest = &rest[count..];
    }
    assert!(matches!(received.take(), Ok(Some(Frame::List(parts))) if parts.len() == 1));
}

#[test]
fn a_number_is_a_part_like_any_other() {
    for number in [0, 7, 10, 99, 100, 10_000, 9_007_199_254_740_991, u64::MAX] {
        let (mut at_once, mut as_text) = (Vec::new(), Vec::new());
        encode_number(&mut at_once, number);
        encode_part(&mut as_text, number.to_string().as_bytes());
        encode_marked(&mut at_once, Some(b'f'), number);
        encode_part(&mut as_text, format!("f{number}").as_bytes());
        assert_eq!(at_once, as_text, "{number}");
    }
    for length in [0, 9, 10, 99, 100, 255, 256, 1024] {
        let mut wire = Vec::new();
        encode_part(&mut wire, &vec![b'x'; length]);
        let expected = format!("${length}\r\n{}\r\n", "x".repeat(length));
        assert_eq!(wire, expected.as_bytes());
    }
}

#[test]
fn the_number_at_the_front_is_read_as_people_would() {
    let ends = [
        "",
        " ",
        "x",
        "\r\n",
        "/",
        ":",
        "*1",
        "12",
        "+7",
        "\u{e9}",
        "\u{7f}99999999",
    ];
    let numbers = [
        "",
        "0",
        "7",
        "007",
        "99",
        "1234567",
        "12345678",
        "123456789",
        "99999999",
        "1700000000000001",
        "18446744073709551615",
        "18446744073709551616",
        "000000018446744073709551615",
        "99999999999999999999999999",
    ];
    for (number, end) in numbers.into_iter().flat_map(|it| ends.map(|end| (it, end))) {
        let text = [number, end].concat();
        let length = text.bytes().take_while(u8::is_ascii_digit).count();
        let expected = text[..length].parse::<u64>().ok();
        let expected = expected.map(|number| (number, &text.as_bytes()[length..]));
        assert_eq!(digits(text.as_bytes()), expected, "{text:?}");
    }
    // Whatever stands among digits is none.
    for (place, byte) in (0..8).flat_map(|place| (0..=u8::MAX).map(move |byte| (place, byte))) {
        let mut text = *b"12345678";
        text[place] = byte;
        let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let read = std::str::from_utf8(&text[..length])
            .unwrap()
            .parse::<u64>()
            .ok();
        assert_eq!(digits(&text).map(|(number, _)| number), read, "{text:?}");
    }
}

#[test]
fn numbers_are_written_as_people_would() {
    let powers = (0..20).map(|power| 10_u64.pow(power));
    let near = powers.flat_map(|power| [power - 1, power, power + 1, 7 * (power / 9)]);
    for number in near.chain(0..1_000).chain([u64::MAX]) {
        let mut wire = Vec::new();
        encode_number(&mut wire, number);
        let text = number.to_string();
        let expected = format!("${}\r\n{text}\r\n", text.len());
        assert_eq!(String::from_utf8(wire).unwrap(), expected);
    }
}
