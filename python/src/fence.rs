//! The statements of fenced writes, as the library has them.

use crate::error::wrong;
use leasehold::fence::sql::{Dialect, FenceTable, RowFence};
use pyo3::prelude::*;

fn dialect(py: Python<'_>, name: &str) -> PyResult<Dialect> {
    match name {
        "postgresql" => Ok(Dialect::PostgreSql),
        "mysql" => Ok(Dialect::MySql),
        "sqlite" => Ok(Dialect::Sqlite),
        _ => Err(wrong(
            py,
            &format!("dialect: {name:?} is none; take \"postgresql\", \"mysql\" or \"sqlite\""),
        )),
    }
}

/// The statements of a table of fences: that which creates it, that which lets a token pass, and that which reads the newest.
#[pyfunction]
pub(crate) fn fence_table(
    py: Python<'_>,
    of: &str,
    table: &str,
) -> PyResult<(String, String, String)> {
    let fences = FenceTable::new(dialect(py, of)?, table).map_err(|error| wrong(py, &error))?;
    Ok((fences.create(), fences.admit(), fences.newest()))
}

/// The statements of a fence in the row itself: that which adds the column, that which writes, and that which reads the newest.
#[pyfunction]
pub(crate) fn row_fence(
    py: Python<'_>,
    of: &str,
    table: &str,
    key: &str,
    fence: &str,
    columns: Vec<String>,
) -> PyResult<(String, String, String)> {
    let row =
        RowFence::new(dialect(py, of)?, table, key, fence).map_err(|error| wrong(py, &error))?;
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let update = row.update(&columns).map_err(|error| wrong(py, &error))?;
    Ok((row.add(), update, row.newest()))
}

/// The script of a fenced write to Redis: the one around `script`, or that which sets a key.
#[pyfunction]
pub(crate) fn fenced_script(script: &str) -> String {
    leasehold::fence::redis::FencedScript::new(script)
        .text()
        .to_owned()
}
