//! What breaks things. One thread for each kind of strike, each with draws of its own, so that strikes of
//! different kinds meet.

use crate::{draw::Draw, moment::Moment, scenario::Strike, site::Site};
use leasehold_servers::{Mode, Server, StartError};
use rustix::process::Signal;
use std::{
    io,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// Strikes, and heals, until the scenario is over.
pub(crate) fn run(site: &Site, strike: Strike, seed: u64) {
    let draw = Draw::named(seed, &format!("{strike:?}"));
    let mut nemesis = Nemesis { site, draw };
    let mut pause = pauses(strike);
    // Who is struck from all sides is given more time for each, so that the lock still moves. Where it must
    // be broken there is no such mercy.
    if strike != Strike::RestartWithoutData {
        pause.end *= u32::try_from(site.scenario.strikes.len().div_ceil(2)).unwrap_or(1);
    }
    // The first one comes when the clients are at work.
    let mut next = pause.start + FIRST;
    while site.bell.rest(next) {
        let carried_out = match strike {
            Strike::KillClients => nemesis.kill_clients(),
            Strike::StopClients => nemesis.stop_clients(),
            Strike::RestartWithData => nemesis.restart(1, "with", Server::restart),
            Strike::RestartWithoutData => {
                let most = nemesis.nodes() / 2 + 1;
                nemesis.restart(most, "without", Server::restart_empty)
            }
            Strike::RestartDelayed => nemesis.restart_delayed(),
            Strike::Forget => nemesis.forget(),
            Strike::ForgetHastily => nemesis.forget_hastily(),
            Strike::Snapshot => nemesis.snapshot(),
            Strike::Flush => nemesis.flush(),
            Strike::Operate => nemesis.operate(),
            Strike::Uneven => nemesis.uneven(),
            Strike::FlushAhead => nemesis.flush_ahead(),
            Strike::Failover => nemesis.failover(),
            Strike::Depose => nemesis.depose(),
            Strike::DeposeForTheLate => nemesis.depose_for_the_late(),
            Strike::IsolateSentinel => nemesis.isolate_sentinel(),
            Strike::MoveSlots => nemesis.move_slots(),
            Strike::TakeOver => nemesis.take_over(),
            Strike::Replace => nemesis.replace(),
            Strike::ReplaceHastily => nemesis.replace_hastily(),
            Strike::Network => nemesis.network(),
            Strike::HangServers => nemesis.hang_servers(),
        };
        if let Some(began) = carried_out {
            site.chronicle.strike(strike, began);
        }
        next = nemesis.draw.time(&pause);
    }
}

/// How long the nemesis rests between two strikes of a kind.
fn pauses(strike: Strike) -> Range<Duration> {
    let (least, most) = match strike {
        Strike::KillClients | Strike::StopClients | Strike::Uneven | Strike::MoveSlots => (20, 200),
        Strike::Network | Strike::HangServers => (20, 150),
        Strike::RestartWithoutData => (80, 500),
        Strike::RestartWithData => (150, 900),
        Strike::RestartDelayed => (100, 500),
        Strike::Forget | Strike::Snapshot | Strike::Flush | Strike::Operate => (200, 900),
        Strike::ForgetHastily => (250, 500),
        Strike::FlushAhead => (500, 900),
        // Replicas need their time to catch up.
        Strike::Failover | Strike::TakeOver => (300, 900),
        // The new node waits for the end of all leases of before, and is not replaced before that.
        Strike::Replace => (900, 1_500),
        Strike::ReplaceHastily => (100, 300),
        // Nobody is granted anything for some seconds after each, and sentinels must find the replicas again.
        Strike::Depose | Strike::DeposeForTheLate | Strike::IsolateSentinel => (3_000, 5_000),
    };
    Duration::from_millis(least)..Duration::from_millis(most)
}

pub(crate) struct Nemesis<'a> {
    pub(crate) site: &'a Site,
    pub(crate) draw: Draw,
}

/// Every strike tells when it began, if it was carried out on at least one victim. What could not be done
/// is no strike: a run in which nothing was disturbed proves nothing.
impl Nemesis<'_> {
    fn kill_clients(&mut self) -> Option<Moment> {
        let victims = self.draw.some(1..=2, self.site.clients());
        let began = self.tell(&format!("kill clients {victims:?}"));
        let mut killed = 0;
        for &victim in &victims {
            killed += usize::from(self.site.worker(victim).kill(&self.site.chronicle));
        }
        let dead = self.draw.time(&(Duration::ZERO..Duration::from_millis(30)));
        if !self.site.bell.rest(dead) {
            return None;
        }
        for victim in victims {
            if let Err(error) = self.site.worker(victim).start() {
                let why = format!("client {victim} cannot be started: {error}");
                self.site.chronicle.fail(why);
            }
        }
        (killed > 0).then_some(began)
    }

    fn stop_clients(&mut self) -> Option<Moment> {
        let victims = self.draw.some(1..=3, self.site.clients());
        let time = self.draw.share(self.site.scenario.ttl, 50..300);
        let began = self.tell(&format!("stop clients {victims:?} for {time:?}"));
        let stopped = self.signal_all(&victims, Signal::STOP);
        // Healed in any case: the caller sees that it is over.
        let _ = self.site.bell.rest(time);
        self.signal_all(&victims, Signal::CONT);
        self.tell(&format!("clients {victims:?} go on"));
        (stopped > 0).then_some(began)
    }

    /// Signals clients; tells how many were there to be signalled.
    fn signal_all(&self, victims: &[usize], signal: Signal) -> usize {
        let signalled = victims.iter().filter(|&&victim| {
            let result = self.site.worker(victim).signal(signal);
            self.was_done(&format!("client {victim}"), result)
        });
        signalled.count()
    }

    fn restart(
        &mut self,
        least: usize,
        data: &str,
        restart: fn(&Server) -> Result<(), StartError>,
    ) -> Option<Moment> {
        let victims = self.draw.some(least..=self.nodes(), self.nodes());
        let what = format!("kill -9 of servers {victims:?}, to restart {data} their data");
        let began = self.tell(&what);
        let restarted = self.each(&victims, |server| {
            restart(self.site.server(server)).map_err(|error| error.to_string())?;
            Ok(true)
        });
        self.tell(&format!("servers {victims:?} are back"));
        (restarted > 0).then_some(began)
    }

    fn restart_delayed(&mut self) -> Option<Moment> {
        // A minority, which leaves the others to work, or a majority, which alone could elect another.
        let minority = (self.nodes() - 1) / 2;
        let count = match self.draw.percent(40) {
            true => 1..=minority,
            false => minority + 1..=self.nodes(),
        };
        let victims = self.draw.some(count, self.nodes());
        // Assumption A3: what a server voted for before it died is over by then.
        let ttl = self.site.scenario.ttl;
        let delay = ttl + self.draw.time(&(GRACE..ttl / 4));
        let what = format!("kill -9 of servers {victims:?}, to restart without data in {delay:?}");
        let began = self.tell(&what);
        let restarted = self.each(&victims, |server| {
            let server = self.site.server(server);
            server.kill().map_err(|error| error.to_string())?;
            if !self.site.bell.rest(delay) {
                return Ok(false);
            }
            server.restart_empty().map_err(|error| error.to_string())?;
            Ok(true)
        });
        self.tell(&format!("servers {victims:?} are back, and empty"));
        (restarted > 0).then_some(began)
    }

    /// Does something to several servers at the same time, of which each is given to nobody else meanwhile.
    /// Tells to how many it was done: `act` says whether, if the end does not come first.
    pub(crate) fn each(
        &self,
        victims: &[usize],
        act: impl Fn(usize) -> Result<bool, String> + Sync,
    ) -> usize {
        let done = AtomicUsize::new(0);
        thread::scope(|scope| {
            for &victim in victims {
                let (act, done) = (&act, &done);
                scope.spawn(move || {
                    let _mine = self.site.restart_of(victim);
                    match act(victim) {
                        Ok(was_done) => {
                            done.fetch_add(usize::from(was_done), Ordering::Relaxed);
                        }
                        Err(error) => {
                            let why = format!("server {victim}: {error}");
                            self.site.chronicle.fail(why);
                        }
                    }
                });
            }
        });
        done.into_inner()
    }

    fn network(&mut self) -> Option<Moment> {
        let ttl = self.site.scenario.ttl;
        let mut chosen = Vec::new();
        for (place, proxies) in self.site.places().iter().enumerate() {
            let links = proxies.len();
            // A whole place is bad in one way, or some of its links are, each in its own, or it is good.
            let (least, same) = match self.draw.below(10) {
                0..=4 => (links, Some(self.fault())),
                5..=6 => (1, None),
                _ => continue,
            };
            for link in self.draw.some(least..=links, links) {
                let fault = same.unwrap_or_else(|| self.fault());
                chosen.push((place, link, fault));
            }
        }
        let time = self.draw.share(ttl, 60..220);
        let told: Vec<String> = chosen
            .iter()
            .map(|(place, link, fault)| format!("{place}-{link} {fault:?}"))
            .collect();
        let told = told.join(", ");
        let began = self.tell(&format!("network for {time:?}: {told}"));
        // A link that nobody ever went through disturbs nobody.
        let used = chosen
            .iter()
            .filter(|&&(place, link, _)| self.site.places()[place][link].accepted() > 0)
            .count();
        for &(place, link, fault) in &chosen {
            let proxy = &self.site.places()[place][link];
            match fault {
                Some(mode) => proxy.set(mode),
                None => proxy.cut(),
            }
        }
        // Healed in any case: the caller sees that it is over.
        let _ = self.site.bell.rest(time);
        for &(place, link, _) in &chosen {
            self.site.places()[place][link].set(Mode::Pass);
        }
        self.tell("the network is good");
        (used > 0).then_some(began)
    }

    /// What is wrong with a link; none means that its connections are cut, once.
    fn fault(&mut self) -> Option<Mode> {
        let ttl = self.site.scenario.ttl;
        match self.draw.below(13) {
            0 => None,
            1 => Some(Mode::DropReplies),
            2 => Some(Mode::DropRepliesThenClose),
            3 => Some(Mode::BlackHole),
            4 => Some(Mode::Refuse),
            // Slow, but in time to win with.
            5..=7 => Some(Mode::Delay(self.draw.share(ttl, 5..45))),
            // Too late for everybody who looks at the clock.
            _ => Some(Mode::Delay(self.draw.share(ttl, 45..130))),
        }
    }

    fn hang_servers(&mut self) -> Option<Moment> {
        let victims = self.draw.some(1..=self.nodes(), self.nodes());
        let time = self.draw.share(self.site.scenario.ttl, 20..200);
        let began = self.tell(&format!("stop servers {victims:?} for {time:?}"));
        let stopped = self.pause_all(&victims, Server::pause);
        // Healed in any case: the caller sees that it is over.
        let _ = self.site.bell.rest(time);
        self.pause_all(&victims, Server::resume);
        self.tell(&format!("servers {victims:?} go on"));
        (stopped > 0).then_some(began)
    }

    /// Stops servers, or lets them go on; tells how many were there.
    fn pause_all(&self, victims: &[usize], act: fn(&Server) -> io::Result<()>) -> usize {
        let done = victims.iter().filter(|&&victim| {
            let result = act(self.site.server(victim));
            self.was_done(&format!("server {victim}"), result)
        });
        done.count()
    }

    /// Who is dead at this moment can be neither stopped nor woken; all else that goes wrong ends the run.
    fn was_done(&self, victim: &str, result: io::Result<()>) -> bool {
        match result {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => {
                self.site.chronicle.fail(format!("{victim}: {error}"));
                false
            }
        }
    }

    pub(crate) fn tell(&self, what: &str) -> Moment {
        self.site.chronicle.tell(what)
    }

    pub(crate) fn nodes(&self) -> usize {
        self.site.nodes()
    }
}

/// Nodes count whole milliseconds, and a process takes a moment to be killed.
const GRACE: Duration = Duration::from_millis(5);
/// Clients need this long to start.
const FIRST: Duration = Duration::from_millis(100);
