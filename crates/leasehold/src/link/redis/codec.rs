//! The Redis protocol (RESP2 and RESP3), read in place.
//!
//! What a node sends is input, so nothing here trusts a length that it claims: sizes and depth are
//! bounded, and no memory is set aside before its bytes have arrived.

use std::{fmt, ops::Range};

/// One reply or push, borrowed from the bytes it came in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Frame<'a> {
    /// A string of any kind.
    Text(&'a [u8]),
    /// An error, with its code in front.
    Error(&'a [u8]),
    Integer(i64),
    Null,
    /// Array, set or map (a map as keys and values in turn).
    List(Vec<Frame<'a>>),
    /// Told without having been asked for.
    Push(Vec<Frame<'a>>),
    /// A double, boolean or big number: nothing that we ask for answers with one.
    Other,
}

/// The first frame of `bytes` and how many bytes it has; none if it is not complete yet.
pub(super) fn decode(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, Malformed> {
    let mut cursor = Cursor { bytes, at: 0 };
    match cursor.frame(0) {
        Ok(frame) => Ok(Some((frame, cursor.at))),
        Err(Stop::Malformed(malformed)) => Err(malformed),
        Err(Stop::Incomplete) if bytes.len() > LARGEST_FRAME => Err(Malformed::TooLarge),
        Err(Stop::Incomplete) => Ok(None),
    }
}

/// Appends a command to `wire`.
pub(super) fn encode(wire: &mut Vec<u8>, parts: &[&[u8]]) {
    encode_with(wire, parts, 0);
}

/// Appends a command to which `more` parts are added later.
pub(super) fn encode_with(wire: &mut Vec<u8>, parts: &[&[u8]], more: usize) {
    header(wire, b'*', parts.len() + more);
    for part in parts {
        encode_part(wire, part);
    }
}

/// Appends one part of a command.
pub(super) fn encode_part(wire: &mut Vec<u8>, part: &[u8]) {
    header(wire, b'$', part.len());
    wire.extend_from_slice(part);
    wire.extend_from_slice(b"\r\n");
}

/// How many bytes the part of a command has that `bytes` begin with, as it lies there. They must be whole: what we have encoded.
#[inline]
pub(super) fn length_of_part(bytes: &[u8]) -> usize {
    let digits = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit());
    let (count, length) = digits.fold((0, 0), |(count, length), digit| {
        (count + 1, length * 10 + usize::from(digit - b'0'))
    });
    // A mark, and a line's end behind the digits and behind the text.
    1 + count + 2 + length + 2
}

/// Appends one part of a command that stands there in `wire` already.
pub(super) fn encode_within(wire: &mut Vec<u8>, part: Range<usize>) {
    header(wire, b'$', part.len());
    wire.extend_from_within(part);
    wire.extend_from_slice(b"\r\n");
}

/// Appends one part of a command that is these pieces, one behind the other.
pub(super) fn encode_joined(wire: &mut Vec<u8>, pieces: [&[u8]; 4]) {
    header(wire, b'$', pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        wire.extend_from_slice(piece);
    }
    wire.extend_from_slice(b"\r\n");
}

/// Appends a part that is this number.
pub(super) fn encode_number(wire: &mut Vec<u8>, number: u64) {
    encode_marked(wire, None, number);
}

/// Appends a part that is this number, behind a mark if there is one.
pub(super) fn encode_marked(wire: &mut Vec<u8>, mark: Option<u8>, number: u64) {
    // In one piece: from the back, since the digits come in that order.
    let mut part = [b'\r'; 32];
    part[31] = b'\n';
    let mut first = write_digits(&mut part, 30, number);
    if let Some(mark) = mark {
        first -= 1;
        part[first] = mark;
    }
    let length = 30 - first;
    part[first - 1] = b'\n';
    first = write_digits(
        &mut part,
        first - 2,
        u64::try_from(length).unwrap_or_default(),
    );
    part[first - 1] = b'$';
    wire.extend_from_slice(&part[first - 1..]);
}

#[inline]
fn header(wire: &mut Vec<u8>, kind: u8, length: usize) {
    match PAIRS.get(length) {
        Some([b'0', ones]) => wire.extend_from_slice(&[kind, *ones, b'\r', b'\n']),
        Some([tens, ones]) => wire.extend_from_slice(&[kind, *tens, *ones, b'\r', b'\n']),
        None => long_header(wire, kind, length),
    }
}

#[cold]
fn long_header(wire: &mut Vec<u8>, kind: u8, length: usize) {
    wire.push(kind);
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    let mut digits = [0; 32];
    let first = write_digits(&mut digits, 32, length);
    wire.extend_from_slice(&digits[first..]);
    wire.extend_from_slice(b"\r\n");
}

/// Writes the digits of a number, the last of them before `end`, and tells where the first is. Without a string of its own:
/// several are written for each request.
fn write_digits(buffer: &mut [u8; 32], end: usize, number: u64) -> usize {
    let (mut first, mut rest) = (end, number);
    while rest >= 100 {
        let pair = usize::try_from(rest % 100).unwrap_or_default();
        first -= 2;
        [buffer[first], buffer[first + 1]] = PAIRS[pair];
        rest /= 100;
    }
    let [tens, ones] = PAIRS[usize::try_from(rest).unwrap_or_default()];
    first -= 1;
    buffer[first] = ones;
    if tens > b'0' {
        first -= 1;
        buffer[first] = tens;
    }
    first
}

/// Reads the number that `text` begins with, and gives back what follows.
pub(super) fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut rest) = (0_u64, text);
    // The times and counters of answers are long.
    while let Some((eight, behind)) = rest.split_first_chunk()
        && let Some(value) = eight_digits(*eight)
    {
        number = number.checked_mul(100_000_000)?.checked_add(value)?;
        rest = behind;
    }
    // Fewer than eight are left.
    let (mut last, mut scale) = (0, 1);
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        last = last * 10 + u64::from(digit - b'0');
        scale *= 10;
        rest = behind;
    }
    number = number.checked_mul(scale)?.checked_add(last)?;
    (rest.len() < text.len()).then_some((number, rest))
}

/// The number that eight digits are: all at once, first the pairs of them, then the fours. None if one is no digit.
fn eight_digits(digits: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(digits);
    let beyond = word.wrapping_add(0x0606_0606_0606_0606);
    let are_in_row = |word: u64| word & 0xf0f0_f0f0_f0f0_f0f0 == 0x3030_3030_3030_3030;
    if !are_in_row(word) || !are_in_row(beyond) {
        return None;
    }
    let ones = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// The digits of the numbers below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let (mut number, mut tens) = (0, b'0');
    while number < 100 {
        let mut ones = b'0';
        while ones <= b'9' {
            pairs[number] = [tens, ones];
            (number, ones) = (number + 1, ones + 1);
        }
        tens += 1;
    }
    pairs
};

/// Why bytes cannot be what a Redis or Valkey node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Not the protocol at all.
    Foreign,
    /// A TLS record.
    Tls,
    TooLarge,
    TooDeep,
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => out.write_str("does not speak the Redis protocol"),
            Self::Tls => out.write_str("speaks TLS on this port, write rediss:// in its address"),
            Self::TooLarge => write!(out, "sent a reply of more than {LARGEST_FRAME} bytes"),
            Self::TooDeep => write!(out, "sent a reply nested more than {DEEPEST} deep"),
        }
    }
}

enum Stop {
    Incomplete,
    Malformed(Malformed),
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn frame(&mut self, depth: usize) -> Result<Frame<'a>, Stop> {
        if depth > DEEPEST {
            return Err(Stop::Malformed(Malformed::TooDeep));
        }
        let kind = *self.bytes.get(self.at).ok_or(Stop::Incomplete)?;
        // A foreign speaker is known by its first byte; waiting for the end of its line may take for ever.
        if !b"+-:$*_#,(!=%~>|".contains(&kind) {
            return Err(Stop::Malformed(match kind {
                TLS_ALERT | TLS_HANDSHAKE if depth == 0 => Malformed::Tls,
                _ => Malformed::Foreign,
            }));
        }
        self.at += 1;
        let line = self.line()?;
        match kind {
            b'+' => Ok(Frame::Text(line)),
            b'-' => Ok(Frame::Error(line)),
            b':' => number(line).map(Frame::Integer),
            b'_' => Ok(Frame::Null),
            b'$' | b'=' | b'!' => self.bulk(kind, line),
            b'*' | b'~' => self.list(line, 1, depth).map(list_or_null(Frame::List)),
            b'>' => self.list(line, 1, depth).map(list_or_null(Frame::Push)),
            b'%' => self.list(line, 2, depth).map(list_or_null(Frame::List)),
            b'|' => {
                // Attributes are talk about the reply that follows.
                self.list(line, 2, depth)?;
                self.frame(depth + 1)
            }
            _ => Ok(Frame::Other),
        }
    }

    fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|byte| *byte == b'\r') {
            Some(end) if end > LONGEST_LINE => Err(Stop::Malformed(Malformed::TooLarge)),
            None if rest.len() > LONGEST_LINE => Err(Stop::Malformed(Malformed::TooLarge)),
            None => Err(Stop::Incomplete),
            Some(end) => match rest.get(end + 1) {
                None => Err(Stop::Incomplete),
                Some(b'\n') => {
                    self.at += end + 2;
                    Ok(&rest[..end])
                }
                Some(_) => Err(Stop::Malformed(Malformed::Foreign)),
            },
        }
    }

    fn bulk(&mut self, kind: u8, line: &[u8]) -> Result<Frame<'a>, Stop> {
        let Some(length) = length(line)? else {
            return Ok(Frame::Null);
        };
        if length > LARGEST_BULK {
            return Err(Stop::Malformed(Malformed::TooLarge));
        }
        let end = self.at + length;
        let text = self.bytes.get(self.at..end).ok_or(Stop::Incomplete)?;
        match self.bytes.get(end..end + 2) {
            Some(b"\r\n") => self.at = end + 2,
            Some(_) => return Err(Stop::Malformed(Malformed::Foreign)),
            None => return Err(Stop::Incomplete),
        }
        Ok(match kind {
            b'!' => Frame::Error(text),
            // Verbatim text begins with its format: `txt:`.
            b'=' => Frame::Text(text.get(4..).unwrap_or_default()),
            _ => Frame::Text(text),
        })
    }

    fn list(
        &mut self,
        line: &[u8],
        each: usize,
        depth: usize,
    ) -> Result<Option<Vec<Frame<'a>>>, Stop> {
        let Some(length) = length(line)? else {
            return Ok(None);
        };
        if length > LONGEST_LIST {
            return Err(Stop::Malformed(Malformed::TooLarge));
        }
        let mut frames = Vec::new();
        for _ in 0..length * each {
            frames.push(self.frame(depth + 1)?);
        }
        Ok(Some(frames))
    }
}

fn list_or_null<'a>(
    list: impl Fn(Vec<Frame<'a>>) -> Frame<'a>,
) -> impl Fn(Option<Vec<Frame<'a>>>) -> Frame<'a> {
    move |frames| frames.map_or(Frame::Null, &list)
}

/// A length; none for the -1 by which RESP2 writes null.
fn length(line: &[u8]) -> Result<Option<usize>, Stop> {
    match number(line)? {
        -1 => Ok(None),
        length => match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) => Err(Stop::Malformed(Malformed::Foreign)),
        },
    }
}

fn number(line: &[u8]) -> Result<i64, Stop> {
    std::str::from_utf8(line)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or(Stop::Malformed(Malformed::Foreign))
}

/// The bytes that have come in and were not understood yet, in a buffer that is used again.
#[derive(Debug, Default)]
pub(super) struct ReceiveBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReceiveBuffer {
    /// Where the next bytes go.
    #[inline]
    pub(super) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.bytes.len() - self.end < READ / 2 {
            self.bytes.resize(self.end + READ, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// `count` bytes were written into [`space`](Self::space).
    pub(super) fn filled(&mut self, count: usize) {
        self.end += count;
    }

    /// What has come in and was not taken yet.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// So many bytes of it are understood.
    pub(super) fn taken(&mut self, count: usize) {
        self.start += count;
    }

    /// Takes the next frame out, if it is complete.
    pub(super) fn take(&mut self) -> Result<Option<Frame<'_>>, Malformed> {
        let Some((frame, length)) = decode(&self.bytes[self.start..self.end])? else {
            return Ok(None);
        };
        self.start += length;
        Ok(Some(frame))
    }
}

const LARGEST_BULK: usize = 1024 * 1024;
const LARGEST_FRAME: usize = LARGEST_BULK + 64 * 1024;
const LONGEST_LINE: usize = 64 * 1024;
const LONGEST_LIST: usize = 64 * 1024;
const DEEPEST: usize = 8;
const READ: usize = 16 * 1024;
const TLS_ALERT: u8 = 0x15;
const TLS_HANDSHAKE: u8 = 0x16;

#[cfg(test)]
mod tests;
