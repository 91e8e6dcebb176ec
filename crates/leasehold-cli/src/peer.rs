//! How other lock libraries sign.
//!
//! A text under a name may be anything: a session, a password, a job. So it is shown only if it looks like what a library
//! of others writes to tell its holders apart, only to somebody who asks for such locks (`--foreign`), and only its
//! beginning.

/// The beginning of a value that another lock library may have written; none of any other.
pub(crate) fn shortened(value: &[u8]) -> Option<String> {
    let is_raw = [16, 20].contains(&value.len()) && std::str::from_utf8(value).is_err();
    if is_raw {
        // RedLock for C#, rslock.
        return Some(format!("{}…", value[..4].escape_ascii()));
    }
    let text = std::str::from_utf8(value).ok()?;
    if let Some((uuid, thread)) = text.split_once(':')
        && is_uuid(uuid)
        && is_number(thread)
    {
        // Redisson: many threads of one process.
        return Some(format!("{}…:{thread}", &uuid[..SHORT]));
    }
    let is_known = is_uuid(text) || is_hexadecimal(text) || is_base_64(text) || is_process(text);
    is_known.then(|| format!("{}…", &text[..SHORT]))
}

/// RedLock.net, pottery, redlock-ng, aioredlock, redlock-rb, redis-semaphore.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// node-redlock and redis-py; and of PHP's clock (`uniqid`), redlock-php. Digits alone are more likely a number.
fn is_hexadecimal(text: &str) -> bool {
    [13, 32].contains(&text.len())
        && text.chars().all(|c| c.is_ascii_hexdigit())
        && !is_number(text)
}

/// redsync, python-redis-lock, Redis::DistLock and bsm/redislock; and of letters and digits alone, redlock-py. One that is
/// random has letters of both cases.
fn is_base_64(text: &str) -> bool {
    let digits = text.strip_suffix("==").unwrap_or(text);
    let has_length = match text.len() {
        22 | 32 => digits.len() == text.len(),
        24 => [22, 24].contains(&digits.len()),
        _ => false,
    };
    has_length
        && digits
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+/-_".contains(c))
        && digits.chars().any(|c| c.is_ascii_lowercase())
        && digits.chars().any(|c| c.is_ascii_uppercase())
}

/// cheprasov/php-redis-lock: process, time and a random number.
fn is_process(text: &str) -> bool {
    let parts: Vec<_> = text.split(':').collect();
    matches!(parts[..], [pid, time, random]
        if is_number(pid) && is_number(random) && time.split('.').count() == 2 && time.split('.').all(is_number))
        && text.len() > 2 * SHORT
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// How much is enough to tell holders apart.
const SHORT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lock_library_writes_is_told_from_other_data_and_never_shown_whole() {
        for (value, shown) in [
            ("9f3a1c0d2b7e4f5a9f3a1c0d2b7e4f5a", Some("9f3a1c0d…")),
            ("b5c1a9e2-3f04-4a57-9d1e-0c2b7e4f5a9f", Some("b5c1a9e2…")),
            (
                "b5c1a9e2-3f04-4a57-9d1e-0c2b7e4f5a9f:71",
                Some("b5c1a9e2…:71"),
            ),
            ("mK3x9Q+fTz0aV7cR1bY8Ug==", Some("mK3x9Q+f…")),
            ("mK3x9Q+fTz0aV7cR1bY8UgAb", Some("mK3x9Q+f…")),
            ("mK3x9Q+fTz0aV7cR1bY8UgAbmK3x9Q+f", Some("mK3x9Q+f…")),
            ("aZ09bY18cX27dW36eV45fU", Some("aZ09bY18…")),
            ("65a1b2c3d4e5f", Some("65a1b2c3…")),
            ("4711:1767269053.1234:998877", Some("4711:176…")),
            ("1767269053123", None),
            ("somebody", None),
            ("processing-in-progress", None),
            ("{\"user\":7,\"token\":\"abc\"}", None),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2ln", None),
            ("b5c1a9e2-3f04-4a57-9d1e-0c2b7e4f5a9f:x", None),
            ("hunter2", None),
            ("", None),
        ] {
            assert_eq!(shortened(value.as_bytes()).as_deref(), shown, "{value}");
        }
        let raw = [0xff, 0, b'a', 0x80].repeat(5);
        assert_eq!(shortened(&raw).as_deref(), Some(r"\xff\x00a\x80…"));
        assert_eq!(shortened(&raw[..19]), None);
    }
}
