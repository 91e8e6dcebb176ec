//! Why a withdrawal was not made, and how HTTP says it.
//!
//! | status | `Retry-After` | when |
//! |---|---|---|
//! | 404 | | there is no such account |
//! | 422 | | there is too little in it |
//! | 423 | 1 s | somebody else withdraws from it, and did for as long as this service waits |
//! | 409 | 1 s | the lock was lost on the way; nothing was written |
//! | 503 | 1 s, or until the nodes vote | too few lock nodes answer, or vote yet |
//! | 500 | | the service is set up wrongly, or its database fails: then it may have been written |
//!
//! Whoever asks again with the same id is told what became of it, after each of them.

use axum::{
    Json,
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use leasehold::{AcquireError, ConfigError, LeaseLost, fence::Stale};
use serde::Serialize;
use std::time::Duration;
use tracing::{error, warn};

#[derive(Debug)]
pub(crate) enum Refusal {
    NoAccount,
    TooLittle,
    /// The lock was not to be had.
    NotAcquired(AcquireError),
    /// The lease ended while the withdrawal was checked.
    Lost(Box<LeaseLost>),
    /// The database has seen a newer holder's token.
    Stale(Stale),
    /// The account was removed and made anew between two statements.
    Vanished,
    Database(sqlx::Error),
    /// No lock can have the name of this account.
    Lock(ConfigError),
}

#[derive(Serialize)]
struct Body {
    error: &'static str,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoAccount | Self::Vanished => StatusCode::NOT_FOUND,
            Self::TooLittle => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotAcquired(error) if error.is_contention() => StatusCode::LOCKED,
            // These do not pass by themselves. All others do: nodes come back, and vote again.
            Self::NotAcquired(
                AcquireError::Disagreement { .. } | AcquireError::OwnerRepeated { .. },
            )
            | Self::Database(_)
            | Self::Lock(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotAcquired(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Lost(_) | Self::Stale(_) => StatusCode::CONFLICT,
        }
    }

    /// When to ask again, if that helps.
    fn retry_after(&self) -> Option<Duration> {
        match self.status() {
            StatusCode::LOCKED | StatusCode::CONFLICT => Some(SOON),
            StatusCode::SERVICE_UNAVAILABLE => match self {
                Self::NotAcquired(error) => Some(error.abstains().unwrap_or(SOON).max(SOON)),
                _ => None,
            },
            _ => None,
        }
    }

    /// For the client, who has no business with the names and states of our nodes. The log has those.
    fn sentence(&self) -> &'static str {
        match self.status() {
            StatusCode::NOT_FOUND => "there is no such account",
            StatusCode::UNPROCESSABLE_ENTITY => "there is too little in the account",
            StatusCode::LOCKED => "somebody else withdraws from the account",
            StatusCode::CONFLICT => "it took too long, and nothing was withdrawn",
            StatusCode::SERVICE_UNAVAILABLE => {
                "no withdrawals at the moment; nothing was withdrawn"
            }
            _ => "an error of ours; ask again with the same id to know what became of it",
        }
    }

    fn log(&self) {
        match self {
            Self::NoAccount | Self::TooLittle | Self::Vanished => {}
            // Busy accounts are an everyday matter.
            Self::NotAcquired(error) if error.is_contention() => {}
            Self::NotAcquired(error) => warn!("cannot {error}"),
            Self::Lost(lost) => warn!("{lost}"),
            Self::Stale(stale) => warn!("cannot {stale}"),
            Self::Database(error) => error!("the database: {error}"),
            Self::Lock(error) => error!("cannot {error}"),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.log();
        let error = self.sentence();
        let mut response = (self.status(), Json(Body { error })).into_response();
        if let Some(wait) = self.retry_after() {
            // Whole seconds, and never too early.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<AcquireError> for Refusal {
    fn from(error: AcquireError) -> Self {
        Self::NotAcquired(error)
    }
}

impl From<ConfigError> for Refusal {
    fn from(error: ConfigError) -> Self {
        Self::Lock(error)
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// A withdrawal takes no longer, as a rule. What the nodes tell of the holder's lease is when it ends if nobody extends it.
const SOON: Duration = Duration::from_secs(1);
