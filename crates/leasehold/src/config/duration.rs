//! Lengths of time, as people write them.

use std::time::Duration;

/// Reads `10s`, `500ms`, `1m30s`, `2h` or `1d`, which is 24 hours.
///
/// A bare number is refused: flock(1) means seconds by it, Redis milliseconds, and a lock that is
/// a thousand times too short looks fine until the day it matters.
///
/// # Errors
/// Why it is none, as a fragment, and the way out.
///
/// # Examples
/// ```
/// use leasehold::config::parse_duration;
/// use std::time::Duration;
///
/// assert_eq!(parse_duration("1m30s"), Ok(Duration::from_secs(90)));
/// assert_eq!(parse_duration("10").unwrap_err(), "no unit: say 10s or 10ms");
/// ```
pub fn parse(text: &str) -> Result<Duration, String> {
    if text.is_empty() {
        return Err("no duration: say 10s, 500ms, 1m30s or 2h".into());
    }
    let mut rest = text;
    let mut sum = Duration::ZERO;
    let mut previous = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit());
        let (unit, after) = split(after, |c| !c.is_ascii_digit());
        if number.is_empty() {
            return Err("not a duration: say 10s, 500ms, 1m30s or 2h".into());
        }
        let factor = factor(number, unit)?;
        if factor >= previous {
            return Err("units go from large to small, each once, as in 1h30m10s500ms".into());
        }
        let part = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .and_then(|millis| sum.checked_add(Duration::from_millis(millis)))
            .filter(|sum| *sum <= LONGEST);
        sum = part.ok_or("too long: 1000h is the most")?;
        previous = factor;
        rest = after;
    }
    Ok(sum)
}

/// Beyond this a duration is a slip of the keyboard.
const LONGEST: Duration = Duration::from_secs(1000 * 60 * 60);

fn factor(number: &str, unit: &str) -> Result<u64, String> {
    match unit {
        "ms" => Ok(1),
        "s" => Ok(1000),
        "m" => Ok(60 * 1000),
        "h" => Ok(60 * 60 * 1000),
        "d" => Ok(24 * 60 * 60 * 1000),
        "" => Err(format!("no unit: say {number}s or {number}ms")),
        unit if unit.starts_with(['.', ',']) => {
            Err("no fractions: say 1s500ms or 1500ms for one and a half seconds".into())
        }
        unit => Err(format!("unknown unit {unit:?}: say d, h, m, s or ms")),
    }
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let read = [
            ("500ms", 500),
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("2h", 7_200_000),
            ("1h2m3s4ms", 3_723_004),
            ("1000h", 3_600_000_000),
            ("1d2h", 93_600_000),
            ("0s", 0),
        ];
        for (text, millis) in read {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_way_out() {
        let refused = [
            ("", "no duration: say 10s, 500ms, 1m30s or 2h"),
            ("soon", "not a duration: say 10s, 500ms, 1m30s or 2h"),
            ("-1s", "not a duration: say 10s, 500ms, 1m30s or 2h"),
            ("10", "no unit: say 10s or 10ms"),
            ("1m30", "no unit: say 30s or 30ms"),
            ("10sec", "unknown unit \"sec\": say d, h, m, s or ms"),
            (
                "1.5s",
                "no fractions: say 1s500ms or 1500ms for one and a half seconds",
            ),
            (
                "1s1s",
                "units go from large to small, each once, as in 1h30m10s500ms",
            ),
            (
                "1s1m",
                "units go from large to small, each once, as in 1h30m10s500ms",
            ),
            ("1001h", "too long: 1000h is the most"),
            ("42d", "too long: 1000h is the most"),
            ("99999999999999999999s", "too long: 1000h is the most"),
            ("18446744073709551615h", "too long: 1000h is the most"),
        ];
        for (text, error) in refused {
            assert_eq!(parse(text).unwrap_err(), error, "{text}");
        }
    }
}
