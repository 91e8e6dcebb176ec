//! The databases that were written to, in the documentation.

use std::{
    env, fs,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Says that the story was told to this version of a database, by these clients. With `LEASEHOLD_WRITE_DOCS=1` the page
/// on the library has it from then on.
pub(crate) fn tell(database: &str, version: &str, clients: &[&str]) {
    static PAGE: Mutex<()> = Mutex::new(());
    if env::var_os("LEASEHOLD_WRITE_DOCS").is_none_or(|value| value != "1") {
        return;
    }
    // Tests run side by side.
    let _one_at_a_time = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/LIBRARY.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let row = format!("| {database} | {version} | {} |", clients.join("; "));
    let page = with_row(&page, database, &row).expect("docs/LIBRARY.md has its markers");
    fs::write(&path, page).expect("the page can be written");
}

/// The page with this row, in the place of the one that was there for the database; rows are in order.
fn with_row(page: &str, database: &str, row: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (table, tail) = rest.split_once(END)?;
    let start = format!("| {database} |");
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with(TITLE);
    let rows = table.lines().filter(is_row);
    let mut rows: Vec<&str> = rows.filter(|line| !line.starts_with(&start)).collect();
    rows.push(row);
    rows.sort_unstable();
    let rows = rows.join("\n");
    Some(format!(
        "{head}{BEGIN}\n\n{TITLE} version | clients |\n|---|---|---|\n{rows}\n\n{END}{tail}"
    ))
}

const BEGIN: &str = "<!-- fenced writes: begin -->";
const END: &str = "<!-- fenced writes: end -->";
const TITLE: &str = "| database |";

#[test]
fn a_row_takes_the_place_of_its_database() {
    let empty = format!("a\n{BEGIN}\n{END}\nb\n");
    let one = with_row(&empty, "B", "| B | 1 | c |").expect("it has markers");
    let two = with_row(&one, "A", "| A | 1 | c |").expect("it has markers");
    let newer = with_row(&two, "B", "| B | 2 | d |").expect("it has markers");
    let table = "| database | version | clients |\n|---|---|---|\n| A | 1 | c |\n| B | 2 | d |";
    assert_eq!(newer, format!("a\n{BEGIN}\n\n{table}\n\n{END}\nb\n"));
    assert_eq!(with_row("no markers", "A", "| A |"), None);
}
