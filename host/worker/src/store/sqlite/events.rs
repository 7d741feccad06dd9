//! What happened in a run, as rows: written in the transaction of what happened, so that neither is
//! there without the other.

use rusqlite::{Connection, params};
use serde_json::Value;
use tidegate_sandbox::ambient;

use super::super::Event;
use super::{kept, reads, statements};
use crate::error::StoreError;

/// How many events of one run are kept: the newest.
pub const EVENTS: u64 = 10_000;

/// Records that something happened. `data` is an object.
pub(super) fn record(
    connection: &Connection,
    run: &str,
    kind: &str,
    mut data: Value,
) -> Result<(), StoreError> {
    if let Value::Object(data) = &mut data {
        data.insert("at_ms".to_owned(), ambient::now_ms().into());
    }
    let newest = "SELECT coalesce(max(id), 0) FROM events WHERE run = ?1";
    let id = statements::row(connection, newest, [run], |row| row.get::<_, i64>(0))?;
    let id = id.saturating_add(1);
    statements::execute(
        connection,
        "INSERT INTO events (run, id, kind, data) VALUES (?1, ?2, ?3, ?4)",
        params![run, id, kind, data.to_string()],
    )?;
    let last = id.saturating_sub(kept(EVENTS));
    if last > 0 {
        let old = "DELETE FROM events WHERE run = ?1 AND id <= ?2";
        statements::execute(connection, old, params![run, last])?;
    }
    Ok(())
}

/// The first events of a run after one, in their order: at most `most`.
pub(super) fn after(
    connection: &Connection,
    run: &str,
    (after, most): (u64, u32),
) -> Result<Vec<Event>, StoreError> {
    let query = "SELECT id, kind, data FROM events WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    statements::rows(connection, query, params![run, kept(after), most], |row| {
        let id: i64 = reads::column(row, "id")?;
        Ok(Event {
            id: u64::try_from(id).unwrap_or(0),
            kind: reads::column(row, "kind")?,
            data: reads::word(
                row,
                "data",
                |text| serde_json::from_str(text).ok(),
                "an event",
            )?,
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema;
    use super::*;

    #[test]
    fn c8_the_newest_events_of_a_run_are_kept_and_their_numbers_go_on() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        let runs = "INSERT INTO runs (id, tenant, task, launch) VALUES
            ('R-1', 't', 'T-1', '{}'), ('R-2', 't', 'T-1', '{}'); BEGIN";
        connection.execute_batch(runs).unwrap();
        record(&connection, "R-2", "run.started", json!({})).unwrap();
        for count in 1..=EVENTS + 1 {
            record(&connection, "R-1", "step.started", json!({"count": count})).unwrap();
            let first = after(&connection, "R-1", (0, 1)).unwrap();
            let expected = if count > EVENTS {
                count - EVENTS + 1
            } else {
                1
            };
            assert_eq!(first[0].id, expected);
        }
        let last = after(&connection, "R-1", (EVENTS, 9)).unwrap();
        assert_eq!(last.len(), 1);
        assert_eq!(
            (last[0].id, last[0].data["count"].as_u64()),
            (EVENTS + 1, Some(EVENTS + 1))
        );
        assert_eq!(after(&connection, "R-2", (0, 9)).unwrap().len(), 1);
    }
}
