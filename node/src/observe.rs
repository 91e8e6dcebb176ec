//! What a manager notices, left for the event loop.

use crate::{
    executor::{Executor, Mailbox},
    failure::{cause, faults, kebab, millis, owner},
    options::ManagerConfig,
    told,
};
use leasehold::{ClockStep, Observation, Observer};
use serde_json::{Value, json};
use std::sync::Arc;

/// An observer that writes down what it is told. It runs on the manager's thread, and waits for nobody.
pub(crate) struct Observed {
    mailbox: Arc<Mailbox>,
    manager: u32,
    /// Requests to nodes and their answers too, of which there are many.
    has_requests: bool,
}

impl Observed {
    /// None if nobody wants events.
    pub(crate) fn new(config: &ManagerConfig, manager: u32, executor: &Executor) -> Option<Self> {
        let wanted = config.events.as_deref()?;
        Some(Self {
            mailbox: executor.mailbox(),
            manager,
            has_requests: wanted == "all",
        })
    }
}

impl Observer for Observed {
    fn observe(&self, observation: &Observation<'_>) {
        let is_request = matches!(
            observation,
            Observation::Asked { .. } | Observation::Answered { .. }
        );
        if is_request && !self.has_requests {
            return;
        }
        if let Some(mut event) = event(observation) {
            event["manager"] = self.manager.into();
            self.mailbox.tell(event);
        }
    }
}

fn event(observation: &Observation<'_>) -> Option<Value> {
    match observation {
        Observation::Asked { .. }
        | Observation::Answered { .. }
        | Observation::Abstained { .. }
        | Observation::ClockStepped { .. }
        | Observation::Up { .. }
        | Observation::Down { .. }
        | Observation::Replaced { .. } => of_node(observation),
        _ => of_lock(observation),
    }
}

fn of_lock(observation: &Observation<'_>) -> Option<Value> {
    Some(match observation {
        Observation::Acquired {
            resource,
            owner: by,
            token,
            waited,
            attempts,
            valid_for,
            ..
        } => json!({
            "type": "acquired",
            "resource": resource.as_str(),
            "owner": owner(by),
            "fencingToken": token.map(leasehold::FencingToken::get),
            "waited": millis(*waited),
            "attempts": attempts,
            "validFor": millis(*valid_for),
        }),
        Observation::NotAcquired {
            resource,
            obstacle,
            waited,
            attempts,
            ..
        } => json!({
            "type": "not-acquired",
            "resource": resource.as_str(),
            "obstacle": obstacle.as_str().replace('_', "-"),
            "waited": millis(*waited),
            "attempts": attempts,
        }),
        Observation::Extended {
            resource,
            owner: by,
            took,
            left,
            valid_for,
            ..
        } => json!({
            "type": "extended",
            "resource": resource.as_str(),
            "owner": owner(by),
            "took": millis(*took),
            "left": millis(*left),
            "validFor": millis(*valid_for),
        }),
        _ => return of_trouble_and_end(observation),
    })
}

fn of_trouble_and_end(observation: &Observation<'_>) -> Option<Value> {
    Some(match observation {
        Observation::InDanger {
            resource,
            owner: by,
            danger,
            ..
        } => json!({
            "type": "in-danger",
            "resource": resource.as_str(),
            "owner": owner(by),
            "remaining": millis(danger.remaining),
            "message": danger.to_string(),
            "faults": faults(danger.faults()),
        }),
        Observation::Lost {
            resource,
            owner: by,
            cause: of,
            held,
            ..
        } => json!({
            "type": "lost",
            "resource": resource.as_str(),
            "owner": owner(by),
            "cause": cause(of),
            "message": of.to_string(),
            "held": millis(*held),
        }),
        Observation::Released {
            resource,
            owner: by,
            outcome,
            held,
            took,
            ..
        } => json!({
            "type": "released",
            "resource": resource.as_str(),
            "owner": owner(by),
            "outcome": told::release(outcome),
            "held": millis(*held),
            "took": millis(*took),
        }),
        Observation::HandedOver {
            resource,
            owner: by,
            held,
            ..
        } => json!({
            "type": "handed-over",
            "resource": resource.as_str(),
            "owner": owner(by),
            "held": millis(*held),
        }),
        _ => return None,
    })
}

fn of_node(observation: &Observation<'_>) -> Option<Value> {
    Some(match observation {
        Observation::Asked { node, request, .. } => json!({
            "type": "asked",
            "node": node.as_str(),
            "request": request.as_str(),
        }),
        Observation::Answered {
            node,
            request,
            answer,
            took,
            ..
        } => json!({
            "type": "answered",
            "node": node.as_str(),
            "request": request.as_str(),
            "answer": answer.as_str().replace('_', "-"),
            "took": millis(*took),
        }),
        Observation::Abstained {
            node, abstention, ..
        } => json!({
            "type": "abstained",
            "node": node.as_str(),
            "cause": kebab(&format!("{:?}", abstention.cause)),
            "left": millis(abstention.left),
            "message": abstention.to_string(),
        }),
        Observation::ClockStepped { node, step, .. } => {
            let (direction, by) = match step {
                ClockStep::Forward(by) => ("forward", by),
                ClockStep::Back(by) => ("back", by),
            };
            json!({
                "type": "clock-stepped",
                "node": node.as_str(),
                "direction": direction,
                "by": millis(*by),
            })
        }
        Observation::Up { node, .. } => json!({ "type": "up", "node": node.as_str() }),
        Observation::Down { node, reason, .. } => {
            json!({ "type": "down", "node": node.as_str(), "reason": reason })
        }
        Observation::Replaced { node, former, .. } => {
            json!({ "type": "replaced", "node": node.as_str(), "former": former.as_str() })
        }
        _ => return None,
    })
}
