//! Which server of a cluster keeps which slots, asked again and again.
//!
//! A redirection tells as well, but a master that hangs tells nothing: whoever took its place is known to the others. While no
//! request is under way, nobody is asked: many clients want nothing for most of their time.

use super::slots::{ServerAddress, SlotMap};
use crate::link::redis::{
    codec::{self, Frame, ReceiveBuffer},
    handshake::{Manners, log_in},
    reply::words,
    socket::{Stream, Target},
    talk::{Halt, hear, send},
    url::{RedisUrl, host_port},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
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

/// Somebody who asks. Ended with this value.
pub(super) struct ClusterWatch {
    heard: UnboundedReceiver<Result<SlotMap, String>>,
    need: Arc<Need>,
    _asking: JoinSet<()>,
}

impl ClusterWatch {
    /// Begins to ask: the servers that are known, and those of the address.
    pub(super) fn begin(url: &RedisUrl, servers: Vec<ServerAddress>, is_busy: bool) -> Self {
        let (tell, heard) = mpsc::unbounded_channel();
        let need = Arc::<Need>::default();
        need.set_busy(is_busy);
        let asker = Asker::new(url, servers);
        let mut asking = JoinSet::new();
        asking.spawn(asker.ask_on(Arc::clone(&need), tell));
        Self {
            heard,
            need,
            _asking: asking,
        }
    }

    /// Has it asked at once.
    pub(super) fn hurry(&self) {
        self.need.hurry();
    }

    /// Whether requests are under way: then it asks from time to time.
    pub(super) fn set_busy(&self, is_busy: bool) {
        self.need.set_busy(is_busy);
    }

    /// Ready with what was told, or why nobody tells.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<SlotMap, String>> {
        match self.heard.poll_recv(cx) {
            Poll::Ready(Some(told)) => Poll::Ready(told),
            // It ends only with this value.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// What the asker waits for.
#[derive(Debug, Default)]
struct Need {
    is_busy: AtomicBool,
    rests: AtomicBool,
    hurry: Notify,
}

impl Need {
    fn hurry(&self) {
        self.hurry.notify_one();
    }

    fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::SeqCst);
        if is_busy && self.rests.swap(false, Ordering::SeqCst) {
            self.hurry();
        }
    }

    /// Until it is to hurry, or requests are under way. Either it sees these, or who gives them sees it rest.
    async fn rest(&self) {
        self.rests.store(true, Ordering::SeqCst);
        if !self.is_busy.load(Ordering::SeqCst) {
            self.hurry.notified().await;
        }
        self.rests.store(false, Ordering::SeqCst);
    }
}

struct Asker {
    url: RedisUrl,
    servers: Vec<ServerAddress>,
    /// A connection to who told last.
    open: Option<(ServerAddress, Stream, ReceiveBuffer)>,
    /// The latest that was heard of.
    epoch: u64,
}

/// What a server tells.
struct ClusterView {
    map: SlotMap,
    /// Whether it says that its cluster works: one that is cut off from most masters does not, after a while.
    is_well: bool,
    epoch: u64,
}

/// Where the slots of this cluster are, asked once. The error is a fragment for people.
pub(in crate::link::redis) async fn slots_of(url: &RedisUrl) -> Result<SlotMap, String> {
    Asker::new(url, Vec::new()).ask_around().await
}

impl Asker {
    fn new(url: &RedisUrl, servers: Vec<ServerAddress>) -> Self {
        Self {
            url: url.clone(),
            servers,
            open: None,
            epoch: 0,
        }
    }

    async fn ask_on(mut self, need: Arc<Need>, tell: UnboundedSender<Result<SlotMap, String>>) {
        while !tell.is_closed() {
            let told = self.ask_around().await;
            let is_known = told.is_ok();
            if let Ok(map) = &told {
                self.servers.clone_from(&map.servers);
            }
            if tell.send(told).is_err() {
                return;
            }
            sleep(LEAST).await;
            let is_hurried = timeout(PERIOD, need.hurry.notified()).await.is_ok();
            if is_known && !is_hurried {
                need.rest().await;
            }
        }
    }

    /// Asks one server after the other until one tells that is not behind the times; else the best of them is believed.
    async fn ask_around(&mut self) -> Result<SlotMap, String> {
        let (mut best, mut silent): (Option<ClusterView>, Vec<String>) = (None, Vec::new());
        for server in self.turns() {
            let asked = timeout(LIMIT, self.ask(&server)).await;
            let told = asked.unwrap_or_else(|_| Err(format!("no answer within {LIMIT:?}")));
            match told {
                Ok(told) if told.is_well && told.epoch >= self.epoch => {
                    self.epoch = told.epoch;
                    return Ok(told.map);
                }
                Ok(told) => {
                    let rank = |told: &ClusterView| (told.is_well, told.epoch);
                    if best.as_ref().is_none_or(|best| rank(best) < rank(&told)) {
                        best = Some(told);
                    }
                }
                Err(why) => {
                    let (host, port) = &server;
                    silent.push(format!("{}: {why}", host_port(host, *port)));
                }
            }
        }
        let best = best.ok_or_else(|| {
            let silent = silent.join("; ");
            format!("no server of the cluster tells where its slots are kept: {silent}")
        })?;
        self.epoch = best.epoch;
        Ok(best.map)
    }

    /// Whom to ask, in which order.
    fn turns(&self) -> Vec<ServerAddress> {
        let last = self.open.iter().map(|(server, ..)| server);
        let mut turns: Vec<ServerAddress> = Vec::new();
        for server in last.chain(&self.servers).chain(self.url.seeds()) {
            if !turns.contains(server) {
                turns.push(server.clone());
            }
        }
        turns
    }

    async fn ask(&mut self, server: &ServerAddress) -> Result<ClusterView, String> {
        // Taken out, so that a connection which owes an answer is not used again.
        let open = self.open.take().filter(|(other, ..)| other == server);
        let (host, port) = server;
        let (mut stream, mut received) = match open {
            Some((_, stream, received)) => (stream, received),
            None => {
                let url = self.url.at(host, *port);
                let named = None;
                log_in(&Target { url, named }, Manners::Visit).await?
            }
        };
        let mut wire = Vec::new();
        codec::encode(&mut wire, &[b"CLUSTER", b"INFO"]);
        codec::encode(&mut wire, &[b"CLUSTER", b"SLOTS"]);
        send(&mut stream, &wire).await?;
        let (is_well, epoch) = hear(&mut stream, &mut received, state).await?;
        let map = hear(&mut stream, &mut received, |frame| slots(frame, host)).await??;
        self.open = Some((server.clone(), stream, received));
        Ok(ClusterView {
            map,
            is_well,
            epoch,
        })
    }
}

/// Whether the cluster works, and its epoch, by the answer to `CLUSTER INFO`. Who may not ask that believes what it is told.
fn state(frame: &Frame<'_>) -> (bool, u64) {
    let Frame::Text(info) = frame else {
        return (true, 0);
    };
    let info = String::from_utf8_lossy(info);
    let says = |name: &str| {
        let mut lines = info.lines();
        lines.find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))
    };
    let epoch = says("cluster_current_epoch").and_then(|epoch| epoch.parse().ok());
    (says("cluster_state") != Some("fail"), epoch.unwrap_or(0))
}

/// The map, by the answer to `CLUSTER SLOTS` of the server at `host`.
fn slots(frame: &Frame<'_>, host: &str) -> Result<SlotMap, Halt> {
    if let Frame::Error(error) = frame {
        let words = words(error);
        let why = format!("does not tell where slots are kept (+cluster|slots): {words}");
        return Err(why.into());
    }
    match SlotMap::read(frame, host) {
        Some(map) if map.ranges.is_empty() => Err("knows of no slots".to_owned().into()),
        Some(map) => Ok(map),
        None => Err("does not answer CLUSTER SLOTS as servers do"
            .to_owned()
            .into()),
    }
}

/// How long one server is waited for.
const LIMIT: Duration = Duration::from_secs(1);

/// Between two questions, however many requests are redirected.
const LEAST: Duration = Duration::from_millis(20);

/// How long a server that hangs is taken for the master that it was.
const PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use std::{pin::pin, task::Waker};

    #[test]
    fn a_server_tells_whether_its_cluster_works_and_how_new_its_word_is() {
        for (info, expected) in [
            ("cluster_state:ok\r\ncluster_current_epoch:7\r\n", (true, 7)),
            (
                "cluster_state:fail\r\ncluster_current_epoch:8\r\n",
                (false, 8),
            ),
            ("", (true, 0)),
        ] {
            assert_eq!(state(&Frame::Text(info.as_bytes())), expected, "{info}");
        }
        assert_eq!(state(&Frame::Error(b"NOPERM")), (true, 0));
    }

    #[test]
    fn who_asks_rests_until_a_request_is_under_way_or_it_is_to_hurry() {
        let need = Need::default();
        let cx = &mut Context::from_waker(Waker::noop());
        for wakes in [Need::hurry, |need: &Need| need.set_busy(true)] {
            need.set_busy(false);
            let mut rest = pin!(need.rest());
            assert!(rest.as_mut().poll(cx).is_pending());
            need.set_busy(false);
            assert!(rest.as_mut().poll(cx).is_pending(), "nothing has come");
            wakes(&need);
            assert!(rest.as_mut().poll(cx).is_ready());
        }
        assert!(pin!(need.rest()).poll(cx).is_ready(), "it is under way");
    }

    #[test]
    fn who_does_not_tell_says_why() {
        let refused = |frame: &Frame<'_>| String::from(slots(frame, "h").expect_err("no map"));
        let disabled = Frame::Error(b"ERR This instance has cluster support disabled");
        assert!(refused(&disabled).ends_with("cluster support disabled"));
        assert_eq!(refused(&Frame::List(vec![])), "knows of no slots");
        assert!(refused(&Frame::Null).contains("CLUSTER SLOTS"));
    }
}
