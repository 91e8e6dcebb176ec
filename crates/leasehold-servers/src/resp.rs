//! A small blocking client, so that tests need no other.

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

/// A connection to a server on loopback. Waits for an answer for five seconds at most.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to a port of 127.0.0.1: a server's or a proxy's.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn open(port: u16) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Changes how long an answer is waited for.
    ///
    /// # Errors
    /// If the time is zero.
    pub fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(patience))
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// If the connection broke or the answer did not come in time. An error that the server answers
    /// comes back as an error of kind [`Other`](io::ErrorKind::Other) with the server's words.
    pub fn command(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<Reply> {
        self.send(words)?;
        self.receive()
    }

    /// Sends a command without waiting for its answer.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn send(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)
    }

    /// Waits for the next answer.
    ///
    /// # Errors
    /// As [`command`](Self::command).
    pub fn receive(&mut self) -> io::Result<Reply> {
        read_reply(&mut self.stream)?.map_err(io::Error::other)
    }
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "RESP2 has these and no more")]
pub enum Reply {
    /// Nothing is there.
    Nil,
    /// A number.
    Integer(i64),
    /// A text, such as `OK` or a value. Bytes that are no UTF-8 are replaced.
    Text(String),
    /// Several answers.
    Array(Vec<Reply>),
}

impl Reply {
    /// The number, if it is one.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Nil | Self::Text(_) | Self::Array(_) => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Nil | Self::Integer(_) | Self::Array(_) => None,
        }
    }

    /// The texts of an array, such as the answer to `KEYS *`. Empty if it is no array.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::Array(items) => items.iter().filter_map(Self::text).collect(),
            Self::Nil | Self::Integer(_) | Self::Text(_) => Vec::new(),
        }
    }
}

/// Reads an answer. The inner error is one that the server answered.
fn read_reply(stream: &mut impl BufRead) -> io::Result<Result<Reply, String>> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let Some(line) = line.strip_suffix("\r\n") else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let (kind, rest) = line.split_at_checked(1).ok_or_else(|| garbage(line))?;
    let number = || rest.parse::<i64>().map_err(|_| garbage(line));
    Ok(Ok(match kind {
        "+" => Reply::Text(rest.to_owned()),
        "-" => return Ok(Err(rest.to_owned())),
        ":" => Reply::Integer(number()?),
        "$" => match usize::try_from(number()?) {
            Err(_) => Reply::Nil,
            Ok(length) => Reply::Text(read_text(stream, length)?),
        },
        "*" => match usize::try_from(number()?) {
            Err(_) => Reply::Nil,
            Ok(length) => {
                let mut items = Vec::new();
                for _ in 0..length {
                    // An error inside an array is a text like the others: the rest must still be read.
                    items.push(read_reply(stream)?.unwrap_or_else(Reply::Text));
                }
                Reply::Array(items)
            }
        },
        _ => return Err(garbage(line)),
    }))
}

fn read_text(stream: &mut impl BufRead, length: usize) -> io::Result<String> {
    let mut bytes = vec![0; length + 2];
    stream.read_exact(&mut bytes)?;
    bytes.truncate(length);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn garbage(line: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not an answer of Redis: {line:?}"),
    )
}

const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Read, net::TcpListener};

    #[test]
    fn every_kind_of_answer_is_read() {
        let mut wire: &[u8] =
            b"+OK\r\n:-2\r\n$-1\r\n$3\r\na\r\n\r\n*2\r\n$1\r\nx\r\n-ERR y\r\n-NOAUTH z\r\n";
        let mut next = || read_reply(&mut wire).unwrap();
        assert_eq!(next().unwrap().text(), Some("OK"));
        assert_eq!(next().unwrap().integer(), Some(-2));
        assert_eq!(next().unwrap(), Reply::Nil);
        assert_eq!(next().unwrap().text(), Some("a\r\n"));
        assert_eq!(next().unwrap().texts(), ["x", "ERR y"]);
        assert_eq!(next().unwrap_err(), "NOAUTH z");
    }

    #[test]
    fn words_may_be_of_any_bytes() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut connection = Connection::open(port).unwrap();
        connection.send(&[&b"ECHO"[..], &[0xff, 0]]).unwrap();
        let sent = b"*2\r\n$4\r\nECHO\r\n$2\r\n\xff\0\r\n";
        let mut bytes = [0; 22];
        listener.accept().unwrap().0.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, sent);
    }

    #[test]
    fn a_broken_answer_is_an_error_and_no_panic() {
        for mut wire in ["", "+OK", "\r\n", "$9\r\na\r\n", ":x\r\n", "?\r\n"].map(str::as_bytes) {
            assert!(read_reply(&mut wire).is_err());
        }
    }
}
