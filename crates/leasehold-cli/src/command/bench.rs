//! `leasehold bench`: how long a lock takes on these nodes, beside how long they take to answer anything.

use crate::{
    args::views::BenchArguments,
    duration::Shown,
    exit_code,
    failure::Failure,
    json::Json,
    nodes::{Nodes, misused},
    output,
};
use leasehold::{LockManager, Mutex, clock::Clock, operate::NodeAnswer};
use std::time::Duration;
use tokio::runtime;

/// Measures, and tells the code to exit with.
pub(crate) fn run(arguments: &BenchArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let manager = nodes.to_look_at(&place.agreement)?.build();
    let manager = manager.map_err(|error| nodes.wrong(&error))?;
    let runtime = runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| Failure::own(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let told = nodes.operator(&place.agreement)?.examine().await;
        let told = told.map_err(|error| nodes.wrong(&error))?;
        let round_trips = told.iter().filter_map(|told| match &told.answer {
            NodeAnswer::Told(seen) => seen.round_trip(),
            _ => None,
        });
        let mut round_trips: Vec<_> = round_trips.collect();
        round_trips.sort_unstable();
        let mut measured = measure(&manager, arguments.span).await?;
        manager.shutdown().await;
        let slowest = round_trips.last().copied();
        match arguments.json {
            true => output::data(measured.json(slowest)),
            false => output::data(measured.text(slowest)),
        }?;
        Ok(exit_code::SUCCESS)
    })
}

/// How long each step took.
#[derive(Debug, Default)]
struct Measured {
    acquire: Vec<Duration>,
    release: Vec<Duration>,
}

/// One lock after the other that nobody else wants, for about so long.
async fn measure(manager: &LockManager, span: Duration) -> Result<Measured, Failure> {
    let name = format!("leasehold/bench/{}", std::process::id());
    let mutex = manager.mutex(&name).map_err(|error| misused(&error))?;
    // The first makes connections.
    once(&mutex, &mut Measured::default()).await?;
    let (clock, mut measured) = (Clock::system(), Measured::default());
    let end = clock.now().saturating_add(span);
    while clock.now() < end {
        once(&mutex, &mut measured).await?;
    }
    Ok(measured)
}

async fn once(mutex: &Mutex, measured: &mut Measured) -> Result<(), Failure> {
    let clock = Clock::system();
    let begun = clock.now();
    let guard = mutex.acquire().await;
    let guard = guard.map_err(|error| {
        Failure::new(exit_code::NO_QUORUM, format!("cannot {error}"))
            .hint("`leasehold doctor` says what is wrong".to_owned())
    })?;
    let held = clock.now();
    // Whether it is confirmed matters to nobody here; how long it took does.
    drop(guard.release().await);
    measured.acquire.push(held.saturating_since(begun));
    measured.release.push(clock.now().saturating_since(held));
    Ok(())
}

impl Measured {
    fn text(&mut self, round_trip: Option<Duration>) -> String {
        let count = self.acquire.len();
        let line = |what: &str, times: &mut Vec<Duration>| {
            let (middle, late) = (percentile(times, 50), percentile(times, 99));
            format!(
                "{what}  {} (99 of 100 within {})",
                Shown(middle),
                Shown(late)
            )
        };
        let mut lines = vec![
            format!("{count} locks, one after the other; the median of each:"),
            line("acquire   ", &mut self.acquire),
            line("release   ", &mut self.release),
        ];
        if let Some(round_trip) = round_trip {
            lines.push(format!(
                "round trip  {}, of the slowest node",
                Shown(round_trip)
            ));
        }
        lines.join("\n")
    }

    fn json(&mut self, round_trip: Option<Duration>) -> Json {
        let (acquire, release) = (&mut self.acquire, &mut self.release);
        Json::Object(vec![
            ("locks", acquire.len().into()),
            ("acquire_p50_us", Json::micros(percentile(acquire, 50))),
            ("acquire_p99_us", Json::micros(percentile(acquire, 99))),
            ("release_p50_us", Json::micros(percentile(release, 50))),
            ("release_p99_us", Json::micros(percentile(release, 99))),
            (
                "slowest_round_trip_us",
                round_trip.map_or(Json::Null, Json::micros),
            ),
        ])
    }
}

/// The time within which so many of a hundred are; zero of none.
fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let place = (times.len() * percent).div_ceil(100).max(1) - 1;
    times.get(place).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let millis = |count: u64| (1..=count).rev().map(Duration::from_millis);
        let of = |count, percent| {
            let mut times: Vec<_> = millis(count).collect();
            percentile(&mut times, percent).as_millis()
        };
        assert_eq!([of(0, 50), of(1, 50), of(1, 99)], [0, 1, 1]);
        assert_eq!([of(100, 50), of(100, 99), of(3, 50)], [50, 99, 2]);
    }
}
