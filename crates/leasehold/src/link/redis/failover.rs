//! Finding the master by its sentinels, and noticing that another server has become it.
//!
//! A connection does not tell. A master that hangs keeps its connections, and requests in it have no time limit;
//! one that is cut off from its sentinels, or is replaced on purpose, goes on answering for a while. Whatever it
//! answers then is lost with it. So all sentinels are asked once in a while, for as long as a connection lasts. What
//! their answers mean is decided by [`Discovery`].

use super::{
    sentinel::{Address, Sentinel, Word},
    url::{Sentinels, host_port},
};
use crate::{clock::Clock, error::Span};
use leasehold_core::{
    Fault, FaultKind, Instant, Tag, Vote,
    discovery::{Choice, Confirmation, Discovery, Heard, Naming, Need, Unconfirmed},
};
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::{
        Notify,
        mpsc::{self, UnboundedReceiver, UnboundedSender},
    },
    task::JoinSet,
    time::{sleep, timeout},
};

/// The sentinels of one node, all of which are asked again and again.
pub(super) struct SentinelWatch {
    sentinels: Sentinels,
    clock: Clock,
    discovery: Discovery<Address>,
    heard: UnboundedReceiver<SentinelAnswer>,
    /// Why a sentinel does not tell where the master is, each for itself.
    silent: Vec<Option<String>>,
    /// Has each of them asked at once.
    hurry: Vec<Arc<Notify>>,
    /// Ended with this value.
    asking: JoinSet<()>,
}

fn nobody_hurries(count: usize) -> Vec<Arc<Notify>> {
    (0..count).map(|_| Arc::default()).collect()
}

/// What came of asking a sentinel.
struct SentinelAnswer {
    turn: usize,
    asked: Instant,
    said: Result<Word, String>,
}

impl SentinelWatch {
    /// Begins to ask them.
    pub(super) fn begin(sentinels: &Sentinels, clock: Clock) -> Self {
        let count = sentinels.hosts.len();
        let hurry = nobody_hurries(count);
        let (heard, asking) = ask(sentinels, clock, &hurry);
        Self {
            sentinels: sentinels.clone(),
            clock,
            discovery: Discovery::new(count, sentinels.rule),
            heard,
            silent: vec![None; count],
            hurry,
            asking,
        }
    }

    /// Asks them within the runtime that runs here from now on.
    pub(super) fn change_runtime(&mut self) {
        // Those who asked until now may never end, and would take the next hurry for theirs.
        self.hurry = nobody_hurries(self.hurry.len());
        (self.heard, self.asking) = ask(&self.sentinels, self.clock, &self.hurry);
    }

    /// Waits until it is known where the master is: until a majority agrees, or each sentinel has been asked once.
    pub(super) async fn find(&mut self) -> Result<Address, String> {
        loop {
            match self.discovery.choose(self.clock.now()) {
                Choice::Follow(server) => return Ok(server),
                Choice::Nowhere => return Err(self.undecided()),
                Choice::Wait => {}
            }
            let Some(answer) = self.heard.recv().await else {
                return Err(self.undecided());
            };
            self.note(answer);
        }
    }

    /// The number of the failover by which the server that was found is the master, if a majority said so.
    pub(super) fn failover(&self) -> Option<u64> {
        self.discovery.failover()
    }

    /// Ready when another server is the master, with a fragment for people.
    pub(super) fn poll_departure(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        while let Poll::Ready(Some(answer)) = self.heard.poll_recv(cx) {
            self.note(answer);
            if let Some(sentinel) = self.discovery.departure() {
                return Poll::Ready(format!(
                    "sentinel {} names another server as the master \"{}\" now",
                    self.sentinels.name(sentinel),
                    self.sentinels.master
                ));
            }
        }
        Poll::Pending
    }

    /// The vote as it counts now, by what the sentinels said last.
    pub(super) fn judge(&self, need: Need, vote: Vote) -> Vote {
        let why = |unconfirmed| self.fault(unconfirmed);
        need.judge(vote, self.clock.now(), &self.discovery, why)
    }

    /// Takes an answer that was just heard; asks all sentinels if it waits for their word.
    pub(super) fn hear(
        &self,
        need: Need,
        tag: Tag,
        vote: Vote,
        waiting: &mut Confirmation,
    ) -> Heard {
        // Argument S9: the clock is read after the grant, and before the questions leave.
        let heard = waiting.hear(need, self.clock.now(), tag, vote);
        if heard == Heard::Asks {
            for hurry in &self.hurry {
                hurry.notify_one();
            }
        }
        heard
    }

    /// Takes out the first answer that waits, if it can be told by now.
    pub(super) fn settle(&self, waiting: &mut Confirmation) -> Option<(Tag, Vote)> {
        waiting.take(&self.discovery, |unconfirmed| {
            // That they have been silent for long says more to people than that they have been since the grant.
            let silence = self.discovery.confirm(self.clock.now(), None).err();
            self.fault(silence.unwrap_or(unconfirmed))
        })
    }

    fn fault(&self, unconfirmed: Unconfirmed) -> Fault {
        let when = match unconfirmed.within.is_zero() {
            true => "since".to_owned(),
            false => format!("within the last {}", Span(unconfirmed.within)),
        };
        let mut text = format!(
            "granted, but only {} of {} sentinels have named this server as the master \"{}\" {when}, and {} must: a \
             replica may have taken its place",
            unconfirmed.named_by, unconfirmed.sentinels, self.sentinels.master, unconfirmed.needed,
        );
        for (turn, reason) in self.silent.iter().enumerate() {
            if let Some(reason) = reason {
                text += &format!("; sentinel {}: {reason}", self.sentinels.name(turn));
            }
        }
        Fault::new(FaultKind::Unconfirmed, &text)
    }

    /// Why the server that was found is not the node after all.
    pub(super) fn refused(&self, reason: &str) -> String {
        let mut told = self.words().into_iter();
        let told = told.find_map(|(sentinel, said)| said.ok().map(|place| (sentinel, place)));
        let Some((sentinel, place)) = told else {
            return reason.to_owned();
        };
        let master = &self.sentinels.master;
        format!("no master \"{master}\" to be found: sentinel {sentinel} names {place}: {reason}")
    }

    /// That too few sentinels agree where the master is.
    fn undecided(&self) -> String {
        let said = self.words().into_iter().map(|(sentinel, said)| match said {
            Ok(place) => format!("sentinel {sentinel} names {place}"),
            Err(reason) => format!("sentinel {sentinel}: {reason}"),
        });
        let said: Vec<_> = said.collect();
        let (master, count) = (&self.sentinels.master, self.silent.len());
        let said = said.join("; ");
        match self.silent.iter().all(Option::is_some) {
            true => format!("no master \"{master}\" to be found: {said}"),
            false => format!(
                "no master \"{master}\" to be found: {said}; {} of {count} sentinels must agree on the latest failover",
                self.discovery.majority()
            ),
        }
    }

    /// What each sentinel says: where the master is, or why it does not tell.
    fn words(&self) -> Vec<(String, Result<String, String>)> {
        let all = 0..self.silent.len();
        all.map(|turn| {
            let silent = self.silent.get(turn).cloned().flatten();
            let named = self.discovery.naming(turn);
            let place = named.map(
                |Naming {
                     server: (host, port),
                     ..
                 }| host_port(host, *port),
            );
            let said = match (silent, place) {
                (Some(reason), _) => Err(reason),
                (None, Some(place)) => Ok(place),
                (None, None) => Err("has not answered yet".to_owned()),
            };
            (self.sentinels.name(turn), said)
        })
        .collect()
    }

    fn note(&mut self, SentinelAnswer { turn, asked, said }: SentinelAnswer) {
        let silent = match said {
            Ok(Word::Named(naming)) => {
                self.discovery.hear(turn, asked, Some(naming));
                None
            }
            Ok(Word::NoMaster(reason)) => {
                self.discovery.hear(turn, asked, None);
                Some(reason)
            }
            Err(reason) => {
                self.discovery.miss(turn);
                Some(reason)
            }
        };
        if let Some(this) = self.silent.get_mut(turn) {
            *this = silent;
        }
    }
}

/// Has them asked, each by a task of its own: one that does not answer holds up no other.
fn ask(
    sentinels: &Sentinels,
    clock: Clock,
    hurry: &[Arc<Notify>],
) -> (UnboundedReceiver<SentinelAnswer>, JoinSet<()>) {
    let (tell, heard) = mpsc::unbounded_channel();
    let mut asking = JoinSet::new();
    for (turn, hurry) in hurry.iter().enumerate() {
        let (sentinels, hurry, tell) = (sentinels.clone(), Arc::clone(hurry), tell.clone());
        asking.spawn(ask_on(sentinels, turn, clock, hurry, tell));
    }
    (heard, asking)
}

/// Asks a sentinel once a period, for as long as anybody wants to know.
async fn ask_on(
    sentinels: Sentinels,
    turn: usize,
    clock: Clock,
    hurry: Arc<Notify>,
    tell: UnboundedSender<SentinelAnswer>,
) {
    while !tell.is_closed() {
        match Sentinel::meet(&sentinels, turn).await {
            Ok(mut sentinel) => loop {
                // Argument S9: what it says is true at some moment after this.
                let asked = clock.now();
                let said = sentinel.ask(&sentinels.master).await;
                let is_last = said.is_err();
                let answer = SentinelAnswer { turn, asked, said };
                if tell.send(answer).is_err() || is_last {
                    break;
                }
                rest(&hurry).await;
            },
            Err(reason) => {
                let (asked, said) = (clock.now(), Err(reason));
                // Nobody listens any more: the next look at that ends this.
                drop(tell.send(SentinelAnswer { turn, asked, said }));
            }
        }
        sleep(PERIOD).await;
    }
}

/// Until the next question: a period, or less if somebody waits for it. An acquire that comes while a question is under way is for
/// another one.
async fn rest(hurry: &Notify) {
    // Grants that are heard meanwhile share the next answer.
    sleep(LEAST).await;
    drop(timeout(PERIOD, hurry.notified()).await);
}

/// Between two questions to one sentinel, however many grants wait for its word.
const LEAST: Duration = Duration::from_millis(2);

/// A vote that may be relied on for less than half as long again may find no answer recent enough.
const PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::{pin::pin, task::Waker};

    #[tokio::test]
    async fn a_sentinel_is_not_asked_again_at_once_however_many_wait_for_it() {
        let hurry = Notify::new();
        hurry.notify_one();
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(rest(&hurry)).poll(&mut context).is_pending());
        // But as soon as it may be.
        rest(&hurry).await;
    }
}
