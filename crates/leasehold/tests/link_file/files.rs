//! What is found in the store's place, and how it is left.

use crate::client::{Client, Folder};
use leasehold::{
    clock::Clock,
    link::file::{FileError, FileNode},
};
use leasehold_core::Vote;
use leasehold_servers::skip;
use std::{
    fs::{self, OpenOptions, Permissions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// Makes a store with a key in it and closes it.
fn closed_store(folder: &Folder) {
    let path = folder.store();
    let mut client = Client::open(&path, "a");
    assert_eq!(client.acquire("r"), Vote::GRANTED);
    drop(client);
    wait_until_closed(&path);
}

/// The store is closed by a thread in the background; LMDB then cannot have it open in this process.
fn wait_until_closed(path: &Path) {
    let path = path.canonicalize().expect("it was opened");
    while let Some(event) = heed::env_closing_event(&path) {
        event.wait();
    }
}

/// Everything in the files of a folder. The store is sparse, so this costs memory and little else.
fn contents(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(path)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// Opens the store, expects an error, and that nothing was changed.
fn refused(path: &Path) -> FileError {
    let before = contents(path);
    let error = FileNode::open(path).expect_err("it is no whole store");
    assert!(contents(path) == before, "the refused files were changed");
    let text = error.to_string();
    let folder = path.file_name().expect("a name").to_string_lossy();
    assert!(text.contains(&*folder), "{text}");
    error
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).expect("a file");
    file.seek(SeekFrom::Start(at)).expect("a file");
    file.write_all(bytes).expect("room");
}

#[test]
fn a_store_is_opened_again_with_its_keys() {
    let folder = Folder::new();
    closed_store(&folder);
    let mut client = Client::open(&folder.store(), "b");
    assert!(matches!(client.acquire("r"), Vote::Refused(_)));
    // The same folder by another name, while it is open.
    let other_name = folder.0.join("link");
    std::os::unix::fs::symlink(folder.store(), &other_name).expect("the folder is ours");
    assert!(matches!(
        Client::open(&other_name, "c").acquire("r"),
        Vote::Refused(_)
    ));
}

#[test]
fn opening_and_closing_at_once_never_fails() {
    let folder = Folder::new();
    let path = folder.store();
    std::thread::scope(|scope| {
        for owner in ["a", "b", "c"] {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..50 {
                    let mut client = Client::open(path, owner);
                    client.acquire_at_last("r");
                    client.release("r");
                }
            });
        }
    });
}

#[test]
fn what_was_asked_is_carried_out_though_the_link_is_gone() {
    let folder = Folder::new();
    let mut client = Client::open(&folder.store(), "a");
    assert_eq!(client.acquire("r"), Vote::GRANTED);
    client.release_and_leave("r");
    wait_until_closed(&folder.store());
    assert_eq!(
        Client::open(&folder.store(), "b").acquire("r"),
        Vote::GRANTED
    );
}

#[test]
fn folders_are_made_for_their_owner_alone() {
    let folder = Folder::new();
    let path = folder.0.join("x/y/store");
    drop(
        FileNode::open(&path)
            .expect("the folder is ours")
            .link(Clock::system()),
    );
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it was made")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("data.mdb")) & 0o077, 0);
    assert_eq!(mode(&path.join("lock.mdb")) & 0o077, 0);
}

#[test]
fn a_store_that_was_cut_short_is_refused() {
    let folder = Folder::new();
    closed_store(&folder);
    let data = folder.store().join("data.mdb");
    let whole = fs::metadata(&data).expect("it was made").len();
    for size in [whole - 1, whole / 2, 3 * 4096, 4096, 100] {
        OpenOptions::new()
            .write(true)
            .open(&data)
            .and_then(|file| file.set_len(size))
            .expect("the file is ours");
        let error = refused(&folder.store());
        let told = match size {
            100 => matches!(error, FileError::NotAStore { .. }),
            _ => matches!(error, FileError::Damaged { .. }),
        };
        assert!(told, "{size} bytes: {error}");
    }
    fs::write(&data, "").expect("the file is ours");
    assert!(matches!(
        refused(&folder.store()),
        FileError::NotAStore { .. }
    ));
}

#[test]
fn a_store_with_a_damaged_head_is_refused() {
    let folder = Folder::new();
    closed_store(&folder);
    let data = folder.store().join("data.mdb");
    let mut head = vec![0; 8192];
    fs::File::open(&data)
        .and_then(|mut file| file.read_exact(&mut head))
        .expect("the file is whole");
    let noise: Vec<u8> = (0..4096_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2])
        .collect();
    // Both head pages, each of them, and the root's number in the first.
    for (at, bytes) in [
        (0, &[0; 8192][..]),
        (0, &noise),
        (4096, &[0; 4096]),
        (4096, &noise),
        (128, &[0x11; 4]),
        (136, &[0xff; 8]),
    ] {
        overwrite(&data, at, bytes);
        let error = refused(&folder.store());
        assert!(
            matches!(error, FileError::Damaged { .. }),
            "at {at}: {error}"
        );
        overwrite(&data, 0, &head);
    }
    assert!(
        FileNode::open(&folder.store()).is_ok(),
        "the head is whole again"
    );
}

#[test]
fn a_store_of_another_format_is_refused() {
    let folder = Folder::new();
    closed_store(&folder);
    let data = folder.store().join("data.mdb");
    let whole = fs::metadata(&data).expect("it was made").len();
    overwrite(&data, whole - 20, &9_u32.to_le_bytes());
    let error = refused(&folder.store());
    assert!(
        matches!(error, FileError::OtherFormat { found: 9, .. }),
        "{error}"
    );
}

#[test]
fn files_of_others_are_refused() {
    let folder = Folder::new();
    let path = folder.store();
    fs::create_dir(&path).expect("the folder is ours");
    fs::write(path.join("data.mdb"), "Dear diary,\n".repeat(1000)).expect("the folder is ours");
    let error = refused(&path);
    assert!(matches!(error, FileError::NotAStore { .. }), "{error}");
    assert!(error.to_string().contains("data.mdb"), "{error}");
    fs::remove_file(path.join("data.mdb")).expect("the folder is ours");

    fs::write(path.join("lock.mdb"), "Dear diary,\n").expect("the folder is ours");
    assert!(matches!(refused(&path), FileError::NotAStore { .. }));
    fs::remove_file(path.join("lock.mdb")).expect("the folder is ours");

    fs::write(path.join("a file of somebody"), "else").expect("the folder is ours");
    FileNode::open(&path).expect("other files are in nobody's way");
}

#[test]
#[expect(unsafe_code, reason = "heed cannot vouch for the file that it maps")]
fn an_lmdb_file_of_another_program_is_refused() {
    let folder = Folder::new();
    let path = folder.store();
    fs::create_dir(&path).expect("the folder is ours");
    // The folder was made for this: nobody else changes the file.
    let env = unsafe { heed::EnvOpenOptions::new().map_size(1 << 20).open(&path) };
    let env = env.expect("the folder is ours");
    let mut txn = env.write_txn().expect("nobody else writes");
    let table: heed::Database<heed::types::Bytes, heed::types::Bytes> =
        env.create_database(&mut txn, None).expect("room");
    table.put(&mut txn, b"theirs", b"too").expect("room");
    txn.commit().expect("room");
    env.prepare_for_closing().wait();
    let error = refused(&path);
    assert!(matches!(error, FileError::NotAStore { .. }), "{error}");
}

#[test]
fn a_path_that_is_no_folder_is_refused() {
    let folder = Folder::new();
    let path = folder.0.join("file");
    fs::write(&path, "text").expect("the folder is ours");
    for path in [path.clone(), path.join("below")] {
        let error = FileNode::open(&path).expect_err("it is a file");
        assert!(matches!(error, FileError::NotAFolder { .. }), "{error}");
    }
    assert_eq!(fs::read(&path).expect("it is still there"), b"text");
    let long = folder.0.join("x".repeat(300));
    let error = FileNode::open(&long).expect_err("no name is that long");
    assert!(matches!(error, FileError::PathTooLong { .. }), "{error}");
}

#[test]
fn a_folder_without_rights_is_refused() {
    let folder = Folder::new();
    let path = folder.store();
    fs::create_dir(&path).expect("the folder is ours");
    fs::set_permissions(&path, Permissions::from_mode(0o500)).expect("the folder is ours");
    let probe = fs::write(path.join("probe"), "");
    if probe.is_ok() {
        skip("this user (root?) may write everywhere, so a missing right cannot be shown");
        return;
    }
    let error = FileNode::open(&path).expect_err("nothing can be made there");
    assert!(matches!(error, FileError::NoPermission { .. }), "{error}");
}

#[test]
fn a_file_system_that_cannot_be_written_is_refused() {
    // Nobody, root included, makes folders there.
    let error = FileNode::open(Path::new("/proc/leasehold/store")).expect_err("no such place");
    assert!(!error.to_string().is_empty());
    assert!(
        matches!(
            error,
            FileError::NoPermission { .. } | FileError::Failed { .. }
        ),
        "{error}"
    );
}
