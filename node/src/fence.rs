//! The sentences of fenced writes, from the library, so that there is one source for them.

use crate::{
    failure::Failure,
    js::{self, thrown},
};
use leasehold::fence::{
    redis,
    sql::{Dialect, FenceTable, RowFence},
};
use napi_derive::napi;

fn dialect(name: &str) -> Result<Dialect, Failure> {
    match name {
        "postgresql" => Ok(Dialect::PostgreSql),
        "mysql" | "mariadb" => Ok(Dialect::MySql),
        "sqlite" => Ok(Dialect::Sqlite),
        _ => Err(Failure::config(&format!(
            "no dialect is called {name:?}; known are postgresql, mysql, mariadb and sqlite"
        ))),
    }
}

/// The statements for a row with a column for tokens: to add the column, to write these columns, to read the newest.
#[napi]
pub fn row_fence(
    of: String,
    table: String,
    key: String,
    fence: String,
    columns: Vec<String>,
) -> js::Result<Vec<String>> {
    thrown(|| {
        let wrong = |error| Failure::config(&error);
        let row = RowFence::new(dialect(&of)?, &table, &key, &fence).map_err(wrong)?;
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let update = row.update(&columns).map_err(wrong)?;
        Ok(vec![row.add(), update, row.newest()])
    })
}

/// The statements for a table of tokens: to create it, to admit a token, to read the newest.
#[napi]
pub fn fence_table(of: String, table: String) -> js::Result<Vec<String>> {
    thrown(|| {
        let table = FenceTable::new(dialect(&of)?, &table);
        let table = table.map_err(|error| Failure::config(&error))?;
        Ok(vec![table.create(), table.admit(), table.newest()])
    })
}

/// A script with the check of the token before it.
#[napi]
pub fn fenced_script(script: String) -> String {
    redis::FencedScript::new(&script).text().to_owned()
}

#[napi]
pub fn set_if_newest() -> String {
    redis::SET_IF_NEWEST.to_owned()
}
