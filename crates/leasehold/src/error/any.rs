//! Whatever went wrong, for programs that only pass it on.

#[cfg(feature = "redis")]
use super::ReconfigureError;
use super::{
    AcquireError, AdoptError, ConfigError, DowngradeError, ExtendError, InspectError, LeaseLost,
    NotKept,
};
use leasehold_core::ResourceError;
use std::fmt;

/// Any error of this crate, for programs that only pass it on.
///
/// Every other error becomes one by `?`. Its text is that of the error in it, and so is its `{:?}`: a `main` that returns
/// it ends with that sentence on stderr. `{:#?}` shows the fields.
///
/// # Examples
/// ```
/// use leasehold::LockManager;
///
/// fn main() -> Result<(), leasehold::Error> {
///     let manager = LockManager::builder().memory(3).build()?.blocking();
///     let guard = manager.mutex("orders/42")?.acquire()?;
///     guard.extend()?;
/// #   let wrong = leasehold::Error::from(manager.mutex("").unwrap_err());
/// #   assert_eq!(format!("{wrong:?}"), "the resource's name is empty");
///     Ok(())
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// Options, addresses or names are wrong.
    Config(ConfigError),
    /// A lock was not acquired.
    Acquire(AcquireError),
    /// A lease was not extended.
    Extend(ExtendError),
    /// A lease was lost.
    Lost(LeaseLost),
    /// A lease was not taken over.
    Adopt(AdoptError),
    /// A write lock did not become a read lock.
    Downgrade(DowngradeError),
    /// Work is done, but too few nodes know.
    NotKept(NotKept),
    /// A lock could not be looked at.
    Inspect(InspectError),
    /// The nodes were not made to use another configuration.
    #[cfg(feature = "redis")]
    Reconfigure(ReconfigureError),
}

impl Error {
    fn inner(&self) -> &(dyn std::error::Error + 'static) {
        match self {
            Self::Config(error) => error,
            Self::Acquire(error) => error,
            Self::Extend(error) => error,
            Self::Lost(error) => error,
            Self::Adopt(error) => error,
            Self::Downgrade(error) => error,
            Self::NotKept(error) => error,
            Self::Inspect(error) => error,
            #[cfg(feature = "redis")]
            Self::Reconfigure(error) => error,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.inner(), out)
    }
}

/// As the error in it has it.
impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.inner(), out)
    }
}

impl std::error::Error for Error {
    /// What is behind the error in it, whose text this one's is.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner().source()
    }
}

macro_rules! from {
    ($($variant:ident($error:ident)),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*
    };
}

from!(
    Config(ConfigError),
    Acquire(AcquireError),
    Extend(ExtendError),
    Lost(LeaseLost),
    Adopt(AdoptError),
    Downgrade(DowngradeError),
    NotKept(NotKept),
    Inspect(InspectError)
);
#[cfg(feature = "redis")]
from!(Reconfigure(ReconfigureError));

#[cfg(feature = "config")]
impl From<super::SettingsError> for Error {
    fn from(error: super::SettingsError) -> Self {
        Self::Config(error.into())
    }
}

impl From<ResourceError> for Error {
    fn from(error: ResourceError) -> Self {
        Self::Config(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockManager;
    use std::error::Error as _;

    /// Tools that print an error and all that is behind it say nothing twice.
    #[test]
    fn what_is_behind_an_error_is_not_what_it_says_itself() {
        let manager = LockManager::builder().memory(1).build().expect("good");
        let nameless = manager.mutex("").expect_err("no name");
        let nowhere = LockManager::builder().nodes(["redis://a b"]).build();
        let nowhere = nowhere.expect_err("no address");
        for error in [Error::from(nameless), Error::from(nowhere)] {
            let told = error.to_string();
            let mut behind = error.source();
            while let Some(error) = behind {
                assert!(!told.contains(&error.to_string()), "{told}: {error}");
                behind = error.source();
            }
        }
    }
}
