//! What a run keeps of its steps, in the store, and when it may be stopped: a run that is closed
//! starts nothing more, and is left once nothing of it is under way.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tidegate::BoxFuture;
use tidegate::flow::{Journal, Kept, Place, Progress, Step, StepEnd, Work};
use tidegate_contract::CallError;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::places::Places;
use super::{Shared, host_fault};
use crate::blueprint::{AgentDef, Blueprint};
use crate::error::StoreError;
use crate::store::Note;

/// The journal of one run.
#[derive(Debug)]
pub(super) struct RunJournal {
    shared: Arc<Shared>,
    run: String,
    count: Count,
    places: Places,
    /// What was there when the run was taken up again: the places, and whether each had ended. A
    /// place is asked for once, before anything is done there.
    known: HashMap<String, bool>,
    closing: CancellationToken,
}

impl RunJournal {
    pub(super) fn open(
        shared: &Arc<Shared>,
        run: &str,
        (blueprint, count): (&Blueprint, Count),
    ) -> Result<Self, CallError> {
        let known = shared
            .store
            .places(run)
            .map_err(|error| host_fault(&error))?;
        Ok(Self {
            shared: Arc::clone(shared),
            run: run.to_owned(),
            count,
            places: Places::of(blueprint),
            known: known.into_iter().collect(),
            closing: shared.closing.clone(),
        })
    }

    fn event(&self, kind: &'static str, place: &Place) -> Option<(&'static str, Value)> {
        let step = self.places.step(place.as_str())?;
        Some((kind, json!({"step": step.name, "place": place.as_str()})))
    }

    fn note(&self, place: &Place, value: Option<String>, kind: &'static str) -> Note {
        Note {
            run: self.run.clone(),
            place: place.as_str().to_owned(),
            value,
            event: self.event(kind, place),
        }
    }

    async fn write(&self, note: Note) -> Result<(), CallError> {
        let written = self.shared.store.journal(note).await;
        written.map_err(|error| host_fault(&error))?;
        self.shared.service.waiting().runs.ring(&self.run);
        Ok(())
    }

    /// Writes what a crash may lose, since the next start comes to it again.
    fn write_later(&self, note: Note) {
        // The store itself holds this until it is told: it must not hold the store.
        let (shared, run) = (Arc::downgrade(&self.shared), self.run.clone());
        let told = move |written: Result<(), StoreError>| match written {
            Ok(()) => {
                if let Some(shared) = shared.upgrade() {
                    shared.service.waiting().runs.ring(&run);
                }
            }
            // The run was given up in between.
            Err(StoreError::Missing) => {}
            Err(error) => tracing::error!("the end of a step could not be kept: {error}"),
        };
        self.shared.store.journal_later(note, told);
    }
}

impl Journal for RunJournal {
    fn recall<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, Result<Option<Kept>, CallError>> {
        Box::pin(async move {
            match self.known.get(place.as_str()) {
                None => Ok(None),
                Some(false) => Ok(Some(Kept::Started)),
                Some(true) => {
                    let value = self.shared.store.value_at(&self.run, place.as_str());
                    Ok(value.map_err(|error| host_fault(&error))?.map(Kept::Ended))
                }
            }
        })
    }

    fn started<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async move {
            if self.closing.is_cancelled() {
                // The run is left where it stands, and goes on here after the next start.
                std::future::pending::<()>().await;
            }
            match self.places.step(place.as_str()) {
                // Its attempt is what is kept of its start.
                Some(step) if step.is_agents => Ok(()),
                _ => {
                    // From here on it counts as under way: what is kept as started is run.
                    let _writing = self.count.enter();
                    self.write(self.note(place, None, "step.started")).await
                }
            }
        })
    }

    fn ended<'a>(
        &'a self,
        place: &'a Place,
        end: &'a Value,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async move {
            let note = self.note(place, Some(end.to_string()), "step.ended");
            let step = self.places.step(place.as_str());
            if step.is_some_and(|step| step.is_repeatable) {
                self.write_later(note);
                return Ok(());
            }
            self.write(note).await
        })
    }
}

/// How much of a run the host itself is at: a step, or keeping that it starts.
#[derive(Clone, Debug)]
pub(super) struct Count(Arc<watch::Sender<usize>>);

/// Something that the host is at, until it is dropped.
#[derive(Debug)]
struct Entered<'a>(&'a Count);

impl Count {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    pub(super) fn listen(&self) -> watch::Receiver<usize> {
        self.0.subscribe()
    }

    fn enter(&self) -> Entered<'_> {
        self.more();
        Entered(self)
    }

    fn more(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    fn less(&self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.less();
    }
}

/// Counts the steps of a run that the host itself is at.
#[derive(Debug)]
pub(super) struct UnderWay {
    count: Count,
    /// Whether an agent's steps are done inside of the host.
    inside: HashMap<String, bool>,
}

impl UnderWay {
    pub(super) fn of(blueprint: &Blueprint, count: Count) -> Self {
        let is_inside =
            |(name, agent): (&str, &AgentDef)| (name.to_owned(), agent.worker.is_some());
        Self {
            count,
            inside: blueprint.agents().map(is_inside).collect(),
        }
    }

    fn counts(&self, step: &Step) -> bool {
        match &step.work {
            Work::Node(_) => true,
            Work::Agent(agent) => self.inside.get(agent.as_str()) == Some(&true),
        }
    }
}

impl Progress for UnderWay {
    fn started(&mut self, step: &Step, _place: &Place) {
        if self.counts(step) {
            self.count.more();
        }
    }

    fn ended(&mut self, step: &Step, _place: &Place, _end: StepEnd<'_>) {
        if self.counts(step) {
            self.count.less();
        }
    }
}
