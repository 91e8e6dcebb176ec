//! The arguments of `leasehold warden`, which nobody types.

use clap::Args;

/// Ends a command whose leasehold was killed or stopped. Started by leasehold itself.
#[derive(Debug, Args)]
pub(crate) struct WardenArguments {
    /// How long the command has between SIGTERM and SIGKILL, in milliseconds; none at all is SIGKILL at once
    #[arg(long, default_value_t = 0)]
    pub(crate) grace_ms: u64,
}
