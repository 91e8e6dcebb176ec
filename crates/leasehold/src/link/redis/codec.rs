//! RESP2 and RESP3, as far as a client of scripts meets them.

use std::fmt;

/// One answer, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Nil,
    Integer(i64),
    /// A simple, bulk or verbatim string, or a number that fits no integer.
    Text(Vec<u8>),
    Error(String),
    Array(Vec<Value>),
    /// Told by the server without being asked.
    Push,
}

/// Bytes that no server of this protocol sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("what answers there does not speak the Redis protocol")
    }
}

/// The longest string and the most items that are accepted: far above what scripts answer, far below
/// what hurts.
const LONGEST: usize = 1 << 20;
const DEEPEST: usize = 8;

/// Decodes the first answer of `bytes` and says how long it is; none if it is not complete.
pub(super) fn decode(bytes: &[u8]) -> Result<Option<(Value, usize)>, Malformed> {
    let mut reader = Reader { bytes, at: 0 };
    match reader.value(0) {
        Ok(value) => Ok(Some((value, reader.at))),
        Err(Stop::Incomplete) if bytes.len() <= 2 * LONGEST => Ok(None),
        Err(Stop::Incomplete | Stop::Malformed) => Err(Malformed),
    }
}

enum Stop {
    Incomplete,
    Malformed,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        if depth > DEEPEST {
            return Err(Stop::Malformed);
        }
        let (&kind, rest) = self.line()?.split_first().ok_or(Stop::Malformed)?;
        match kind {
            b'+' | b',' | b'(' => Ok(Value::Text(rest.to_vec())),
            b'-' => Ok(Value::Error(text(rest))),
            b':' => Ok(Value::Integer(number(rest)?)),
            b'_' => Ok(Value::Nil),
            b'#' => Ok(Value::Integer(i64::from(rest == b"t"))),
            b'$' | b'=' => Ok(self
                .bulk(rest)?
                .map_or(Value::Nil, |bulk| Value::Text(bulk.to_vec()))),
            b'!' => Ok(Value::Error(text(self.bulk(rest)?.ok_or(Stop::Malformed)?))),
            b'*' | b'~' => self
                .items(rest, 1, depth)
                .map(|items| items.map_or(Value::Nil, Value::Array)),
            b'%' => self
                .items(rest, 2, depth)
                .map(|items| items.map_or(Value::Nil, Value::Array)),
            b'>' => self.items(rest, 1, depth).map(|_| Value::Push),
            // An attribute stands before the answer that it is about.
            b'|' => {
                self.items(rest, 2, depth)?;
                self.value(depth + 1)
            }
            _ => Err(Stop::Malformed),
        }
    }

    fn items(
        &mut self,
        count: &[u8],
        each: usize,
        depth: usize,
    ) -> Result<Option<Vec<Value>>, Stop> {
        let Some(count) = length(count)? else {
            return Ok(None);
        };
        (0..count * each)
            .map(|_| self.value(depth + 1))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn bulk(&mut self, count: &[u8]) -> Result<Option<&'a [u8]>, Stop> {
        let Some(count) = length(count)? else {
            return Ok(None);
        };
        let rest = &self.bytes[self.at..];
        let bulk = rest.get(..count).ok_or(Stop::Incomplete)?;
        match rest.get(count..count + 2) {
            None => Err(Stop::Incomplete),
            Some(b"\r\n") => {
                self.at += count + 2;
                Ok(Some(bulk))
            }
            Some(_) => Err(Stop::Malformed),
        }
    }

    /// The bytes up to the next line end, which they must have before long.
    fn line(&mut self) -> Result<&'a [u8], Stop> {
        const LONGEST_LINE: usize = 64 * 1024;
        let rest = &self.bytes[self.at..];
        // A foreign protocol is told by its first byte, before its line ends.
        if rest
            .first()
            .is_some_and(|kind| !b"+-:_#$=!*~%>|,(".contains(kind))
        {
            return Err(Stop::Malformed);
        }
        match rest.iter().position(|byte| *byte == b'\r') {
            None if rest.len() > LONGEST_LINE => Err(Stop::Malformed),
            None => Err(Stop::Incomplete),
            Some(end) => match rest.get(end + 1) {
                None => Err(Stop::Incomplete),
                Some(b'\n') => {
                    self.at += end + 2;
                    Ok(&rest[..end])
                }
                Some(_) => Err(Stop::Malformed),
            },
        }
    }
}

/// A length; -1 stands for nothing.
fn length(digits: &[u8]) -> Result<Option<usize>, Stop> {
    match number(digits)? {
        -1 => Ok(None),
        count => match usize::try_from(count) {
            Ok(count) if count <= LONGEST => Ok(Some(count)),
            _ => Err(Stop::Malformed),
        },
    }
}

fn number(digits: &[u8]) -> Result<i64, Stop> {
    std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or(Stop::Malformed)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command as its words.
pub(super) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let length: usize = words.iter().map(|word| word.len() + 16).sum();
    let mut bytes = Vec::with_capacity(length + 16);
    prefix(&mut bytes, b'*', words.len());
    for word in words {
        prefix(&mut bytes, b'$', word.len());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn prefix(bytes: &mut Vec<u8>, kind: u8, count: usize) {
    bytes.push(kind);
    bytes.extend_from_slice(count.to_string().as_bytes());
    bytes.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
