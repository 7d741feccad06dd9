//! Rows become values. What a row holds that this program does not write is a damaged row, never a
//! guess.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use tidegate_contract::failure::redact;
use tidegate_contract::{Failure, Tenant};

use super::super::{
    Access, Admission, Attempt, AttemptId, Order, Output, Part, Reading, Run, Submission,
};
use super::statements;
use crate::attempt::{Bond, RunState, Standing, State, SubmitDigest};
use crate::error::StoreError;
use crate::part::{PartName, Unfit};
use crate::step::StepKey;
use crate::token::{CredentialDigest, Role};
use crate::verdict::Ending;

/// The columns of an attempt with its run, as [`attempt_of`] reads them.
const ATTEMPT: &str =
    "a.id, a.step, a.number, a.agent, a.work_order, a.state, a.unfit, a.reason, a.code, a.ending,
    a.reading, a.submit_digest, a.body, r.id AS run_id, r.tenant, r.task, r.launch, r.ended";

/// That an attempt is its step's last completed one. The index `outputs` finds both without a look at
/// any other attempt of the run.
const IS_OUTPUT: &str = "a.state = 'completed' AND a.number = (SELECT max(number) FROM attempts b
    WHERE b.run = a.run AND b.step = a.step AND b.state = 'completed')";

/// The newest attempt of an attempt's place: what a loop comes to next takes nothing back.
const NEWEST: &str = "(SELECT max(number) FROM attempts b
    WHERE b.run = a.run AND b.step = a.step AND b.place IS a.place) AS newest";

pub(super) fn damaged(reason: &'static str) -> StoreError {
    StoreError::Damaged { reason }
}

/// One column of a row.
pub(super) fn column<T: FromSql>(row: &Row<'_>, name: &str) -> Result<T, StoreError> {
    Ok(row.get(name)?)
}

/// A text column, read as something; `reason` names it where it can't be.
pub(super) fn word<T>(
    row: &Row<'_>,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
    reason: &'static str,
) -> Result<T, StoreError> {
    let text: String = column(row, name)?;
    read(&text).ok_or_else(|| damaged(reason))
}

pub(super) fn run_of(row: &Row<'_>) -> Result<Run, StoreError> {
    Ok(Run {
        id: column(row, "run_id")?,
        tenant: word(row, "tenant", |text| Tenant::new(text).ok(), "a tenant")?,
        task: column(row, "task")?,
        launch: word(
            row,
            "launch",
            |text| serde_json::from_str(text).ok(),
            "a launch",
        )?,
    })
}

fn attempt_of(row: &Row<'_>) -> Result<Attempt, StoreError> {
    Ok(Attempt {
        id: AttemptId(column(row, "id")?),
        run: run_of(row)?,
        step: step_of(row)?,
        number: column(row, "number")?,
        agent: column(row, "agent")?,
        order: word(
            row,
            "work_order",
            |text| serde_json::from_str::<Order>(text).ok(),
            "an order",
        )?,
        state: word(row, "state", State::from_word, "a state")?,
        unfit: unfit_of(row)?,
        submission: submission_of(row)?,
        failure: failure_of(row)?,
    })
}

pub(super) fn failure_of(row: &Row<'_>) -> Result<Option<Failure>, StoreError> {
    let Some(reason) = column::<Option<String>>(row, "reason")? else {
        return Ok(None);
    };
    let code: Option<String> = column(row, "code")?;
    // The first version kept no code; one thing alone failed an attempt then.
    let code = code.unwrap_or_else(|| "PROJECTION_REFUSED".to_owned());
    let failure = Failure::new(code, redact(&reason));
    failure.map(Some).map_err(|_unfit| damaged("a failure"))
}

pub(super) fn step_of(row: &Row<'_>) -> Result<StepKey, StoreError> {
    word(row, "step", |text| StepKey::parse(text).ok(), "a step")
}

fn submission_of(row: &Row<'_>) -> Result<Option<Submission>, StoreError> {
    let Some(digest) = column::<Option<Vec<u8>>>(row, "submit_digest")? else {
        return Ok(None);
    };
    Ok(Some(Submission {
        body: column(row, "body")?,
        ending: word(row, "ending", Ending::from_word, "an ending")?,
        digest: SubmitDigest::from_bytes(&digest).ok_or_else(|| damaged("a submit's digest"))?,
        reading: word(row, "reading", Reading::from_word, "a reading")?,
    }))
}

pub(super) fn open_runs(connection: &Connection) -> Result<Vec<Run>, StoreError> {
    let query =
        "SELECT id AS run_id, tenant, task, launch FROM runs WHERE ended = 0 ORDER BY rowid";
    statements::rows(connection, query, [], run_of)
}

/// An open run.
pub(super) fn run(connection: &Connection, id: &str) -> Result<Run, StoreError> {
    let query = "SELECT id AS run_id, tenant, task, launch FROM runs WHERE ended = 0 AND id = ?1";
    let found = statements::rows(connection, query, [id], run_of)?;
    found.into_iter().next().ok_or(StoreError::Missing)
}

pub(super) fn look_up(
    connection: &Connection,
    access: Access,
) -> Result<Option<Admission>, StoreError> {
    match access {
        Access::Credential(credential) => by_credential(connection, &credential),
        Access::Inside(id) => by_id(connection, id),
    }
}

fn by_credential(
    connection: &Connection,
    credential: &CredentialDigest,
) -> Result<Option<Admission>, StoreError> {
    let query = format!(
        "SELECT {ATTEMPT}, c.digest, c.role, c.expires_ms, {NEWEST}
         FROM credentials c JOIN attempts a ON a.id = c.attempt JOIN runs r ON r.id = a.run
         WHERE c.digest = ?1"
    );
    let found = statements::rows(connection, &query, [credential.as_bytes()], |row| {
        Ok((digest_of(row)?, admission_of(row)?))
    })?;
    // An index compares as it likes; what it found is compared once more in constant time.
    let mut same = found.into_iter().filter(|(digest, _)| digest == credential);
    Ok(same.next().map(|(_, admission)| admission))
}

/// What the host does by itself has no end but the run's.
fn by_id(connection: &Connection, id: AttemptId) -> Result<Option<Admission>, StoreError> {
    let query = format!(
        "SELECT {ATTEMPT}, 'worker' AS role, {} AS expires_ms, {NEWEST}
         FROM attempts a JOIN runs r ON r.id = a.run WHERE a.id = ?1",
        i64::MAX
    );
    let found = statements::rows(connection, &query, [id.0], admission_of)?;
    Ok(found.into_iter().next())
}

fn admission_of(row: &Row<'_>) -> Result<Admission, StoreError> {
    let attempt = attempt_of(row)?;
    let submitted = attempt.submission.as_ref().map(|sent| sent.digest);
    let standing = standing_of(row, (attempt.number, attempt.state, submitted))?;
    Ok(Admission { standing, attempt })
}

fn standing_of(
    row: &Row<'_>,
    (number, state, submitted): (u32, State, Option<SubmitDigest>),
) -> Result<Standing, StoreError> {
    let expires: i64 = column(row, "expires_ms")?;
    let newest: u32 = column(row, "newest")?;
    Ok(Standing {
        role: word(row, "role", Role::from_word, "a role")?,
        expires_ms: u64::try_from(expires).unwrap_or(0),
        bond: if newest == number {
            Bond::Live
        } else {
            Bond::Severed
        },
        state,
        run: match column::<i64>(row, "ended")? {
            0 => RunState::Open,
            _ => RunState::Ended,
        },
        submitted,
    })
}

/// How an attempt stands, without what it is to do and what it has left.
pub(super) struct Stands {
    pub(super) standing: Standing,
    pub(super) id: AttemptId,
    pub(super) run: String,
    pub(super) step: String,
    pub(super) number: u32,
}

/// How the attempt that is meant stands.
pub(super) fn standing(
    connection: &Connection,
    access: Access,
) -> Result<Option<Stands>, StoreError> {
    const STANDS: &str = "a.id, a.run, a.step, a.number, a.state, a.submit_digest, r.ended";
    let mut found = match access {
        Access::Credential(credential) => {
            let query = format!(
                "SELECT {STANDS}, c.digest, c.role, c.expires_ms, {NEWEST}
                 FROM credentials c JOIN attempts a ON a.id = c.attempt JOIN runs r ON r.id = a.run
                 WHERE c.digest = ?1"
            );
            statements::rows(connection, &query, [credential.as_bytes()], |row| {
                Ok((Some(digest_of(row)?), stands_of(row)?))
            })?
        }
        Access::Inside(id) => {
            let query = format!(
                "SELECT {STANDS}, 'worker' AS role, {} AS expires_ms, {NEWEST}
                 FROM attempts a JOIN runs r ON r.id = a.run WHERE a.id = ?1",
                i64::MAX
            );
            let of = |row: &Row<'_>| Ok((None, stands_of(row)?));
            statements::rows(connection, &query, [id.0], of)?
        }
    };
    found.retain(|(digest, _)| match (digest, access) {
        // As in a whole look-up: compared once more in constant time.
        (Some(found), Access::Credential(meant)) => *found == meant,
        (found, _) => found.is_none(),
    });
    Ok(found.into_iter().next().map(|(_, stands)| stands))
}

fn stands_of(row: &Row<'_>) -> Result<Stands, StoreError> {
    let number = column(row, "number")?;
    let state = word(row, "state", State::from_word, "a state")?;
    let submitted = column::<Option<Vec<u8>>>(row, "submit_digest")?;
    let submitted = submitted
        .map(|bytes| SubmitDigest::from_bytes(&bytes).ok_or_else(|| damaged("a submit's digest")));
    Ok(Stands {
        standing: standing_of(row, (number, state, submitted.transpose()?))?,
        id: AttemptId(column(row, "id")?),
        run: column(row, "run")?,
        step: column(row, "step")?,
        number,
    })
}

fn digest_of(row: &Row<'_>) -> Result<CredentialDigest, StoreError> {
    let digest: Vec<u8> = column(row, "digest")?;
    CredentialDigest::from_bytes(&digest).ok_or_else(|| damaged("a credential's digest"))
}

pub(super) fn attempt(connection: &Connection, id: AttemptId) -> Result<Attempt, StoreError> {
    let query =
        format!("SELECT {ATTEMPT} FROM attempts a JOIN runs r ON r.id = a.run WHERE a.id = ?1");
    let found = statements::rows(connection, &query, [id.0], attempt_of)?;
    found.into_iter().next().ok_or(StoreError::Missing)
}

pub(super) fn attempts(connection: &Connection, run: &str) -> Result<Vec<AttemptId>, StoreError> {
    let query = "SELECT id FROM attempts WHERE run = ?1 ORDER BY id";
    statements::rows(connection, query, [run], |row| {
        Ok(AttemptId(column(row, "id")?))
    })
}

pub(super) fn parts(connection: &Connection, attempt: AttemptId) -> Result<Vec<Part>, StoreError> {
    let query = "SELECT name, unfit, text FROM parts WHERE attempt = ?1 ORDER BY id";
    statements::rows(connection, query, [attempt.0], |row| {
        Ok(Part {
            name: part_of(row)?,
            text: column(row, "text")?,
            unfit: unfit_of(row)?,
        })
    })
}

fn unfit_of(row: &Row<'_>) -> Result<Option<Unfit>, StoreError> {
    match column::<Option<String>>(row, "unfit")? {
        None => Ok(None),
        Some(word) => Unfit::from_word(&word)
            .map(Some)
            .ok_or_else(|| damaged("why there is no file")),
    }
}

fn part_of(row: &Row<'_>) -> Result<PartName, StoreError> {
    word(row, "name", |text| PartName::parse(text).ok(), "a part")
}

pub(super) fn outputs(connection: &Connection, run: &str) -> Result<Vec<Output>, StoreError> {
    let query = format!(
        "SELECT a.step, a.number, NULL AS name, a.size_bytes, a.sha256, a.unfit IS NULL AS has_file, a.id, 0 AS part
             FROM attempts a WHERE a.run = ?1 AND {IS_OUTPUT}
         UNION ALL
         SELECT a.step, a.number, p.name, p.size_bytes, p.sha256, p.unfit IS NULL, a.id, p.id
             FROM attempts a JOIN parts p ON p.attempt = a.id
             WHERE a.run = ?1 AND {IS_OUTPUT}
         UNION ALL
         SELECT a.step, a.number, s.name, s.size_bytes, s.sha256, 0, a.id, {} + s.id
             FROM attempts a JOIN audits s ON s.run = a.run AND s.step = a.step
             WHERE a.run = ?1 AND {IS_OUTPUT}
         ORDER BY 7, 8",
        // Behind the worker's own.
        i64::MAX / 2
    );
    statements::rows(connection, &query, [run], |row| {
        let name: Option<String> = column(row, "name")?;
        let size: i64 = column(row, "size_bytes")?;
        Ok(Output {
            step: step_of(row)?,
            number: column(row, "number")?,
            part: match name {
                None => None,
                Some(_) => Some(part_of(row)?),
            },
            size_bytes: u64::try_from(size).unwrap_or(0),
            sha256: column(row, "sha256")?,
            has_file: column::<i64>(row, "has_file")? != 0,
        })
    })
}

/// Outputs that are few enough to be listed beside a look-up.
const FEW: u32 = 64;

/// An attempt with what its run has left, in one look at the database; `None` where there is no such
/// attempt, or more was left than a few.
pub(super) fn at_once(
    connection: &Connection,
    access: Access,
) -> Result<Option<(Admission, Vec<Output>)>, StoreError> {
    statements::execute(connection, "BEGIN", [])?;
    let view = View(connection);
    with_a_few(view.0, access)
}

/// One view of the database, for several queries; dropping it gives the view back.
struct View<'a>(&'a Connection);

impl Drop for View<'_> {
    fn drop(&mut self) {
        // Unlike what rusqlite has for this, it is compiled once.
        if let Err(error) = statements::execute(self.0, "COMMIT", []) {
            tracing::error!("a reader of the store keeps its view: {error}");
        }
    }
}

fn with_a_few(
    connection: &Connection,
    access: Access,
) -> Result<Option<(Admission, Vec<Output>)>, StoreError> {
    let Some(admission) = look_up(connection, access)? else {
        return Ok(None);
    };
    let run = &admission.attempt.run.id;
    // Nothing is left of a run in which no attempt is completed.
    let any = "SELECT EXISTS (SELECT 1 FROM attempts WHERE run = ?1 AND state = 'completed')";
    if !statements::row(connection, any, [run], |row| row.get::<_, bool>(0))? {
        return Ok(Some((admission, Vec::new())));
    }
    let count = "SELECT
        (SELECT count(*) FROM (SELECT 1 FROM attempts
            WHERE run = ?1 AND state = 'completed' LIMIT ?2 + 1)),
        (SELECT count(*) FROM (SELECT 1 FROM attempts a JOIN parts p ON p.attempt = a.id
            WHERE a.run = ?1 AND a.state = 'completed' LIMIT ?2 + 1)),
        (SELECT count(*) FROM (SELECT 1 FROM audits WHERE run = ?1 LIMIT ?2 + 1))";
    let counts = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?]);
    let counts: [u32; 3] = statements::row(connection, count, params![run, FEW], counts)?;
    if counts.iter().any(|count| *count > FEW) {
        return Ok(None);
    }
    let left = outputs(connection, run)?;
    Ok(Some((admission, left)))
}

pub(super) fn output(
    connection: &Connection,
    run: &str,
    step: &StepKey,
    part: Option<&PartName>,
) -> Result<Option<String>, StoreError> {
    let step = step.to_string();
    let found = match part {
        None => {
            let query = format!(
                "SELECT a.body FROM attempts a
                 WHERE a.run = ?1 AND a.step = ?2 AND {IS_OUTPUT}"
            );
            let values = params![run, step];
            statements::row(connection, &query, values, |row| row.get(0))
        }
        Some(part) => {
            let query = format!(
                "SELECT p.text FROM attempts a JOIN parts p ON p.attempt = a.id
                 WHERE a.run = ?1 AND a.step = ?2 AND {IS_OUTPUT} AND p.name = ?3
                 UNION ALL
                 SELECT s.text FROM attempts a JOIN audits s ON s.run = a.run AND s.step = a.step
                 WHERE a.run = ?1 AND a.step = ?2 AND {IS_OUTPUT} AND s.name = ?3"
            );
            let values = params![run, step, part.as_str()];
            statements::row(connection, &query, values, |row| row.get(0))
        }
    };
    Ok(found.optional()?)
}
