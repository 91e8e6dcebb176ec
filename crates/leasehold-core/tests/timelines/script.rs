//! A story's text, read.

use core::{num::NonZeroU32, time::Duration};
use leasehold_core::{
    Abstention, AbstentionCause, AutoRenewal, Barrier, Drift, Fault, FaultKind, FencingToken,
    Identity, Instant, LinkChange, LockConfig, NodeId, Owner, OwnerSource, Pause, Permit,
    PermitCount, Queued, Quorum, Reading, Refusal, RenewalPolicy, Retry, TakenPermits, Ticket,
    Timing, Ttl, Vote,
};
use std::{collections::BTreeMap, sync::Arc};

/// One story: who plays, what happens, what must come of it.
pub(crate) struct Script {
    pub(crate) quorum: Quorum,
    /// What the wall clock shows at the story's beginning.
    pub(crate) epoch: Duration,
    pub(crate) config: Arc<LockConfig>,
    pub(crate) patience: Option<Duration>,
    /// Of how many permits each caller wants one, if they want permits.
    pub(crate) permits: Option<PermitCount>,
    pub(crate) lines: Vec<(Instant, Act)>,
    pub(crate) expected: Vec<String>,
}

/// What happens at a moment.
pub(crate) enum Act {
    /// Who, and the name of what it wants.
    Acquire(String, String),
    Extend(String, Option<Ttl>),
    Heartbeat(String),
    HandOver(String),
    TakeOver(String, Owner),
    Inspect(String),
    Evict(String, Owner),
    Prolong(String, Owner),
    Release(String),
    Cancel(String),
    Answer(Vec<NodeId>, Vote, To),
    Link(NodeId, LinkChange),
    Clock(NodeId, Reading),
    Hint(NodeId, Option<String>),
    Asleep,
    Awake,
    Wait,
}

/// Which request is answered.
pub(crate) enum To {
    Oldest,
    LastAgain,
    This(String),
}

type Parsed<T> = Result<T, String>;

pub(crate) fn parse(text: &str) -> Parsed<Script> {
    let (story, expected) = text
        .split_once("\n----\n")
        .ok_or("no line ---- before the picture")?;
    if !story.starts_with("# ") {
        return Err("a story begins with a comment that tells it".into());
    }
    let mut lines = story
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty());
    let options = options(lines.next().ok_or("no engine")?)?;
    let (quorum, config, patience) = setup(&options)?;
    let epoch = options
        .get("epoch")
        .map_or(Ok(Duration::ZERO), |word| duration(word))?;
    let permits = options.get("permits").map(|word| count(word));
    let lines: Vec<_> = lines
        .map(|line| act(line).map_err(|why| format!("{line}: {why}")))
        .collect::<Parsed<_>>()?;
    if !lines.is_sorted_by_key(|(at, _)| *at) {
        return Err("time runs backwards".into());
    }
    let expected = expected.lines().map(str::to_owned).collect();
    Ok(Script {
        quorum,
        epoch,
        config: Arc::new(config),
        patience,
        permits: permits.transpose()?,
        lines,
        expected,
    })
}

fn options(line: &str) -> Parsed<BTreeMap<&str, &str>> {
    let rest = line
        .strip_prefix("engine ")
        .ok_or("the first line is the engine's")?;
    rest.split_whitespace()
        .map(|word| word.split_once('=').ok_or(format!("{word}: no option")))
        .collect()
}

/// What the first line may say.
const KNOWN: &[&str] = &[
    "nodes",
    "ttl",
    "drift",
    "limit",
    "tries",
    "pause",
    "patience",
    "unreachable",
    "renew",
    "most",
    "hold",
    "least",
    "heartbeat",
    "danger",
    "margin",
    "delay",
    "steps",
    "forgetful",
    "token",
    "epoch",
    "queues",
    "one",
    "fair",
    "permits",
];

fn setup(options: &BTreeMap<&str, &str>) -> Parsed<(Quorum, LockConfig, Option<Duration>)> {
    if let Some(unknown) = options.keys().find(|key| !KNOWN.contains(key)) {
        return Err(format!("{unknown}: no such option"));
    }
    let needed = |key: &str| options.get(key).ok_or(format!("{key} is missing"));
    let time = |key: &str| options.get(key).map(|value| duration(value)).transpose();
    let nodes = number(needed("nodes")?)?;
    let quorum = match options.get("forgetful") {
        None => Quorum::majority(nodes),
        Some(forgetful) => Quorum::tolerate_forgetful(nodes, number(forgetful)?),
    };
    let quorum = quorum.ok_or("no such number of nodes")?;
    let ttl = ttl(needed("ttl")?)?;
    let (percent, fixed) = needed("drift")?.split_once("%+").ok_or("drift is 1%+2ms")?;
    let drift = Drift::new(number::<u32>(percent)? * 10_000, duration(fixed)?);
    let some = |key: &str| time(key).map(Option::unwrap_or_default);
    let (margin, delay, steps) = (some("margin")?, some("delay")?, some("steps")?);
    let timing = Timing::new(ttl, drift, time("limit")?)
        .and_then(|timing| timing.with_margin(margin))
        .and_then(|timing| timing.with_delay(delay))
        .and_then(|timing| timing.with_step_margin(steps))
        .map_err(|why| why.to_string())?;
    let tries = NonZeroU32::new(number(needed("tries")?)?);
    let pause = time("pause")?.unwrap_or_default();
    let mut retry = Retry::default()
        .with_tries(tries)
        .with_pause(Pause::Between {
            least: pause,
            most: pause,
        });
    if let Some(unreachable) = time("unreachable")? {
        retry = retry.give_up_unreachable_after(unreachable);
    }
    let config = LockConfig {
        timing,
        retry,
        owners: OwnerSource::default(),
        policy: policy(options)?,
        is_fenced: options.contains_key("token"),
        queues: options.contains_key("queues"),
        asks_one_first: options.contains_key("one"),
        is_fair: options.contains_key("fair"),
    };
    Ok((quorum, config, time("patience")?))
}

fn policy(options: &BTreeMap<&str, &str>) -> Parsed<RenewalPolicy> {
    let time = |key: &str| options.get(key).map(|value| duration(value)).transpose();
    Ok(RenewalPolicy {
        renewal: match options.get("renew") {
            None => AutoRenewal::Off,
            Some(&"thirds") => AutoRenewal::Thirds,
            Some(every) => AutoRenewal::Every(duration(every)?),
        },
        most_extensions: options.get("most").map(|most| number(most)).transpose()?,
        most_hold: time("hold")?,
        least_hold: time("least")?,
        heartbeat: time("heartbeat")?,
        danger: time("danger")?,
    })
}

fn ttl(word: &str) -> Parsed<Ttl> {
    Ttl::new(duration(word)?).map_err(|why| why.to_string())
}

fn act(line: &str) -> Parsed<(Instant, Act)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let at = Instant::from_origin(duration(words[0])?);
    let act = match words[1..] {
        ["acquire", name] => Act::Acquire(name.into(), name.into()),
        ["acquire", name, "like", other] => Act::Acquire(name.into(), other.into()),
        ["extend", name] => Act::Extend(name.into(), None),
        ["extend", name, to] => {
            let to = to.strip_prefix("ttl=").ok_or("extend a ttl=20s")?;
            Act::Extend(name.into(), Some(ttl(to)?))
        }
        ["handover", name] => Act::HandOver(name.into()),
        ["takeover", name, by] => Act::TakeOver(name.into(), owner(by)?),
        ["inspect", name] => Act::Inspect(name.into()),
        ["evict", name, by] => Act::Evict(name.into(), owner(by)?),
        ["prolong", name, by] => Act::Prolong(name.into(), owner(by)?),
        ["heartbeat", name] => Act::Heartbeat(name.into()),
        ["release", name] => Act::Release(name.into()),
        ["cancel", name] => Act::Cancel(name.into()),
        ["asleep"] => Act::Asleep,
        ["awake"] => Act::Awake,
        ["wait"] => Act::Wait,
        [at, "link", "up"] => Act::Link(node(at)?, LinkChange::Up(None)),
        [at, "link", "up", who] => Act::Link(node(at)?, LinkChange::Up(Some(Identity::new(who)))),
        [at, "clock", shows, "asked", asked] => {
            let reading = Reading {
                node: duration(shows)?,
                asked: Instant::from_origin(duration(asked)?),
            };
            Act::Clock(node(at)?, reading)
        }
        [at, "changed"] => Act::Hint(node(at)?, None),
        [at, "changed", name] => Act::Hint(node(at)?, Some(name.into())),
        [at, "link", "down"] => Act::Link(node(at)?, LinkChange::Down),
        [at, "link", "replaced"] => Act::Link(node(at)?, LinkChange::Replaced),
        _ => answer(&words[1..])?,
    };
    Ok((at, act))
}

fn answer(words: &[&str]) -> Parsed<Act> {
    let count = words.iter().take_while(|word| node(word).is_ok()).count();
    let (nodes, rest) = words.split_at(count);
    let nodes = nodes
        .iter()
        .map(|word| node(word))
        .collect::<Parsed<Vec<_>>>()?;
    let (rest, to) = match rest {
        [rest @ .., "again"] => (rest, To::LastAgain),
        [rest @ .., "to", tag] => (rest, To::This((*tag).into())),
        rest => (rest, To::Oldest),
    };
    if nodes.is_empty() {
        return Err("neither an act nor an answer".into());
    }
    Ok(Act::Answer(nodes, vote(rest)?, to))
}

fn vote(words: &[&str]) -> Parsed<Vote> {
    let fault = |kind, detail: &str| Vote::Unknown(Fault::new(kind, detail));
    Ok(match words {
        ["granted"] => Vote::GRANTED,
        ["granted", counter] => Vote::Granted {
            counter: FencingToken::new(number(counter)?),
        },
        ["abstains", left] => Vote::Unknown(Fault::abstained(&Abstention {
            cause: AbstentionCause::Empty,
            left: duration(left)?,
        })),
        ["disagrees"] => fault(FaultKind::Disagrees, "disagrees"),
        ["superseded"] => fault(FaultKind::Superseded, "superseded"),
        ["refused", facts @ ..] => Vote::Refused(refusal(facts)?),
        ["down"] => fault(FaultKind::Down, "down"),
        ["twin"] => Vote::Unknown(Fault::same_node()),
        ["busy"] => fault(FaultKind::Busy, "busy"),
        ["rejected"] => fault(FaultKind::Rejected, "rejected"),
        ["disconnected"] => fault(FaultKind::Disconnected, "disconnected"),
        ["timedout"] => fault(FaultKind::TimedOut, "timed out"),
        _ => return Err("no such answer".into()),
    })
}

fn refusal(facts: &[&str]) -> Parsed<Refusal> {
    let mut refusal = Refusal::default();
    for fact in facts {
        match fact.split_once('=') {
            Some(("by", name)) => refusal.holder = Owner::from_bytes(name.as_bytes()),
            Some(("left", time)) => refusal.remaining = Some(duration(time)?),
            Some(("taken", slots)) => refusal.permits = Some(Box::new(taken(slots)?)),
            Some(("behind", _)) => refusal.queued = Some(queued(fact, Barrier::Key)?),
            Some(("free-behind", _)) => refusal.queued = Some(queued(fact, Barrier::Queue)?),
            _ => return Err(format!("{fact}: no fact about a key")),
        }
    }
    Ok(refusal)
}

/// `behind=2/77`: behind two others, with ticket 77, while somebody has the key; `free-behind` while nobody has.
fn queued(fact: &str, barrier: Barrier) -> Parsed<Queued> {
    let (ahead, ticket) = fact
        .split_once('=')
        .and_then(|(_, place)| place.split_once('/'))
        .ok_or(format!("{fact}: behind=2/77"))?;
    Ok(Queued {
        ticket: Ticket::new(number(ticket)?).ok_or("no such ticket")?,
        ahead: number(ahead)?,
        barrier,
    })
}

/// `taken=0:4s,1:2s/2`: these slots are taken, for another four and two seconds, of two.
fn taken(slots: &str) -> Parsed<TakenPermits> {
    let (slots, of) = slots.split_once('/').ok_or(format!("{slots}: 0:4s/2"))?;
    let slot = |word: &str| {
        let (slot, left) = word.split_once(':').ok_or(format!("{word}: 0:4s"))?;
        Ok((number(slot)?, duration(left)?))
    };
    Ok(TakenPermits {
        of: count(of)?,
        slots: slots.split(',').map(slot).collect::<Parsed<_>>()?,
    })
}

fn count(word: &str) -> Parsed<PermitCount> {
    PermitCount::new(number(word)?).ok_or(format!("{word}: no such number of permits"))
}

/// `by=bob`, or `by=permit:1/2`
fn owner(word: &str) -> Parsed<Owner> {
    let name = word.strip_prefix("by=");
    let name = name.ok_or(format!("{word}: no owner"))?;
    let bytes = Owner::from_bytes(name.as_bytes()).ok_or(format!("{word}: no owner"))?;
    let Some((slot, of)) = name
        .strip_prefix("permit:")
        .and_then(|permit| permit.split_once('/'))
    else {
        return Ok(bytes);
    };
    let permit = Permit::new(number(slot)?, count(of)?).ok_or(format!("{word}: no slot"))?;
    Ok(Owner::of_permit(&[0xbb; 20], permit, &bytes))
}

fn node(word: &str) -> Parsed<NodeId> {
    let index = word.strip_prefix('n').ok_or(format!("{word}: no node"))?;
    NodeId::new(number(index)?).ok_or(format!("{word}: no such node"))
}

fn duration(word: &str) -> Parsed<Duration> {
    let digits = word.trim_end_matches(char::is_alphabetic);
    let value = number(digits)?;
    match &word[digits.len()..] {
        "us" => Ok(Duration::from_micros(value)),
        "ms" => Ok(Duration::from_millis(value)),
        "s" => Ok(Duration::from_secs(value)),
        _ => Err(format!("{word}: no time")),
    }
}

fn number<T: core::str::FromStr>(word: &str) -> Parsed<T> {
    word.parse().map_err(|_| format!("{word}: no number"))
}
