//! The spans in which one waits and holds.

use leasehold::{
    Observation,
    observe::{Observer, Tracing},
    testing::World,
};
use std::{
    fmt::{self, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::with_default,
};

/// Writes down what it is told of the target `leasehold` and of the test.
#[derive(Clone, Default)]
struct Scribe {
    lines: Arc<Mutex<Vec<String>>>,
    spans: Arc<Mutex<Vec<String>>>,
    next: Arc<AtomicU64>,
}

impl Scribe {
    fn write(&self, line: String) {
        self.lines.lock().expect("nothing panics here").push(line);
    }

    fn read(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().expect("nothing panics here"))
    }

    fn name(&self, id: &Id) -> String {
        let spans = self.spans.lock().expect("nothing panics here");
        let index = usize::try_from(id.into_u64() - 1).expect("there are few");
        spans[index].clone()
    }
}

/// The fields that do not change from run to run.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if ["resource", "message", "node", "why", "lost", "reason"].contains(&field.name()) {
            write!(self.0, " {}={value:?}", field.name()).expect("a text has room");
        }
    }
}

impl Subscriber for Scribe {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let name = span.metadata().name().to_owned();
        let mut fields = Fields(format!("new {name}"));
        span.record(&mut fields);
        self.write(fields.0);
        self.spans.lock().expect("nothing panics here").push(name);
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = Fields(self.name(span));
        values.record(&mut fields);
        self.write(fields.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(event.metadata().level().to_string());
        event.record(&mut fields);
        self.write(fields.0);
    }

    fn enter(&self, span: &Id) {
        self.write(format!("enter {}", self.name(span)));
    }

    fn exit(&self, span: &Id) {
        self.write(format!("exit {}", self.name(span)));
    }

    fn try_close(&self, span: Id) -> bool {
        self.write(format!("close {}", self.name(&span)));
        true
    }
}

#[test]
fn one_waits_in_a_span_and_holds_in_another() {
    let scribe = Scribe::default();
    let world = World::new(3);
    let manager = world.manager().blocking();
    with_default(scribe.clone(), || {
        let mutex = manager.mutex("r").expect("a name");
        let guard = mutex.acquire().expect("it is free");
        let told = scribe.read();
        assert_eq!(
            told.first().map(String::as_str),
            Some("new acquire resource=r")
        );
        assert!(told.contains(&"close acquire".to_owned()), "{told:?}");
        assert_eq!(told.last().map(String::as_str), Some("new hold resource=r"));
        let done = guard.run(|_| {
            tracing::info!("at work");
            world.lose("r");
        });
        assert!(done.lost.is_some());
        let told = scribe.read();
        let expected = ["enter hold", "INFO message=at work", "exit hold"];
        assert_eq!(told[..3], expected);
        assert!(told[3].starts_with("hold lost="), "{told:?}");
        assert_eq!(told[4..], ["close hold"]);
    });
}

#[test]
fn work_that_is_awaited_is_in_the_span_each_time_it_goes_on() {
    let scribe = Scribe::default();
    let manager = World::new(3).manager();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    with_default(scribe.clone(), || {
        runtime.expect("a runtime").block_on(async {
            let mutex = manager.mutex("r").expect("a name");
            let work = mutex.hold(async |_| tokio::task::yield_now().await);
            let done = work.await.expect("it is free");
            assert!(done.work.is_ok());
        });
    });
    let told = scribe.read();
    let entered = told.iter().filter(|line| *line == "enter hold");
    assert_eq!(entered.count(), 2, "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("close hold"));
}

#[test]
fn losses_are_warnings_and_the_rest_is_for_those_who_look() {
    let scribe = Scribe::default();
    let world = World::new(3);
    let heard = scribe.clone();
    // The subscriber of the thread: the manager's has none.
    let builder = world.builder().observer(move |told: &Observation<'_>| {
        with_default(heard.clone(), || Tracing::new().observe(told));
    });
    let manager = builder.build().expect("three nodes").blocking();
    let guard = manager.mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.lose("r");
    drop(guard);
    let told: Vec<_> = scribe.read();
    let of_lock: Vec<_> = told
        .iter()
        .filter(|line| line.contains("resource="))
        .collect();
    let expected = [
        "DEBUG message=acquired resource=r",
        "WARN message=lost resource=r why=\"gone\"",
    ];
    assert_eq!(of_lock, expected.iter().collect::<Vec<_>>());
    assert!(
        told.contains(&"INFO message=up node=node #0".to_owned()),
        "{told:?}"
    );
}
