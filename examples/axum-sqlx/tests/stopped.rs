//! Two processes of the service on the same files, of which one is stopped in the middle of a withdrawal.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

/// A process of the service. It is killed when this is dropped.
struct Service {
    process: Child,
    address: String,
}

impl Service {
    fn start(folder: &Path, check_ms: u32) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_leasehold-axum-sqlx-example"))
            .env_remove("LEASEHOLD_NODES")
            .env_remove("DATABASE_URL")
            .env("BANK_FOLDER", folder)
            .env("LISTEN", "127.0.0.1:0")
            .env("TTL_MS", "1000")
            .env("CHECK_MS", check_ms.to_string())
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let log = process.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(log).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("address=")?.1.to_owned()))
            .expect("it says where it listens");
        // Else its log would fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        Self { process, address }
    }

    /// Sends an order, and waits for nothing.
    fn order(&self, id: &str, amount_cents: u32) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let body = format!(r#"{{"id": "{id}", "amount_cents": {amount_cents}}}"#);
        let length = body.len();
        write!(
            stream,
            "POST /accounts/ann/withdrawals HTTP/1.1\r\nhost: bank\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("it listens");
        stream
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args([name, &id]).status();
        assert!(status.expect("there is a kill").success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn answer(mut stream: TcpStream) -> io::Result<String> {
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Asks until the account is locked, or until it is not.
fn ask_until(locked: bool, service: &Service, id: &str, amount_cents: u32) -> String {
    for _ in 0..1000 {
        let text = answer(service.order(id, amount_cents)).expect("an answer");
        if text.starts_with("HTTP/1.1 423 ") == locked {
            return text;
        }
    }
    panic!("it is not so, after 1000 tries");
}

#[test]
fn a_process_that_was_stopped_in_a_withdrawal_withdraws_nothing() {
    let folder = Folder::new();
    // So long that it is stopped in it, whatever the machine does.
    let late = Service::start(&folder.0, 10_000);
    let quick = Service::start(&folder.0, 0);

    let late_answer = late.order("rent", 3000);
    // There is too little for a yacht, so this only tells when the other holds the lock.
    let text = ask_until(true, &quick, "yacht", 1_000_000);
    assert!(text.contains("retry-after: 1\r\n"), "{text}");

    late.signal("-STOP");
    let text = ask_until(false, &quick, "bread", 500);
    assert!(text.ends_with(r#"{"balance_cents":9500}"#), "{text}");

    late.signal("-CONT");
    let text = answer(late_answer).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 409 "), "{text}");

    // Asked again, where it is quick, it begins from what is there.
    let text = ask_until(false, &quick, "rent", 3000);
    assert!(text.ends_with(r#"{"balance_cents":6500}"#), "{text}");
}

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("leasehold-bank-{}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a new folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
