//! What can be asked for by name: a shape of leases, or one of tokens.

use crate::{
    fencing, run,
    search::Outcome,
    shape::{Law, Shape},
};
use std::time::Duration;

/// One shape.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    Leases(&'static Shape),
    Tokens(&'static fencing::Shape),
}

/// What is told of it when it was explored.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) states: usize,
    pub(crate) unique: usize,
    pub(crate) depth: usize,
    pub(crate) took: Duration,
    pub(crate) is_as_it_must_be: bool,
    pub(crate) verdict: String,
    pub(crate) story: Vec<String>,
}

impl Subject {
    /// Those that run without being asked for by name, the large ones only if `large`.
    pub(crate) fn usual(large: bool) -> Vec<Self> {
        let leases = Shape::usual(large).into_iter().map(Self::Leases);
        let tokens = fencing::Shape::usual(large).into_iter().map(Self::Tokens);
        leases.chain(tokens).collect()
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        let all = Self::usual(true);
        all.into_iter().find(|subject| subject.name() == name)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Leases(shape) => shape.name,
            Self::Tokens(shape) => shape.name,
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Leases(shape) => shape.about,
            Self::Tokens(shape) => shape.about,
        }
    }

    /// Whether it must break.
    pub(crate) const fn is_control(self) -> bool {
        match self {
            Self::Leases(shape) => matches!(shape.law, Law::Broken(_)),
            Self::Tokens(shape) => matches!(shape.law, fencing::Law::Broken(_)),
        }
    }

    /// Explores it, and tells from time to time how far that has come.
    pub(crate) fn explore(self, progress: impl FnMut(usize, usize)) -> Report {
        match self {
            Self::Leases(shape) => {
                let outcome = run::explore(shape, progress);
                let expected = match shape.law {
                    Law::Kept(_) => None,
                    Law::Broken(flaw) => Some(flaw.property()),
                };
                let story = match (&outcome.broken, expected) {
                    (Some((_, steps)), None) => {
                        let shortest = run::shortest(shape);
                        run::retell(shape, shortest.as_ref().unwrap_or(steps))
                    }
                    _ => Vec::new(),
                };
                Report::new(&outcome, expected, story)
            }
            Self::Tokens(shape) => {
                let outcome = fencing::explore(shape, progress);
                let expected = match shape.law {
                    fencing::Law::Kept(_) => None,
                    fencing::Law::Broken(flaw) => Some(flaw.property()),
                };
                // Why a way does not work is worth telling every time.
                let story = fencing::shortest(shape, outcome.broken.clone());
                let story = story.map(|(_, steps)| fencing::retell(shape, &steps));
                Report::new(&outcome, expected, story.unwrap_or_default())
            }
        }
    }
}

impl Report {
    /// `expected` is the promise that must be broken; none if none may.
    fn new<Step>(outcome: &Outcome<Step>, expected: Option<&str>, story: Vec<String>) -> Self {
        let is_as_it_must_be = match expected {
            None => outcome.is_well(),
            Some(property) => outcome.breaks(property),
        };
        let verdict = match (expected, &outcome.broken) {
            (None, Some((property, _))) => format!("BROKEN: {property}"),
            (None, None) if outcome.missing.is_empty() => "all well".to_owned(),
            (None, None) => format!("NEVER: {}", outcome.missing.join(", ")),
            (Some(_), Some((property, _))) if is_as_it_must_be => {
                format!("control: broken as it must be: {property}")
            }
            (Some(_), Some((property, _))) => format!("control: BROKEN ELSEWHERE: {property}"),
            (Some(_), None) => "control: THE CHECKER IS BLIND".to_owned(),
        };
        Self {
            states: outcome.states,
            unique: outcome.unique,
            depth: outcome.depth,
            took: outcome.took,
            is_as_it_must_be,
            verdict,
            story,
        }
    }
}
