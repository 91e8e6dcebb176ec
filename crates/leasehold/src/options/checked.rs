//! Options that go together, and the plans that they come to: checked once, and shared by all locks that have them.

use super::LockOptions;
use crate::{configuration::Configuration, error::ConfigError, mode::Mode};
use leasehold_core::Plan;
use std::{
    num::NonZeroU32,
    sync::{Arc, OnceLock},
};

/// Options of a lock that were checked.
#[derive(Debug)]
pub(crate) struct CheckedOptions {
    options: LockOptions,
    plan: Arc<Plan>,
    /// The same, but with one try. Made for the first who wants it, as the next is.
    once: OnceLock<Arc<Plan>>,
    /// The same, but with tries without end.
    untiring: OnceLock<Arc<Plan>>,
}

impl LockOptions {
    /// Checks the options for the locks of a manager with this configuration.
    pub(crate) fn checked_for<M: Mode>(
        self,
        configuration: &Configuration,
    ) -> Result<CheckedOptions, ConfigError> {
        let plan = Arc::new(self.plan_for::<M>(configuration)?);
        Ok(CheckedOptions {
            options: self,
            plan,
            once: OnceLock::new(),
            untiring: OnceLock::new(),
        })
    }
}

impl CheckedOptions {
    pub(crate) const fn options(&self) -> &LockOptions {
        &self.options
    }

    /// As the options have it.
    pub(crate) const fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// With one try.
    pub(crate) fn once(&self) -> &Arc<Plan> {
        self.once
            .get_or_init(|| self.with_tries(Some(NonZeroU32::MIN)))
    }

    /// With tries without end.
    pub(crate) fn untiring(&self) -> &Arc<Plan> {
        self.untiring.get_or_init(|| self.with_tries(None))
    }

    fn with_tries(&self, tries: Option<NonZeroU32>) -> Arc<Plan> {
        Arc::new(Plan {
            retry: self.plan.retry.clone().with_tries(tries),
            ..(*self.plan).clone()
        })
    }
}
