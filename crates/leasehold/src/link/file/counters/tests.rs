use super::super::{
    error::FileError, process_identity::ProcessIdentity, store::tests::Folder,
    store_directory::StoreDirectory,
};
use leasehold_core::{FaultKind, FencingToken, Vote};
use std::{fs, os::unix::fs::MetadataExt};

fn token(number: u64) -> FencingToken {
    FencingToken::new(number).expect("in range")
}

fn counted(number: u64) -> Vote {
    let counter = Some(token(number));
    Vote::Granted { counter }
}

/// Which file the ceiling is in: another one after each write.
fn written(folder: &Folder) -> u64 {
    let found = fs::metadata(folder.0.join("tokens"));
    found.expect("a ceiling was written").ino()
}

fn another_boot() -> ProcessIdentity {
    ProcessIdentity {
        boot: [7; 16],
        ..ProcessIdentity::current().expect("/proc is there")
    }
}

#[test]
fn a_store_of_an_earlier_boot_is_replaced_and_tokens_go_on() {
    // Argument S4.
    let folder = Folder::new("tokens-reboot");
    let directory = StoreDirectory::prepare(&folder.0).expect("a folder of our own");
    let mut last = Vec::new();
    for (boot, proposal) in [(false, 1_000), (true, 1), (false, 1), (true, 5_000)] {
        let holder = if boot {
            another_boot()
        } else {
            ProcessIdentity::current().expect("/proc is there")
        };
        let mut store = directory.open(holder).expect("a new store");
        for name in ["r", "s"] {
            let Vote::Granted { counter } = store.count(name, proposal) else {
                panic!("a new store has no keys");
            };
            assert!(
                last.iter().all(|before| *before < counter),
                "{counter:?} after {last:?}"
            );
        }
        last.push(store.raise("r", 77_000_000_000 + u64::from(boot)));
    }
}

#[test]
fn the_ceiling_is_written_when_a_counter_passes_it_and_no_sooner() {
    let folder = Folder::new("tokens-ceiling");
    let mut store = folder.store();
    assert_eq!(store.count("r", 1_000), counted(1_000));
    let first = written(&folder);
    assert_eq!(store.count("s", 3_600_001_000), counted(3_600_001_000));
    assert_eq!(written(&folder), first);
    drop(store);
    // Another process knows it from the store.
    let mut store = folder.store();
    assert_eq!(store.count("t", 5_000), counted(5_000));
    assert_eq!(written(&folder), first);
    assert_eq!(store.count("u", 3_600_001_001), counted(3_600_001_001));
    assert_ne!(written(&folder), first);
}

#[test]
fn without_room_for_the_ceiling_nothing_is_granted_and_nothing_lost() {
    let folder = Folder::new("tokens-full");
    let mut store = folder.store();
    assert_eq!(store.count("r", 1_000), counted(1_000));
    // Nobody can write a file in the directory of a folder.
    let draft = folder.0.join("tokens.new");
    fs::create_dir(&draft).expect("it is ours");
    let Vote::Unknown(fault) = store.count("s", 1 << 50) else {
        panic!("its ceiling cannot be written");
    };
    assert_eq!(fault.kind(), FaultKind::Rejected);
    assert!(fault.to_string().contains("ceiling"), "{fault}");
    assert_eq!(store.count("t", 2_000), counted(2_000));
    assert_eq!(store.give_back("r"), Vote::GRANTED);
    fs::remove_dir(&draft).expect("it is ours");
    assert_eq!(store.count("s", 1 << 50), counted(1 << 50));
}

#[test]
fn a_damaged_ceiling_is_in_the_way_of_a_new_store_only() {
    let folder = Folder::new("tokens-damaged");
    let mut store = folder.store();
    assert_eq!(store.count("r", 1_000), counted(1_000));
    drop(store);
    fs::write(folder.0.join("tokens"), "leasehold tok").expect("it is ours");
    drop(folder.store());
    let directory = StoreDirectory::prepare(&folder.0).expect("a folder of our own");
    let error = directory
        .open(another_boot())
        .expect_err("tokens may go back");
    assert!(matches!(error, FileError::TokensDamaged { .. }), "{error}");
    fs::remove_file(folder.0.join("tokens")).expect("it is ours");
    let mut store = directory.open(another_boot()).expect("a new store");
    assert_eq!(store.count("r", 7), counted(7));
}

#[test]
fn a_damaged_counter_counts_nothing() {
    let folder = Folder::new("tokens-counter");
    let mut store = folder.store();
    store.spoil_counter("r");
    let vote = store.count("r", 1_000);
    assert!(
        matches!(&vote, Vote::Unknown(fault) if fault.kind() == FaultKind::Rejected),
        "{vote:?}"
    );
}
