//! Values become rows, inside the transaction of the thread that writes.

use rusqlite::{Connection, params};

use super::super::{
    Admission, Attempt, AttemptId, NewAttempt, Run, Staged, Submission, sha256_hex,
};
use super::{kept, reads};
use crate::attempt::{Admitted, Close, State};
use crate::error::{StoreError, WorkerError};
use crate::part::{PartName, Unfit, check_file_name, fold_name};
use crate::projection::CheckPolicy;
use crate::step::StepKey;
use crate::token::{CredentialDigest, Role, Verb};

/// States in which an attempt can still be closed.
const OPEN: &str = "state IN ('dispatched', 'staged')";

pub(super) fn create_run(connection: &Connection, run: &Run) -> Result<(), StoreError> {
    let launch = json(&run.launch)?;
    let written = connection.execute(
        "INSERT INTO runs (id, tenant, task, launch) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
        params![run.id, run.tenant.as_str(), run.task, launch],
    )?;
    if written == 0 {
        return Err(StoreError::Exists);
    }
    Ok(())
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database(Box::new(error)))
}

pub(super) fn end_run(connection: &Connection, run: &str, close: Close) -> Result<(), StoreError> {
    let ended = connection.execute("UPDATE runs SET ended = 1 WHERE id = ?1", [run])?;
    if ended == 0 {
        return Err(StoreError::Missing);
    }
    connection.execute(
        &format!("UPDATE attempts SET state = ?2 WHERE run = ?1 AND {OPEN}"),
        params![run, close.state().word()],
    )?;
    Ok(())
}

pub(super) fn dispatch(
    connection: &Connection,
    new: &NewAttempt,
) -> Result<(AttemptId, u32), StoreError> {
    let run = reads::run(connection, &new.run)?;
    let step = new.step.to_string();
    connection.execute(
        &format!("UPDATE attempts SET state = ?3 WHERE run = ?1 AND step = ?2 AND {OPEN}"),
        params![new.run, step, Close::Supersede.state().word()],
    )?;
    let number: u32 = connection.query_row(
        "SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE run = ?1 AND step = ?2",
        params![new.run, step],
        |row| row.get(0),
    )?;
    // The step's own file is reserved now, so that no part of another step can take its name.
    let unfit = claim(connection, &run, (&new.step, number), &new.step.file_name())?;
    connection.execute(
        "INSERT INTO attempts (run, step, number, agent, work_order, state, unfit, expires_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            new.run,
            step,
            number,
            new.agent,
            json(&new.order)?,
            State::Dispatched.word(),
            unfit.map(Unfit::word),
            kept(new.expires_ms),
        ],
    )?;
    let id = AttemptId(connection.last_insert_rowid());
    for digest in &new.credentials {
        connection.execute(
            "INSERT INTO credentials (digest, attempt, role, expires_ms) VALUES (?1, ?2, ?3, ?4)",
            params![
                digest.as_bytes(),
                id.0,
                Role::Worker.word(),
                kept(new.expires_ms)
            ],
        )?;
    }
    Ok((id, number))
}

/// The attempt of a credential, as it stands inside this transaction.
pub(super) fn admitted(
    connection: &Connection,
    credential: &CredentialDigest,
) -> Result<Admission, WorkerError> {
    reads::look_up(connection, credential)?.ok_or(WorkerError::Unauthorized)
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
    connection.execute(
        "INSERT INTO files (run, folder, folded, step, name) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        params![run.id, folder, folded, step, name],
    )?;
    let ours = connection.query_row(
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
        fail(connection, attempt.id, &unfit.to_string())?;
        return Ok(Staged::Failed(unfit));
    }
    connection.execute(
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
    connection.execute(
        "UPDATE attempts SET state = ?2 WHERE id = ?1",
        params![attempt.id.0, State::Staged.word()],
    )?;
    Ok(Staged::Kept(unfit))
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

fn size(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

pub(super) fn submit(
    connection: &Connection,
    admission: &Admission,
    now_ms: u64,
    submission: &Submission,
) -> Result<Admitted, WorkerError> {
    let admitted = admission.standing.admit_submit(submission.digest, now_ms)?;
    if admitted == Admitted::First {
        connection.execute(
            "UPDATE attempts SET state = ?2, ending = ?3, submit_digest = ?4, size_bytes = ?5,
                 sha256 = ?6, body = ?7 WHERE id = ?1",
            params![
                admission.attempt.id.0,
                submission.ending.state().word(),
                submission.ending.word(),
                submission.digest.as_bytes(),
                size(&submission.body),
                sha256_hex(submission.body.as_bytes()),
                submission.body,
            ],
        )?;
    }
    Ok(admitted)
}

pub(super) fn fail(
    connection: &Connection,
    attempt: AttemptId,
    reason: &str,
) -> Result<(), StoreError> {
    connection.execute(
        &format!(
            "UPDATE attempts SET state = ?2, reason = ?3
             WHERE id = ?1 AND ({OPEN} OR state = 'completed')"
        ),
        params![attempt.0, Close::Fail.state().word(), reason],
    )?;
    Ok(())
}

pub(super) fn expire(connection: &Connection, now_ms: u64) -> Result<usize, StoreError> {
    let expired = connection.execute(
        &format!("UPDATE attempts SET state = ?2 WHERE expires_ms <= ?1 AND {OPEN}"),
        params![kept(now_ms), Close::Expire.state().word()],
    )?;
    connection.execute(
        "DELETE FROM credentials WHERE expires_ms <= ?1",
        [kept(now_ms)],
    )?;
    Ok(expired)
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
