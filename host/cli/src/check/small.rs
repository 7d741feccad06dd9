//! One good call again: with less memory, output, room for its result and time, and cancelled.
//!
//! Ending at the limit is right, and so is a failure of the guest's own. An answer that breaks the
//! contract, or a trap that no limit explains, is not.

use std::time::Duration;

use tidegate::Plugin;
use tidegate_contract::{Failure, Limits, Status};

use super::bench::{Bench, End, Ended};
use super::findings::Subject;
use super::judge;
use super::rounds::Base;
use super::rules;

/// Small bounds of what is not memory.
const BOUNDS: [(&str, u64); 4] = [
    ("stdout_bytes", 0),
    ("stderr_bytes", 0),
    ("result_bytes", 64),
    ("deadline_ms", 5),
];

/// How long a call may go on after it was to end. Only a guest that the host can't reach needs it.
const GRACE: Duration = Duration::from_secs(1);

/// How often a call has to go on for that long before it is said: a busy machine is late by itself.
const TRIES: usize = 3;

/// A call shorter than this is over before anyone can cancel it.
const CANCELLABLE: Duration = Duration::from_millis(10);

/// Runs them; gives the least memory that the call ends in as it did.
pub(super) async fn check(
    bench: &mut Bench,
    subject: &Subject,
    base: &Base,
) -> anyhow::Result<Option<u64>> {
    for (limit, value) in BOUNDS {
        let plugin = limited(bench, limit, value)?;
        let ended = bench.call(&plugin, &base.input).await?;
        look(bench, subject, &ended, &format!("{limit} = {value}"));
        if limit == "deadline_ms" {
            let mut went_on = ended.took;
            for _ in 1..TRIES {
                if went_on <= GRACE {
                    break;
                }
                went_on = went_on.min(bench.call(&plugin, &base.input).await?.took);
            }
            late(bench, subject, &format!("{limit} = {value}"), went_on);
        }
    }
    cancel(bench, subject, base).await?;
    memory(bench, subject, base).await
}

fn limited(bench: &Bench, limit: &str, value: u64) -> anyhow::Result<Plugin> {
    let mut limits: Limits = *bench.plugin.limits();
    limits.set(limit, value)?;
    Ok(bench.plugin.with_limits(limits)?)
}

fn look(bench: &mut Bench, subject: &Subject, ended: &Ended, under: &str) {
    let saw = match &ended.end {
        End::Broken(reason) => reason.clone(),
        End::Outcome(_) => match judge::trap(ended) {
            Some(error) => error.message().to_owned(),
            None => return,
        },
        End::Refused(_) | End::Denied(_) => return,
    };
    bench.findings.add(
        &rules::SMALL_LIMITS,
        subject,
        format!("{saw}; under {under}"),
    );
}

fn late(bench: &mut Bench, subject: &Subject, why: &str, went_on: Duration) {
    if went_on > GRACE {
        let saw = format!("{} ms after {why}", went_on.as_millis());
        bench.findings.add(&rules::ENDS_LATE, subject, saw);
    }
}

/// 1, 2, 4, … MiB, until the call ends as it did or the plugin's own limit is reached.
async fn memory(bench: &mut Bench, subject: &Subject, base: &Base) -> anyhow::Result<Option<u64>> {
    let most = bench.plugin.limits().memory_bytes;
    let mut bytes = 1_u64 << 20;
    while bytes <= most {
        let plugin = limited(bench, "memory_bytes", bytes)?;
        let ended = bench.call(&plugin, &base.input).await?;
        if judge::summary(&ended.end).0 == base.ended {
            return Ok(Some(bytes));
        }
        look(bench, subject, &ended, &format!("memory_bytes = {bytes}"));
        bytes = bytes.saturating_mul(2);
    }
    Ok(None)
}

/// Cancels the call when half of its time is over.
async fn cancel(bench: &mut Bench, subject: &Subject, base: &Base) -> anyhow::Result<()> {
    if base.took < CANCELLABLE {
        return Ok(());
    }
    let (ended, mut went_on) = cancelled(bench, base).await?;
    look(bench, subject, &ended, "a cancel");
    for _ in 1..TRIES {
        if went_on <= GRACE {
            break;
        }
        went_on = went_on.min(cancelled(bench, base).await?.1);
    }
    late(bench, subject, "it was cancelled", went_on);
    if let End::Outcome(outcome) = &ended.end
        && outcome.status == Status::Cancelled
        && outcome.error.as_ref() != Some(&Failure::cancelled())
    {
        let saw = outcome.error.as_ref().map_or("", Failure::message);
        bench.findings.add(&rules::CANCEL_HONOURED, subject, saw);
    }
    Ok(())
}

/// One call that is cancelled, and how long it went on after that.
async fn cancelled(bench: &mut Bench, base: &Base) -> anyhow::Result<(Ended, Duration)> {
    let (plugin, token) = (bench.plugin.clone(), bench.interrupted.child_token());
    let after = base.took / 2;
    let canceller = token.clone();
    let cancelling = async move {
        tokio::time::sleep(after).await;
        canceller.cancel();
    };
    let (ended, ()) = tokio::join!(bench.call_until(&plugin, &base.input, token), cancelling);
    let ended = ended?;
    let went_on = ended.took.saturating_sub(after);
    Ok((ended, went_on))
}
