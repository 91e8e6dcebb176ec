use super::*;
use proptest::prelude::*;

fn whole(bytes: &[u8]) -> Value {
    let (value, length) = decode(bytes).expect("well formed").expect("complete");
    assert_eq!(length, bytes.len());
    value
}

#[test]
fn answers_of_both_protocols_are_understood() {
    let text = |bytes: &str| Value::Text(bytes.as_bytes().to_vec());
    for (bytes, value) in [
        ("+OK\r\n", text("OK")),
        ("-OOM command\r\n", Value::Error("OOM command".into())),
        (":-2\r\n", Value::Integer(-2)),
        ("$5\r\nowner\r\n", text("owner")),
        ("$0\r\n\r\n", text("")),
        ("$-1\r\n", Value::Nil),
        ("*-1\r\n", Value::Nil),
        ("_\r\n", Value::Nil),
        ("#t\r\n", Value::Integer(1)),
        ("=7\r\ntxt:abc\r\n", text("txt:abc")),
        ("!3\r\nERR\r\n", Value::Error("ERR".into())),
        (",1.5\r\n", text("1.5")),
        (
            "*2\r\n:5\r\n$-1\r\n",
            Value::Array(vec![Value::Integer(5), Value::Nil]),
        ),
        (
            "%1\r\n+a\r\n:1\r\n",
            Value::Array(vec![text("a"), Value::Integer(1)]),
        ),
        (">2\r\n+invalidate\r\n*1\r\n$1\r\nr\r\n", Value::Push),
        ("|1\r\n+ttl\r\n:3\r\n:7\r\n", Value::Integer(7)),
    ] {
        assert_eq!(whole(bytes.as_bytes()), value, "{bytes:?}");
    }
}

#[test]
fn what_is_not_the_protocol_is_told_at_its_first_byte() {
    for bytes in [
        "H",
        "HTTP/1.1 400 Bad Request\r\n",
        "\0",
        "*x\r\n",
        "$99999999\r\n",
        ":1\rx",
    ] {
        assert_eq!(decode(bytes.as_bytes()), Err(Malformed), "{bytes:?}");
    }
    let nested = "*1\r\n".repeat(20);
    assert_eq!(decode(nested.as_bytes()), Err(Malformed));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<i64>().prop_map(Value::Integer),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Text),
        "[A-Z]{1,8} [a-z ]{0,20}".prop_map(Value::Error),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(Value::Array)
    })
}

fn written(value: &Value) -> Vec<u8> {
    match value {
        Value::Nil => b"_\r\n".to_vec(),
        Value::Integer(number) => format!(":{number}\r\n").into_bytes(),
        Value::Error(error) => format!("-{error}\r\n").into_bytes(),
        Value::Text(bytes) => [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat(),
        Value::Array(items) => {
            let items: Vec<u8> = items.iter().flat_map(written).collect();
            let count = match value {
                Value::Array(items) => items.len(),
                _ => 0,
            };
            [format!("*{count}\r\n").as_bytes(), &items].concat()
        }
        Value::Push => unreachable!("the strategy makes none"),
    }
}

proptest! {
    #[test]
    fn an_answer_cut_anywhere_is_incomplete_and_whole_it_is_itself(value in value()) {
        let bytes = written(&value);
        for cut in 0..bytes.len() {
            prop_assert_eq!(decode(&bytes[..cut]), Ok(None), "cut at {}", cut);
        }
        prop_assert_eq!(decode(&bytes), Ok(Some((value, bytes.len()))));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(decode(&bytes));
    }

    #[test]
    fn almost_right_bytes_never_panic(bytes in "[*$:%>|_+-]{1,3}[0-9]{0,3}(\r\n){0,1}[*$:a-z0-9\r\n]{0,30}") {
        drop(decode(bytes.as_bytes()));
    }
}
