//! The Redis protocol, as far as requests and RESP2 replies need it.

/// What a server answers.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the kinds of RESP2 are these")]
pub enum Reply {
    /// A status, such as `OK`.
    Status(String),
    /// An error, with its code in front.
    Error(String),
    /// A number.
    Integer(i64),
    /// A string.
    Bulk(Vec<u8>),
    /// Nothing.
    Nil,
    /// Several of them.
    List(Vec<Reply>),
}

impl Reply {
    pub(crate) fn ok() -> Self {
        Self::Status("OK".to_owned())
    }

    pub(crate) fn error(text: &str) -> Self {
        Self::Error(text.to_owned())
    }

    /// Appends the reply as it travels.
    pub(crate) fn encode(&self, wire: &mut Vec<u8>) {
        match self {
            Self::Status(text) => line(wire, b'+', text.as_bytes()),
            Self::Error(text) => line(wire, b'-', text.as_bytes()),
            Self::Integer(number) => line(wire, b':', number.to_string().as_bytes()),
            Self::Bulk(text) => {
                line(wire, b'$', text.len().to_string().as_bytes());
                wire.extend_from_slice(text);
                wire.extend_from_slice(b"\r\n");
            }
            Self::Nil => line(wire, b'$', b"-1"),
            Self::List(parts) => {
                line(wire, b'*', parts.len().to_string().as_bytes());
                for part in parts {
                    part.encode(wire);
                }
            }
        }
    }
}

fn line(wire: &mut Vec<u8>, kind: u8, text: &[u8]) {
    wire.push(kind);
    wire.extend_from_slice(text);
    wire.extend_from_slice(b"\r\n");
}

/// The words of the command that `wire` is: an array of strings, and nothing behind it.
pub(crate) fn words(wire: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = wire;
    let count = length(&mut rest, b'*')?;
    let mut words = Vec::new();
    for _ in 0..count {
        let length = length(&mut rest, b'$')?;
        let (word, behind) = rest.split_at_checked(length)?;
        rest = behind.strip_prefix(b"\r\n")?;
        words.push(word);
    }
    rest.is_empty().then_some(words)
}

fn length(rest: &mut &[u8], kind: u8) -> Option<usize> {
    let behind = rest.strip_prefix(&[kind])?;
    let end = behind.iter().position(|byte| *byte == b'\r')?;
    let (digits, behind) = behind.split_at(end);
    *rest = behind.strip_prefix(b"\r\n")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_word_by_word_and_nothing_may_stand_behind_it() {
        let wire = b"*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n";
        assert_eq!(words(wire), Some(vec![&b"GET"[..], b"\r\n"]));
        for end in 0..wire.len() {
            assert_eq!(words(&wire[..end]), None, "{end}");
        }
        assert_eq!(words(&[&wire[..], b"x"].concat()), None);
    }

    #[test]
    fn a_reply_is_written_as_a_server_does() {
        let parts = vec![
            Reply::Integer(-1),
            Reply::Nil,
            Reply::Bulk(b"a".to_vec()),
            Reply::ok(),
        ];
        let mut wire = Vec::new();
        Reply::List(parts).encode(&mut wire);
        assert_eq!(wire, b"*4\r\n:-1\r\n$-1\r\n$1\r\na\r\n+OK\r\n");
    }
}
