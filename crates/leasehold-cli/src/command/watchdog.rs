//! `leasehold watchdog`: what stands behind a `leasehold run` that was killed or stopped.

use crate::{
    args::watchdog::WatchdogArguments,
    exit_code, output,
    watchdog::{self, Alarm},
};
use std::{io::stdin, time::Duration};

/// Watches until it is dismissed, or has to act.
pub(crate) fn run(arguments: &WatchdogArguments) -> u8 {
    let grace = Duration::from_millis(arguments.grace_ms);
    let WatchdogArguments { of, resource, .. } = arguments;
    match watchdog::watch(stdin()) {
        None => {}
        Some(Alarm::Death(left)) => {
            watchdog::end(arguments.group, grace.min(left));
            output::error(format_args!(
                "pid {of}, which held {resource}, was killed; the command that it ran was ended"
            ));
        }
        Some(Alarm::Silence) => {
            watchdog::end(arguments.group, Duration::ZERO);
            output::error(format_args!(
                "pid {of}, which held {resource}, was stopped for too long; the command that it ran was ended"
            ));
        }
    }
    exit_code::SUCCESS
}
