//! What managed services make of a server.

use super::{gate::Gate, message};
use crate::resp::{Connection, Reply};
use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{self, BufReader, Write},
    net::{Ipv4Addr, Shutdown, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// Stands before a server on loopback and forbids and hides what managed services forbid and hide, where no setting of the
/// server does: what `INFO` tells, what scripts may call, and the newer protocol. It does so within scripts as well, whose
/// text it changes on its way.
///
/// # Examples
/// ```
/// use leasehold_servers::{Connection, Managed, Server, ServerBinary};
///
/// if ServerBinary::find().is_ok() {
///     let server = Server::start()?;
///     let managed = Managed::before(server.port())
///         .shows("run_id", Some("hidden"))
///         .refuses("CONFIG", "ERR unknown command 'CONFIG'")
///         .start()?;
///     let mut connection = Connection::open(managed.port())?;
///     let script = "return redis.call('INFO', 'server')";
///     for told in [
///         connection.command(&["INFO", "server"])?,
///         connection.command(&["EVAL", script, "0"])?,
///     ] {
///         assert!(told.text().is_some_and(|text| text.contains("run_id:hidden\r\n")));
///     }
///     assert!(connection.command(&["CONFIG", "GET", "save"]).is_err());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Managed {
    gate: Gate,
}

/// What a service will forbid and hide.
#[derive(Clone, Debug)]
pub struct ManagedBuilder {
    target_port: u16,
    /// Commands that are refused, and in which words.
    refused: Vec<(String, String)>,
    /// In scripts alone.
    refused_in_scripts: Vec<String>,
    /// Fields of `INFO`, and what stands in their place.
    shown: Vec<(String, Option<String>)>,
}

impl Managed {
    /// A service of the server that listens on this port of 127.0.0.1.
    #[must_use]
    pub const fn before(target_port: u16) -> ManagedBuilder {
        ManagedBuilder {
            target_port,
            refused: Vec::new(),
            refused_in_scripts: Vec::new(),
            shown: Vec::new(),
        }
    }

    /// The port of 127.0.0.1 it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.gate.port()
    }

    /// Its address: `redis://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }
}

impl ManagedBuilder {
    /// Refuses a command with these words where it does not come from a script.
    #[must_use]
    pub fn refuses(mut self, command: &str, words: &str) -> Self {
        let command = command.to_ascii_uppercase();
        self.refused.push((command, words.to_owned()));
        self
    }

    /// Refuses a command that a script calls.
    #[must_use]
    pub fn refuses_in_scripts(mut self, command: &str) -> Self {
        self.refused_in_scripts.push(command.to_ascii_uppercase());
        self
    }

    /// Tells this in `INFO` in the place of what the server says under `field`, or leaves the field out.
    #[must_use]
    pub fn shows(mut self, field: &str, value: Option<&str>) -> Self {
        self.shown
            .push((field.to_owned(), value.map(str::to_owned)));
        self
    }

    /// Starts to pass on what is asked.
    ///
    /// # Errors
    /// If there is no free port.
    pub fn start(self) -> io::Result<Managed> {
        let service = Service {
            prelude: self.prelude(),
            scripts: Mutex::default(),
            rules: self,
        };
        let service = Arc::new(service);
        let gate = Gate::open(move |client| service.serve(client))?;
        Ok(Managed { gate })
    }

    /// What stands before each script: the same `redis` as before, but for what is forbidden and hidden. In one line, so that
    /// lines keep their numbers.
    fn prelude(&self) -> String {
        let mut shown = String::new();
        for (field, value) in &self.shown {
            let line = match value {
                Some(value) => format!("'{field}:{value}\\r\\n'"),
                None => "''".to_owned(),
            };
            // Writing to a text cannot fail.
            let _ = write!(
                shown,
                "told = string.gsub(told, '{field}:[^\\r]*\\r\\n', {line}) "
            );
        }
        let mut refused = String::new();
        for command in &self.refused_in_scripts {
            let _ = write!(refused, "[{command:?}] = true, ");
        }
        format!(
            "local redis = (function(real) local refused = {{{refused}}} \
             local words = {{err = 'ERR This Redis command is not allowed from script'}} \
             local function mask(name, told) \
             if string.upper(name) == 'INFO' and type(told) == 'string' then {shown} end \
             return told end \
             local shown = setmetatable({{}}, {{__index = real}}) \
             shown.call = function(name, ...) if refused[string.upper(name)] then error(words) end \
             return mask(name, real.call(name, ...)) end \
             shown.pcall = function(name, ...) if refused[string.upper(name)] then return words end \
             return mask(name, real.pcall(name, ...)) end \
             return shown end)(redis) "
        )
    }
}

#[derive(Debug)]
struct Service {
    rules: ManagedBuilder,
    prelude: String,
    /// By the hashes of scripts, those of what they became.
    scripts: Mutex<HashMap<Vec<u8>, String>>,
}

impl Service {
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.rules.target_port))?;
        server.set_nodelay(true)?;
        let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
        let replies = thread::spawn(move || {
            // Answers pass as they are: what is forbidden or hidden is said so by the server itself.
            drop(io::copy(&mut answers, &mut back));
            drop(back.shutdown(Shutdown::Both));
        });
        let mut requests = BufReader::new(client);
        let ended = loop {
            let said = message::read(&mut requests).and_then(|request| self.reword(&request));
            if let Err(error) = said.and_then(|said| server.write_all(&said)) {
                break Err(error);
            }
        };
        drop(server.shutdown(Shutdown::Both));
        drop(replies.join());
        ended
    }

    /// What the server is asked in the place of this.
    fn reword(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut words = message::words(request)?;
        let upper = |at: usize| {
            let word = words.get(at).map(Vec::as_slice).unwrap_or_default();
            String::from_utf8_lossy(word).to_ascii_uppercase()
        };
        let (name, second) = (upper(0), upper(1));
        if let Some((_, why)) = self.rules.refused.iter().find(|(other, _)| *other == name) {
            let refusal = "return redis.error_reply(ARGV[1])";
            return Ok(encode(&["EVAL", refusal, "0", why]));
        }
        match (name.as_str(), second.as_str()) {
            ("INFO", _) => {
                let script = self.changed(b"return redis.call('INFO', unpack(ARGV))");
                words.splice(..1, [b"EVAL".to_vec(), script, b"0".to_vec()]);
            }
            ("EVAL", _) => self.change(&mut words, 1)?,
            ("SCRIPT", "LOAD") => self.change(&mut words, 2)?,
            ("EVALSHA", _) => {
                let scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(hash) = words.get_mut(1)
                    && let Some(changed) = scripts.get(hash)
                {
                    *hash = changed.clone().into_bytes();
                }
            }
            _ => {}
        }
        Ok(encode(&words))
    }

    /// Changes the script that is one of these words, and notes by which hash it will be called.
    fn change(&self, words: &mut [Vec<u8>], at: usize) -> io::Result<()> {
        let Some(script) = words.get_mut(at) else {
            return Ok(());
        };
        let changed = self.changed(script);
        let mut server = Connection::open(self.rules.target_port)?;
        let mut load = |text: &[u8]| server.command(&[&b"SCRIPT"[..], b"LOAD", text]);
        // A text that is no script is refused by the server when it comes to that.
        if let (Ok(Reply::Text(hash)), Ok(Reply::Text(new))) = (load(script), load(&changed)) {
            let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
            scripts.insert(hash.into_bytes(), new);
        }
        *script = changed;
        Ok(())
    }

    /// With the prelude, behind the line by which a script declares itself.
    fn changed(&self, script: &[u8]) -> Vec<u8> {
        let declaration = match script.starts_with(b"#!") {
            true => script.iter().position(|byte| *byte == b'\n'),
            false => None,
        };
        let (before, behind) = script.split_at(declaration.map_or(0, |end| end + 1));
        [before, self.prelude.as_bytes(), behind].concat()
    }
}

fn encode(words: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut wire = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        wire.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        wire.extend_from_slice(word);
        wire.extend_from_slice(b"\r\n");
    }
    wire
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Server, require_server};

    #[test]
    fn what_is_hidden_is_hidden_however_it_is_asked_for() {
        require_server();
        let server = Server::start().unwrap();
        let managed = Managed::before(server.port())
            .shows("run_id", None)
            .shows("redis_mode", Some("mine"))
            .start()
            .unwrap();
        let mut connection = Connection::open(managed.port()).unwrap();
        let script = "#!lua flags=no-writes\nreturn redis.pcall('info', 'server')";
        let hash = Connection::open(server.port())
            .unwrap()
            .command(&["SCRIPT", "LOAD", script])
            .unwrap();
        connection.command(&["SCRIPT", "LOAD", script]).unwrap();
        let hash = hash.text().unwrap();
        for words in [
            &["INFO"][..],
            &["info", "server"],
            &["EVAL", script, "0"],
            &["EVALSHA", hash, "0"],
        ] {
            let told = connection.command(words).unwrap();
            let told = told.text().unwrap();
            assert!(told.contains("redis_mode:mine\r\n"), "{words:?}: {told}");
            assert!(!told.contains("run_id"), "{words:?}: {told}");
        }
        // The server itself tells.
        let told = server.command(&["INFO"]).unwrap();
        assert!(told.text().unwrap().contains("run_id"));
    }

    #[test]
    fn what_is_forbidden_in_scripts_is_forbidden_there_alone() {
        require_server();
        let server = Server::start().unwrap();
        let managed = Managed::before(server.port()).refuses_in_scripts("INFO");
        let managed = managed.refuses("HELLO", "NOPROTO no").start().unwrap();
        let mut connection = Connection::open(managed.port()).unwrap();
        assert!(connection.command(&["TIME"]).is_ok());
        let script = "return redis.call('INFO')";
        let told = connection.command(&["EVAL", script, "0"]).unwrap_err();
        assert!(told.to_string().contains("not allowed from script"));
        let told = connection.command(&["HELLO", "3"]).unwrap_err();
        assert_eq!(told.to_string(), "NOPROTO no");
    }
}
