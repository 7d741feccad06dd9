//! The tables, and how a database of an earlier version becomes one of this version.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// Each step from one `user_version` to the next, from an empty database on. A step that has been
/// released is never edited: a change is a new one.
const STEPS: [&str; 4] = [
    "
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    task TEXT NOT NULL,
    launch TEXT NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    step TEXT NOT NULL,
    number INTEGER NOT NULL,
    agent TEXT NOT NULL,
    work_order TEXT NOT NULL,
    state TEXT NOT NULL,
    unfit TEXT,
    expires_ms INTEGER NOT NULL,
    reason TEXT,
    ending TEXT,
    submit_digest BLOB,
    size_bytes INTEGER,
    sha256 TEXT,
    body TEXT,
    UNIQUE (run, step, number)
) STRICT;
CREATE INDEX open_attempts ON attempts (expires_ms) WHERE state IN ('dispatched', 'staged');
CREATE TABLE credentials (
    digest BLOB PRIMARY KEY,
    attempt INTEGER NOT NULL REFERENCES attempts (id),
    role TEXT NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE parts (
    id INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL REFERENCES attempts (id),
    name TEXT NOT NULL,
    unfit TEXT,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (attempt, name)
) STRICT;
CREATE TABLE files (
    run TEXT NOT NULL REFERENCES runs (id),
    folder TEXT NOT NULL,
    folded TEXT NOT NULL,
    step TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (run, folder, folded)
) STRICT;
",
    "
ALTER TABLE runs ADD COLUMN status TEXT NOT NULL DEFAULT 'running';
ALTER TABLE runs ADD COLUMN plan TEXT;
ALTER TABLE runs ADD COLUMN outcome TEXT;
ALTER TABLE runs ADD COLUMN created_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN ended_ms INTEGER;
UPDATE runs SET status = 'cancelled' WHERE ended = 1;
ALTER TABLE attempts ADD COLUMN place TEXT;
ALTER TABLE attempts ADD COLUMN reach TEXT NOT NULL DEFAULT 'handed';
ALTER TABLE attempts ADD COLUMN reading TEXT NOT NULL DEFAULT 'ordered';
ALTER TABLE attempts ADD COLUMN code TEXT;
CREATE INDEX waiting_attempts ON attempts (agent, id)
    WHERE reach = 'waiting' AND state IN ('dispatched', 'staged');
CREATE INDEX places ON attempts (run, place, id);
CREATE TABLE journal (
    run TEXT NOT NULL REFERENCES runs (id),
    place TEXT NOT NULL,
    value TEXT,
    PRIMARY KEY (run, place)
) STRICT;
CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id),
    id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (run, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE audits (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    step TEXT NOT NULL,
    name TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (run, step, name)
) STRICT;
",
    "
ALTER TABLE runs ADD COLUMN files_synced INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET files_synced = 1 WHERE ended = 1;
CREATE INDEX unsynced_runs ON runs (id) WHERE ended = 1 AND files_synced = 0;
",
    "
CREATE INDEX outputs ON attempts (run, step, number) WHERE state = 'completed';
UPDATE runs SET ended_ms = CAST(strftime('%s', 'now') AS INTEGER) * 1000
    WHERE ended = 1 AND ended_ms IS NULL;
CREATE INDEX open_runs ON runs (tenant) WHERE ended = 0;
CREATE INDEX ended_runs ON runs (tenant, ended_ms DESC) WHERE ended = 1;
CREATE INDEX credentials_of_attempts ON credentials (attempt);
",
];

/// Brings a database to this version, whole or not at all.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = u32::try_from(STEPS.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> u32 {
        let query = connection.pragma_query_value(None, "user_version", |row| row.get(0));
        query.unwrap()
    }

    #[test]
    fn i10_an_empty_database_is_brought_to_this_version_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        for _ in 0..2 {
            migrate(&mut connection).unwrap();
            assert_eq!(version(&connection), 4);
        }
    }

    #[test]
    fn i10_what_an_earlier_version_kept_is_there_in_this_one() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(STEPS[0]).unwrap();
        let kept = "INSERT INTO runs (id, tenant, task, launch, ended) VALUES
                ('R-1', 't', 'T-1', '{}', 0), ('R-2', 't', 'T-1', '{}', 1);
            INSERT INTO attempts (run, step, number, agent, work_order, state, expires_ms)
                VALUES ('R-1', 's', 1, 'a', '{}', 'dispatched', 5);";
        connection.execute_batch(kept).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        migrate(&mut connection).unwrap();
        assert_eq!(version(&connection), 4);
        let query = "SELECT group_concat(status, ',') || ' ' || (SELECT reach FROM attempts)
            FROM (SELECT status FROM runs ORDER BY id)";
        let found: String = connection.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(found, "running,cancelled handed");
        let query = "SELECT count(*) FROM runs WHERE ended = 1 AND ended_ms > 1000000000000";
        let dated: i64 = connection.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(
            dated, 1,
            "an ended run has a time from which its age counts"
        );
    }

    #[test]
    fn i10_a_newer_versions_database_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        let refused = migrate(&mut connection);
        let expected = StoreError::TooNew {
            found: 99,
            known: 4,
        };
        assert_eq!(refused.unwrap_err().to_string(), expected.to_string());
        assert_eq!(version(&connection), 99);
    }

    #[test]
    fn i10_a_step_that_fails_leaves_the_database_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE parts (n)").unwrap();
        assert!(migrate(&mut connection).is_err());
        assert_eq!(version(&connection), 0);
        let runs = "SELECT count(*) FROM sqlite_schema WHERE name = 'runs'";
        let count: i64 = connection.query_row(runs, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0);
    }
}
