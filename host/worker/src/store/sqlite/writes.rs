//! Values become rows, inside the transaction of whoever writes.

use rusqlite::{Connection, ToSql, params};

use serde_json::{Value, json};
use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;
use tidegate_sandbox::ambient;

use super::super::{
    Access, Admission, Attempt, AttemptId, Kept, NewAttempt, Run, Staged, Submission, sha256_hex,
};
use super::{events, kept, reads, statements};
use crate::attempt::{Admitted, Close, State};
use crate::error::{StoreError, WorkerError};
use crate::part::{PartName, Unfit, check_file_name, fold_name};
use crate::projection::CheckPolicy;
use crate::step::StepKey;
use crate::token::{CredentialDigest, Role, Verb};

/// States in which an attempt can still be closed.
pub(super) const OPEN: &str = "state IN ('dispatched', 'staged')";

/// What came of an attempt has not gone into its flow, and its run goes on.
const UNTAKEN: &str = "run IN (SELECT id FROM runs WHERE ended = 0) AND NOT EXISTS (
    SELECT 1 FROM journal j
    WHERE j.run = attempts.run AND j.place = attempts.place AND j.value IS NOT NULL)";

pub(super) fn create_run(
    connection: &Connection,
    run: &Run,
    plan: Option<&str>,
) -> Result<(), StoreError> {
    let launch = to_json(&run.launch)?;
    let now_ms = kept(ambient::now_ms());
    let written = statements::execute(
        connection,
        "INSERT INTO runs (id, tenant, task, launch, plan, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        params![run.id, run.tenant.as_str(), run.task, launch, plan, now_ms],
    )?;
    if written == 0 {
        return Err(StoreError::Exists);
    }
    events::record(
        connection,
        &run.id,
        "run.started",
        json!({"task": run.task}),
    )
}

pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database(Box::new(error)))
}

pub(super) fn dispatch(connection: &Connection, new: &NewAttempt) -> Result<Kept, StoreError> {
    let run = reads::run(connection, &new.run)?;
    let step = new.step.to_string();
    let superseded = close(
        connection,
        Close::Supersede,
        (
            "run = ?2 AND step = ?3 AND place IS ?4",
            params![new.run, step, new.place],
        ),
    )?;
    let number: u32 = statements::row(
        connection,
        "SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE run = ?1 AND step = ?2",
        params![new.run, step],
        |row| row.get(0),
    )?;
    // The step's own file is reserved now, so that no part of another step can take its name.
    let unfit = claim(connection, &run, (&new.step, number), &new.step.file_name())?;
    statements::execute(
        connection,
        "INSERT INTO attempts
             (run, step, number, agent, work_order, state, unfit, expires_ms, place, reach)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            new.run,
            step,
            number,
            new.agent,
            to_json(&new.order)?,
            State::Dispatched.word(),
            unfit.map(Unfit::word),
            kept(new.expires_ms),
            new.place,
            new.reach.word(),
        ],
    )?;
    let id = AttemptId(connection.last_insert_rowid());
    for digest in &new.credentials {
        credential(connection, id, (digest, new.expires_ms))?;
    }
    let data = json!({"step": step, "attempt": number, "agent": new.agent});
    events::record(connection, &new.run, "attempt.dispatched", data)?;
    Ok(Kept {
        id,
        number,
        superseded,
    })
}

/// Lets a worker in.
pub(super) fn credential(
    connection: &Connection,
    attempt: AttemptId,
    (digest, expires_ms): (&CredentialDigest, u64),
) -> Result<(), StoreError> {
    statements::execute(
        connection,
        "INSERT INTO credentials (digest, attempt, role, expires_ms) VALUES (?1, ?2, ?3, ?4)",
        params![
            digest.as_bytes(),
            attempt.0,
            Role::Worker.word(),
            kept(expires_ms)
        ],
    )?;
    Ok(())
}

/// Closes what is open of the attempts that are meant, and answers which they were. The values of
/// the condition start at `?2`.
pub(super) fn close(
    connection: &Connection,
    close: Close,
    (condition, values): (&str, &[&dyn ToSql]),
) -> Result<Vec<AttemptId>, StoreError> {
    let word = close.state().word();
    let mut all: Vec<&dyn ToSql> = vec![&word];
    all.extend(values);
    let query = format!(
        "UPDATE attempts SET state = ?1 WHERE ({condition}) AND {OPEN}
         RETURNING id, run, step, number"
    );
    let closed = statements::rows(connection, &query, all.as_slice(), |row| {
        let run: String = reads::column(row, "run")?;
        let step: String = reads::column(row, "step")?;
        let number: u32 = reads::column(row, "number")?;
        Ok((AttemptId(reads::column(row, "id")?), run, step, number))
    })?;
    for (_, run, step, number) in &closed {
        let data = json!({"step": step, "attempt": number});
        events::record(connection, run, &format!("attempt.{word}"), data)?;
    }
    Ok(closed.into_iter().map(|(id, ..)| id).collect())
}

/// The attempt that is meant, as it stands inside this transaction.
pub(super) fn admitted(connection: &Connection, access: Access) -> Result<Admission, WorkerError> {
    reads::look_up(connection, access)?.ok_or(WorkerError::Unauthorized)
}

/// Takes a file name of the run for a step; an earlier attempt of the step may have had it.
fn claim(
    connection: &Connection,
    run: &Run,
    (step, number): (&StepKey, u32),
    name: &str,
) -> Result<Option<Unfit>, StoreError> {
    if let Err(unfit) = check_file_name(name) {
        return Ok(Some(unfit));
    }
    let folder = run.folder(step, number).join("/");
    let (step, folded) = (step.to_string(), fold_name(name));
    statements::execute(
        connection,
        "INSERT INTO files (run, folder, folded, step, name) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        params![run.id, folder, folded, step, name],
    )?;
    let ours = statements::row(
        connection,
        "SELECT step = ?4 AND name = ?5 FROM files WHERE run = ?1 AND folder = ?2 AND folded = ?3",
        params![run.id, folder, folded, step, name],
        |row| row.get::<_, i64>(0),
    )?;
    Ok((ours == 0).then_some(Unfit::Taken))
}

pub(super) fn stage(
    connection: &Connection,
    admission: &Admission,
    now_ms: u64,
    (name, text): (&PartName, &str),
) -> Result<Staged, WorkerError> {
    admission.standing.admit(Verb::Artifact, now_ms)?;
    let attempt = &admission.attempt;
    let unfit = unfit(connection, attempt, name)?;
    if let Some(unfit) = unfit
        && attempt.run.launch.check_policy == CheckPolicy::Strict
    {
        let failure = host_failure("PROJECTION_REFUSED", unfit.to_string());
        fail(connection, attempt.id, &failure)?;
        return Ok(Staged::Failed(unfit));
    }
    check_room(connection, attempt.id, (name, text))?;
    statements::execute(
        connection,
        "INSERT INTO parts (attempt, name, unfit, size_bytes, sha256, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO UPDATE SET unfit = excluded.unfit, size_bytes = excluded.size_bytes,
             sha256 = excluded.sha256, text = excluded.text",
        params![
            attempt.id.0,
            name.as_str(),
            unfit.map(Unfit::word),
            size(text),
            sha256_hex(text.as_bytes()),
            text
        ],
    )?;
    statements::execute(
        connection,
        "UPDATE attempts SET state = ?2 WHERE id = ?1",
        params![attempt.id.0, State::Staged.word()],
    )?;
    let more = json!({"part": name.as_str(), "size_bytes": text.len()});
    happened(connection, attempt, "attempt.staged", more)?;
    Ok(Staged::Kept(unfit))
}

/// Most parts of one attempt: all of them are held at once when its value is made.
const PARTS: usize = 256;

/// Most bytes that they have together.
const PARTS_BYTES: usize = 16 * 1024 * 1024;

/// Whether an attempt may stage this beside its other parts.
fn check_room(
    connection: &Connection,
    attempt: AttemptId,
    (name, text): (&PartName, &str),
) -> Result<(), WorkerError> {
    let (others, bytes): (i64, i64) = statements::row(
        connection,
        "SELECT COUNT(*), COALESCE(SUM(size_bytes), 0) FROM parts
             WHERE attempt = ?1 AND name <> ?2",
        params![attempt.0, name.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
    .map_err(StoreError::from)?;
    let others = usize::try_from(others).unwrap_or(usize::MAX);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if others >= PARTS || bytes.saturating_add(text.len()) > PARTS_BYTES {
        return Err(WorkerError::TooManyParts {
            limit: PARTS,
            limit_bytes: PARTS_BYTES,
        });
    }
    Ok(())
}

/// Records what happened to an attempt.
fn happened(
    connection: &Connection,
    attempt: &Attempt,
    kind: &str,
    more: Value,
) -> Result<(), StoreError> {
    let step = attempt.step.to_string();
    let mut data = json!({"step": step, "attempt": attempt.number});
    if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
        data.extend(more);
    }
    events::record(connection, &attempt.run.id, kind, data)
}

/// Why a part gets no file; where it gets one, its name is taken.
fn unfit(
    connection: &Connection,
    attempt: &Attempt,
    name: &PartName,
) -> Result<Option<Unfit>, StoreError> {
    // The final's file would be `<step>.md`: the claim on that is the step's own, and no part's.
    if fold_name(name.as_str()) == fold_name(&attempt.step.file_name()) {
        return Ok(Some(Unfit::Taken));
    }
    let place = (&attempt.step, attempt.number);
    claim(connection, &attempt.run, place, name.as_str())
}

pub(super) fn size(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

pub(super) fn submit(
    connection: &Connection,
    access: Access,
    now_ms: u64,
    submission: &Submission,
) -> Result<Admitted, WorkerError> {
    let found = reads::standing(connection, access)?.ok_or(WorkerError::Unauthorized)?;
    let admitted = found.standing.admit_submit(submission.digest, now_ms)?;
    if admitted == Admitted::First {
        statements::execute(
            connection,
            "UPDATE attempts SET state = ?2, ending = ?3, submit_digest = ?4, size_bytes = ?5,
                 sha256 = ?6, body = ?7, reading = ?8 WHERE id = ?1",
            params![
                found.id.0,
                submission.ending.state().word(),
                submission.ending.word(),
                submission.digest.as_bytes(),
                size(&submission.body),
                sha256_hex(submission.body.as_bytes()),
                submission.body,
                submission.reading.word(),
            ],
        )?;
        let data = json!({
            "step": found.step, "attempt": found.number,
            "verdict": submission.ending.word(), "size_bytes": submission.body.len(),
        });
        events::record(connection, &found.run, "attempt.submitted", data)?;
    }
    Ok(admitted)
}

pub(super) fn fail(
    connection: &Connection,
    attempt: AttemptId,
    failure: &Failure,
) -> Result<(), StoreError> {
    let failed = statements::execute(
        connection,
        &format!(
            "UPDATE attempts SET state = ?2, code = ?3, reason = ?4
             WHERE id = ?1 AND ({OPEN} OR (state IN ('completed', 'blocked') AND {UNTAKEN}))"
        ),
        params![
            attempt.0,
            Close::Fail.state().word(),
            failure.code(),
            failure.message()
        ],
    )?;
    if failed == 0 {
        return Ok(());
    }
    let attempt = reads::attempt(connection, attempt)?;
    let more = json!({"code": failure.code(), "message": failure.message()});
    happened(connection, &attempt, "attempt.failed", more)
}

pub(super) fn expire(
    connection: &Connection,
    now_ms: u64,
) -> Result<Vec<(AttemptId, String)>, StoreError> {
    let now_ms = kept(now_ms);
    let expired = close(
        connection,
        Close::Expire,
        ("expires_ms <= ?2", params![now_ms]),
    )?;
    statements::execute(
        connection,
        "DELETE FROM credentials WHERE expires_ms <= ?1",
        [now_ms],
    )?;
    let of = |id: AttemptId| {
        let query = "SELECT run FROM attempts WHERE id = ?1";
        let run = statements::row(connection, query, [id.0], |row| row.get(0))?;
        Ok((id, run))
    };
    expired.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::{STATES, Standing};

    #[test]
    fn i10_the_database_closes_what_the_state_machine_does() {
        for state in STATES {
            let is_open = OPEN.contains(&format!("'{state}'"));
            let closes = Standing::close(state, Close::Cancel).is_some();
            assert_eq!(is_open, closes, "{state}");
        }
    }
}
