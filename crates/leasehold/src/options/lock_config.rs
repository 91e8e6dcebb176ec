//! The options of one lock, checked against each other: what they come to.

use super::{LockOptions, MaxHold};
use crate::{configuration::Configuration, error::ConfigError, holder::Holder, mode::Mode};
use leasehold_core::{
    AutoRenewal, LockConfig, OwnerSource, Pause, RenewalPolicy, Retry, Timing, TimingError, Ttl,
};
use std::{num::NonZeroU32, sync::LazyLock, time::Duration};

impl LockOptions {
    fn timing(&self) -> Result<Timing, ConfigError> {
        let timing = Timing::new(Ttl::new(self.ttl)?, self.drift, self.node_limit)?;
        let margin = self
            .margin
            .unwrap_or_else(|| DEFAULT_MARGIN.min(timing.validity() / 4));
        let timing = match timing.with_margin(margin) {
            // A time limit that leaves no room for the margin that nobody asked for.
            Err(_) if self.margin.is_none() => timing,
            timing => timing?,
        };
        Ok(timing
            .with_delay(self.lock_delay)?
            .with_step_margin(self.step_margin)?)
    }

    /// A day, unless something else was asked for, or would not fit into a day.
    fn policy(&self) -> RenewalPolicy {
        let least = self.policy.least_hold.unwrap_or_default();
        let most_hold = match self.max_hold {
            MaxHold::Default => Some(DEFAULT_MAX_HOLD.max(self.ttl).max(least)),
            MaxHold::Most(most) => Some(most),
            MaxHold::Unlimited => None,
        };
        RenewalPolicy {
            most_hold,
            ..self.policy.clone()
        }
    }

    fn check_policy(policy: &RenewalPolicy) -> Result<(), ConfigError> {
        let RenewalPolicy {
            renewal,
            most_hold,
            least_hold,
            heartbeat,
            ..
        } = policy;
        let zero = |option, value: Option<Duration>| match value {
            Some(Duration::ZERO) => Err(ConfigError::NoTime { option }),
            _ => Ok(()),
        };
        let every = match renewal {
            AutoRenewal::Every(every) => Some(*every),
            AutoRenewal::Off | AutoRenewal::Thirds => None,
        };
        zero("renew_every", every)?;
        zero("max_hold", *most_hold)?;
        zero("progress_within", *heartbeat)?;
        match (*least_hold, *most_hold) {
            (Some(least), Some(most)) if least > most => Err(ConfigError::Holds { least, most }),
            (Some(least), _) if least > Ttl::LONGEST.as_duration() => {
                Err(TimingError::Ttl { ttl: least }.into())
            }
            _ => Ok(()),
        }
    }

    /// The configuration for the locks of a manager with this configuration.
    pub(crate) fn lock_config_for<M: Mode>(
        &self,
        configuration: &Configuration,
    ) -> Result<LockConfig, ConfigError> {
        let lock_config = self.lock_config()?;
        if self.is_fair && !M::IS_FENCED {
            return Err(ConfigError::Unfair);
        }
        let timing = match configuration.max_ttl() {
            Some(most) if M::IS_FENCED => lock_config.timing.with_most(most)?,
            _ => lock_config.timing,
        };
        let ttl = timing.key_ttl();
        if let Some(room) = configuration.room(ttl).filter(|room| *room < LEAST_ROOM) {
            let ttl = ttl.as_duration();
            let least = LEAST_ROOM;
            return Err(ConfigError::Room { ttl, room, least });
        }
        Ok(LockConfig {
            timing,
            is_fenced: M::IS_FENCED,
            ..lock_config
        })
    }

    fn owners(&self) -> Result<OwnerSource, ConfigError> {
        static USUAL: LazyLock<OwnerSource> = LazyLock::new(|| Holder::owner_source(None));
        match &self.owners {
            None => Ok(USUAL.clone()),
            Some(owners) if owners.keeps_randomness() => Ok(owners.clone()),
            Some(_) => Err(ConfigError::OwnerSource),
        }
    }

    /// Checks the options against each other.
    pub(crate) fn lock_config(&self) -> Result<LockConfig, ConfigError> {
        let timing = self.timing()?;
        let policy = self.policy();
        Self::check_policy(&policy)?;
        if let Pause::Between { least, most } = self.pause
            && least > most
        {
            return Err(ConfigError::Pause { least, most });
        }
        let owners = self.owners()?;
        let tries = match self.tries {
            None => None,
            Some(tries) => Some(NonZeroU32::new(tries).ok_or(ConfigError::NoTries)?),
        };
        let mut retry = Retry::default()
            .with_tries(tries)
            .with_pause(self.pause.clone());
        if let Some(patience) = self.unreachable_for {
            retry = retry.give_up_unreachable_after(patience);
        }
        Ok(LockConfig {
            timing,
            retry,
            owners,
            policy,
            is_fenced: true,
            queues: self.queues,
            asks_one_first: self.asks_one_first,
            is_fair: self.is_fair,
        })
    }
}

const DEFAULT_MAX_HOLD: Duration = Duration::from_secs(24 * 60 * 60);

/// Sentinels are asked once a second, and may take a while to answer.
const LEAST_ROOM: Duration = Duration::from_millis(1_500);

const DEFAULT_MARGIN: Duration = Duration::from_millis(5);
