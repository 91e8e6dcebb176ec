//! Whether a lock could be set in the store: found out by setting one.

use super::Store;
use crate::{
    clock::Clock,
    link::file::{
        inbox::{Inbox, Reach},
        job::Job,
    },
};
use leasehold_core::{
    AttemptId, FencingToken, OperationId, Owner, Request, Resource, Tag, Ttl, Vote,
};
use std::{sync::Arc, time::Duration};

impl Store {
    /// Sets a lock under a name that nobody uses and takes it back in the same transaction, so no other process ever
    /// sees it. These are the steps of a real attempt: a disk that has no room for them has none for anybody's.
    pub(in crate::link::file) fn try_out(&mut self, clock: Clock) -> Result<(), String> {
        let name = format!("leasehold/doctor/{}", std::process::id());
        let resource = Resource::new(&name).expect("a short name without control characters");
        let owner = Owner::from_bytes(name.as_bytes()).expect("it is not empty");
        let ttl = Ttl::new(Duration::from_secs(1)).expect("a second is in range");
        let acquire = Request::Acquire {
            resource: resource.clone(),
            owner: owner.clone(),
            ttl,
            // The next token: one that the ceiling on the disk does not allow is granted to nobody.
            proposal: FencingToken::new(1),
            place: None,
        };
        let release = Request::Release {
            resource,
            owner,
            keep: None,
        };
        let jobs = [acquire, release].map(|request| job(request, clock));
        let answers = self.take(&jobs);
        answers
            .into_iter()
            .find_map(|answer| match answer.vote {
                Vote::Unknown(fault) => Some(Err(fault.to_string())),
                Vote::Granted { .. } | Vote::Refused(_) => None,
            })
            .unwrap_or(Ok(()))
    }
}

/// A step whose answer is read at once, and not through a link.
fn job(request: Request, clock: Clock) -> Job {
    Job {
        tag: Tag {
            attempt: AttemptId {
                operation: OperationId::new(1),
                number: 1,
            },
            step: 1,
        },
        request,
        clock,
        inbox: Arc::new(Inbox::new(Reach::Process)),
    }
}
