//! From an address to a connection that is ready for requests.

use super::{
    codec::{self, Frame, Inbox},
    connection::Connection,
    reply::words,
    scripts::SCRIPTS,
    socket::{self, Stream},
    url::RedisUrl,
};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

/// Connects and introduces us. The error is a fragment for people, without the password.
///
/// Nothing that is said here changes a key, so a handshake may be given up at any point.
pub(super) async fn dial(url: RedisUrl) -> Result<Connection, String> {
    let stream = socket::connect(&url).await?;
    let mut inbox = Inbox::default();
    match timeout(LIMIT, introduce(stream, &mut inbox, &url)).await {
        Ok(Ok(stream)) => Ok(Connection::new(stream, inbox)),
        Ok(Err(reason)) => Err(reason),
        Err(_) => Err(format!("the node did not answer within {LIMIT:?}")),
    }
}

/// One thing to say, and what its answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Hello,
    Auth,
    Select,
    Load,
}

async fn introduce(
    mut stream: Stream,
    inbox: &mut Inbox,
    url: &RedisUrl,
) -> Result<Stream, String> {
    // All in one write: after the first answer we may be done but for the reading.
    let steps = say(&mut stream, url, Protocol::Resp3).await?;
    let mut old_node = false;
    for step in steps {
        let answer = hear(&mut stream, inbox, |frame| refusal(step, frame)).await?;
        match answer {
            // What was said behind it may have failed for want of a login; its answers mean nothing.
            _ if old_node => {}
            Some(error) if step == Step::Hello && no_hello(&error) => old_node = true,
            Some(error) => return Err(explain(step, &error, url)),
            None => {}
        }
    }
    if old_node {
        for step in say(&mut stream, url, Protocol::Resp2).await? {
            if let Some(error) = hear(&mut stream, inbox, |frame| refusal(step, frame)).await? {
                return Err(explain(step, &error, url));
            }
        }
    }
    Ok(stream)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Resp2,
    Resp3,
}

async fn say(stream: &mut Stream, url: &RedisUrl, protocol: Protocol) -> Result<Vec<Step>, String> {
    let (mut wire, mut steps) = (Vec::new(), Vec::new());
    let mut add = |step, parts: &[&[u8]]| {
        codec::encode(&mut wire, parts);
        steps.push(step);
    };
    let login = url.login.as_ref();
    let user = login.and_then(|login| login.user.as_deref());
    let password = login.map(|login| login.password.as_bytes());
    match (protocol, user, password) {
        (Protocol::Resp3, user, Some(password)) => {
            let user = user.unwrap_or("default").as_bytes();
            add(Step::Hello, &[b"HELLO", b"3", b"AUTH", user, password]);
        }
        (Protocol::Resp3, _, None) => add(Step::Hello, &[b"HELLO", b"3"]),
        (Protocol::Resp2, Some(user), Some(password)) => {
            add(Step::Auth, &[b"AUTH", user.as_bytes(), password]);
        }
        (Protocol::Resp2, None, Some(password)) => add(Step::Auth, &[b"AUTH", password]),
        (Protocol::Resp2, _, None) => {}
    }
    if url.database != 0 {
        let database = url.database.to_string();
        add(Step::Select, &[b"SELECT", database.as_bytes()]);
    }
    for script in SCRIPTS {
        add(Step::Load, &[b"SCRIPT", b"LOAD", script.text.as_bytes()]);
    }
    let written = async {
        stream.write_all(&wire).await?;
        stream.flush().await
    };
    written.await.map_err(|error| socket::reason(&error))?;
    Ok(steps)
}

/// Reads the next answer; pushes are skipped.
async fn hear<T>(
    stream: &mut Stream,
    inbox: &mut Inbox,
    read: impl Fn(&Frame<'_>) -> T,
) -> Result<T, String> {
    loop {
        while let Some(frame) = inbox.take().map_err(|malformed| malformed.to_string())? {
            if !matches!(frame, Frame::Push(_)) {
                return Ok(read(&frame));
            }
        }
        match stream.read(inbox.space()).await {
            Ok(0) => return Err("the node closed the connection".to_owned()),
            Ok(count) => inbox.filled(count),
            Err(error) => return Err(socket::reason(&error)),
        }
    }
}

/// The error in an answer, if it is one that ends the handshake.
fn refusal(step: Step, frame: &Frame<'_>) -> Option<Vec<u8>> {
    match frame {
        // Who may not load scripts may still be allowed to run them: they go along in full then.
        Frame::Error(error) if step == Step::Load && error.starts_with(b"NOPERM") => None,
        Frame::Error(error) => Some(error.to_vec()),
        _ => None,
    }
}

/// Whether the node does not know RESP3, or does not want to be greeted.
fn no_hello(error: &[u8]) -> bool {
    [&b"ERR unknown command"[..], b"NOPROTO", b"NOPERM"]
        .iter()
        .any(|code| error.starts_with(code))
}

/// The node's words, with what they are about. They may repeat what they were told, so the password
/// is cut out.
fn explain(step: Step, error: &[u8], url: &RedisUrl) -> String {
    let error = String::from_utf8_lossy(error);
    let error = error
        .split(", with args beginning with")
        .next()
        .unwrap_or_default();
    let login = url.login.as_ref();
    let error = match login.map(|login| login.password.as_str()) {
        None | Some("") => error.to_owned(),
        Some(password) => error.replace(password, "***"),
    };
    let error = words(error.as_bytes());
    let about_login = ["NOAUTH", "WRONGPASS"]
        .iter()
        .any(|code| error.starts_with(code));
    match step {
        _ if about_login => format!("authentication failed: {error}"),
        Step::Auth => format!("authentication failed: {error}"),
        Step::Select => format!("database {} cannot be selected: {error}", url.database),
        Step::Hello | Step::Load => error,
    }
}

const LIMIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_nodes_words_is_cut_out() {
        let url: RedisUrl = "redis://u:hunter2@h".parse().expect("an address");
        for (step, error, expected) in [
            (
                Step::Auth,
                "ERR unknown command 'AUTH', with args beginning with: 'u' 'hunter2'",
                "authentication failed: ERR unknown command 'AUTH'",
            ),
            (Step::Hello, "ERR what is hunter2?", "ERR what is ***?"),
            (
                Step::Load,
                "NOAUTH Authentication required.",
                "authentication failed: NOAUTH Authentication required.",
            ),
        ] {
            assert_eq!(explain(step, error.as_bytes(), &url), expected);
        }
    }
}
