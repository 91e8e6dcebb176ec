//! Contention between processes: eight that want one key, each with a manager of its own.

use crate::{
    Fallible,
    commands::{self, Listening},
    contest::{self, Story},
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::Moment,
    subject::{self, Subject},
};
use leasehold_servers::ServerSet;
use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut runners = Vec::new();
        for &subject in subject::rivals(effort) {
            // Each on a key of its own: what an ended process left held would keep the next ones from all that is to be heard.
            let key = format!("warm-up:{}", subject.name());
            let crowd = Crowd::start(&servers, subject, &key, WARM_UP)?;
            let listening = Listening::begin(&servers)?;
            crowd.contend()?;
            runners.push((subject, listening.end()));
        }
        for round in 0..effort.rounds {
            for (subject, origins) in rotated(round, &runners) {
                let key = format!("one:{}:{round}", subject.name());
                let crowd = Crowd::start(&servers, *subject, &key, effort.contention)?;
                let before = commands::calls(&servers)?;
                let stories = crowd.contend()?;
                let sent = origins.sent(&before, &commands::calls(&servers)?, nodes)?;
                let place = (super::nodes(nodes), subject.name());
                contest::note(
                    ledger,
                    (&place.0, place.1),
                    &stories,
                    effort.contention,
                    sent,
                );
            }
        }
    }
    Ok(())
}

/// Processes that are connected and wait for the word to begin. They end with this value.
struct Crowd {
    members: Vec<(Child, BufReader<ChildStdout>)>,
}

impl Crowd {
    fn start(servers: &ServerSet, subject: Subject, key: &str, window: Duration) -> Fallible<Self> {
        let mut crowd = Self {
            members: Vec::new(),
        };
        for _ in 0..PROCESSES {
            let mut child = Command::new(env::current_exe()?)
                .args(["contender", subject.name(), key])
                .arg(window.as_millis().to_string())
                .arg(servers.nodes())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let out = child.stdout.take().ok_or("the child has no output")?;
            crowd.members.push((child, BufReader::new(out)));
        }
        for (_, out) in &mut crowd.members {
            let mut line = String::new();
            out.read_line(&mut line)?;
            if line != READY {
                return Err(format!("a contender did not get ready: {line:?}").into());
            }
        }
        Ok(crowd)
    }

    fn contend(mut self) -> Fallible<Vec<Story>> {
        for (child, _) in &mut self.members {
            let input = child.stdin.as_mut().ok_or("the child has no input")?;
            input.write_all(b"\n")?;
        }
        let mut stories = Vec::new();
        for (child, out) in &mut self.members {
            let mut text = String::new();
            out.read_to_string(&mut text)?;
            child.wait()?;
            stories.push(parse(&text)?);
        }
        Ok(stories)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for (child, _) in &mut self.members {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// What one of the processes does.
pub(crate) fn contender(
    subject: Subject,
    key: &str,
    window: Duration,
    urls: &[String],
) -> Fallible<()> {
    super::runtime(1)?.block_on(async {
        let manager = subject.manager(urls)?;
        let own = format!("warm-up:{}", std::process::id());
        manager.acquire(&own).await?.release().await;
        io::stdout().write_all(READY.as_bytes())?;
        io::stdin().read_line(&mut String::new())?;
        let story = contest::contend(&manager, key, Moment::now().plus(window)).await;
        io::stdout().write_all(tell(&story).as_bytes())?;
        Ok(())
    })
}

/// The number that failed, the unfinished wait, the time held, the waits: in nanoseconds, separated by spaces.
fn tell(story: &Story) -> String {
    let unfinished = story.unfinished.map_or(0, |time| time.as_nanos());
    let waits = story
        .waits
        .iter()
        .map(|wait| format!(" {}", wait.as_nanos()));
    format!(
        "{} {unfinished} {}{}\n",
        story.failed,
        story.held.as_nanos(),
        waits.collect::<String>()
    )
}

fn parse(text: &str) -> Fallible<Story> {
    let numbers = text.split_whitespace().map(str::parse);
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
    let [failed, unfinished, held, waits @ ..] = numbers.as_slice() else {
        return Err("a contender told nothing".into());
    };
    Ok(Story {
        waits: waits.iter().copied().map(Duration::from_nanos).collect(),
        held: Duration::from_nanos(*held),
        unfinished: (*unfinished > 0).then(|| Duration::from_nanos(*unfinished)),
        failed: *failed,
    })
}

const PROCESSES: usize = 8;
const READY: &str = "ready\n";
const WARM_UP: Duration = Duration::from_millis(400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_tells_is_understood() {
        let story = Story {
            waits: vec![Duration::from_millis(3), Duration::from_micros(7)],
            held: Duration::from_micros(2_003),
            unfinished: Some(Duration::from_secs(1)),
            failed: 2,
        };
        let again = parse(&tell(&story)).unwrap();
        assert_eq!((again.waits, again.failed), (story.waits, 2));
        assert_eq!(
            (again.held, again.unfinished),
            (story.held, story.unfinished)
        );
        assert!(parse("").is_err());
    }
}
