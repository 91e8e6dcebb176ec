//! `leasehold warden`: what stands behind a `leasehold run` that was killed or stopped.

use crate::{
    args::warden::WardenArguments,
    exit_code, output,
    warden::{self, Alarm},
};
use std::{io::stdin, time::Duration};

/// Watches until it is dismissed, or has to act.
pub(crate) fn run(arguments: &WardenArguments) -> u8 {
    let grace = Duration::from_millis(arguments.grace_ms);
    let WardenArguments { of, resource, .. } = arguments;
    match warden::watch(stdin()) {
        None => {}
        Some(Alarm::Death(left)) => {
            warden::end(arguments.group, grace.min(left));
            output::error(format_args!(
                "pid {of}, which held {resource:?}, was killed; the command that it ran was ended"
            ));
        }
        Some(Alarm::Silence) => {
            warden::end(arguments.group, Duration::ZERO);
            output::error(format_args!(
                "pid {of}, which held {resource:?}, was stopped for too long; the command that it ran was ended"
            ));
        }
    }
    exit_code::SUCCESS
}
