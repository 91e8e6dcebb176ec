//! Options of locks and managers, from keyword arguments.

use crate::{
    error::{Raise, wrong},
    observe::EventQueue,
    process::Own,
};
use leasehold::{
    Disks, Drift, KeyFormat, LockOptions, ManagerBuilder, RestartGuard, config::Settings,
    link::memory::MemoryNode,
};
use pyo3::{prelude::*, types::PyDict};
use std::{path::PathBuf, time::Duration};

/// A span of time: a number of seconds, or a `timedelta`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) Duration);

/// Reads a span of time, and names the option if it is none.
pub(crate) fn seconds(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let number = if value.hasattr("total_seconds")? {
        value.call_method0("total_seconds")?.extract::<f64>()
    } else {
        value.extract::<f64>()
    };
    let span = number
        .ok()
        .and_then(|number| Duration::try_from_secs_f64(number).ok());
    span.ok_or_else(|| {
        let text = format!(
            "{name}: {value} is no span of time; give seconds as a number from 0 on, or a timedelta"
        );
        wrong(value.py(), &text)
    })
}

/// How long to wait for something, if it was said.
pub(crate) fn patience(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Seconds>> {
    value
        .map(|value| seconds("timeout", value).map(Seconds))
        .transpose()
}

/// Reads a number, a text or a truth value, and names the option if it is none.
fn read<'py, T: FromPyObjectOwned<'py>>(
    name: &str,
    value: &Bound<'py, PyAny>,
    what: &str,
) -> PyResult<T> {
    value
        .extract::<T>()
        .map_err(|_| wrong(value.py(), &format!("{name}: {value} is not {what}")))
}

/// Of two spans.
fn pair(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(Duration, Duration)> {
    let (one, other): (Bound<'_, PyAny>, Bound<'_, PyAny>) = read(name, value, "a pair")?;
    Ok((seconds(name, &one)?, seconds(name, &other)?))
}

const NUMBER: &str = "a whole number from 0 on";

/// The options of a lock, from the keyword arguments that `leasehold.LockOptions` names.
pub(crate) fn lock_options(
    given: &Bound<'_, PyDict>,
    mut options: LockOptions,
) -> PyResult<LockOptions> {
    for (name, value) in given.iter() {
        let name: String = name.extract()?;
        options = lock_option(options, &name, &value)?;
    }
    Ok(options)
}

fn lock_option(
    options: LockOptions,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<LockOptions> {
    let span = || seconds(name, value);
    let is = || read::<bool>(name, value, "True or False");
    Ok(match name {
        "ttl" => options.ttl(span()?),
        "drift" => {
            let (rate, fixed): (f64, Bound<'_, PyAny>) =
                read(name, value, "a pair of a rate and a span")?;
            options.drift(Drift::new(
                parts_per_million(rate, value)?,
                seconds(name, &fixed)?,
            ))
        }
        "node_limit" => options.node_limit(span()?),
        "tries" if value.is_none() => options.tries_unlimited(),
        "tries" => options.tries(read(name, value, NUMBER)?),
        "pause" => {
            let (least, most) = pair(name, value)?;
            options.pause(least..=most)
        }
        "give_up_unreachable_after" => options.give_up_unreachable_after(span()?),
        "renew_every" if value.is_none() => options.no_renewal(),
        "renew_every" => options.renew_every(span()?),
        "max_hold" if value.is_none() => options.max_hold_unlimited(),
        "max_hold" => options.max_hold(span()?),
        "max_extensions" => options.max_extensions(read(name, value, NUMBER)?),
        "progress_within" => options.progress_within(span()?),
        "warn_before" => options.warn_before(span()?),
        "margin" => options.margin(span()?),
        "step_margin" => options.step_margin(span()?),
        "min_hold" => options.min_hold(span()?),
        "lock_delay" => options.lock_delay(span()?),
        "local_queue" if is()? => options,
        "local_queue" => options.no_local_queue(),
        "ask_all_at_once" if is()? => options.ask_all_at_once(),
        "fair" if is()? => options.fair(),
        "ask_all_at_once" | "fair" => options,
        "label" if value.is_none() => options.no_label(),
        "label" => options.label(&read::<String>(name, value, "a text")?),
        _ => {
            let text = format!(
                "{name}: no lock has such an option; leasehold.LockOptions names those that there are"
            );
            return Err(wrong(value.py(), &text));
        }
    })
}

/// 0.01 as 10 000.
fn parts_per_million(rate: f64, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    if !(0.0..=1.0).contains(&rate) {
        return Err(wrong(
            value.py(),
            &format!("drift: the rate {rate} is not between 0 and 1"),
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is 0 to 1 000 000"
    )]
    Ok((rate * 1e6).ceil() as u32)
}

/// A node in the memory of this process, that several managers share.
#[pyclass(frozen, module = "leasehold._native", name = "MemoryNode")]
pub(crate) struct SharedNode(Own<MemoryNode>);

#[pymethods]
impl SharedNode {
    #[new]
    fn new() -> Self {
        Self(Own::new(MemoryNode::new()))
    }
}

/// What a manager is built of, whether it is plain, and the options of locks that say nothing.
pub(crate) fn builder(given: &Bound<'_, PyDict>) -> PyResult<(ManagerBuilder, bool, LockOptions)> {
    configured(nodes_of(given)?, given)
}

/// The same, of nodes that are known. An option that is None is as one that is not there.
pub(crate) fn configured(
    mut builder: ManagerBuilder,
    given: &Bound<'_, PyDict>,
) -> PyResult<(ManagerBuilder, bool, LockOptions)> {
    let py = given.py();
    let (mut is_plain, mut defaults) = (false, LockOptions::new());
    for (name, value) in given.iter() {
        let name: String = name.extract()?;
        let span = || seconds(&name, &value);
        let text = || read::<String>(&name, &value, "a text");
        builder = match name.as_str() {
            _ if value.is_none() => builder,
            "source" => builder,
            "plain" => {
                is_plain = read(&name, &value, "True or False")?;
                builder
            }
            "observer" => builder.observer(value.cast::<EventQueue>()?.get().observer()),
            "restart_guard" => builder.restart_guard(restart_guard(py, &text()?)?),
            "max_ttl" => builder.max_ttl(span()?),
            "clock_skew" => builder.clock_skew(span()?),
            "tolerate_forgetful" => builder.tolerate_forgetful(read(&name, &value, NUMBER)?),
            "namespace" => builder.namespace(&text()?),
            "key_format" => {
                let format: Result<KeyFormat, _> = text()?.parse();
                builder
                    .key_format(format.map_err(|error| wrong(py, &format!("key_format: {error}")))?)
            }
            "cluster" => builder.cluster(&text()?),
            "replicated" => {
                let (count, within): (u32, Bound<'_, PyAny>) =
                    read(&name, &value, "a pair of a number and a span")?;
                builder.replicated(count, seconds(&name, &within)?)
            }
            "on_disk" => {
                let (disks, within): (String, Bound<'_, PyAny>) =
                    read(&name, &value, "a pair of a text and a span")?;
                let disks: Disks = disks
                    .parse()
                    .map_err(|error| wrong(py, &format!("on_disk: {error}")))?;
                builder.on_disk(disks, seconds(&name, &within)?)
            }
            "options" => {
                defaults = lock_options(value.cast::<PyDict>()?, LockOptions::new())?;
                builder.defaults(defaults.clone())
            }
            _ => {
                let text = format!(
                    "{name}: no manager has such an option; leasehold.ManagerOptions names those that there are"
                );
                return Err(wrong(py, &text));
            }
        };
    }
    Ok((builder, is_plain, defaults))
}

/// The nodes: `("nodes", […])`, `("memory", 3)`, `("file", path)`, `("env",)` or `("config", path, cluster)`.
fn nodes_of(given: &Bound<'_, PyDict>) -> PyResult<ManagerBuilder> {
    let py = given.py();
    let source = given
        .get_item("source")?
        .ok_or_else(|| wrong(py, &"a manager needs nodes"))?;
    let kind: String = source.get_item(0)?.extract()?;
    let new = ManagerBuilder::default;
    Ok(match kind.as_str() {
        "nodes" => new().nodes(source.get_item(1)?.extract::<Vec<String>>()?),
        "memory" => new().memory(source.get_item(1)?.extract()?),
        "memory_nodes" => {
            let nodes: Vec<Py<SharedNode>> = source.get_item(1)?.extract()?;
            let mut builder = new();
            for node in &nodes {
                let node = node.get().0.get().ok_or_else(|| {
                    wrong(
                        py,
                        &"the nodes are in the memory of the process of which this one is a fork",
                    )
                })?;
                builder = builder.memory_node(node);
            }
            builder
        }
        // Opens the store, which may wait for the file system.
        "file" => {
            let path: PathBuf = source.get_item(1)?.extract()?;
            py.detach(|| new().file(path))
        }
        "env" => py
            .detach(ManagerBuilder::from_env)
            .map_err(|error| error.raise(py))?,
        _ => {
            let (path, cluster): (PathBuf, Option<String>) = (
                source.get_item(1)?.extract()?,
                source.get_item(2)?.extract()?,
            );
            let settings = py.detach(|| Settings::from_file(path, cluster.as_deref()));
            settings.map_err(|error| wrong(py, &error))?.builder()
        }
    })
}

fn restart_guard(py: Python<'_>, name: &str) -> PyResult<RestartGuard> {
    match name {
        "quarantine" => Ok(RestartGuard::Quarantine),
        "trust-aof" => Ok(RestartGuard::TrustAof),
        "off" => Ok(RestartGuard::Off),
        _ => Err(wrong(
            py,
            &format!(
                "restart_guard: {name:?} is none; take \"quarantine\", \"trust-aof\" or \"off\""
            ),
        )),
    }
}
