//! From an address to a connection that is ready for requests.

mod explanation;

use super::{
    codec::{self, Frame, ReceiveBuffer},
    greeting,
    look::{self, Hints},
    native::{Native, SentCommand, Trial},
    rights::{self, Needs},
    scripts::{Encoder, ServerInfo},
    socket::{self, Stream, Target},
    talk::{Halt, hear, send},
    url::RedisUrl,
};
use explanation::{explain, forbids, lacks_scripts, no_cluster_without_scripts};
use leasehold_core::quarantine::Disk;
use std::time::Duration;
use tokio::time::timeout;

pub(super) use explanation::no_hello;

/// A connection over which nothing was asked yet.
pub(super) struct Opened {
    pub(super) stream: Stream,
    pub(super) received: ReceiveBuffer,
    pub(super) met: ServerInfo,
    pub(super) hints: Hints,
}

/// Connects and introduces us. The error is a fragment for people, without the password.
///
/// Nothing that is said here changes a lock, so a handshake may be given up at any point.
pub(super) async fn meet(target: &Target, encoder: &Encoder) -> Result<Opened, Halt> {
    match meet_with(target, encoder, Manners::Full).await {
        // Proxies that understand what they pass on know neither HELLO nor SCRIPT, and hang up at them. What
        // they do know is enough.
        Err(Halt::HungUp(_)) => meet_with(target, encoder, Manners::Bare).await,
        outcome => outcome,
    }
}

async fn meet_with(target: &Target, encoder: &Encoder, manners: Manners) -> Result<Opened, Halt> {
    let url = &target.url;
    let stream = socket::connect(url).await?;
    let mut received = ReceiveBuffer::default();
    let needs = Needs::of(encoder);
    let early = greeting::early(target, encoder);
    let introduction = async {
        let (mut stream, heard) =
            introduce(stream, &mut received, url, &needs, manners, early).await?;
        if target.named.is_some() {
            greeting::confirm(&mut stream, &mut received).await?;
        }
        let own_disk = greeting::ask_disks(&mut stream, &mut received, encoder).await?;
        let mut met = match heard.no_scripts() {
            None => {
                greet(
                    &mut stream,
                    &mut received,
                    target,
                    encoder,
                    heard.is_greeted,
                )
                .await?
            }
            Some(error) if encoder.is_fenced() => {
                return Err(lacks_scripts(&explain(Step::Call, error, url)).into());
            }
            // What takes the place of scripts is several commands, which could be at two servers.
            Some(error) if encoder.is_sharded() => {
                return Err(no_cluster_without_scripts(&explain(Step::Call, error, url)).into());
            }
            Some(error) => {
                let words = explain(Step::Call, error, url);
                let native = try_without(&mut stream, &mut received, encoder, &words).await?;
                let mut met = ServerInfo::nobody(Disk::Ignored);
                met.native = Some(native);
                met
            }
        };
        met.own_disk = own_disk;
        // Argument S1: whoever does not let HELLO through may be a proxy, and may spread its keys over servers.
        met.is_proxied = heard.is_old;
        Ok::<_, Halt>((stream, met, heard.hints))
    };
    match timeout(LIMIT, introduction).await {
        Ok(outcome) => {
            let (stream, met, hints) = outcome?;
            Ok(Opened {
                stream,
                received,
                met,
                hints,
            })
        }
        Err(_) => Err(format!("the node did not answer within {LIMIT:?}").into()),
    }
}

/// How much is said before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manners {
    /// Everything that saves round trips later.
    Full,
    /// As much as one who does not come for locks has to say.
    Visit,
    /// Only what cannot be left out. Scripts go along in full when they are first needed.
    Bare,
}

/// Connects and logs in, for somebody who does not come for locks, in as few words as it takes. Tells which.
pub(super) async fn visit(target: &Target) -> Result<(Stream, ReceiveBuffer, Manners), Halt> {
    let (manners, visit) = match log_in(target, Manners::Visit).await {
        Err(Halt::HungUp(_)) => (Manners::Bare, log_in(target, Manners::Bare).await),
        outcome => (Manners::Visit, outcome),
    };
    visit.map(|(stream, received)| (stream, received, manners))
}

/// Connects and logs in, for somebody who does not come for locks: nothing is loaded, and nothing greeted.
pub(super) async fn log_in(
    target: &Target,
    manners: Manners,
) -> Result<(Stream, ReceiveBuffer), Halt> {
    let stream = socket::connect(&target.url).await?;
    let mut received = ReceiveBuffer::default();
    let introduction = async {
        let (mut stream, _) = introduce(
            stream,
            &mut received,
            &target.url,
            &Needs::default(),
            manners,
            None,
        )
        .await?;
        if target.named.is_some() {
            greeting::confirm(&mut stream, &mut received).await?;
        }
        Ok::<_, Halt>(stream)
    };
    match timeout(LIMIT, introduction).await {
        Ok(stream) => Ok((stream?, received)),
        Err(_) => Err(format!("the node did not answer within {LIMIT:?}").into()),
    }
}

/// One thing to say, and what its answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Hello,
    Ping,
    Auth,
    Select,
    Tracking,
    Load,
    /// Calling a script by its hash.
    Call,
    /// Calling one that goes along.
    CallInFull,
    /// Asking which rights are lacking.
    Rights,
    Durability,
    Greeting,
}

/// What the answers to an introduction said.
struct IntroductionReplies {
    hints: Hints,
    /// Whether the greeting is said already, and its answer comes next.
    is_greeted: bool,
    /// Whether the node, or what stands before it, was not greeted in the newer protocol or did not want to be.
    is_old: bool,
    /// Whether scripts go along with the requests that need them.
    brings_scripts: bool,
    /// The refusals of what has to do with scripts.
    refused: Vec<(Step, Vec<u8>)>,
}

impl Step {
    /// Whether it may be refused by a node that lets us run no scripts, or bring them along only.
    const fn is_about_scripts(self) -> bool {
        self.is_call() || matches!(self, Self::Load)
    }

    /// Whether it tries to run a script.
    const fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::CallInFull)
    }
}

impl IntroductionReplies {
    /// Why scripts cannot be run, if they cannot: by their hash, or at all. One that goes along is needed only where
    /// none can be loaded.
    fn no_scripts(&self) -> Option<&[u8]> {
        let refused = |step| {
            let found = self.refused.iter().find(|(other, _)| *other == step);
            found.map(|(_, error)| &error[..])
        };
        let brings_scripts = self.brings_scripts || refused(Step::Load).is_some();
        let in_full = refused(Step::CallInFull).filter(|_| brings_scripts);
        refused(Step::Call).or(in_full)
    }
}

async fn introduce(
    mut stream: Stream,
    received: &mut ReceiveBuffer,
    url: &RedisUrl,
    needs: &Needs,
    manners: Manners,
    early: Option<Vec<u8>>,
) -> Result<(Stream, IntroductionReplies), Halt> {
    let early = early.filter(|_| manners == Manners::Full);
    // All in one write: after the first answer we may be done but for the reading.
    let steps = match manners {
        Manners::Full | Manners::Visit => {
            let hints = match manners {
                Manners::Full => Hints::Given,
                Manners::Visit | Manners::Bare => Hints::Refused,
            };
            let greeting = early.as_deref().unwrap_or_default();
            say(&mut stream, url, needs, Protocol::Resp3, hints, greeting).await?
        }
        Manners::Bare => say_little(&mut stream, url, needs).await?,
    };
    let hints = match steps.contains(&Step::Tracking) {
        true => Hints::Given,
        false => Hints::Refused,
    };
    let mut heard = IntroductionReplies {
        hints,
        is_greeted: early.is_some(),
        is_old: manners == Manners::Bare,
        brings_scripts: manners == Manners::Bare,
        refused: Vec::new(),
    };
    let mut old_node = false;
    for step in steps {
        let answer = hear(&mut stream, received, |frame| refusal(step, frame)).await?;
        match answer {
            // What was said behind it may have failed for want of a login; its answers mean nothing.
            _ if old_node => {}
            Some(error) if step == Step::Hello && no_hello(&error) => old_node = true,
            // Nothing depends on hints but how soon somebody looks again.
            Some(_) if step == Step::Tracking => heard.hints = Hints::Refused,
            Some(error) if step.is_about_scripts() && forbids(&error) => {
                heard.refused.push((step, error));
            }
            Some(error) => return Err(explain(step, &error, url).into()),
            None => {}
        }
    }
    if old_node {
        introduce_again(&mut stream, received, url, needs, &mut heard).await?;
    }
    Ok((stream, heard))
}

/// As [`introduce`], in the older protocol, behind answers that mean nothing.
async fn introduce_again(
    stream: &mut Stream,
    received: &mut ReceiveBuffer,
    url: &RedisUrl,
    needs: &Needs,
    heard: &mut IntroductionReplies,
) -> Result<(), Halt> {
    (heard.hints, heard.is_old) = (Hints::Refused, true);
    if heard.is_greeted {
        // Said without a login, like all the rest of it, and to be said again.
        heard.is_greeted = false;
        hear(stream, received, |_| ()).await?;
    }
    for step in say(stream, url, needs, Protocol::Resp2, heard.hints, &[]).await? {
        match hear(stream, received, |frame| refusal(step, frame)).await? {
            Some(error) if step.is_about_scripts() && forbids(&error) => {
                heard.refused.push((step, error));
            }
            Some(error) => return Err(explain(step, &error, url).into()),
            None => {}
        }
    }
    Ok(())
}

/// Tries what takes the place of scripts, of which the node said `words`.
async fn try_without(
    stream: &mut Stream,
    received: &mut ReceiveBuffer,
    encoder: &Encoder,
    words: &str,
) -> Result<Native, Halt> {
    send(stream, &Trial::commands(encoder.key_format())).await?;
    let mut trial = Trial::default();
    for command in SentCommand::ALL {
        hear(stream, received, |answer| trial.hear(command, answer)).await??;
    }
    Ok(trial.outcome(words)?)
}

/// Lets the node look at its own past, and looks at the node: whether it is one to keep locks on.
async fn greet(
    stream: &mut Stream,
    received: &mut ReceiveBuffer,
    Target { url, named }: &Target,
    encoder: &Encoder,
    is_greeted: bool,
) -> Result<ServerInfo, Halt> {
    if !encoder.is_fenced() {
        return Ok(ServerInfo::nobody(Disk::Ignored));
    }
    let mut is_durable = false;
    if encoder.trusts_disk() {
        let mut wire = Vec::new();
        codec::encode(&mut wire, &greeting::DURABILITY);
        send(stream, &wire).await?;
        let durable = |frame: &Frame<'_>| greeting::is_durable(frame);
        // A proxy hangs up at the question.
        let told = hear(stream, received, durable).await;
        let told = told.map_err(|halt| greeting::durability_not_told(&String::from(halt)))?;
        is_durable = told.map_err(|error| explain(Step::Durability, &error, url))?;
    }
    let disk = encoder.disk(Some(is_durable));
    if !is_greeted {
        // Argument S9: told by who was told by a majority, before anything is asked for.
        let failover = named.and_then(|named| named.failover);
        send(stream, &encoder.greeting(disk, failover)).await?;
    }
    let node = hear(stream, received, greeting::read).await?;
    let (node, about) = node.map_err(|error| explain(Step::Greeting, &error, url))?;
    let id = node.suits(encoder.is_guarded(), is_durable)?;
    let mut met = ServerInfo::new(id, disk);
    met.is_superseding = encoder.is_superseded(&about);
    Ok(met)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Resp2,
    Resp3,
}

async fn say(
    stream: &mut Stream,
    url: &RedisUrl,
    needs: &Needs,
    protocol: Protocol,
    hints: Hints,
    greeting: &[u8],
) -> Result<Vec<Step>, Halt> {
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
        (Protocol::Resp2, ..) => add_login(url, &mut add),
    }
    add_select(url, &mut add);
    if hints == Hints::Given {
        add(Step::Tracking, &look::TRACKING);
        // Now rather than with the first look: who may not say this gets no hints. It counts for the next command
        // alone, which reads no key.
        add(Step::Tracking, &look::CACHING);
    }
    for script in &needs.scripts {
        add(Step::Load, &[b"SCRIPT", b"LOAD", script.text.as_bytes()]);
    }
    if !needs.scripts.is_empty() {
        add(Step::Call, &[b"EVALSHA", &[b'0'; 40], b"0"]);
        add(Step::CallInFull, &[b"EVAL", b"return 1", b"0"]);
        wire.extend_from_slice(&needs.rights);
        steps.push(Step::Rights);
    }
    wire.extend_from_slice(greeting);
    send(stream, &wire).await?;
    Ok(steps)
}

/// As [`say`], to somebody who hangs up at most words.
async fn say_little(stream: &mut Stream, url: &RedisUrl, needs: &Needs) -> Result<Vec<Step>, Halt> {
    let (mut wire, mut steps) = (Vec::new(), Vec::new());
    let mut add = |step, parts: &[&[u8]]| {
        codec::encode(&mut wire, parts);
        steps.push(step);
    };
    add_login(url, &mut add);
    add_select(url, &mut add);
    // One answer at least: a connection that is hung up at once was none.
    add(Step::Ping, &[b"PING"]);
    if !needs.scripts.is_empty() {
        // With a key, by which a proxy knows where it goes.
        let key = needs.trial.as_bytes();
        add(Step::Call, &[b"EVALSHA", &[b'0'; 40], b"1", key]);
        add(Step::CallInFull, &[b"EVAL", b"return 1", b"1", key]);
        wire.extend_from_slice(&needs.rights_by_key);
        steps.push(Step::Rights);
    }
    send(stream, &wire).await?;
    Ok(steps)
}

fn add_login(url: &RedisUrl, add: &mut impl FnMut(Step, &[&[u8]])) {
    if let Some(login) = &url.login {
        let password = login.password.as_bytes();
        match login.user.as_deref() {
            Some(user) => add(Step::Auth, &[b"AUTH", user.as_bytes(), password]),
            None => add(Step::Auth, &[b"AUTH", password]),
        }
    }
}

fn add_select(url: &RedisUrl, add: &mut impl FnMut(Step, &[&[u8]])) {
    if url.database != 0 {
        let database = url.database.to_string();
        add(Step::Select, &[b"SELECT", database.as_bytes()]);
    }
}

/// The error in an answer, if it is one that ends the handshake.
fn refusal(step: Step, frame: &Frame<'_>) -> Option<Vec<u8>> {
    match frame {
        // A user who may run no scripts is told so by the steps before.
        frame if step == Step::Rights => rights::lacking(frame).map(String::into_bytes),
        // There is no such script: that is the answer which says that there could be.
        Frame::Error(error) if step.is_call() && !forbids(error) => None,
        Frame::Error(error) => Some(error.to_vec()),
        _ => None,
    }
}

const LIMIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_go_along_are_needed_where_none_can_be_loaded() {
        let refused_in_full = |brings_scripts, others: &[Step]| {
            let steps = others.iter().copied().chain([Step::CallInFull]);
            let heard = IntroductionReplies {
                hints: Hints::Given,
                is_greeted: false,
                is_old: false,
                brings_scripts,
                refused: steps.map(|step| (step, b"NOPERM".to_vec())).collect(),
            };
            heard.no_scripts().is_some()
        };
        assert!(!refused_in_full(false, &[]));
        assert!(refused_in_full(true, &[]));
        assert!(refused_in_full(false, &[Step::Load]));
        assert!(refused_in_full(false, &[Step::Call]));
    }
}
