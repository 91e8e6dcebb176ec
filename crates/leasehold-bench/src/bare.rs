//! The bare wire: what nobody can be much faster than.
//!
//! One thread, one connection per node, all tasks on it: `SET key owner NX PX ttl` to every node, a quorum of
//! answers, `EVALSHA` of compare-and-delete to every node, a quorum of answers. No runtime, no timers, no checks.
//! Requests of all tasks that became ready together leave in one write per node. Told to, it says what leasehold's fenced
//! locks say instead.

mod contest;
mod form;

use crate::{Fallible, moment::Moment, sample::Sample, subject::Locker};
use form::{Form, Word};
use leasehold_servers::{Connection, Server, ServerSet};
use rustix::event::{PollFd, PollFlags, poll};
use std::{
    collections::VecDeque,
    fmt::Write as _,
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    After(Duration),
    Cycles(usize),
}

/// What the cycles of a run took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cycles {
    /// From the first write of a cycle to its quorum.
    pub(crate) acquires: Sample,
    /// From there to the quorum of its release.
    pub(crate) cycles: Sample,
}

/// Connections to all nodes.
#[derive(Debug)]
pub(crate) struct Bare {
    wires: Vec<Wire>,
    /// What every node is told, or each.
    forms: Vec<Form>,
    /// Numbers keys and owners.
    number: u64,
}

#[derive(Debug)]
struct Wire {
    stream: TcpStream,
    out: Vec<u8>,
    buffer: Box<[u8]>,
    /// What was read and not yet understood: the beginning of a line at most.
    read: Vec<u8>,
    /// Which task, in which step, each outstanding answer is for.
    awaited: VecDeque<(usize, u64)>,
}

#[derive(Clone, Debug)]
struct Task {
    step: u64,
    is_releasing: bool,
    yes: usize,
    key: String,
    owner: String,
    started: Moment,
}

impl Bare {
    pub(crate) fn connect(servers: &ServerSet) -> Fallible<Self> {
        let ports: Vec<u16> = servers.iter().map(Server::port).collect();
        Self::open(&ports)
    }

    /// Connects to ports of loopback.
    pub(crate) fn open(ports: &[u16]) -> Fallible<Self> {
        let mut wires = Vec::new();
        let mut sha = String::new();
        for &port in ports {
            let reply = Connection::open(port)?.command(&["SCRIPT", "LOAD", RELEASE])?;
            reply.text().unwrap_or_default().clone_into(&mut sha);
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            wires.push(Wire {
                stream,
                out: Vec::new(),
                buffer: vec![0; 16 * 1024].into(),
                read: Vec::new(),
                awaited: VecDeque::new(),
            });
        }
        Ok(Self {
            wires,
            forms: vec![Form::plain(&sha)],
            number: 0,
        })
    }

    /// Says what this manager of fenced locks says to the servers, which must have its scripts, one lock in each call.
    pub(crate) async fn fenced(servers: &ServerSet, manager: &Locker) -> Fallible<Self> {
        let mut bare = Self::connect(servers)?;
        bare.forms = form::overheard(servers, manager).await?;
        Ok(bare)
    }

    /// Lets so many tasks lock and unlock new keys, each one after the other.
    pub(crate) fn run(&mut self, tasks: usize, stop: Stop) -> Fallible<Cycles> {
        let started = Moment::now();
        let mut done = Cycles::default();
        let mut tasks = vec![Task::new(started); tasks];
        for (number, task) in tasks.iter_mut().enumerate() {
            self.begin(number, task);
        }
        let mut heard = Vec::new();
        while self.wires.iter().any(|wire| !wire.awaited.is_empty()) {
            self.exchange(&mut heard)?;
            let is_over = match stop {
                Stop::After(time) => started.elapsed() >= time,
                Stop::Cycles(count) => done.cycles.len() >= count,
            };
            for (number, step, is_yes) in heard.drain(..) {
                let task = &mut tasks[number];
                // Late answers of a step that a quorum has decided.
                if task.step != step {
                    continue;
                }
                task.yes += usize::from(is_yes);
                if task.yes > self.wires.len() / 2
                    && self.decided(number, task, &mut done)
                    && !is_over
                {
                    self.begin(number, task);
                }
            }
        }
        Ok(done)
    }

    /// A quorum has agreed. True if that ended a cycle.
    fn decided(&mut self, number: usize, task: &mut Task, done: &mut Cycles) -> bool {
        let now = Moment::now();
        task.step += 1;
        task.yes = 0;
        if task.is_releasing {
            done.cycles.push(now.since(task.started));
            return true;
        }
        done.acquires.push(now.since(task.started));
        task.is_releasing = true;
        self.send(number, task, |form| &form.release);
        false
    }

    fn begin(&mut self, number: usize, task: &mut Task) {
        self.number += 1;
        task.is_releasing = false;
        task.key = format!("bare:{}", self.number);
        task.owner = format!("{:040x}", self.number);
        task.started = Moment::now();
        self.send(number, task, |form| &form.acquire);
    }

    /// Encodes, once if all are told the same, and queues for every node.
    fn send(&mut self, number: usize, task: &Task, part: impl Fn(&Form) -> &Vec<Word>) {
        let forms = self.forms.iter().map(|form| encode(part(form), task));
        let said: Vec<_> = forms.collect();
        for (wire, bytes) in self.wires.iter_mut().zip(said.iter().cycle()) {
            wire.out.extend_from_slice(bytes.as_bytes());
            wire.awaited.push_back((number, task.step));
        }
    }

    /// Writes what is to be written, waits for an answer, and reads what there is.
    fn exchange(&mut self, heard: &mut Vec<(usize, u64, bool)>) -> io::Result<()> {
        for wire in &mut self.wires {
            wire.flush()?;
        }
        let mut sockets: Vec<PollFd<'_>> = self
            .wires
            .iter()
            .map(|wire| PollFd::new(&wire.stream, PollFlags::IN))
            .collect();
        poll(&mut sockets, None)?;
        let ready: Vec<bool> = sockets
            .iter()
            .map(|socket| !socket.revents().is_empty())
            .collect();
        for (wire, _) in self.wires.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            wire.receive(heard)?;
        }
        Ok(())
    }
}

impl Task {
    const fn new(now: Moment) -> Self {
        Self {
            step: 0,
            is_releasing: false,
            yes: 0,
            key: String::new(),
            owner: String::new(),
            started: now,
        }
    }
}

fn encode(words: &[Word], task: &Task) -> String {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        let word = match word {
            Word::Same(word) => word,
            Word::Key => &task.key,
            Word::Owner => &task.owner,
        };
        let _ = write!(bytes, "${}\r\n{word}\r\n", word.len());
    }
    bytes
}

impl Wire {
    fn flush(&mut self) -> io::Result<()> {
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(written) => drop(self.out.drain(..written)),
                // Its answers come first, then there is room again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, heard: &mut Vec<(usize, u64, bool)>) -> io::Result<()> {
        let count = self.stream.read(&mut self.buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read.extend_from_slice(&self.buffer[..count]);
        let mut taken = 0;
        // Every answer to these requests is one line, or one behind that of its length.
        while let Some(end) = self.read[taken..].iter().position(|&byte| byte == b'\n') {
            let line = &self.read[taken..taken + end];
            if line.starts_with(b"$") {
                taken += end + 1;
                continue;
            }
            let yes: [&[u8]; 3] = [b"+OK", b":1", b"granted"];
            let is_yes = yes.iter().any(|yes| line.starts_with(yes));
            if line.starts_with(b"-") {
                return Err(io::Error::other(String::from_utf8_lossy(line).into_owned()));
            }
            let (task, step) = self.awaited.pop_front().ok_or(io::ErrorKind::InvalidData)?;
            heard.push((task, step, is_yes));
            taken += end + 1;
        }
        self.read.drain(..taken);
        Ok(())
    }
}

const RELEASE: &str = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) \
                       else return 0 end";
