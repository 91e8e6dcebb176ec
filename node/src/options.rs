//! Options, as the files in `lib/` hand them over: names and kinds are checked there, ranges by the library.

use crate::failure::Failure;
use leasehold::{
    ConfigError, Disks, Drift, Holder, KeyFormat, LockManager, LockOptions, ManagerBuilder,
    RestartGuard, config::Settings,
};
use napi_derive::napi;
use std::time::Duration;

/// Options of a lock. Durations are milliseconds.
#[napi(object)]
#[derive(Clone, Default)]
pub struct OptionsOfLock {
    pub ttl: Option<f64>,
    /// In millionths.
    pub drift_share: Option<u32>,
    pub drift_fixed: Option<f64>,
    pub node_limit: Option<f64>,
    pub tries: Option<u32>,
    pub tries_unlimited: Option<bool>,
    pub pause_least: Option<f64>,
    pub pause_most: Option<f64>,
    pub give_up_unreachable_after: Option<f64>,
    pub renew_every: Option<f64>,
    pub no_renewal: Option<bool>,
    pub max_hold: Option<f64>,
    pub max_hold_unlimited: Option<bool>,
    pub max_extensions: Option<u32>,
    pub progress_within: Option<f64>,
    pub warn_before: Option<f64>,
    pub margin: Option<f64>,
    pub step_margin: Option<f64>,
    pub min_hold: Option<f64>,
    pub lock_delay: Option<f64>,
    pub label: Option<String>,
    pub no_label: Option<bool>,
    pub no_local_queue: Option<bool>,
    pub ask_all_at_once: Option<bool>,
    pub fair: Option<bool>,
}

/// Options of a manager.
#[napi(object)]
#[derive(Default)]
pub struct ManagerConfig {
    pub nodes: Option<Vec<String>>,
    pub memory: Option<u32>,
    pub file: Option<String>,
    pub from_env: Option<bool>,
    pub from_config: Option<String>,
    /// Of the clusters of the configuration file.
    pub config_cluster: Option<String>,
    pub plain: Option<bool>,
    pub restart_guard: Option<String>,
    pub max_ttl: Option<f64>,
    pub clock_skew: Option<f64>,
    pub tolerate_forgetful: Option<u32>,
    pub namespace: Option<String>,
    pub cluster: Option<String>,
    pub key_format: Option<String>,
    pub replicas: Option<u32>,
    pub replicas_within: Option<f64>,
    pub disks: Option<String>,
    pub disks_within: Option<f64>,
    pub defaults: Option<OptionsOfLock>,
    /// Which events are wanted: of locks, or all.
    pub events: Option<String>,
}

/// What JavaScript means by so many milliseconds.
pub(crate) fn duration(millis: f64) -> Duration {
    let seconds = Duration::try_from_secs_f64(millis / 1_000.0);
    // Less than nothing was refused before.
    seconds.unwrap_or(if millis > 0.0 {
        Duration::MAX
    } else {
        Duration::ZERO
    })
}

impl OptionsOfLock {
    /// Puts what is said here on top of `options`.
    pub(crate) fn over(&self, mut options: LockOptions) -> LockOptions {
        macro_rules! durations {
            ($($name:ident)*) => {
                $(if let Some(millis) = self.$name {
                    options = options.$name(duration(millis));
                })*
            };
        }
        macro_rules! flags {
            ($($name:ident)*) => {
                $(if self.$name == Some(true) {
                    options = options.$name();
                })*
            };
        }
        durations!(ttl node_limit give_up_unreachable_after renew_every max_hold progress_within warn_before margin);
        durations!(step_margin min_hold lock_delay);
        flags!(tries_unlimited no_renewal max_hold_unlimited no_label no_local_queue ask_all_at_once fair);
        if let Some(tries) = self.tries {
            options = options.tries(tries);
        }
        if let Some(most) = self.max_extensions {
            options = options.max_extensions(most);
        }
        if let Some(share) = self.drift_share {
            options = options.drift(Drift::new(share, duration(self.drift_fixed.unwrap_or(2.0))));
        }
        if let (Some(least), Some(most)) = (self.pause_least, self.pause_most) {
            options = options.pause(duration(least)..=duration(most));
        }
        // Beside host and process, as the command and elections have it.
        if let Some(label) = &self.label {
            options = options.owner_source(Holder::owner_source(Some(label)));
        }
        options
    }

    /// The label, which `over` believes.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.label.as_deref() {
            Some(label) if !Holder::is_label(label) => Err(ConfigError::Label(label.to_owned())),
            _ => Ok(()),
        }
    }

    /// The same, checked.
    pub(crate) fn labelled_over(&self, options: LockOptions) -> Result<LockOptions, ConfigError> {
        self.check()?;
        Ok(self.over(options))
    }

    /// The defaults of a manager that said nothing else.
    pub(crate) fn options(&self) -> Result<LockOptions, ConfigError> {
        self.labelled_over(LockOptions::new())
    }
}

impl ManagerConfig {
    /// The nodes, as far as they are not a test's.
    pub(crate) fn builder(&self) -> Result<ManagerBuilder, Failure> {
        let mut builder = match (&self.from_config, self.from_env) {
            (Some(path), _) => {
                let settings = Settings::from_file(path, self.config_cluster.as_deref());
                settings.map_err(ConfigError::from)?.builder()
            }
            (None, Some(true)) => ManagerBuilder::from_env()?,
            (None, _) => LockManager::builder(),
        };
        if let Some(nodes) = &self.nodes {
            builder = builder.nodes(nodes);
        }
        if let Some(count) = self.memory {
            builder = builder.memory(usize::try_from(count).unwrap_or(usize::MAX).min(MOST_NODES));
        }
        if let Some(path) = &self.file {
            builder = builder.file(path);
        }
        Ok(builder)
    }

    /// All the rest.
    pub(crate) fn complete(&self, mut builder: ManagerBuilder) -> Result<ManagerBuilder, Failure> {
        if let Some(guard) = &self.restart_guard {
            builder = builder.restart_guard(restart_guard(guard)?);
        }
        if let Some(format) = &self.key_format {
            builder = builder.key_format(key_format(format)?);
        }
        if let Some(max_ttl) = self.max_ttl {
            builder = builder.max_ttl(duration(max_ttl));
        }
        if let Some(skew) = self.clock_skew {
            builder = builder.clock_skew(duration(skew));
        }
        if let Some(nodes) = self.tolerate_forgetful {
            builder = builder.tolerate_forgetful(usize::try_from(nodes).unwrap_or(usize::MAX));
        }
        if let Some(namespace) = &self.namespace {
            builder = builder.namespace(namespace);
        }
        if let Some(cluster) = &self.cluster {
            builder = builder.cluster(cluster);
        }
        if let (Some(replicas), Some(within)) = (self.replicas, self.replicas_within) {
            builder = builder.replicated(replicas, duration(within));
        }
        if let (Some(disks), Some(within)) = (&self.disks, self.disks_within) {
            let disks: Disks = disks.parse().map_err(|why| Failure::config(&why))?;
            builder = builder.on_disk(disks, duration(within));
        }
        if let Some(defaults) = &self.defaults {
            builder = builder.defaults(defaults.options()?);
        }
        // Leases must not depend on JavaScript's event loop.
        Ok(builder.own_thread())
    }
}

fn restart_guard(name: &str) -> Result<RestartGuard, Failure> {
    match name {
        "quarantine" => Ok(RestartGuard::Quarantine),
        "trust-aof" => Ok(RestartGuard::TrustAof),
        "off" => Ok(RestartGuard::Off),
        _ => Err(Failure::config(&format!(
            "no restart guard is called {name:?}; known are quarantine, trust-aof and off"
        ))),
    }
}

fn key_format(pattern: &str) -> Result<KeyFormat, Failure> {
    Ok(match pattern {
        "raw" => KeyFormat::raw(),
        "pottery" => KeyFormat::pottery(),
        "php-lock-2" => KeyFormat::php_lock_2(),
        "php-lock-3" => KeyFormat::php_lock_3(),
        "python-redis-lock" => KeyFormat::python_redis_lock(),
        _ => KeyFormat::new(pattern).map_err(|error| Failure::config(&error))?,
    })
}

/// More than any manager takes, so that it is the library that refuses.
const MOST_NODES: usize = 1_000;
