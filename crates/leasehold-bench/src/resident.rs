//! The memory of this process.

use crate::Fallible;
use std::fs;

/// What it has in memory that is no file's.
pub(crate) fn bytes() -> Fallible<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    Ok(parse(&status).ok_or("the kernel does not tell what memory a process has")?)
}

/// `RssAnon:      1234 kB`
fn parse(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|it| it.strip_prefix("RssAnon:"))?;
    let kilobytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_understood() {
        let status = "VmRSS:\t    4096 kB\nRssAnon:\t      20 kB\n";
        assert_eq!(parse(status), Some(20_480.0));
        assert_eq!(parse("VmRSS:\t 1 kB"), None);
        assert!(bytes().unwrap() > 0.0);
    }
}
