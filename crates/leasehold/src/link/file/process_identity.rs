//! Who set a key, so that nothing outlives its process or a reboot.

/// A process of this machine, told from every other one that there ever was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProcessIdentity {
    /// The boot in which it runs.
    pub(super) boot: [u8; 16],
    /// Its number in its pid namespace.
    pub(super) pid: u32,
    /// When it began, in the kernel's ticks since the boot: tells it from a later one of that number.
    pub(super) started: u64,
    /// The pid namespace in which the number means something. Zero if it cannot be told.
    pub(super) pid_namespace: u64,
    /// The time namespace in which the start means something.
    pub(super) time_namespace: u64,
}

impl ProcessIdentity {
    /// This process. If the boot cannot be told, says why: a made-up id would void the keys of others.
    pub(super) fn current() -> Result<Self, String> {
        imp::current()
    }

    /// Whether keys that `other` set are void for this process: it is gone for certain. In doubt it
    /// lives, and its TTL has to end.
    pub(super) fn knows_gone(&self, other: &Self) -> bool {
        // Another boot id does not prove a reboot: containers may have their own. A store has one, and
        // what was there before a reboot went with the whole file (`place`), so a record of another one
        // should not be met at all; if it is, it is in doubt.
        //
        // A number of another namespace would name a stranger here, and a start seen from another time
        // namespace is shifted: both would bury the living.
        let comparable = self.pid_namespace != 0
            && (other.boot, other.pid_namespace, other.time_namespace)
                == (self.boot, self.pid_namespace, self.time_namespace);
        let this = (other.pid, other.started) == (self.pid, self.started);
        comparable && !this && imp::gone(other)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod imp {
    use super::ProcessIdentity;
    use rustix::{
        io::Errno,
        process::{Pid, test_kill_process},
    };
    use std::{fs, os::unix::fs::MetadataExt};

    pub(super) fn current() -> Result<ProcessIdentity, String> {
        let pid = std::process::id();
        let inode = |name| fs::metadata(name).map_or(0, |found| found.ino());
        let stat = Stat::read("self");
        // A /proc of another pid namespace gives other numbers to the same processes.
        let at_home =
            fs::read_link("/proc/self").is_ok_and(|name| name.as_os_str() == &*pid.to_string());
        let pid_namespace = match &stat {
            Some(_) if at_home => inode("/proc/self/ns/pid"),
            _ => 0,
        };
        Ok(ProcessIdentity {
            boot: boot()?,
            pid,
            started: stat.map_or(0, |stat| stat.started),
            pid_namespace,
            time_namespace: inode("/proc/self/ns/time"),
        })
    }

    /// Whether the process is gone for certain; its numbers must be of this namespace.
    pub(super) fn gone(holder: &ProcessIdentity) -> bool {
        let Some(pid) = i32::try_from(holder.pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        // Not by a missing /proc entry: with the mount option hidepid, other users' processes have none.
        if test_kill_process(pid) == Err(Errno::SRCH) {
            return true;
        }
        Stat::read(&holder.pid.to_string())
            .is_some_and(|stat| stat.started != holder.started || stat.is_corpse())
    }

    /// The kernel's id of this boot: a random one, written as a UUID.
    fn boot() -> Result<[u8; 16], String> {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_err(|error| error.to_string())?;
        parse_boot(&text).ok_or_else(|| format!("it reads {text:?}"))
    }

    /// None for what is no UUID, zeros included: a stand-in is the same after a reboot.
    pub(super) fn parse_boot(text: &str) -> Option<[u8; 16]> {
        let digits = text.trim_ascii_end().replace('-', "");
        let uuid = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u128::from_str_radix(&digits, 16).ok()?;
        (uuid && number != 0).then_some(number.to_be_bytes())
    }

    /// What is needed of /proc/…/stat.
    struct Stat {
        state: char,
        threads: u64,
        started: u64,
    }

    impl Stat {
        fn read(process: &str) -> Option<Self> {
            let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            // The name is in parentheses and may have any character, parentheses too; fields 3 to the
            // end follow the last one.
            let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
            let state = fields.next()?.chars().next()?;
            Some(Self {
                state,
                threads: fields.nth(16)?.parse().ok()?,
                started: fields.nth(1)?.parse().ok()?,
            })
        }

        /// Killed, but its parent has not looked yet. A program whose first thread alone has ended looks
        /// the same but for the threads that go on.
        fn is_corpse(&self) -> bool {
            matches!(self.state, 'Z' | 'X' | 'x') && self.threads <= 1
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod imp {
    use super::ProcessIdentity;

    pub(super) fn current() -> Result<ProcessIdentity, String> {
        Ok(ProcessIdentity {
            boot: [0; 16],
            pid: std::process::id(),
            started: 0,
            pid_namespace: 0,
            time_namespace: 0,
        })
    }

    pub(super) fn gone(_: &ProcessIdentity) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_parent_live() {
        let this = ProcessIdentity::current().expect("/proc is there");
        assert_ne!((this.pid_namespace, this.started), (0, 0));
        assert_ne!(this.boot, [0; 16]);
        assert!(!this.knows_gone(&this));
    }

    #[test]
    fn a_number_that_was_given_to_another_process_is_told_by_its_start() {
        let this = ProcessIdentity::current().expect("/proc is there");
        let earlier = ProcessIdentity {
            started: this.started - 1,
            ..this
        };
        assert!(this.knows_gone(&earlier));
    }

    #[test]
    fn a_killed_process_is_gone_before_its_parent_looks() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("there is a sleep command");
        let this = ProcessIdentity::current().expect("/proc is there");
        let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
            .expect("the child is there");
        let started = text
            .split(' ')
            .nth(21)
            .expect("22 fields")
            .parse()
            .expect("a number");
        let holder = ProcessIdentity {
            pid: child.id(),
            started,
            ..this
        };
        assert!(!this.knows_gone(&holder));
        child.kill().expect("it is ours");
        while !this.knows_gone(&holder) {
            std::thread::yield_now();
        }
        child.wait().expect("it is ours");
        assert!(this.knows_gone(&holder));
    }

    #[test]
    fn processes_of_other_namespaces_are_not_judged() {
        let this = ProcessIdentity::current().expect("/proc is there");
        let stranger = ProcessIdentity {
            started: 1,
            pid_namespace: 1,
            ..this
        };
        assert!(!this.knows_gone(&stranger));
        let shifted = ProcessIdentity {
            started: 1,
            time_namespace: 1,
            ..this
        };
        assert!(!this.knows_gone(&shifted));
    }

    #[test]
    fn a_process_with_another_boot_id_is_not_judged() {
        let this = ProcessIdentity::current().expect("/proc is there");
        // Its start is a wrong one, by which it would be gone if it were of this boot.
        let other = ProcessIdentity {
            boot: [1; 16],
            started: this.started - 1,
            ..this
        };
        assert!(!this.knows_gone(&other));
    }

    #[test]
    fn a_boot_id_is_a_whole_uuid_and_not_zero() {
        let id = imp::parse_boot("00112233-4455-6677-8899-aabbccddeeff\n");
        let bytes = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();
        assert_eq!(id, Some(bytes));
        for text in [
            "",
            "\n",
            "00000000-0000-0000-0000-000000000000\n",
            "00112233-4455-6677-8899-aabbccddeef\n",
            "+0112233-4455-6677-8899-aabbccddeeff\n",
        ] {
            assert_eq!(imp::parse_boot(text), None, "{text:?}");
        }
    }
}
