//! Lengths of time on the command lines of these programs.

use std::time::Duration;

/// Reads `1500ms`, `90s` or `2m`, which is not nothing.
///
/// # Errors
/// How to write one.
pub fn time(text: &str) -> Result<Duration, String> {
    let read = || {
        let end = text.find(|letter: char| !letter.is_ascii_digit())?;
        let (digits, unit) = text.split_at(end);
        let unit = match unit {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            _ => return None,
        };
        unit.checked_mul(digits.parse().ok()?)
    };
    let time = read().filter(|time| !time.is_zero());
    time.ok_or_else(|| "no time: write `90s`, `2m` or `1500ms`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_is_not_nothing() {
        assert_eq!(time("1500ms"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("2m"), Ok(Duration::from_secs(120)));
        for wrong in [
            "",
            "60",
            "s",
            "0s",
            "soon",
            "99999999999999s",
            "4294967295h",
            "-1s",
        ] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
