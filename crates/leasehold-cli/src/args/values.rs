//! Resources and times, as arguments.

use crate::duration::{self, Shown};
use leasehold::{Holder, Owner};
use std::time::Duration;

pub(super) fn resource(text: &str) -> Result<String, String> {
    match leasehold::Resource::new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn owner(text: &str) -> Result<Owner, String> {
    Owner::from_bytes(text.as_bytes()).ok_or_else(|| {
        format!(
            "an owner has 1 to {} bytes: give the LEASEHOLD_OWNER that leasehold printed",
            Owner::LONGEST
        )
    })
}

pub(super) fn ttl(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        ttl if ttl < SHORTEST_TTL => Err(format!(
            "shorter than {}: a command cannot be started, watched and ended in less",
            Shown(SHORTEST_TTL)
        )),
        ttl => Ok(ttl),
    }
}

pub(super) fn max_hold(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        most if most < SHORTEST_TTL => Err(format!(
            "shorter than {}: a command cannot be started, watched and ended in less",
            Shown(SHORTEST_TTL)
        )),
        most => Ok(most),
    }
}

pub(super) fn min_hold(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        Duration::ZERO => Err("zero: leave the option out".into()),
        least => Ok(least),
    }
}

pub(super) fn period(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        period if period < SHORTEST_PERIOD => {
            Err("shorter than 1s: nothing is done so often".into())
        }
        period if period > LONGEST_PERIOD => {
            Err("longer than 30 days: servers keep locks for so long at most".into())
        }
        period => Ok(period),
    }
}

pub(super) fn permits(text: &str) -> Result<usize, String> {
    let permits = text.parse().ok();
    let permits = permits.filter(|permits| (1..=MOST_PERMITS).contains(permits));
    permits.ok_or_else(|| format!("there can be 1 to {MOST_PERMITS} permits"))
}

pub(super) fn exit_code(text: &str) -> Result<u8, String> {
    let code = text.parse();
    code.map_err(|_| "write a code from 0 to 255".to_owned())
}

pub(super) fn grace(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        Duration::ZERO => Err("zero: use --on-loss kill to send no SIGTERM".into()),
        grace => Ok(grace),
    }
}

/// A label is part of owners, which appear in messages, in shells and on servers: nothing in it may need quoting there.
pub(super) fn label(text: &str) -> Result<String, String> {
    match text {
        "" => Err("empty: leave --label out".into()),
        text if text.len() > Holder::LONGEST_LABEL => Err(format!(
            "longer than {} letters: it is stored with every lock",
            Holder::LONGEST_LABEL
        )),
        text if Holder::is_label(text) => Ok(text.to_owned()),
        _ => Err("only letters, digits, spaces and ._-:/@+ are allowed".into()),
    }
}

pub(super) fn wait(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        Duration::ZERO => Err("zero: use --no-wait to try once".into()),
        duration => Ok(duration),
    }
}

pub(super) fn limit(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        Duration::ZERO => Err("zero: `leasehold status` looks once".into()),
        limit => Ok(limit),
    }
}

pub(super) fn interval(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        interval if interval < SHORTEST_INTERVAL => Err(format!(
            "shorter than {}: the servers have other things to do",
            Shown(SHORTEST_INTERVAL)
        )),
        interval => Ok(interval),
    }
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    match duration::parse(text)? {
        span if span < SHORTEST_SPAN => Err(format!(
            "shorter than {}: too few locks would be measured",
            Shown(SHORTEST_SPAN)
        )),
        span => Ok(span),
    }
}

const SHORTEST_SPAN: Duration = Duration::from_millis(200);

/// How often a picture is drawn at most.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(200);

/// A node looks at all that are taken with each request.
const MOST_PERMITS: usize = leasehold::PermitCount::MOST as usize;

const SHORTEST_PERIOD: Duration = Duration::from_secs(1);
const LONGEST_PERIOD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Of this, a command that has to go gets 30 ms between SIGTERM and SIGKILL: hardly enough to be
/// scheduled twice on a busy machine.
const SHORTEST_TTL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_too_short_to_look_after_is_refused() {
        let why = "shorter than 200 ms: a command cannot be started, watched and ended in less";
        assert_eq!(ttl("0s").unwrap_err(), why);
        assert_eq!(ttl("199ms").unwrap_err(), why);
        assert_eq!(ttl("200ms"), Ok(SHORTEST_TTL));
    }

    #[test]
    fn a_label_needs_no_quoting_anywhere() {
        assert_eq!(label("nightly on db1"), Ok("nightly on db1".to_owned()));
        for text in ["", "it's", "a\nb", "ü", "$(date)"] {
            assert!(label(text).is_err(), "{text}");
        }
        assert!(label(&"a".repeat(64)).is_ok());
        assert!(label(&"a".repeat(65)).is_err());
    }

    #[test]
    fn a_wait_of_zero_has_its_own_name() {
        assert_eq!(wait("0s").unwrap_err(), "zero: use --no-wait to try once");
    }
}
