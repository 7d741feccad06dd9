//! Rows of runs that have ended and are not kept: which they are, and how they go.

use rusqlite::{Connection, Row, params};
use tidegate_contract::Tenant;

use super::{SqliteStore, kept, reads, statements};
use crate::error::StoreError;
use crate::runs::RunBounds;

/// What goes of a run, in this order, and how many rows in one commit: large ones few at a time, so
/// that whoever writes beside it hardly waits.
const ROWS: [(&str, u32); 7] = [
    (
        "DELETE FROM events WHERE run = ?1
             AND id < (SELECT min(id) FROM events WHERE run = ?1) + ?2",
        1_000,
    ),
    (
        "DELETE FROM credentials WHERE digest IN (
             SELECT c.digest FROM attempts a JOIN credentials c ON c.attempt = a.id
             WHERE a.run = ?1 LIMIT ?2)",
        1_000,
    ),
    (
        "DELETE FROM parts WHERE id IN (
             SELECT p.id FROM attempts a JOIN parts p ON p.attempt = a.id
             WHERE a.run = ?1 LIMIT ?2)",
        8,
    ),
    (
        "DELETE FROM audits WHERE id IN (SELECT id FROM audits WHERE run = ?1 LIMIT ?2)",
        8,
    ),
    (
        "DELETE FROM attempts WHERE id IN (SELECT id FROM attempts WHERE run = ?1 LIMIT ?2)",
        8,
    ),
    (
        "DELETE FROM files WHERE rowid IN (SELECT rowid FROM files WHERE run = ?1 LIMIT ?2)",
        1_000,
    ),
    (
        "DELETE FROM journal WHERE rowid IN (SELECT rowid FROM journal WHERE run = ?1 LIMIT ?2)",
        8,
    ),
];

/// From one tenant to the next by the index: there may be many runs of each.
const TENANTS: &str = "WITH RECURSIVE tenants(tenant) AS (
         SELECT min(tenant) FROM runs WHERE ended = 1
         UNION ALL
         SELECT (SELECT min(r.tenant) FROM runs r WHERE r.ended = 1 AND r.tenant > tenants.tenant)
         FROM tenants WHERE tenants.tenant IS NOT NULL)
     SELECT tenant FROM tenants WHERE tenant IS NOT NULL";

impl SqliteStore {
    /// The tenants that have ended runs.
    pub(crate) fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        self.read(tenants)
    }

    /// The ids of ended runs of a tenant that the bounds do not keep at a moment: at most `most`.
    pub(crate) fn retired(
        &self,
        tenant: &Tenant,
        bounds: &RunBounds,
        (now_ms, most): (u64, u32),
    ) -> Result<Vec<String>, StoreError> {
        self.read(|connection| retired(connection, tenant, (bounds, now_ms, most)))
    }

    /// Removes some of an ended run; answers whether nothing of it is left.
    pub(crate) async fn remove_some(&self, run: &str) -> Result<bool, StoreError> {
        let run = run.to_owned();
        let removed = self
            .writer
            .write_soon(move |connection| remove_some(connection, &run));
        removed.await
    }
}

/// That a tenant may have one more open run.
pub(super) fn check_open(
    connection: &Connection,
    (tenant, most): (&Tenant, u64),
) -> Result<(), StoreError> {
    let query = "SELECT count(*) FROM runs WHERE tenant = ?1 AND ended = 0";
    let open: i64 = statements::row(connection, query, [tenant.as_str()], |row| row.get(0))?;
    if open >= kept(most) {
        return Err(StoreError::Full { limit: most });
    }
    Ok(())
}

fn tenants(connection: &Connection) -> Result<Vec<Tenant>, StoreError> {
    statements::rows(connection, TENANTS, [], |row| {
        reads::word(row, "tenant", |text| Tenant::new(text).ok(), "a tenant")
    })
}

fn retired(
    connection: &Connection,
    tenant: &Tenant,
    (bounds, now_ms, most): (&RunBounds, u64, u32),
) -> Result<Vec<String>, StoreError> {
    let ended = "SELECT id FROM runs WHERE tenant = ?1 AND ended = 1";
    let id = |row: &Row<'_>| reads::column(row, "id");
    let query = format!("{ended} ORDER BY ended_ms DESC LIMIT ?2 OFFSET ?3");
    let values = params![tenant.as_str(), most, kept(bounds.ended_runs)];
    let too_many = statements::rows(connection, &query, values, id)?;
    if !too_many.is_empty() {
        return Ok(too_many);
    }
    let before_ms = kept(now_ms.saturating_sub(bounds.ended_ms));
    let query = format!("{ended} AND ended_ms < ?3 ORDER BY ended_ms DESC LIMIT ?2");
    let values = params![tenant.as_str(), most, before_ms];
    statements::rows(connection, &query, values, id)
}

fn remove_some(connection: &Connection, run: &str) -> Result<bool, StoreError> {
    let open = "SELECT count(*) FROM runs WHERE id = ?1 AND ended = 0";
    let open: i64 = statements::row(connection, open, [run], |row| row.get(0))?;
    if open > 0 {
        return Err(StoreError::Missing);
    }
    for (query, rows) in ROWS {
        if statements::execute(connection, query, params![run, rows])? > 0 {
            return Ok(false);
        }
    }
    statements::execute(
        connection,
        "DELETE FROM runs WHERE id = ?1 AND ended = 1",
        [run],
    )?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        connection
            .pragma_update(None, "foreign_keys", true)
            .unwrap();
        schema::migrate(&mut connection).unwrap();
        connection
    }

    fn run(connection: &Connection, (id, tenant): (&str, &str), ended_ms: Option<i64>) {
        let insert = "INSERT INTO runs (id, tenant, task, launch, ended, ended_ms)
            VALUES (?1, ?2, 'T', '{}', ?3, ?4)";
        let values = params![id, tenant, ended_ms.is_some(), ended_ms];
        connection.execute(insert, values).unwrap();
    }

    fn going(connection: &Connection, ended_runs: u64, ended_ms: u64) -> Vec<String> {
        let bounds = RunBounds {
            ended_runs,
            ended_ms,
            ..RunBounds::default()
        };
        let mut ids = Vec::new();
        for tenant in tenants(connection).unwrap() {
            ids.extend(retired(connection, &tenant, (&bounds, 100, 9)).unwrap());
        }
        ids.sort();
        ids
    }

    #[test]
    fn i10_the_newest_ended_runs_of_each_tenant_stay_until_they_are_old() {
        let connection = database();
        for (id, ended_ms) in [("a", 10), ("b", 20), ("c", 30)] {
            run(&connection, (id, "acme"), Some(ended_ms));
        }
        run(&connection, ("d", "globex"), Some(5));
        run(&connection, ("open", "acme"), None);
        for (ended_runs, ended_ms, expected) in [
            (4, 1_000, &[][..]),
            (3, 1_000, &[]),
            (2, 1_000, &["a"]),
            (1, 1_000, &["a", "b"]),
            (9, 91, &["d"]),
            (9, 90, &["d"]),
            (9, 89, &["a", "d"]),
            (9, 1, &["a", "b", "c", "d"]),
        ] {
            let going = going(&connection, ended_runs, ended_ms);
            assert_eq!(going, expected, "{ended_runs} {ended_ms}");
        }
    }

    #[test]
    fn i10_an_ended_run_goes_in_steps_with_all_that_is_of_it_and_an_open_one_never() {
        let connection = database();
        for (id, ended_ms) in [("a", Some(1)), ("b", Some(1)), ("open", None)] {
            run(&connection, (id, "acme"), ended_ms);
            let rows = "INSERT INTO attempts (run, step, number, agent, work_order, state, expires_ms)
                    SELECT ?1, 's', value, 'a', '{}', 'completed', 5 FROM json_each('[1,2,3,4,5,6,7,8,9]');
                INSERT INTO credentials SELECT randomblob(8), id, 'worker', 9 FROM attempts WHERE run = ?1;
                INSERT INTO parts (attempt, name, size_bytes, sha256, text)
                    SELECT id, 'p', 1, 'x', 'x' FROM attempts WHERE run = ?1;
                INSERT INTO audits (run, step, name, size_bytes, sha256, text)
                    VALUES (?1, 's', 'n', 1, 'x', 'x');
                INSERT INTO files VALUES (?1, 'f', 'n', 's', 'n');
                INSERT INTO journal VALUES (?1, '0', NULL);
                INSERT INTO events VALUES (?1, 7, 'k', '{}'), (?1, 5000, 'k', '{}');";
            connection
                .execute_batch(&rows.replace("?1", &format!("'{id}'")))
                .unwrap();
        }
        let count = |table: &str, id: &str| {
            let query = format!("SELECT count(*) FROM {table} WHERE run = '{id}'");
            let count: i64 = connection.query_row(&query, [], |row| row.get(0)).unwrap();
            count
        };
        let tables = ["attempts", "audits", "files", "journal", "events"];
        let steps = (0..100).find(|_| remove_some(&connection, "a").unwrap());
        assert!(steps > Some(9), "{steps:?}");
        for table in tables {
            assert_eq!(count(table, "a"), 0, "{table}");
            assert!(count(table, "b") > 0, "{table}");
        }
        for table in ["parts", "credentials"] {
            let query = format!("SELECT count(*) FROM {table}");
            let left: i64 = connection.query_row(&query, [], |row| row.get(0)).unwrap();
            assert_eq!(left, 18, "{table}");
        }
        // A stop in between: what is left goes the next time.
        assert!(!remove_some(&connection, "b").unwrap());
        assert_eq!(going(&connection, 9, 1), ["b"]);
        while !remove_some(&connection, "b").unwrap() {}
        assert!(going(&connection, 9, 1).is_empty());
        assert!(remove_some(&connection, "b").unwrap());
        assert!(remove_some(&connection, "open").is_err());
        assert_eq!(count("attempts", "open"), 9);
    }

    #[test]
    fn i2_a_tenant_has_no_more_open_runs_than_it_may() {
        let connection = database();
        let acme = Tenant::new("acme").unwrap();
        run(&connection, ("ended", "acme"), Some(1));
        run(&connection, ("other", "globex"), None);
        for (open, holds) in [(1, true), (2, true), (3, false)] {
            let checked = check_open(&connection, (&acme, 2));
            assert_eq!(checked.is_ok(), holds, "{open}");
            run(&connection, (&format!("R-{open}"), "acme"), None);
        }
    }
}
