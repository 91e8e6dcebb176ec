//! Signals that this process was started with ignored, by `nohup` or by `&` in a script. What it starts would ignore them,
//! too, and tests send them.

use std::{
    env, fs,
    os::unix::process::CommandExt,
    process::{self, Command},
};

/// Starts this program again, in its place, with the signals' default actions, if it ignores any that tests send.
pub(crate) fn heed() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let Ok(program) = env::current_exe() else {
        return;
    };
    if ignored(&status) & SENT == 0 {
        return;
    }
    let error = Command::new("env")
        .arg("--default-signal=HUP,INT,QUIT")
        .arg(program)
        .args(env::args_os().skip(1))
        .exec();
    println!("signals are ignored here, and tests will fail that send them: {error}");
    process::exit(1);
}

/// The signals that a process with this status ignores, a bit each.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}

/// HUP, INT and QUIT.
const SENT: u64 = 0b111;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read_from_the_status() {
        let status = "Name:\tcargo\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001006\n";
        assert_eq!(ignored(status), 0x1006);
        assert_eq!(ignored("Name:\tcargo\n"), 0);
    }
}
