//! Errors of the library, as facts for the classes of JavaScript. The sentence is the library's own.

use leasehold::{
    AcquireError, AdoptError, ConfigError, DowngradeError, ExtendError, Held, Holder, InspectError,
    LeaseLost, LossCause, NodeFault, NotKept, Owner, ReconfigureError, Resource,
    timestamp::{TimestampAcquireError, TimestampExtendError},
};
use serde_json::{Map, Value, json};
use std::{any::Any, fmt, time::Duration};

/// A code, a sentence and facts.
pub(crate) struct Failure(Map<String, Value>);

impl Failure {
    fn new(code: &'static str, message: &impl fmt::Display) -> Self {
        let mut facts = Map::new();
        facts.insert("code".to_owned(), code.into());
        facts.insert("message".to_owned(), message.to_string().into());
        Self(facts)
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn about(self, resource: &Resource) -> Self {
        self.with("resource", resource.names().collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// A bug of ours, told and not hidden.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Self::new(BUG, &said.unwrap_or("the native half panicked"))
    }

    pub(crate) fn released(resource: &Resource) -> Self {
        let message = format!("the lock {} was released", resource.quoted());
        Self::new(RELEASED, &message).about(resource)
    }

    pub(crate) fn config(message: &impl fmt::Display) -> Self {
        Self::new(CONFIG, message)
    }
}

impl From<Failure> for napi::Error<&'static str> {
    fn from(failure: Failure) -> Self {
        let text = |name| failure.0.get(name).and_then(Value::as_str);
        let code = CODES.iter().find(|code| Some(**code) == text("code"));
        let message = text("message").unwrap_or_default().to_owned();
        Self::new(code.copied().unwrap_or(BUG), message)
    }
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

pub(crate) fn owner(owner: &Owner) -> String {
    String::from_utf8_lossy(owner.as_bytes()).into_owned()
}

/// Who it is, and what signs its keys.
pub(crate) fn holder(of: &Owner) -> Value {
    let holder = Holder::of(of);
    let mut value = json!({ "text": holder.to_string(), "owner": owner(of) });
    if let Holder::Process {
        host,
        pid,
        since,
        label,
        ..
    } = holder
    {
        value["host"] = host.into();
        value["pid"] = pid.into();
        value["since"] = millis(since).into();
        value["label"] = label.into();
    }
    value
}

fn holder_of(of: Option<&Owner>) -> Value {
    of.map_or(Value::Null, holder)
}

pub(crate) fn faults(faults: &[NodeFault]) -> Value {
    let fault = |fault: &NodeFault| {
        json!({
            "node": fault.node().as_str(),
            "kind": kebab(&format!("{:?}", fault.kind())),
            "message": fault.to_string(),
        })
    };
    faults.iter().map(fault).collect()
}

/// `TimedOut` as `timed-out`.
pub(crate) fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn held(held: &Held) -> Failure {
    let names = |nodes: &[leasehold::NodeName]| -> Value {
        nodes.iter().map(leasehold::NodeName::as_str).collect()
    };
    let permits = held.permits.as_ref();
    let permits = permits.map(|taken| json!({ "of": taken.of.get(), "taken": taken.slots.len() }));
    Failure::new(HELD, &"")
        .with("holder", holder_of(held.holder.as_ref()))
        .with("remaining", held.remaining.map(millis))
        .with("ahead", held.ahead)
        .with("attempts", held.attempts)
        .with("waited", millis(held.waited))
        .with("heldOn", names(&held.held_on))
        .with("permits", permits.unwrap_or_default())
}

impl From<AcquireError> for Failure {
    fn from(error: AcquireError) -> Self {
        let message = error.to_string();
        let failure = reason(&error).about(error.resource());
        failure
            .with("message", message)
            .with("faults", faults(error.faults()))
            .with("timedOut", matches!(error, AcquireError::TimedOut { .. }))
    }
}

fn reason(error: &AcquireError) -> Failure {
    let new = |code| Failure::new(code, &"");
    match error {
        AcquireError::Held(facts) => held(facts),
        AcquireError::AlreadyDone(facts) => held(facts).with("code", ALREADY_DONE),
        AcquireError::Unreachable(facts) => new(UNREACHABLE).with("waited", millis(facts.waited)),
        AcquireError::Abstained(facts) => new(ABSTAINED)
            .with("retryAfter", millis(facts.left))
            .with("waited", millis(facts.waited)),
        AcquireError::Disagreement { ours, .. } => new(DISAGREEMENT).with("ours", ours.as_str()),
        AcquireError::OtherPermits {
            ours,
            theirs,
            remaining,
            ..
        } => new(OTHER_PERMITS)
            .with("ours", *ours)
            .with("theirs", *theirs)
            .with("remaining", millis(*remaining)),
        AcquireError::TooLate { elapsed, .. } => new(TOO_LATE).with("elapsed", millis(*elapsed)),
        // What one can do is the same as without a time limit.
        AcquireError::TimedOut { last, waited, .. } => reason(last).with("waited", millis(*waited)),
        AcquireError::ShutDown { .. } => new(CLOSED),
        AcquireError::Forked { .. } => new(FORKED),
        AcquireError::OwnerRepeated { .. } => new(CONFIG),
        _ => new(BUG),
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(CONFIG, &error)
    }
}

impl From<ExtendError> for Failure {
    fn from(error: ExtendError) -> Self {
        let code = match &error {
            ExtendError::Lost { .. } | ExtendError::Gone { .. } => LOST,
            ExtendError::Released { .. } => RELEASED,
            ExtendError::Unreachable { .. } => UNREACHABLE,
            ExtendError::Limit { .. } => LIMIT,
            ExtendError::TooShort { .. } => TOO_SHORT,
            ExtendError::Timing { .. } => CONFIG,
            ExtendError::ShutDown { .. } => CLOSED,
            _ => BUG,
        };
        let failure = Self::new(code, &error).about(error.resource());
        match &error {
            ExtendError::Unreachable { faults, .. } => failure.with("faults", self::faults(faults)),
            ExtendError::Gone { holder, .. } => failure
                .with("cause", "gone")
                .with("holder", holder_of(holder.as_ref())),
            ExtendError::TooShort { left, .. } => failure.with("remaining", millis(*left)),
            _ => failure,
        }
    }
}

/// A loss in a word.
pub(crate) const fn cause(cause: &LossCause) -> &'static str {
    match cause {
        LossCause::TimedOut { .. } => "timed-out",
        LossCause::Gone { .. } => "gone",
        LossCause::ClockStepped { .. } => "clock-stepped",
        LossCause::ExtensionLimit { .. } => "extension-limit",
        LossCause::HoldLimit { .. } => "hold-limit",
        LossCause::NoProgress { .. } => "no-progress",
        LossCause::Released => "released",
        LossCause::Forked => "forked",
        _ => "stopped",
    }
}

impl From<LeaseLost> for Failure {
    fn from(lost: LeaseLost) -> Self {
        let failure = Self::new(LOST, &lost)
            .about(&lost.resource)
            .with("cause", cause(&lost.cause));
        match &lost.cause {
            LossCause::Gone { holder, .. } => failure.with("holder", holder_of(holder.as_ref())),
            _ => failure,
        }
    }
}

impl From<AdoptError> for Failure {
    fn from(error: AdoptError) -> Self {
        let message = error.to_string();
        let failure = match error {
            AdoptError::Malformed => Self::new(MALFORMED, &""),
            AdoptError::Gone {
                resource, holder, ..
            } => gone(&resource, holder.as_ref()),
            AdoptError::Config(error) => error.into(),
            AdoptError::Failed(error) => error.into(),
            _ => Self::new(BUG, &""),
        };
        failure.with("message", message)
    }
}

fn gone(resource: &Resource, holder: Option<&Owner>) -> Failure {
    Failure::new(LOST, &"")
        .about(resource)
        .with("cause", "gone")
        .with("holder", holder_of(holder))
}

impl From<DowngradeError> for Failure {
    fn from(error: DowngradeError) -> Self {
        let message = error.to_string();
        let failure = match error {
            DowngradeError::Lost(lost) => lost.into(),
            DowngradeError::Gone {
                resource, holder, ..
            } => gone(&resource, holder.as_ref()),
            DowngradeError::Failed(error) => error.into(),
            _ => Self::new(BUG, &""),
        };
        failure.with("message", message)
    }
}

impl From<NotKept> for Failure {
    fn from(error: NotKept) -> Self {
        Self::new(NOT_KEPT, &error)
    }
}

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Self {
        let code = match error {
            InspectError::Resource(_) => CONFIG,
            _ => CLOSED,
        };
        Self::new(code, &error)
    }
}

impl From<ReconfigureError> for Failure {
    fn from(error: ReconfigureError) -> Self {
        match &error {
            ReconfigureError::Config(_) => Self::new(CONFIG, &error),
            ReconfigureError::OutOfReach { faults, .. }
            | ReconfigureError::Unfinished { faults } => {
                Self::new(RECONFIGURE, &error).with("faults", self::faults(faults))
            }
            _ => Self::new(RECONFIGURE, &error),
        }
    }
}

impl From<TimestampAcquireError> for Failure {
    fn from(error: TimestampAcquireError) -> Self {
        let code = match &error {
            error if error.is_contention() => HELD,
            TimestampAcquireError::NotATimestamp { .. }
            | TimestampAcquireError::ClockNotSet { .. } => CONFIG,
            TimestampAcquireError::TooLate { .. } => TOO_LATE,
            TimestampAcquireError::ShutDown { .. } => CLOSED,
            _ => UNREACHABLE,
        };
        Self::new(code, &error)
            .about(error.resource())
            .with("remaining", error.remaining().map(millis))
    }
}

impl From<TimestampExtendError> for Failure {
    fn from(error: TimestampExtendError) -> Self {
        let code = match error {
            TimestampExtendError::Lost { .. } => LOST,
            TimestampExtendError::ShutDown { .. } => CLOSED,
            TimestampExtendError::ClockSetBack { .. } => CONFIG,
            _ => UNREACHABLE,
        };
        Self::new(code, &error)
    }
}

macro_rules! codes {
    ($($name:ident)*) => {
        $(pub(crate) const $name: &str = concat!("ERR_LEASEHOLD_", stringify!($name));)*
        const CODES: &[&str] = &[$($name),*];
    };
}

codes! {
    ABSTAINED ALREADY_DONE BUG CLOSED CONFIG DISAGREEMENT FORKED HELD LIMIT LOST MALFORMED NOT_KEPT OTHER_PERMITS
    RECONFIGURE RELEASED STALE TOO_LATE TOO_SHORT UNREACHABLE
}
