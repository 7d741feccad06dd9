//! When files are written: after a submit is durable, and again at start.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;
use tidegate_contract::failure::host_failure;

use super::{Service, Written};
use crate::attempt::{Admitted, State};
use crate::error::WorkerError;
use crate::projection::{CheckPolicy, FrontMatter, open_folder, sync, write};
use crate::store::{Attempt, Files, Part, Run, Submission};

impl Service {
    /// Gives a run its open folder, below which its files stand: the opened form of the launch's
    /// `work_dir`, else of its `project_root`.
    pub fn attach(&self, run: &str, root: Dir) {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots.insert(run.to_owned(), Arc::new(root));
    }

    /// Runs that have not ended: after a start each wants its folder attached and its files restored
    /// before workers are let in.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub fn open_runs(&self) -> Result<Vec<Run>, WorkerError> {
        Ok(self.store.open_runs()?)
    }

    /// Writes the files of a run again from the store, after a start; answers what could not be. Under
    /// a strict policy an attempt whose file is refused has failed, unless its flow has gone on with
    /// it: the stop may have come between its submit and that judgement. A run's folder that is gone
    /// says nothing of a file that was there.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub fn restore(&self, run: &Run) -> Result<Vec<String>, WorkerError> {
        let mut warnings = Vec::new();
        for id in self.store.attempts(&run.id)? {
            let attempt = self.store.attempt(id)?;
            if let Some(reason) = self.project(&attempt, attempt.state)? {
                if run.launch.check_policy == CheckPolicy::Strict && self.root(&run.id).is_some() {
                    self.refuse(&attempt, &reason)?;
                }
                warnings.extend(self.lacking(&attempt, Admitted::Again, &reason)?);
            }
        }
        Ok(warnings)
    }

    /// Sees to it that the files of a run outlive a crash of the machine.
    pub(crate) fn sync(&self, run: &str) -> Result<Files, WorkerError> {
        for id in self.store.attempts(run)? {
            let attempt = self.store.attempt(id)?;
            let launch = &attempt.run.launch;
            if launch.work_dir.is_none() && launch.project_root.is_none() {
                return Ok(Files::Synced);
            }
            let Some(root) = self.root(run) else {
                return Ok(Files::Unsynced);
            };
            if !leaves_output(attempt.state) {
                continue;
            }
            let parts = self.store.parts(id)?;
            if let Err(error) = sync_files(&root, &attempt, &parts) {
                let kind = error.kind();
                tracing::warn!("the files of a run may not outlive a crash: {kind}");
                return Ok(Files::Unsynced);
            }
        }
        Ok(Files::Synced)
    }

    pub(super) fn root(&self, run: &str) -> Option<Arc<Dir>> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots.get(run).map(Arc::clone)
    }

    fn written(&self, run: &str) -> Arc<Mutex<Written>> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(written.entry(run.to_owned()).or_default())
    }

    /// Writes the files of an attempt whose submit led to this state, unless a newer one of its step
    /// has. Answers why one is lacking.
    pub(super) fn project(
        &self,
        attempt: &Attempt,
        state: State,
    ) -> Result<Option<String>, WorkerError> {
        if !leaves_output(state) {
            return Ok(None);
        }
        let Some(root) = self.root(&attempt.run.id) else {
            return Ok(Some("the run has no folder for files".to_owned()));
        };
        let written = self.written(&attempt.run.id);
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        if written
            .get(&attempt.step)
            .is_some_and(|newest| *newest > attempt.number)
        {
            return Ok(None);
        }
        // What stands in the store now.
        let attempt = self.store.attempt(attempt.id)?;
        let submission = attempt.submission.as_ref();
        let Some(submission) = submission.filter(|_| leaves_output(attempt.state)) else {
            return Ok(None);
        };
        written.insert(attempt.step.clone(), attempt.number);
        let parts = self.store.parts(attempt.id)?;
        Ok(match write_files(&root, &attempt, submission, &parts) {
            Ok(()) => attempt.unfit.map(|unfit| unfit.to_string()),
            // The kind alone: what the system says may hold a path of the host.
            Err(error) => Some(error.kind().to_string()),
        })
    }

    /// Whether it is not known of the run already: that it has no folder is the same for all its steps,
    /// and so said of the first alone.
    fn is_news(&self, attempt: &Attempt) -> bool {
        if self.root(&attempt.run.id).is_some() {
            return true;
        }
        let written = self.written(&attempt.run.id);
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = written.is_empty();
        written.insert(attempt.step.clone(), attempt.number);
        is_first
    }

    fn refuse(&self, attempt: &Attempt, reason: &str) -> Result<(), WorkerError> {
        let failure = host_failure("PROJECTION_REFUSED", reason.to_owned());
        Ok(self.store.fail(attempt.id, &failure)?)
    }

    /// What follows from a lacking file, by the run's policy. What was acknowledged before stays as
    /// it is under any.
    pub(super) fn lacking(
        &self,
        attempt: &Attempt,
        admitted: Admitted,
        reason: &str,
    ) -> Result<Option<String>, WorkerError> {
        match (attempt.run.launch.check_policy, admitted) {
            (CheckPolicy::Silent, _) => Ok(None),
            (CheckPolicy::Warn, _) if !self.is_news(attempt) => Ok(None),
            (CheckPolicy::Warn, _) | (CheckPolicy::Strict, Admitted::Again) => {
                let step = &attempt.step;
                Ok(Some(format!("step `{step}` lacks a file: {reason}")))
            }
            (CheckPolicy::Strict, Admitted::First) => {
                self.refuse(attempt, reason)?;
                Err(WorkerError::ProjectionRefused {
                    reason: reason.to_owned(),
                })
            }
        }
    }
}

fn leaves_output(state: State) -> bool {
    matches!(state, State::Completed | State::Blocked)
}

fn sync_files(root: &Dir, attempt: &Attempt, parts: &[Part]) -> io::Result<()> {
    let folder = attempt.run.folder(&attempt.step, attempt.number);
    let own = attempt.unfit.is_none().then(|| attempt.step.file_name());
    let parts = parts.iter().filter(|part| part.unfit.is_none());
    let mut names: Vec<&str> = parts.map(|part| part.name.as_str()).collect();
    names.extend(own.as_deref());
    sync(root, &folder, &names)
}

/// The parts first: whoever waits for the step's own file finds them there.
fn write_files(
    root: &Dir,
    attempt: &Attempt,
    submission: &Submission,
    parts: &[Part],
) -> io::Result<()> {
    let folder = open_folder(root, &attempt.run.folder(&attempt.step, attempt.number))?;
    for part in parts.iter().filter(|part| part.unfit.is_none()) {
        write(&folder, part.name.as_str(), part.text.as_bytes())?;
    }
    if attempt.unfit.is_some() {
        return Ok(());
    }
    let document = document(attempt, submission);
    write(&folder, &attempt.step.file_name(), document.as_bytes())
}

/// The step's own file.
fn document(attempt: &Attempt, submission: &Submission) -> String {
    let front = FrontMatter {
        task: attempt.run.task.clone(),
        step: attempt.step.clone(),
        attempt: attempt.number,
        ending: submission.ending,
    };
    front.document(&submission.body)
}

#[cfg(test)]
mod tests {
    use std::sync::TryLockError;

    use super::*;
    use crate::service::BODY_BYTES;
    use crate::store::SqliteStore;

    #[test]
    fn x5_runs_write_their_files_without_waiting_for_each_other() {
        let state = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(state.path()).unwrap();
        let service = Service::new(Arc::new(store), BODY_BYTES);
        let (one, two) = (service.written("R-1"), service.written("R-2"));
        let _writing = one.lock().unwrap();
        assert!(two.try_lock().is_ok());
        let same = service.written("R-1");
        let refused = same.try_lock();
        assert!(matches!(refused, Err(TryLockError::WouldBlock)));
        service.ended("R-1", &[]);
        assert_eq!(service.written.lock().unwrap().len(), 1);
    }
}
