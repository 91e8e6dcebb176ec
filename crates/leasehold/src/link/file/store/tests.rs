use super::*;
use crate::link::file::{
    FileNode,
    inbox::{Inbox, Reach},
};
use leasehold_core::{
    AttemptId, OperationId, Owner, Request, Resource, Table, Tag, Ttl, fence::counter_of,
    table::Key,
};
use proptest::prelude::*;
use std::{sync::Arc, time::Duration};

/// A folder that goes away with the test.
pub(crate) struct Folder(pub(crate) PathBuf, bool);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("leasehold-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path, false)
    }

    /// A folder that another process owns.
    pub(crate) const fn kept(path: PathBuf) -> Self {
        Self(path, true)
    }

    pub(crate) fn store(&self) -> Store {
        let directory = super::super::store_directory::StoreDirectory::prepare(&self.0)
            .expect("a folder of our own");
        directory
            .open(ProcessIdentity::current().expect("/proc is there"))
            .expect("a new store")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.1 {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

pub(crate) fn job(request: Request) -> Job {
    Job {
        tag: Tag {
            attempt: AttemptId {
                operation: OperationId::new(1),
                number: 1,
            },
            step: 1,
        },
        request,
        clock: Clock::system(),
        inbox: Arc::new(Inbox::new(Reach::Process)),
    }
}

fn resource(name: &str) -> Resource {
    Resource::new(name).expect("a plain name")
}

fn owner(name: &str) -> Owner {
    Owner::from_bytes(name.as_bytes()).expect("not empty")
}

fn acquire(name: &str, by: &str) -> Request {
    Request::Acquire {
        resource: resource(name),
        owner: owner(by),
        ttl: Ttl::new(Duration::from_secs(1000)).expect("in range"),
        proposal: None,
        place: None,
    }
}

impl Store {
    /// Begins a transaction, and is somewhere in the middle of it until `rest` returns.
    pub(crate) fn hold(&self, rest: impl FnOnce()) {
        let mut txn = self.env.write_txn().expect("nobody else writes");
        self.locks.put(&mut txn, b"half", b"done").expect("room");
        rest();
    }

    /// Sets a key, and commits it when `rest` has returned.
    pub(crate) fn finish_after(&self, rest: impl FnOnce()) {
        let mut txn = self.env.write_txn().expect("nobody else writes");
        self.locks.put(&mut txn, b"half", b"done").expect("room");
        rest();
        txn.commit().expect("room");
    }

    fn votes(&mut self, jobs: &[Job]) -> Vec<Vote> {
        let answers = self.take(jobs);
        answers.into_iter().map(|answer| answer.vote).collect()
    }

    fn one(&mut self, request: Request) -> Vote {
        self.votes(&[job(request)]).remove(0)
    }

    /// Puts a record in as another process would.
    fn forge(&self, place: &[u8], bytes: &[u8]) {
        let mut txn = self.env.write_txn().expect("nobody else writes");
        self.locks.put(&mut txn, place, bytes).expect("room");
        txn.commit().expect("room");
    }

    /// Sets the key, or finds it set, with a proposal.
    pub(crate) fn count(&mut self, name: &str, number: u64) -> Vote {
        self.one(Request::Repair {
            resource: resource(name),
            owner: owner("a"),
            ttl: Ttl::new(Duration::from_secs(1000)).expect("in range"),
            proposal: FencingToken::new(number),
        })
    }

    /// Raises by so much, and tells to what.
    pub(crate) fn raise(&mut self, name: &str, by: u64) -> Option<FencingToken> {
        let Vote::Granted { counter } = self.count(name, 1) else {
            panic!("it is held");
        };
        let token = counter.and_then(|counter| FencingToken::new(counter.get() + by))?;
        let raise = Request::Raise {
            resource: resource(name),
            owner: owner("a"),
            token,
        };
        assert_eq!(self.one(raise), Vote::GRANTED);
        Some(token)
    }

    pub(crate) fn give_back(&mut self, name: &str) -> Vote {
        self.one(Request::Release {
            resource: resource(name),
            owner: owner("a"),
            keep: None,
        })
    }

    /// Writes what is no number over a counter.
    pub(crate) fn spoil_counter(&self, name: &str) {
        let mut txn = self.env.write_txn().expect("nobody else writes");
        let counters: Database<Bytes, Bytes> = self
            .env
            .open_database(&txn, Some(GrantCounters::NAME))
            .expect("a whole file")
            .expect("it was made");
        let place = counter_of(&resource(name)).to_be_bytes();
        counters.put(&mut txn, &place, b"?").expect("room");
        txn.commit().expect("room");
    }

    fn keys(&self) -> u64 {
        let txn = self.env.read_txn().expect("a slot is free");
        self.locks.len(&txn).expect("a whole file")
    }
}

fn record(name: &str, holder: ProcessIdentity) -> Record {
    Record {
        holder,
        key: Key {
            owner: owner("a"),
            expires_at: Instant::NEVER,
        },
        name: name.to_owned(),
    }
}

#[test]
fn a_record_of_another_boot_id_lives_until_its_ttl_ends() {
    let folder = Folder::new("boot");
    let mut store = folder.store();
    let holder = ProcessIdentity {
        boot: [7; 16],
        started: 1,
        ..store.holder
    };
    store.forge(b"r", &record("r", holder).encode());
    // Looked at by the sweep as well.
    assert_eq!(store.one(acquire("s", "b")), Vote::GRANTED);
    let vote = store.one(acquire("r", "b"));
    assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
}

#[test]
fn a_record_of_a_dead_process_is_no_key_even_if_its_number_lives() {
    let folder = Folder::new("dead");
    let mut store = folder.store();
    let holder = ProcessIdentity {
        started: store.holder.started - 1,
        ..store.holder
    };
    store.forge(b"r", &record("r", holder).encode());
    assert_eq!(store.one(acquire("r", "b")), Vote::GRANTED);
}

#[test]
fn a_record_of_another_namespace_lives_until_its_ttl_ends() {
    let folder = Folder::new("namespace");
    let mut store = folder.store();
    let holder = ProcessIdentity {
        started: 1,
        pid_namespace: 1,
        ..store.holder
    };
    store.forge(b"r", &record("r", holder).encode());
    let vote = store.one(acquire("r", "b"));
    assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
}

#[test]
fn names_of_one_hash_are_a_fault_and_so_is_a_damaged_record() {
    let folder = Folder::new("collision");
    let mut store = folder.store();
    let long = "x".repeat(700);
    let place = key_of(&resource(&long)).into_owned();
    store.forge(&place, &record(&"y".repeat(700), store.holder).encode());
    store.forge(b"r", b"no record");
    for name in [&*long, "r"] {
        let vote = store.one(acquire(name, "b"));
        let Vote::Unknown(fault) = vote else {
            panic!("{vote:?}");
        };
        assert_eq!(fault.kind(), FaultKind::Rejected);
    }
    let txn = store.env.read_txn().expect("a slot is free");
    let kept = store.locks.get(&txn, b"r").expect("a whole file");
    assert_eq!(kept, Some(&b"no record"[..]));
}

#[test]
fn ended_keys_do_not_pile_up() {
    let folder = Folder::new("sweep");
    let mut store = folder.store();
    let ended = Record {
        key: Key {
            owner: owner("a"),
            expires_at: Instant::ORIGIN,
        },
        ..record("", store.holder)
    };
    for number in 0..100 {
        let name = format!("old/{number:03}");
        let ended = Record {
            name: name.clone(),
            ..ended.clone()
        };
        store.forge(name.as_bytes(), &ended.encode());
    }
    for number in 0..60 {
        store.one(acquire(&format!("new/{number}"), "b"));
    }
    assert_eq!(store.keys(), 60);
}

#[test]
fn a_full_store_refuses_new_keys_and_still_releases() {
    let folder = Folder::new("full");
    let mut store = folder.store();
    let tail = "x".repeat(1000);
    let name = |number: u32| format!("{number:06}{tail}");
    let mut granted = 0;
    let fault = loop {
        let jobs: Vec<_> = (granted..granted + 200)
            .map(|number| job(acquire(&name(number), "a")))
            .collect();
        let votes = store.votes(&jobs);
        granted += u32::try_from(votes.iter().filter(|vote| **vote == Vote::GRANTED).count())
            .expect("at most 200");
        if let Some(Vote::Unknown(fault)) = votes.last() {
            break fault.clone();
        }
    };
    assert_eq!(fault.kind(), FaultKind::Rejected);
    assert!(fault.to_string().contains("full with"), "{fault}");
    assert!(granted >= 12_000, "room for {granted} keys");
    for number in 0..granted {
        let release = Request::Release {
            resource: resource(&name(number)),
            owner: owner("a"),
            keep: None,
        };
        assert_eq!(
            store.one(release),
            Vote::GRANTED,
            "key {number} of {granted}"
        );
    }
    assert_eq!(store.one(acquire("r", "b")), Vote::GRANTED);
}

#[test]
fn a_store_of_an_earlier_boot_is_replaced() {
    let folder = Folder::new("reboot");
    let directory = super::super::store_directory::StoreDirectory::prepare(&folder.0)
        .expect("a folder of our own");
    let before = ProcessIdentity {
        boot: [7; 16],
        ..ProcessIdentity::current().expect("/proc is there")
    };
    let mut store = directory.open(before).expect("a new store");
    assert_eq!(store.one(acquire("r", "a")), Vote::GRANTED);
    drop(store);
    let mut store = folder.store();
    assert_eq!(store.keys(), 0);
    assert_eq!(store.one(acquire("r", "b")), Vote::GRANTED);
}

#[test]
fn a_store_that_was_replaced_or_cut_answers_with_a_fault() {
    let folder = Folder::new("replaced");
    let mut store = folder.store();
    fs::rename(folder.0.join("data.mdb"), folder.0.join("aside")).expect("it is ours");
    let vote = store.one(acquire("r", "a"));
    assert!(
        matches!(&vote, Vote::Unknown(fault) if fault.kind() == FaultKind::Down),
        "{vote:?}"
    );
    assert!(store.try_out(Clock::system()).is_err());
    fs::rename(folder.0.join("aside"), folder.0.join("data.mdb")).expect("it is ours");
    assert_eq!(store.one(acquire("r", "a")), Vote::GRANTED);
}

#[test]
fn a_folder_that_is_open_and_replaced_cannot_be_opened_again() {
    let folder = Folder::new("reopened");
    let node = FileNode::open(&folder.0).expect("a new store");
    let again = FileNode::open(&folder.0).expect("the same store");
    fs::remove_file(folder.0.join("data.mdb")).expect("it is ours");
    let error = FileNode::open(&folder.0).expect_err("it was deleted");
    assert!(
        matches!(error, crate::link::file::FileError::Replaced { .. }),
        "{error}"
    );
    drop((node, again));
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..4_u8, 0..3_u8, 0..3_u8).prop_map(|(kind, name, by)| {
        let resource = match name {
            2 => resource(&"long".repeat(200)),
            _ => resource(&format!("r{name}")),
        };
        let owner = owner(&format!("o{by}"));
        let ttl = Ttl::new(Duration::from_secs(1000 + u64::from(by))).expect("in range");
        match kind {
            0 => Request::Acquire {
                resource,
                owner,
                ttl,
                proposal: None,
                place: None,
            },
            1 => Request::Repair {
                resource,
                owner,
                ttl,
                proposal: None,
            },
            2 => Request::Extend {
                resource,
                owner,
                ttl,
            },
            _ => Request::Release {
                resource,
                owner,
                keep: None,
            },
        }
    });
    proptest::collection::vec(request, 1..60)
}

/// The vote without what depends on the moment; the remaining time to the nearest minute.
fn timeless(vote: &Vote) -> String {
    match vote {
        Vote::Refused(refusal) => format!(
            "refused {:?} {:?}",
            refusal.holder,
            refusal.remaining.map(|left| (left.as_secs() + 30) / 60)
        ),
        vote => format!("{vote:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same requests, one by one and in a batch, get the votes that the table gives.
    #[test]
    fn the_file_votes_as_the_table_does(requests in requests(), batched in any::<bool>()) {
        let folder = Folder::new("table");
        let mut store = folder.store();
        let clock = Clock::system();
        let mut table = Table::new();
        let expected: Vec<_> = requests
            .iter()
            .map(|request| timeless(&table.apply(clock.now(), request)))
            .collect();
        let votes = if batched {
            store.votes(&requests.into_iter().map(job).collect::<Vec<_>>())
        } else {
            requests.into_iter().map(|request| store.one(request)).collect()
        };
        let votes: Vec<_> = votes.iter().map(timeless).collect();
        prop_assert_eq!(votes, expected);
    }
}

#[test]
fn a_lock_is_tried_out_without_a_trace() {
    let folder = Folder::new("trial");
    let mut store = folder.store();
    assert_eq!(store.one(acquire("a", "me")), Vote::GRANTED);
    assert_eq!(store.try_out(Clock::system()), Ok(()));
    let contents = store.contents(Clock::system()).expect("it can be read");
    let names = contents
        .held
        .iter()
        .filter_map(|held| held.resource.as_ref());
    assert_eq!(names.map(Resource::as_str).collect::<Vec<_>>(), ["a"]);
}
