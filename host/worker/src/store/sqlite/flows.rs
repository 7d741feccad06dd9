//! Rows of runs that are flows: how each stands, what its steps came to, which attempts wait for a
//! claim.

use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};
use serde_json::{Value, json};
use tidegate_contract::Tenant;
use tidegate_contract::json::{self as strict_json, JsonBounds};
use tidegate_sandbox::ambient;

use super::super::{
    AttemptId, AttemptRecord, Claim, Files, Kept, NewAttempt, Reach, Run, RunRecord, RunStatus,
    sha256_hex,
};
use super::writes::{self, OPEN, to_json};
use super::{events, kept, reads, statements};
use crate::attempt::{Close, State};
use crate::error::StoreError;
use crate::step::StepKey;
use crate::token::CredentialDigest;

/// Ends a run, unless it has ended, and answers the attempts that were closed with it; `None` where
/// it had ended before.
pub(super) fn finish(
    connection: &Connection,
    run: &str,
    (status, outcome, files): (RunStatus, Option<&Value>, Files),
) -> Result<Option<Vec<AttemptId>>, StoreError> {
    let outcome = outcome.map(to_json).transpose()?;
    let ended = statements::execute(
        connection,
        "UPDATE runs SET ended = 1, status = ?2, outcome = ?3, ended_ms = ?4, files_synced = ?5
         WHERE id = ?1 AND ended = 0",
        params![
            run,
            status.word(),
            outcome,
            kept(ambient::now_ms()),
            files == Files::Synced
        ],
    )?;
    if ended == 0 {
        let known = statements::row(
            connection,
            "SELECT 1 FROM runs WHERE id = ?1",
            [run],
            |_| Ok(()),
        );
        return match known.optional()? {
            Some(()) => Ok(None),
            None => Err(StoreError::Missing),
        };
    }
    let closed = writes::close(connection, Close::Cancel, ("run = ?2", params![run]))?;
    // What its steps came to is in its outcome now.
    statements::execute(connection, "DELETE FROM journal WHERE run = ?1", [run])?;
    let data = json!({"status": status.word()});
    events::record(connection, run, "run.ended", data)?;
    Ok(Some(closed))
}

pub(super) fn record(
    connection: &Connection,
    (tenant, run): (&Tenant, &str),
) -> Result<RunRecord, StoreError> {
    let query = "SELECT id AS run_id, tenant, task, launch, status, plan, outcome, created_ms,
             ended_ms FROM runs WHERE id = ?1 AND tenant = ?2";
    let found = statements::rows(connection, query, params![run, tenant.as_str()], record_of)?;
    found.into_iter().next().ok_or(StoreError::Missing)
}

/// Runs that are flows and have not ended.
pub(super) fn open(connection: &Connection) -> Result<Vec<RunRecord>, StoreError> {
    let query = "SELECT id AS run_id, tenant, task, launch, status, plan, outcome, created_ms,
             ended_ms FROM runs WHERE ended = 0 AND plan IS NOT NULL ORDER BY rowid";
    statements::rows(connection, query, [], record_of)
}

/// Runs that are flows and have ended, whose files may not be there after a crash of the machine.
pub(super) fn unsynced(connection: &Connection) -> Result<Vec<Run>, StoreError> {
    let query = "SELECT id AS run_id, tenant, task, launch FROM runs
         WHERE ended = 1 AND files_synced = 0 AND plan IS NOT NULL ORDER BY rowid";
    statements::rows(connection, query, [], reads::run_of)
}

pub(super) fn synced(connection: &Connection, run: &str) -> Result<(), StoreError> {
    statements::execute(
        connection,
        "UPDATE runs SET files_synced = 1 WHERE id = ?1",
        [run],
    )?;
    Ok(())
}

fn record_of(row: &Row<'_>) -> Result<RunRecord, StoreError> {
    let outcome: Option<String> = reads::column(row, "outcome")?;
    let created: i64 = reads::column(row, "created_ms")?;
    let ended: Option<i64> = reads::column(row, "ended_ms")?;
    Ok(RunRecord {
        run: reads::run_of(row)?,
        status: reads::word(row, "status", RunStatus::from_word, "a run's status")?,
        plan: reads::column(row, "plan")?,
        outcome: outcome.as_deref().map(value_of).transpose()?,
        created_ms: u64::try_from(created).unwrap_or(0),
        ended_ms: ended.map(|ended| u64::try_from(ended).unwrap_or(0)),
    })
}

fn value_of(text: &str) -> Result<Value, StoreError> {
    let bounds = JsonBounds {
        bytes: text.len(),
        depth: strict_json::MAX_DEPTH,
    };
    strict_json::parse(text, &bounds).map_err(|_damaged| reads::damaged("a value"))
}

/// The attempts of a run, in the order of their dispatch.
pub(super) fn attempts(
    connection: &Connection,
    run: &str,
) -> Result<Vec<AttemptRecord>, StoreError> {
    some_attempts(connection, ("run = ?1 ORDER BY id", params![run]))
}

/// The newest attempt of a place of a flow.
pub(super) fn attempt_at(
    connection: &Connection,
    (run, place): (&str, &str),
) -> Result<Option<AttemptRecord>, StoreError> {
    let newest = "run = ?1 AND place = ?2 ORDER BY id DESC LIMIT 1";
    let found = some_attempts(connection, (newest, params![run, place]))?;
    Ok(found.into_iter().next())
}

fn some_attempts(
    connection: &Connection,
    (condition, values): (&str, &[&dyn ToSql]),
) -> Result<Vec<AttemptRecord>, StoreError> {
    let query = format!(
        "SELECT id, step, number, agent, state, reach, reason, code FROM attempts WHERE {condition}"
    );
    statements::rows(connection, &query, values, |row| {
        Ok(AttemptRecord {
            id: AttemptId(reads::column(row, "id")?),
            step: reads::step_of(row)?,
            number: reads::column(row, "number")?,
            agent: reads::column(row, "agent")?,
            state: reads::word(row, "state", State::from_word, "a state")?,
            reach: reads::word(row, "reach", Reach::from_word, "a reach")?,
            failure: reads::failure_of(row)?,
        })
    })
}

/// Hands the oldest waiting attempt of an agent to who asks; the credential means it from now on.
pub(super) fn claim(
    connection: &Connection,
    claim: &Claim<'_>,
) -> Result<Option<AttemptId>, StoreError> {
    let query = format!(
        "SELECT a.id FROM attempts a JOIN runs r ON r.id = a.run
         WHERE a.agent = ?1 AND a.reach = 'waiting' AND a.{OPEN} AND r.tenant = ?2 AND r.ended = 0
         ORDER BY a.id LIMIT 1"
    );
    let values = params![claim.agent, claim.tenant.as_str()];
    let found = statements::row(connection, &query, values, |row| row.get(0));
    let Some(id) = found.optional()?.map(AttemptId) else {
        return Ok(None);
    };
    let attempt = reads::attempt(connection, id)?;
    let expires_ms = claim.now_ms.saturating_add(attempt.order.lifetime_ms());
    statements::execute(
        connection,
        "UPDATE attempts SET reach = ?2, expires_ms = ?3 WHERE id = ?1",
        params![id.0, Reach::Claimed.word(), kept(expires_ms)],
    )?;
    writes::credential(connection, id, (&claim.credential, expires_ms))?;
    let step = attempt.step.to_string();
    let data = json!({"step": step, "attempt": attempt.number, "agent": attempt.agent});
    events::record(connection, &attempt.run.id, "attempt.claimed", data)?;
    Ok(Some(id))
}

/// Takes a claim back: its credential means nothing any more, and the attempt waits again.
pub(super) fn put_back(
    connection: &Connection,
    id: AttemptId,
    credential: &CredentialDigest,
) -> Result<Option<String>, StoreError> {
    let digest = credential.as_bytes();
    let forgotten = statements::execute(
        connection,
        "DELETE FROM credentials WHERE digest = ?1",
        [digest],
    )?;
    let query = format!(
        "UPDATE attempts SET reach = ?2, expires_ms = ?3
         WHERE id = ?1 AND reach = 'claimed' AND {OPEN}"
    );
    let values = params![id.0, Reach::Waiting.word(), kept(u64::MAX)];
    if forgotten == 0 || statements::execute(connection, &query, values)? == 0 {
        return Ok(None);
    }
    let attempt = reads::attempt(connection, id)?;
    let step = attempt.step.to_string();
    let data = json!({"step": step, "attempt": attempt.number, "agent": attempt.agent});
    events::record(connection, &attempt.run.id, "attempt.waiting", data)?;
    Ok(Some(attempt.run.id))
}

/// Starts new attempts in the place of open ones: of one step, or of all that are outside. Answers
/// each with the agent that it waits for; none where it stays inside.
pub(super) fn rekick(
    connection: &Connection,
    run: &str,
    step: Option<&StepKey>,
) -> Result<Vec<(Kept, Option<String>)>, StoreError> {
    let step = step.map(ToString::to_string);
    let query = format!(
        "SELECT id FROM attempts WHERE run = ?1 AND {OPEN}
         AND (step = ?2 OR (?2 IS NULL AND reach IN ('waiting', 'claimed'))) ORDER BY id"
    );
    let open = statements::rows(connection, &query, params![run, step], |row| {
        Ok(AttemptId(reads::column(row, "id")?))
    })?;
    let again = |id: AttemptId| {
        let attempt = reads::attempt(connection, id)?;
        let query = "SELECT place, reach FROM attempts WHERE id = ?1";
        let (place, reach) = statements::row(connection, query, [id.0], |row| {
            Ok((row.get(0)?, row.get::<_, String>(1)?))
        })?;
        let inside = Reach::from_word(&reach) == Some(Reach::Inside);
        let new = NewAttempt {
            run: attempt.run.id,
            step: attempt.step,
            agent: attempt.agent.clone(),
            order: attempt.order,
            place,
            reach: if inside {
                Reach::Inside
            } else {
                Reach::Waiting
            },
            credentials: Vec::new(),
            expires_ms: u64::MAX,
        };
        let waits_for = (!inside).then_some(attempt.agent);
        Ok((writes::dispatch(connection, &new)?, waits_for))
    };
    open.into_iter().map(again).collect()
}

/// When the next open attempt's time runs out, in milliseconds since 1970.
pub(super) fn next_expiry(connection: &Connection) -> Result<Option<u64>, StoreError> {
    let query = format!("SELECT min(expires_ms) FROM attempts WHERE {OPEN} AND expires_ms < ?1");
    let next = statements::row(connection, &query, [i64::MAX], |row| {
        row.get::<_, Option<i64>>(0)
    })?;
    Ok(next.map(|next| u64::try_from(next).unwrap_or(0)))
}

/// The places that are known of a run's flow, and whether each has ended.
pub(super) fn places(
    connection: &Connection,
    run: &str,
) -> Result<Vec<(String, bool)>, StoreError> {
    // Of a step that an agent does, its attempts say that it has started.
    let query = "SELECT place, value IS NOT NULL AS has_ended FROM journal WHERE run = ?1
         UNION ALL
         SELECT DISTINCT place, 0 FROM attempts WHERE run = ?1 AND place IS NOT NULL
             AND place NOT IN (SELECT place FROM journal WHERE run = ?1)";
    statements::rows(connection, query, [run], |row| {
        let has_ended: i64 = reads::column(row, "has_ended")?;
        Ok((reads::column(row, "place")?, has_ended != 0))
    })
}

/// What a place ended with.
pub(super) fn value_at(
    connection: &Connection,
    (run, place): (&str, &str),
) -> Result<Option<Value>, StoreError> {
    let query = "SELECT value FROM journal WHERE run = ?1 AND place = ?2";
    let found = statements::row(connection, query, [run, place], |row| {
        row.get::<_, Option<String>>(0)
    })
    .optional()?;
    found.flatten().as_deref().map(value_of).transpose()
}

/// Notes that a place starts, or what it ended with; `Missing` once the run has ended.
pub(super) fn journal(
    connection: &Connection,
    (run, place): (&str, &str),
    value: Option<&str>,
) -> Result<(), StoreError> {
    let written = statements::execute(
        connection,
        "INSERT INTO journal (run, place, value)
         SELECT id, ?2, ?3 FROM runs WHERE id = ?1 AND ended = 0
         ON CONFLICT DO UPDATE SET value = excluded.value",
        params![run, place, value],
    )?;
    if written == 0 {
        return Err(StoreError::Missing);
    }
    Ok(())
}

/// Keeps what an auditor says of a step: the last text of a name.
pub(super) fn audit(
    connection: &Connection,
    (run, step): (&str, &str),
    (name, text): (&str, &str),
) -> Result<(), StoreError> {
    statements::execute(
        connection,
        "INSERT INTO audits (run, step, name, size_bytes, sha256, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO UPDATE SET size_bytes = excluded.size_bytes,
             sha256 = excluded.sha256, text = excluded.text",
        params![
            run,
            step,
            name,
            writes::size(text),
            sha256_hex(text.as_bytes()),
            text
        ],
    )?;
    let data = json!({"step": step, "part": name, "size_bytes": text.len()});
    events::record(connection, run, "step.audited", data)
}
