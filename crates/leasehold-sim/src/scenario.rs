//! The ways in which a world goes wrong.
//!
//! In a lawful world every assumption of docs/SAFETY.md holds, however hostile it is otherwise, and nothing
//! may be found. In a control one assumption is broken on purpose; there, violations must be found, or the
//! checkers are blind.

use crate::{check::Property, rng::Rng, setting::Setting};

mod broken;
mod clustered;
mod crowd;
mod fair;
mod forgetful;
mod grouped;
mod guarded;
mod lawful;
#[cfg(feature = "lua")]
mod lua;
mod permits;
mod readers;
mod replaced;
mod several;
mod taken;
mod waiting;

/// A kind of world.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) law: Law,
    arrange: fn(&mut Setting, &mut Rng),
}

/// What must be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    /// Every assumption holds: no violation.
    Kept,
    /// No assumption holds but that counters are kept: tokens have their order all the same.
    Fenced,
    /// An assumption is broken: this is violated in some seed.
    Broken(Property),
}

impl Scenario {
    /// Those that many seeds are worth.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        let all = lawful::ALL
            .iter()
            .chain(&waiting::ALL)
            .chain(&fair::ALL)
            .chain(&several::ALL)
            .chain(&readers::ALL)
            .chain(&permits::ALL)
            .chain(&taken::ALL)
            .chain(&guarded::ALL)
            .chain(&replaced::ALL)
            .chain(&broken::ALL)
            .chain(&forgetful::ALL)
            .chain(&grouped::ALL)
            .chain(&clustered::ALL);
        #[cfg(feature = "lua")]
        let all = all.chain(&lua::ALL);
        all
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        Self::named().find(|scenario| scenario.name == name)
    }

    /// Also those that are run by their name alone, since a world of theirs takes as long as thousands of others.
    pub(crate) fn named() -> impl Iterator<Item = &'static Self> {
        Self::all().chain(&crowd::ALL)
    }

    /// Whether its nodes run the scripts. Such a world takes as long as several others.
    pub(crate) fn is_scripted(&self) -> bool {
        let name = self.name.strip_prefix("control-").unwrap_or(self.name);
        name.starts_with("lua-")
    }

    /// The world that a seed of this scenario begins with. The scenario's name is part of the chance: the
    /// same seed is another world elsewhere.
    pub(crate) fn draw(&self, seed: u64) -> (Setting, Rng) {
        let name = self.name.bytes().fold(seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut rng = Rng::new(name);
        let mut setting = Setting::draw(&mut rng);
        // Without a throw of the dice: with tokens and without, it is the same world otherwise.
        setting.is_fenced = seed.is_multiple_of(3);
        (self.arrange)(&mut setting, &mut rng);
        (setting, rng)
    }
}
