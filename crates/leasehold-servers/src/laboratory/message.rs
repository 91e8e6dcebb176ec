//! Requests and answers on their way through a proxy.

use std::io::{self, BufRead, Read};

/// Reads one request or answer, byte by byte as it came.
pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let (mut message, mut expected) = (Vec::new(), 1_u64);
    while expected > 0 {
        expected -= 1;
        let start = message.len();
        stream.read_until(b'\n', &mut message)?;
        let line = message.get(start..).unwrap_or_default();
        let Some((kind, rest)) = line.trim_ascii_end().split_first() else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let rest = str::from_utf8(rest).unwrap_or_default();
        let count = || rest.parse::<i64>().map_err(io::Error::other);
        match kind {
            // -1 is nil.
            b'*' => expected += u64::try_from(count()?).unwrap_or(0),
            b'$' => {
                if let Ok(length) = u64::try_from(count()?) {
                    let whole = length + 2;
                    if stream.take(whole).read_to_end(&mut message)? as u64 != whole {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
            _ => {}
        }
    }
    Ok(message)
}

/// The words of a request that was [`read`] whole.
pub(crate) fn words(request: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut rest = request;
    let mut head = Vec::new();
    rest.read_until(b'\n', &mut head)?;
    let mut words = Vec::new();
    while !rest.is_empty() {
        let mut length = Vec::new();
        rest.read_until(b'\n', &mut length)?;
        let digits = length.trim_ascii_end().strip_prefix(b"$");
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        let length = digits.and_then(|digits| digits.parse::<usize>().ok());
        let word = length.and_then(|length| rest.get(..length));
        let behind = length.and_then(|length| rest.get(length + 2..));
        let (Some(word), Some(behind)) = (word, behind) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        words.push(word.to_vec());
        rest = behind;
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_whole_and_no_further() {
        let wire = b"*2\r\n$4\r\nEV\r\n\r\n*1\r\n:1\r\n$-1\r\n-ERR x\r\n";
        let mut stream = &wire[..];
        let mut next = || read(&mut stream).map(|message| message.len());
        assert_eq!(next().unwrap(), 22);
        assert_eq!(next().unwrap(), 5);
        assert_eq!(next().unwrap(), 8);
        assert!(next().is_err());
        assert!(read(&mut &b"$9\r\nshort"[..]).is_err());
    }

    #[test]
    fn the_words_of_a_request_are_told_apart() {
        let told = words(b"*2\r\n$4\r\nE\r\nV\r\n$0\r\n\r\n").unwrap();
        assert_eq!(told, [b"E\r\nV".to_vec(), Vec::new()]);
        assert!(words(b"*1\r\n$9\r\nshort\r\n").is_err());
        assert!(words(b"*1\r\n:1\r\n").is_err());
    }
}
