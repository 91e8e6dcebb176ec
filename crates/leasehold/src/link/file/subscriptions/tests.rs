use super::*;
use crate::link::{
    LinkEvent,
    file::{
        inbox::Reach,
        store::tests::{Folder, job},
    },
};
use leasehold_core::{Request, Resource, Vote};
use std::{
    sync::mpsc,
    task::{Context, Waker},
    thread,
};

fn name(text: &str) -> Resource {
    Resource::new(text).expect("a plain name")
}

/// Looks at a key that nobody has, as a link does that wants to know when that changes.
fn look(subscriptions: &mut Subscriptions<'_>, store: &mut Store) -> Job {
    let resource = name("half");
    let mut job = job(Request::Inspect { resource });
    job.inbox = Inbox::new(Reach::Machine).into();
    while next(&job).is_some() {}
    let answers = store.take(std::slice::from_ref(&job));
    assert_eq!(answers[0].vote, Vote::GRANTED);
    subscriptions.note(&job, &answers[0]);
    job
}

/// A notifier for the store. The kernel gives a user 128 inotify instances, and for a moment other programs of this user,
/// such as another run of these tests, may have all of them.
fn bell_of(store: &Store) -> Notifier {
    for _ in 0..600 {
        if let Some(notifier) = Notifier::new(store.data()) {
            return notifier;
        }
        thread::park_timeout(Duration::from_millis(100));
    }
    panic!("other programs of this user have all inotify instances (fs.inotify.max_user_instances)")
}

/// What the link was told.
fn next(job: &Job) -> Option<LinkEvent> {
    let (mut cx, mut events) = (Context::from_waker(Waker::noop()), Vec::new());
    let _ = job.inbox.poll(&mut cx, &mut events, 1);
    events.pop()
}

fn is_told(job: &Job) -> bool {
    matches!(next(job), Some(LinkEvent::Changed(Some(resource))) if resource == name("half"))
}

#[test]
fn a_look_sees_the_commit_that_is_under_way() {
    // Argument S10: the notifier has fired, and fires no more for this commit, but it is not visible yet.
    let folder = Folder::new("under-way");
    let store = folder.store();
    let (resource, sight, nobody) = (name("half"), Sight::default(), HashSet::new());
    let (told, looked) = mpsc::channel();
    thread::scope(|scope| {
        store.finish_after(|| {
            scope.spawn(|| {
                let seen = [(&resource, &sight)].into_iter();
                let changed = store
                    .look(seen, &nobody, || {})
                    .expect("it is in its place");
                told.send(changed).expect("it is waited for");
            });
            let early = looked.recv_timeout(Duration::from_millis(50));
            assert!(early.is_err(), "it did not wait");
        });
        assert_eq!(looked.recv(), Ok(vec![resource.clone()]));
    });
}

#[test]
fn the_notifier_fires_for_a_commit_unless_it_is_mute() {
    let folder = Folder::new("notifier");
    let store = folder.store();
    let notifier = bell_of(&store);
    store.finish_after(|| {});
    assert!(!notifier.has_rung());
    notifier.unmute();
    assert!(!notifier.has_rung());
    store.finish_after(|| {});
    assert!(notifier.has_rung());
    notifier.silence();
    assert!(!notifier.has_rung());
    notifier.mute();
    store.finish_after(|| {});
    assert!(!notifier.has_rung());
}

#[test]
fn a_change_between_the_answer_and_the_unmuting_is_found() {
    let folder = Folder::new("unmuting");
    let mut store = folder.store();
    let notifier = bell_of(&store);
    let mut subscriptions = Subscriptions::new(Some(&notifier));
    assert!(!subscriptions.is_due(), "there is nothing to listen for");
    let job = look(&mut subscriptions, &mut store);
    store.finish_after(|| {});
    assert!(subscriptions.is_due());
    subscriptions.look(&store);
    assert!(is_told(&job));
    assert!(subscriptions.notifier().is_none(), "a change is told once");
}

#[test]
fn a_change_is_found_when_the_bell_rings_and_not_looked_for_before() {
    let folder = Folder::new("rings");
    let mut store = folder.store();
    let notifier = bell_of(&store);
    let mut subscriptions = Subscriptions::new(Some(&notifier));
    let job = look(&mut subscriptions, &mut store);
    assert!(subscriptions.is_due());
    subscriptions.look(&store);
    assert!(next(&job).is_none());
    assert!(!subscriptions.is_due());
    store.finish_after(|| {});
    while !subscriptions.is_due() {
        subscriptions.wait(&notifier);
    }
    subscriptions.look(&store);
    assert!(is_told(&job));
}

#[test]
fn who_watches_is_told_to_ask_when_the_store_is_not_in_its_place_any_more() {
    let folder = Folder::new("moved");
    let mut store = folder.store();
    let notifier = bell_of(&store);
    let mut subscriptions = Subscriptions::new(Some(&notifier));
    let job = look(&mut subscriptions, &mut store);
    std::fs::remove_file(store.data()).expect("it is ours");
    assert!(subscriptions.is_due());
    subscriptions.look(&store);
    assert!(matches!(next(&job), Some(LinkEvent::Changed(None))));
}
