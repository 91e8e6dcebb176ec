//! A library for Rust, `rslock`, which needs no other toolchain.

use crate::{protocol::Answer, serve::Library};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The library, and what it has.
pub(crate) struct RustLibrary {
    runtime: Runtime,
    manager: Option<rslock::LockManager>,
    held: Option<rslock::Lock>,
}

impl RustLibrary {
    pub(crate) const fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            manager: None,
            held: None,
        }
    }

    /// The manager and the lock, if both are there.
    fn held(&self) -> Result<(&rslock::LockManager, &rslock::Lock), Answer> {
        let both = self.manager.as_ref().zip(self.held.as_ref());
        both.ok_or_else(|| Answer::Failed("nothing is locked".to_owned()))
    }
}

impl Library for RustLibrary {
    fn open(&mut self, urls: &[String]) -> Answer {
        self.manager = Some(rslock::LockManager::new(urls.to_vec()));
        Answer::Ready
    }

    fn lock(&mut self, key: &str, ttl: Duration, tries: u32) -> Answer {
        let Some(manager) = &mut self.manager else {
            return Answer::Failed("not opened".to_owned());
        };
        manager.set_retry(tries, PAUSE);
        match self.runtime.block_on(manager.lock(key, ttl)) {
            Ok(lock) => {
                let validity = u64::try_from(lock.validity_time).ok();
                self.held = Some(lock);
                Answer::Locked {
                    // Any bytes, which no line can carry.
                    value: None,
                    validity: validity.map(Duration::from_millis),
                    token: None,
                }
            }
            Err(error @ rslock::LockError::Unavailable) => Answer::Refused(error.to_string()),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    fn unlock(&mut self) -> Answer {
        match self.held() {
            Ok((manager, lock)) => {
                self.runtime.block_on(manager.unlock(lock));
                Answer::Unlocked
            }
            Err(answer) => answer,
        }
    }

    fn extend(&mut self, ttl: Duration) -> Answer {
        let extended = match self.held() {
            Ok((manager, lock)) => self.runtime.block_on(manager.extend(lock, ttl)),
            Err(answer) => return answer,
        };
        match extended {
            Ok(lock) => {
                self.held = Some(lock);
                Answer::Extended
            }
            Err(error @ rslock::LockError::Unavailable) => Answer::Gone(error.to_string()),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }
}

/// The longest pause between its tries, of which it takes a random part.
const PAUSE: Duration = Duration::from_millis(20);
