//! Spans of leasehold for OpenTelemetry, metrics for Prometheus, and events for the log.
//!
//! ```sh
//! cargo run --manifest-path examples/opentelemetry/Cargo.toml
//! ```
//!
//! So that it runs without a collector, the spans go to standard output. In a real program the exporter is that of the crate
//! `opentelemetry-otlp`, and the recorder of the metrics listens (`PrometheusBuilder::install`); nothing else differs.

use leasehold::{LockManager, observe};
use metrics_exporter_prometheus::PrometheusBuilder;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::{error::Error, thread, time::Duration};
use tracing::{info, info_span};
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

fn main() -> Result<(), Box<dyn Error>> {
    // Before the first `Metrics::new`, which tells the recorder what each metric means. The buckets are for locks: the usual
    // ones begin where most locks are over.
    let prometheus = PrometheusBuilder::new()
        .set_buckets(&[
            0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0,
        ])?
        .install_recorder()?;

    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(opentelemetry_stdout::SpanExporter::default())
        .build();
    let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("my-job"));
    let log = tracing_subscriber::fmt::layer().with_filter(EnvFilter::new("info,leasehold=debug"));
    tracing_subscriber::registry()
        .with(spans.with_filter(EnvFilter::new("info")))
        .with(log)
        .init();

    let manager = LockManager::builder()
        .memory(3)
        .observer(observe::Metrics::new())
        .observer(observe::Tracing::new())
        .build()?
        .blocking();
    // `acquire` and `hold` become children of the span that one is in.
    info_span!("nightly-report").in_scope(|| {
        let done = manager.mutex("report")?.hold(|_| {
            info!("at work");
            work();
        })?;
        info!(release = %done.release, "done");
        Ok::<_, Box<dyn Error>>(())
    })?;
    manager.shutdown();
    provider.shutdown()?;
    println!("{}", prometheus.render());
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "it stands for work")]
fn work() {
    thread::sleep(Duration::from_millis(20));
}
