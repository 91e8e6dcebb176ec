//! One look at a lock, with what is known of the nodes that have it: for `status` and `wait`.

use crate::{
    agreement::Agreement,
    diagnosis::Patient,
    failure::Failure,
    lock_view::{LockView, State},
    manager::Manager,
    nodes::Nodes,
    readers, unheard, usable, waiting,
    whose::Whose,
};
use leasehold::Inspection;
use std::time::Duration;

/// What was seen.
pub(crate) struct Sight {
    pub(crate) seen: Inspection,
    pub(crate) view: LockView,
    /// The nodes, where it mattered what they would do.
    pub(crate) patient: Option<Patient>,
}

impl Sight {
    /// Who holds a lock and, if nobody does, whether it can be had. Nodes are asked what they would do while there is `time`.
    pub(crate) fn of(
        nodes: &Nodes,
        agreement: &Agreement,
        resource: &str,
        whose: Whose,
        time: Option<Duration>,
    ) -> Result<Self, Failure> {
        let manager = nodes.onlooker(agreement)?;
        let (mut seen, mut view) = waiting::for_it(async {
            let seen = inspect(&manager, nodes, agreement, resource).await?;
            let view = LockView::of(&seen, whose);
            let view = readers::named_one(nodes, view).await;
            Ok::<_, Failure>((seen, view))
        })??;
        let mut patient = None;
        if let Some(heard) = unheard::heard(nodes, agreement, &seen, &view)? {
            view = LockView::of(&heard.seen, whose);
            view.refusals = heard.refusals;
            (seen, patient) = (heard.seen, Some(heard.patient));
        }
        let seems_free = view.state == State::Free || view.is_unheld_by_twins();
        if !seems_free && !view.can_be_doubted() {
            return Ok(Self {
                seen,
                view,
                patient: None,
            });
        }
        let patient = match patient {
            Some(patient) => patient,
            None => usable::examined(nodes, agreement, Some(resource), time)?,
        };
        match usable::state(&patient) {
            unusable @ State::Unusable { .. } if seems_free => view.state = unusable,
            // Nodes that vote and do not agree stay unclear: who is under way may win.
            _ => usable::doubt(&mut view, &patient),
        }
        let patient = Some(patient);
        Ok(Self {
            seen,
            view,
            patient,
        })
    }
}

/// What each node has, also of keys that are no lock.
pub(crate) async fn inspect(
    manager: &Manager,
    nodes: &Nodes,
    agreement: &Agreement,
    resource: &str,
) -> Result<Inspection, Failure> {
    let seen = manager.inspect(resource).await;
    let seen = seen.map_err(|error| Failure::own(format!("cannot {error}")))?;
    nodes.look_closer(agreement, seen).await
}
