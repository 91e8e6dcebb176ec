//! What is said before the first request.

use super::{
    codec::{Value, decode, encode},
    scripts::Script,
    socket::{Socket, connect, reason},
    url::RedisUrl,
};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// How long a server may take to greet. A stopped one does not; nothing was asked of it that could take
/// effect later, so the connection can be given up.
const LIMIT: Duration = Duration::from_secs(5);

/// Connects, logs in, chooses the database and makes the scripts known. The reason of a failure is a
/// lower-case fragment without secrets.
pub(super) async fn open(url: RedisUrl) -> Result<Box<dyn Socket>, String> {
    let mut greeting = Greeting {
        socket: connect(&url.place).await?,
        read: Vec::new(),
    };
    match tokio::time::timeout(LIMIT, greeting.speak(&url)).await {
        Ok(spoken) => spoken.map(|()| greeting.socket),
        Err(_) => Err(format!("connected, but no greeting within {LIMIT:?}")),
    }
}

struct Greeting {
    socket: Box<dyn Socket>,
    read: Vec<u8>,
}

impl Greeting {
    async fn speak(&mut self, url: &RedisUrl) -> Result<(), String> {
        let user = url.user.as_deref().unwrap_or("default").as_bytes();
        let login = url.password.as_deref().map(str::as_bytes);
        let mut hello: Vec<&[u8]> = vec![b"HELLO", b"3"];
        if let Some(password) = login {
            hello.extend([b"AUTH", user, password]);
        }
        if let Value::Error(error) = self.ask(&encode(&hello)).await? {
            self.fall_back(url, &error).await?;
        }
        // All at once: one round trip.
        let mut words = Vec::new();
        if url.database != 0 {
            words.push(encode(&[b"SELECT", url.database.to_string().as_bytes()]));
        }
        let before = words.len();
        words.extend(Script::ALL.map(Script::load));
        self.write(&words.concat()).await?;
        for number in 0..words.len() {
            match self.read().await? {
                Value::Error(error) if number < before => {
                    return Err(format!("database {}: {error}", url.database));
                }
                Value::Error(error) => return Err(error),
                // Something between us and the server changed the text.
                Value::Text(sha)
                    if number >= before && sha != Script::ALL[number - before].sha().as_bytes() =>
                {
                    return Err("the server knows our script by another hash".to_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Speaks the older protocol with servers and proxies that do not know the newer one. Anything else
    /// that is wrong is told.
    async fn fall_back(&mut self, url: &RedisUrl, error: &str) -> Result<(), String> {
        let unknown = error.starts_with("NOPROTO")
            || error.starts_with("NOPERM")
            || error.contains("unknown command");
        if !unknown {
            return Err(told(error));
        }
        let Some(password) = &url.password else {
            return Ok(());
        };
        let mut words: Vec<&[u8]> = vec![b"AUTH"];
        words.extend(url.user.as_deref().map(str::as_bytes));
        words.push(password.as_bytes());
        match self.ask(&encode(&words)).await? {
            Value::Error(error) => Err(told(&error)),
            _ => Ok(()),
        }
    }

    async fn ask(&mut self, words: &[u8]) -> Result<Value, String> {
        self.write(words).await?;
        self.read().await
    }

    async fn write(&mut self, words: &[u8]) -> Result<(), String> {
        let written = async {
            self.socket.write_all(words).await?;
            self.socket.flush().await
        };
        written.await.map_err(|error| reason(&error))
    }

    async fn read(&mut self) -> Result<Value, String> {
        loop {
            match decode(&self.read).map_err(|malformed| malformed.to_string())? {
                Some((value, length)) => {
                    self.read.drain(..length);
                    if value != Value::Push {
                        return Ok(value);
                    }
                }
                None => match self.socket.read_buf(&mut self.read).await {
                    Ok(0) => return Err("the server closed the connection".to_owned()),
                    Ok(_) => {}
                    Err(error) => return Err(reason(&error)),
                },
            }
        }
    }
}

fn told(error: &str) -> String {
    let login = [
        "WRONGPASS",
        "NOAUTH",
        "ERR AUTH",
        "ERR invalid password",
        "ERR Client sent AUTH",
    ];
    if login.iter().any(|beginning| error.starts_with(beginning)) {
        format!("authentication failed: {error}")
    } else {
        error.to_owned()
    }
}
