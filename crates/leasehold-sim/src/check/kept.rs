//! What is told as kept is kept by a quorum, and nobody is told so of what nobody was done with.

use super::{Holder, Property, Violation};
use crate::{
    node::Node,
    time::{MILLISECOND, Moment},
};
use leasehold_core::{Owner, Resource};

#[derive(Debug, Default)]
pub(crate) struct Kept {
    keeps: Vec<Keep>,
}

/// Somebody was done with something, and wants nobody to have it before this ends.
#[derive(Debug)]
struct Keep {
    /// Who wants it, unless that process is gone.
    holder: Option<Holder>,
    resource: Resource,
    owner: Owner,
    /// When the keys end at the earliest, by true time.
    until: Moment,
}

impl Kept {
    /// Keys are to stay for so long, by clocks that go wrong by so much at most.
    pub(crate) fn asked(
        &mut self,
        holder: Holder,
        (resource, owner): (&Resource, &Owner),
        now: Moment,
        (span_ns, drift_ppm): (u64, u64),
    ) {
        // The client's clock and the node's, and what is rounded.
        let lost_ns = span_ns * (2 * drift_ppm + 2) / 1_000_000 + 5 * MILLISECOND;
        self.keeps.push(Keep {
            holder: Some(holder),
            resource: resource.clone(),
            owner: owner.clone(),
            until: now.after(span_ns.saturating_sub(lost_ns)),
        });
    }

    /// A release was told as done, and may have left keys on purpose.
    pub(crate) fn released(
        &self,
        holder: Holder,
        now: Moment,
        nodes: &[Node],
        needed: usize,
    ) -> Result<(), Violation> {
        let mut keeps = self.keeps.iter();
        let Some(keep) = keeps.find(|keep| keep.holder == Some(holder) && now < keep.until) else {
            return Ok(());
        };
        let carries = |node: &&Node| {
            let mut names = keep.resource.each();
            names.all(|name| node.key_of(now, &name, &keep.owner).is_some())
        };
        let count = nodes.iter().filter(carries).count();
        if count >= needed {
            return Ok(());
        }
        Err(violation(format!(
            "{} is told as kept, and {count} nodes keep it, of {needed} that are needed",
            keep.resource
        )))
    }

    /// The process is gone. The keys stay.
    pub(crate) fn died(&mut self, client: usize) {
        for keep in &mut self.keeps {
            keep.holder = keep.holder.filter(|holder| holder.client != client);
        }
    }

    /// Somebody is told that another was done with this.
    pub(crate) fn told(&self, resource: &Resource) -> Result<(), Violation> {
        match self.keeps.iter().any(|keep| keep.resource == *resource) {
            true => Ok(()),
            false => Err(violation(format!(
                "{resource} is told as kept, and nobody was done with it"
            ))),
        }
    }
}

const fn violation(what: String) -> Violation {
    Violation {
        property: Property::Kept,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;
    use leasehold_core::OperationId;

    #[test]
    fn what_no_node_keeps_and_what_nobody_did_is_found() {
        let resource = Resource::new("r").expect("a name");
        let owner = Owner::from_bytes(b"owner").expect("a few bytes");
        let holder = Holder {
            client: 0,
            operation: OperationId::new(7),
        };
        let at = |ns| Moment::START.after(ns);
        let mut kept = Kept::default();
        assert!(kept.told(&resource).is_err());
        kept.asked(holder, (&resource, &owner), at(0), (SECOND, 100));
        assert_eq!(kept.told(&resource), Ok(()));
        assert!(kept.released(holder, at(0), &[], 1).is_err());
        assert_eq!(kept.released(holder, at(SECOND), &[], 1), Ok(()));
        let other = Holder {
            client: 1,
            ..holder
        };
        assert_eq!(kept.released(other, at(0), &[], 1), Ok(()));
        kept.died(0);
        assert_eq!(kept.released(holder, at(0), &[], 1), Ok(()));
        assert_eq!(kept.told(&resource), Ok(()));
    }
}
