//! Who is to be told of which key: for nodes that are within this process.

use leasehold_core::{Request, Resource, Vote};
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

/// Somebody who can be told that a key has changed.
pub(super) trait Watch {
    /// Tells of one key, or that any key may have changed.
    fn tell(&self, resource: Option<&Resource>);
}

/// Who watches which key, and what it was when they last saw it.
#[derive(Debug)]
pub(super) struct Watchers<W, S = ()> {
    keys: HashMap<Resource, Watched<W, S>>,
}

#[derive(Debug)]
struct Watched<W, S> {
    seen: S,
    by: Vec<Weak<W>>,
}

impl<W, S> Default for Watchers<W, S> {
    fn default() -> Self {
        Self {
            keys: HashMap::new(),
        }
    }
}

impl<W, S> Watchers<W, S> {
    /// Those who watch a key, which is over with this: a hint is given once.
    fn take(&mut self, resource: &Resource) -> Vec<Weak<W>> {
        let watched = self.keys.remove(resource);
        watched.map_or_else(Vec::new, |watched| watched.by)
    }
}

impl<W: Watch, S: PartialEq> Watchers<W, S> {
    /// Notes what became of a request of `who`: tells the others of a change, or watches for the next one.
    /// `seen` is what the key is after it; of several names, what each is, in their order.
    pub(super) fn note(
        &mut self,
        who: &Arc<W>,
        request: &Request,
        vote: &Vote,
        seen: impl IntoIterator<Item = S>,
    ) {
        let resource = request.resource();
        if changes(request, vote) {
            resource.each().for_each(|name| self.changed(&name, who));
        }
        if is_watched(request, vote) {
            for (name, seen) in resource.each().zip(seen) {
                self.watch(&name, who, seen);
            }
        }
    }

    fn changed(&mut self, resource: &Resource, by: &Arc<W>) {
        for other in self.take(resource).iter().filter_map(Weak::upgrade) {
            // What came by the same link is no news.
            if !Arc::ptr_eq(&other, by) {
                other.tell(Some(resource));
            }
        }
    }

    fn watch(&mut self, resource: &Resource, who: &Arc<W>, seen: S) {
        // Keys that nobody touches again after their TTL are watched for ever; here it ends.
        if self.keys.len() >= MOST_KEYS {
            self.tell_all();
        }
        // Who saw something else before has missed a change.
        if self.keys.get(resource).is_some_and(|it| it.seen != seen) {
            self.changed(resource, who);
        }
        let watched = self.keys.entry(resource.clone()).or_insert(Watched {
            seen,
            by: Vec::new(),
        });
        watched.by.retain(|other| other.strong_count() > 0);
        let who = Arc::downgrade(who);
        if !watched.by.iter().any(|other| other.ptr_eq(&who)) {
            watched.by.push(who);
        }
    }

    /// Tells everybody that any key may have changed. Nothing is watched any more.
    pub(super) fn tell_all(&mut self) {
        let mut told: Vec<Weak<W>> = Vec::new();
        for other in self.keys.drain().flat_map(|(_, watched)| watched.by) {
            if !told.iter().any(|one| one.ptr_eq(&other)) {
                other.upgrade().inspect(|other| other.tell(None));
                told.push(other);
            }
        }
    }
}

/// For those who cannot see every change while it is made, and look for it afterwards.
#[cfg(all(feature = "file", unix))]
impl<W: Watch, S> Watchers<W, S> {
    /// Whether nothing is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Forgets who is gone, and the keys that nobody else watches.
    pub(super) fn forget_the_gone(&mut self) {
        self.keys.retain(|_, watched| {
            watched.by.retain(|other| other.strong_count() > 0);
            !watched.by.is_empty()
        });
    }

    /// What is watched, and what was last seen of it.
    pub(super) fn seen(&self) -> impl Iterator<Item = (&Resource, &S)> {
        self.keys.iter().map(|(key, watched)| (key, &watched.seen))
    }

    /// Tells all who watch this key that it has changed.
    pub(super) fn tell(&mut self, resource: &Resource) {
        for other in self.take(resource).iter().filter_map(Weak::upgrade) {
            other.tell(Some(resource));
        }
    }
}

/// Whether the key is another one after this answer, or may be.
fn changes(request: &Request, vote: &Vote) -> bool {
    let done = match vote {
        Vote::Granted { .. } => true,
        // A release of several names takes back those that are ours even where not all are.
        Vote::Refused(_) => {
            matches!(request, Request::Release { resource, .. } if resource.is_several())
        }
        Vote::Unknown(fault) => fault.may_have_happened(),
    };
    done && !matches!(
        request,
        Request::Inspect { .. } | Request::Raise { .. } | Request::Leave { .. }
    )
}

/// Whether the caller that got this answer wants to know of the next change.
pub(super) const fn is_watched(request: &Request, vote: &Vote) -> bool {
    // Who reads is told of nobody's coming and going.
    if matches!(request, Request::Extend { resource, .. } if resource.is_part()) {
        return false;
    }
    matches!(
        (request, vote),
        (
            Request::Acquire { .. } | Request::Inspect { .. },
            Vote::Refused(_)
        ) | (
            Request::Extend { .. } | Request::Inspect { .. },
            Vote::Granted { .. }
        )
    )
}

const MOST_KEYS: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Ear(Mutex<Vec<Option<Resource>>>);

    impl Watch for Ear {
        fn tell(&self, resource: Option<&Resource>) {
            let mut heard = self.0.lock().expect("nothing panics here");
            heard.push(resource.cloned());
        }
    }

    fn look(name: &str) -> Request {
        let resource = Resource::new(name).expect("a name");
        Request::Inspect { resource }
    }

    #[test]
    fn watchers_of_keys_that_never_change_do_not_pile_up() {
        let (mut watchers, ear) = (Watchers::default(), Arc::new(Ear::default()));
        for number in 0..=MOST_KEYS {
            watchers.note(&ear, &look(&number.to_string()), &Vote::GRANTED, [()]);
        }
        assert_eq!(watchers.keys.len(), 1);
        let heard = ear.0.lock().expect("nothing panics here");
        assert!(heard[..] == [None]);
    }

    #[test]
    fn who_is_gone_is_not_watched_for() {
        let (mut watchers, name) = (Watchers::default(), look("r"));
        for _ in 0..10 {
            watchers.note(&Arc::new(Ear::default()), &name, &Vote::GRANTED, [()]);
        }
        assert_eq!(watchers.keys[name.resource()].by.len(), 1);
    }

    #[test]
    fn who_saw_the_key_before_a_change_that_nobody_noticed_is_told_with_the_next_look() {
        let (mut watchers, name) = (Watchers::default(), look("r"));
        let [one, two] = [Arc::new(Ear::default()), Arc::new(Ear::default())];
        watchers.note(&one, &name, &Vote::GRANTED, [1]);
        watchers.note(&two, &name, &Vote::GRANTED, [1]);
        watchers.note(&two, &name, &Vote::GRANTED, [2]);
        let heard = |ear: &Ear| ear.0.lock().expect("nothing panics here").clone();
        assert!(heard(&one)[..] == [Some(name.resource().clone())]);
        assert!(heard(&two).is_empty());
        assert!(watchers.seen().eq([(name.resource(), &2)]));
    }
}
