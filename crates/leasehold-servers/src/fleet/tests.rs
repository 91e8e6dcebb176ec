use super::*;
use crate::{Connection, require_server, scratch::Scratch};
use std::process::Command;

#[test]
fn a_fleet_is_found_again_and_stopped() {
    let binary = require_server();
    let scratch = Scratch::create().unwrap();
    let folder = scratch.path().join("fleet");
    let started = Fleet::start(&folder, 2, &binary).unwrap();
    let found = Fleet::load(&folder).unwrap();
    assert_eq!(found.nodes(), started.nodes());
    let members = found.status();
    assert!(members.len() == 2 && members.iter().all(|member| member.running));
    let mut connection = Connection::open(members[1].port).unwrap();
    assert_eq!(connection.command(&["PING"]).unwrap().text(), Some("PONG"));
    let again = Fleet::start(&folder, 1, &binary).unwrap_err();
    assert!(matches!(again, FleetError::Running { .. }), "{again}");
    assert_eq!(found.stop().unwrap(), 2);
    assert!(started.status().iter().all(|member| !member.running));
    assert!(matches!(Fleet::load(&folder), Err(FleetError::None { .. })));
    assert_eq!(started.stop().unwrap(), 0);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the lock is left: {left:?}");
}

#[test]
fn a_stranger_with_the_same_process_id_is_left_alone() {
    require_server();
    let scratch = Scratch::create().unwrap();
    let mut stranger = Command::new("sleep").arg("60").spawn().unwrap();
    let process = Process::with_pid(stranger.id()).unwrap();
    let state = format!("{} {} 1\n", process.pid, process.started + 1);
    fs::write(scratch.path().join(STATE), state).unwrap();
    let fleet = Fleet::load(scratch.path()).unwrap();
    assert!(!fleet.status()[0].running);
    assert_eq!(fleet.stop().unwrap(), 0);
    assert!(process.is_running());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_server_that_does_not_start_leaves_nothing() {
    let scratch = Scratch::create().unwrap();
    let nothing = Fleet::start(scratch.path(), 3, &ServerBinary::at("/bin/false")).unwrap_err();
    assert!(matches!(nothing, FleetError::Start(_)), "{nothing}");
    assert!(Fleet::load(scratch.path()).is_err());
}

#[test]
fn a_file_of_another_program_is_not_acted_upon() {
    let scratch = Scratch::create().unwrap();
    fs::write(scratch.path().join(STATE), "1 everything\n").unwrap();
    assert!(matches!(
        Fleet::load(scratch.path()),
        Err(FleetError::Garbled { .. })
    ));
}
