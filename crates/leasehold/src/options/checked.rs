//! Options that go together, and the lock configs that they come to: checked once, and shared by all locks that have them.

use super::{LockOptions, MaxHold};
use crate::{
    configuration::Configuration,
    error::ConfigError,
    mode::{Fenced, Mode},
};
use leasehold_core::LockConfig;
use std::{
    num::NonZeroU32,
    sync::{Arc, OnceLock},
    time::Duration,
};

/// Options of a lock that were checked.
#[derive(Debug)]
pub(crate) struct CheckedOptions {
    options: LockOptions,
    lock_config: Arc<LockConfig>,
    /// The same, but with one try. Made for the first who wants it, as the next is.
    once: OnceLock<Arc<LockConfig>>,
    /// The same, but with tries without end.
    untiring: OnceLock<Arc<LockConfig>>,
}

impl LockOptions {
    /// The same for a leader: no limit where none was chosen.
    pub(crate) fn of_leader(self) -> Self {
        let max_hold = match self.max_hold {
            MaxHold::Default => MaxHold::Unlimited,
            chosen => chosen,
        };
        Self { max_hold, ..self }
    }

    /// Checks the options for those who write what others read: they wait in one queue with those.
    pub(crate) fn checked_for_writers(
        self,
        configuration: &Configuration,
    ) -> Result<CheckedOptions, ConfigError> {
        self.fair().checked_for::<Fenced>(configuration)
    }

    /// Checks the options for permits: all have a token, as mutexes do.
    pub(crate) fn checked_for_permits(
        self,
        configuration: &Configuration,
    ) -> Result<CheckedOptions, ConfigError> {
        self.checked_for::<Fenced>(configuration)
    }

    /// Checks the options for the locks of a manager with this configuration.
    pub(crate) fn checked_for<M: Mode>(
        self,
        configuration: &Configuration,
    ) -> Result<CheckedOptions, ConfigError> {
        let lock_config = Arc::new(self.lock_config_for::<M>(configuration)?);
        Ok(CheckedOptions {
            options: self,
            lock_config,
            once: OnceLock::new(),
            untiring: OnceLock::new(),
        })
    }
}

impl CheckedOptions {
    /// The same for those who only read: of them nobody has a token.
    pub(crate) fn for_readers(&self) -> Self {
        Self {
            options: self.options.clone(),
            lock_config: Arc::new(LockConfig {
                is_fenced: false,
                ..(*self.lock_config).clone()
            }),
            once: OnceLock::new(),
            untiring: OnceLock::new(),
        }
    }

    /// The same for those who do not wait if the work is done until then.
    pub(crate) fn unless_done(&self, until: Duration) -> Self {
        Self {
            options: self.options.clone(),
            lock_config: Arc::new(LockConfig {
                retry: self.lock_config.retry.clone().give_up_if_done_until(until),
                ..(*self.lock_config).clone()
            }),
            once: OnceLock::new(),
            untiring: OnceLock::new(),
        }
    }

    pub(crate) const fn options(&self) -> &LockOptions {
        &self.options
    }

    /// As the options have it.
    pub(crate) const fn lock_config(&self) -> &Arc<LockConfig> {
        &self.lock_config
    }

    /// With one try.
    pub(crate) fn once(&self) -> &Arc<LockConfig> {
        self.once
            .get_or_init(|| self.with_tries(Some(NonZeroU32::MIN)))
    }

    /// With tries without end.
    pub(crate) fn untiring(&self) -> &Arc<LockConfig> {
        self.untiring.get_or_init(|| self.with_tries(None))
    }

    fn with_tries(&self, tries: Option<NonZeroU32>) -> Arc<LockConfig> {
        Arc::new(LockConfig {
            retry: self.lock_config.retry.clone().with_tries(tries),
            ..(*self.lock_config).clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_leads_without_a_limit_unless_one_was_chosen() {
        let most = |options: LockOptions| {
            let lock_config = options.of_leader().lock_config();
            lock_config.expect("they go together").policy.most_hold
        };
        assert_eq!(most(LockOptions::new()), None);
        let hour = Duration::from_secs(60 * 60);
        assert_eq!(most(LockOptions::new().max_hold(hour)), Some(hour));
        assert_eq!(most(LockOptions::new().max_hold_unlimited()), None);
    }
}
