//! Strikes that make nodes forget votes, at any time and on any number of nodes: the restart guard must hold against
//! all of them (Argument S9).

use crate::{client::SKEW, moment::Moment, nemesis::Nemesis, pair::End};
use leasehold_servers::Mode;
use std::ops::RangeInclusive;

impl Nemesis<'_> {
    pub(crate) fn forget(&mut self) -> Option<Moment> {
        self.forgetting("kill -9, and restart without data", |node| {
            let restarted = self.site.server(node).restart_empty();
            restarted.map_err(|error| error.to_string())?;
            Ok(true)
        })
    }

    /// As [`forget`](Self::forget), and begins the quarantine before a client does, for an eighth of its time.
    pub(crate) fn forget_hastily(&mut self) -> Option<Moment> {
        let eighth = ((self.site.scenario.ttl + SKEW) / 8)
            .as_millis()
            .to_string();
        let most = self.nodes() / 2 + 1..=self.nodes();
        let what = "kill -9, restart without data, and an eighth of the quarantine";
        self.forgetting_of(most, what, |node| {
            let server = self.site.server(node);
            server.restart_empty().map_err(|error| error.to_string())?;
            let shortened = server.command(&["EVAL", BEGIN, "1", NODE, &eighth]);
            shortened.map_err(|error| error.to_string())?;
            Ok(true)
        })
    }

    pub(crate) fn snapshot(&mut self) -> Option<Moment> {
        let age = self.draw.share(self.site.scenario.ttl, 10..200);
        let what = format!("kill -9, and restart with what there was {age:?} before");
        self.forgetting(&what, |node| {
            let server = self.site.server(node);
            server.save().map_err(|error| error.to_string())?;
            if !self.site.bell.rest(age) {
                return Ok(false);
            }
            server.restart().map_err(|error| error.to_string())?;
            Ok(true)
        })
    }

    pub(crate) fn flush(&mut self) -> Option<Moment> {
        self.forgetting("FLUSHALL", |node| {
            match self.site.server(node).command(&["FLUSHALL"]) {
                Ok(_) => Ok(true),
                // It may have been stopped by another strike.
                Err(_) => Ok(false),
            }
        })
    }

    /// Some nodes' counters go ahead of all clocks and of those of the other nodes, as if clients whose clocks are
    /// wrong had been there: from then on the counters alone order the holders.
    pub(crate) fn uneven(&mut self) -> Option<Moment> {
        let victims = self.draw.some(1..=self.nodes(), self.nodes());
        let began = self.tell(&format!("counters of servers {victims:?} go ahead"));
        let mut changed = 0;
        for victim in victims {
            let by = (1 + self.draw.below(1_000_000_000)).to_string();
            let words = ["EVAL", AHEAD, "1", NODE, &by];
            changed += usize::from(self.site.server(victim).command(&words).is_ok());
        }
        (changed > 0).then_some(began)
    }

    /// All nodes lose counters that a client with a clock far ahead had driven up: against what the allowance for
    /// clocks that differ is for.
    pub(crate) fn flush_ahead(&mut self) -> Option<Moment> {
        let time = self.site.scenario.ttl;
        let began = self.tell("all counters an hour ahead, then FLUSHALL");
        let all: Vec<usize> = (0..self.nodes()).collect();
        let each = |words: &[&str]| {
            self.each(&all, |node| {
                Ok(self.site.server(node).command(words).is_ok())
            })
        };
        each(&["EVAL", AHEAD, "1", NODE, "3000000000"]);
        // Somebody is to be granted such a token.
        if !self.site.bell.rest(time) {
            return None;
        }
        (each(&["FLUSHALL"]) > 0).then_some(began)
    }

    pub(crate) fn failover(&mut self) -> Option<Moment> {
        let lag = self.draw.share(self.site.scenario.ttl, 20..100);
        let end = self.draw.pick(&[End::Killed, End::Demoted]);
        let what = format!("{end:?}, and promotion of replicas that lag by {lag:?}");
        self.forgetting(&what, |node| {
            let pair = self.site.pair(node);
            if !pair.is_in_step() {
                return Ok(false);
            }
            pair.cable.set(Mode::BlackHole);
            if !self.site.bell.rest(lag) {
                return Ok(false);
            }
            pair.fail_over(end, |port| self.site.lead_to(node, port))?;
            Ok(true)
        })
    }

    /// Does it to one node, or to so many that those which are left are no quorum.
    pub(crate) fn forgetting(
        &mut self,
        what: &str,
        act: impl Fn(usize) -> Result<bool, String> + Sync,
    ) -> Option<Moment> {
        let nodes = self.nodes();
        // While a majority abstains nobody is granted anything: where there is other trouble, that is rarer.
        let is_alone = self.site.scenario.strikes.len() == 1;
        let count = match self.draw.percent(if is_alone { 50 } else { 80 }) {
            true => 1..=nodes / 2,
            false => nodes / 2 + 1..=nodes,
        };
        self.forgetting_of(count, what, act)
    }

    fn forgetting_of(
        &mut self,
        count: RangeInclusive<usize>,
        what: &str,
        act: impl Fn(usize) -> Result<bool, String> + Sync,
    ) -> Option<Moment> {
        let victims = self.draw.some(count, self.nodes());
        let began = self.tell(&format!("servers {victims:?}: {what}"));
        let done = self.each(&victims, act);
        self.tell(&format!("servers {victims:?}: done with {done}"));
        (done > 0).then_some(began)
    }
}

/// Where a node keeps what it knows of itself.
const NODE: &str = "leasehold:node";
/// Begins the quarantine as a vote does, for another time.
const BEGIN: &str = "\
local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
local id = string.match(info, 'run_id:(%x+)') .. '/' .. string.match(info, 'master_replid:(%x+)')
local now = redis.call('TIME')
local ends = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[1]
return redis.call('HSET', KEYS[1], 'id', id, 'until', string.format('%.0f', ends), 'why', 'empty')";

/// Drives every counter up by some microseconds.
const AHEAD: &str = "\
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.match(field, '^f%d+$') then
    redis.call('HINCRBY', KEYS[1], field, ARGV[1])
  end
end
return 1";
