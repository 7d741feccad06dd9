//! Statements that are compiled once for each connection and kept.

use rusqlite::{Connection, Params, Row};

use crate::error::StoreError;

/// Statements that a connection keeps: more than there are in this crate.
pub(super) const KEPT: usize = 128;

/// Runs a statement that answers no rows; how many it changed.
pub(super) fn execute(
    connection: &Connection,
    statement: &str,
    values: impl Params,
) -> rusqlite::Result<usize> {
    connection.prepare_cached(statement)?.execute(values)
}

/// The first row of a query; `QueryReturnedNoRows` where there is none.
pub(super) fn row<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached(query)?.query_row(values, read)
}

/// Each row of a query, read.
pub(super) fn rows<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(query)?;
    let mut found = statement.query(values)?;
    let mut list = Vec::new();
    while let Some(row) = found.next()? {
        list.push(read(row)?);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::super::connect;
    use super::*;

    #[test]
    fn i10_a_statement_is_compiled_once_whatever_its_values_are() {
        let folder = tempfile::tempdir().unwrap();
        let connection = connect(&folder.path().join("database")).unwrap();
        let table = "CREATE TABLE t (a TEXT, n INTEGER, s TEXT);
            CREATE INDEX some ON t (a, n) WHERE s = 'x'";
        connection.execute_batch(table).unwrap();
        let insert = "INSERT INTO t VALUES (?1, ?2, ?3)";
        let query = "SELECT count(*) FROM t WHERE a = ?1 AND n < ?2 AND s = 'x'";
        for n in 0..10 {
            execute(&connection, insert, (format!("a{n}"), n, "x")).unwrap();
            let values = (format!("a{n}"), n + 1);
            let count: i64 = row(&connection, query, values, |row| row.get(0)).unwrap();
            assert_eq!(count, 1);
        }
        for statement in [insert, query] {
            let kept = connection.prepare_cached(statement).unwrap();
            assert_eq!(
                kept.get_status(StatementStatus::RePrepare),
                0,
                "{statement}"
            );
            assert!(kept.get_status(StatementStatus::Run) >= 10, "{statement}");
        }
    }
}
