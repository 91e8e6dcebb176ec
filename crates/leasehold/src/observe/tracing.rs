//! Telling events, by `tracing`.

use super::{Observation, Observer, Obstacle, label};
use ::tracing::{debug, info, trace, warn};
use leasehold_core::FencingToken;

/// An [`Observer`] that tells what happens as events of `tracing`, with the target `leasehold`. Warnings are what somebody
/// should look at: leases in danger and lost, nodes that are away, do not vote, or had their clocks set.
///
/// Events are told on the manager's thread, so they are in no span of yours. The spans `acquire` and `hold` are made where
/// you wait and hold, without this, wherever the feature `tracing` is on; `owner` is the same in both.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Tracing;

impl Tracing {
    /// One that tells of everything. Choose by target and level what is kept.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// How a lease began, and what it met with.
    fn of_lock(observation: &Observation<'_>) {
        match *observation {
            Observation::Acquired {
                resource,
                owner,
                token,
                waited,
                attempts,
                valid_for,
            } => {
                let token = token.map(FencingToken::get);
                debug!(target: TARGET, %resource, %owner, token, ?waited, attempts, ?valid_for, "acquired");
            }
            Observation::NotAcquired {
                resource,
                obstacle,
                waited,
                attempts,
            } => {
                let why = obstacle.as_str();
                match obstacle {
                    Obstacle::Held | Obstacle::Cancelled => {
                        debug!(target: TARGET, %resource, why, ?waited, attempts, "not acquired");
                    }
                    _ => warn!(target: TARGET, %resource, why, ?waited, attempts, "not acquired"),
                }
            }
            Observation::Extended {
                resource,
                owner,
                took,
                left,
                valid_for,
            } => {
                debug!(target: TARGET, %resource, %owner, ?took, ?left, ?valid_for, "extended");
            }
            Observation::InDanger {
                resource,
                owner,
                danger,
            } => warn!(target: TARGET, %resource, %owner, %danger, "in danger"),
            _ => Self::of_end(observation),
        }
    }

    /// How a lease ended.
    fn of_end(observation: &Observation<'_>) {
        match *observation {
            Observation::Lost {
                resource,
                owner,
                cause,
                held,
            } => {
                let why = label::loss(cause);
                warn!(target: TARGET, %resource, %owner, why, %cause, ?held, "lost");
            }
            Observation::Released {
                resource,
                owner,
                outcome,
                held,
                took,
            } => {
                let (word, detail) = (label::release(outcome), outcome);
                debug!(target: TARGET, %resource, %owner, outcome = word, %detail, ?held, ?took, "released");
            }
            Observation::HandedOver {
                resource,
                owner,
                held,
            } => debug!(target: TARGET, %resource, %owner, ?held, "handed over"),
            _ => {}
        }
    }
}

impl Observer for Tracing {
    fn observe(&self, observation: &Observation<'_>) {
        match *observation {
            Observation::Asked { node, request } => {
                trace!(target: TARGET, %node, request = request.as_str(), "asked");
            }
            Observation::Answered {
                node,
                request,
                answer,
                took,
            } => {
                let (request, answer) = (request.as_str(), answer.as_str());
                trace!(target: TARGET, %node, request, answer, ?took, "answered");
            }
            Observation::Abstained { node, abstention } => {
                let (why, left) = (label::abstention(abstention.cause), abstention.left);
                warn!(target: TARGET, %node, why, ?left, "does not vote");
            }
            Observation::ClockStepped { node, step } => {
                let direction = label::direction(step);
                warn!(target: TARGET, %node, direction, ?step, "clock was set");
            }
            Observation::Up { node } => info!(target: TARGET, %node, "up"),
            Observation::Down { node, reason } => {
                warn!(target: TARGET, %node, reason, "down");
            }
            Observation::Replaced { node, former } => {
                info!(target: TARGET, %node, %former, "replaced");
            }
            _ => Self::of_lock(observation),
        }
    }
}

const TARGET: &str = "leasehold";
