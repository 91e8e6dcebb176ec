//! What the runner did, when, and to whom.

use crate::{journal, moment::Moment, scenario::Strike};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The name of its file, beside the clients' journals.
pub(crate) const FILE: &str = "nemesis.log";
/// How the name of a file ends to which a client's panics and last words go.
pub(crate) const COMPLAINTS: &str = "stderr";

/// The nemesis's journal, and the clients' deaths.
#[derive(Debug)]
pub(crate) struct Chronicle(Mutex<Book>);

#[derive(Debug)]
struct Book {
    file: File,
    strikes: Vec<(Strike, Moment)>,
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

    /// Notes that a disturbance that began at this moment was carried out.
    pub(crate) fn strike(&self, strike: Strike, began: Moment) {
        self.book().strikes.push((strike, began));
    }

    /// Notes something for the reader, such as the beginning or the end of a disturbance. Returns when.
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

    /// What was carried out, and when it had begun.
    pub(crate) fn strikes(&self) -> Vec<(Strike, Moment)> {
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
    let mut found = Vec::new();
    for (name, path) in files(folder, "journal")? {
        let entries = journal::parse(&read(&path)?).map_err(|wrong| format!("{name}: {wrong}"))?;
        let death = chronicle.death_of(&name);
        found.push(crate::checker::Journal {
            name,
            entries,
            death,
        });
    }
    Ok(found)
}

/// The first line that a client of a run complained with, and the file that has the rest.
///
/// A client has nothing to say unless it ends by itself or panics, and a panic of the library's own
/// thread need not end it.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn complaint(folder: &Path) -> Result<Option<String>, String> {
    for (name, path) in files(folder, COMPLAINTS)? {
        let text = read(&path)?;
        // A panic is told with an empty line before it.
        if let Some(first) = text.lines().find(|line| !line.trim().is_empty()) {
            return Ok(Some(format!(
                "{name} complained: {first} (kept in {})",
                path.display()
            )));
        }
    }
    Ok(None)
}

/// The files that end so, each with its name without the end, in the order of the names.
fn files(folder: &Path, end: &str) -> Result<Vec<(String, PathBuf)>, String> {
    let unreadable = |error: io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for file in fs::read_dir(folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        if path.extension().is_some_and(|other| other == end) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            found.push((name.into_owned(), path));
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, process};

    #[test]
    fn the_first_line_of_a_complaint_is_told_with_its_file() {
        let folder = env::temp_dir().join(format!("leasehold-chaos-complaint-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("client-0.1.stderr", "");
        write("client-0.1.journal", "10 acquired r0 x 20\n");
        write(FILE, "10 kill clients [0]\n");
        let silent = complaint(&folder);
        write("client-1.2.stderr", "\nthread 'engine' panicked\nbecause\n");
        let loud = complaint(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(silent, Ok(None));
        let loud = loud.unwrap().unwrap();
        assert!(
            loud.starts_with("client-1.2 complained: thread 'engine' panicked (kept in "),
            "{loud}"
        );
        assert!(loud.contains("client-1.2.stderr"), "{loud}");
    }
}
