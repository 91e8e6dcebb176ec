//! What the runner did, when, and to whom.

use crate::{journal, moment::Moment};
use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The name of its file, beside the clients' journals.
pub(crate) const FILE: &str = "nemesis.log";

/// The nemesis's journal, and the clients' deaths.
#[derive(Debug)]
pub(crate) struct Chronicle(Mutex<Book>);

#[derive(Debug)]
struct Book {
    file: File,
    strikes: Vec<Moment>,
    deaths: Vec<(String, Moment)>,
    failures: Vec<String>,
}

impl Chronicle {
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(Book {
            file: File::create(folder.join(FILE))?,
            strikes: Vec::new(),
            deaths: Vec::new(),
            failures: Vec::new(),
        })))
    }

    /// Notes a disturbance that begins now.
    pub(crate) fn strike(&self, what: &str) {
        let at = self.tell(what);
        self.book().strikes.push(at);
    }

    /// Notes something else, such as the end of a disturbance. Returns when.
    pub(crate) fn tell(&self, what: &str) -> Moment {
        let mut book = self.book();
        let at = Moment::now();
        // For the reader of a failed run only; nothing is decided by it.
        drop(writeln!(book.file, "{at} {what}"));
        at
    }

    /// Notes that the writer of a journal is about to be killed.
    pub(crate) fn death(&self, journal: &str) {
        let at = self.tell(&format!("kill -9 of {journal}"));
        self.book().deaths.push((journal.to_owned(), at));
    }

    /// Notes that the run cannot be judged.
    pub(crate) fn fail(&self, why: String) {
        self.tell(&why);
        self.book().failures.push(why);
    }

    /// When the writer of this journal was killed.
    pub(crate) fn death_of(&self, journal: &str) -> Option<Moment> {
        let book = self.book();
        let death = book.deaths.iter().find(|(name, _)| name == journal);
        death.map(|(_, at)| *at)
    }

    pub(crate) fn strikes(&self) -> Vec<Moment> {
        self.book().strikes.clone()
    }

    /// The first reason why the run cannot be judged.
    pub(crate) fn failure(&self) -> Option<String> {
        self.book().failures.first().cloned()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads what every client of a run has written so far.
///
/// # Errors
/// If a journal cannot be read or understood.
pub(crate) fn journals(
    folder: &Path,
    chronicle: &Chronicle,
) -> Result<Vec<crate::checker::Journal>, String> {
    let unreadable = |error: io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.extension().is_none_or(|end| end != "journal") {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        let entries = journal::parse(&text).map_err(|wrong| format!("{name}: {wrong}"))?;
        let death = chronicle.death_of(&name);
        found.push(crate::checker::Journal {
            name,
            entries,
            death,
        });
    }
    Ok(found)
}
