//! Running a fanout: a lane for each item, side by side in one task, and what they come to.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::act::unreadable;
use super::budget::Charge;
use super::error::FlowError;
use super::evaluate::{self, EvaluateError};
use super::graph::lower;
use super::node::{Fanout, Join};
use super::path::Path;
use super::place::Place;
use super::run::{Lane, Run};
use super::scope::Scope;
use super::surroundings::Kept;
use super::together::Together;

impl<'a> Run<'a> {
    /// Runs the lanes of a fanout and writes what they come to.
    pub(super) async fn fanout(
        &self,
        fanout: &'a Fanout,
        lane: &mut Lane<'_>,
        place: &Place,
    ) -> Result<(), FlowError> {
        let name = lane.named(fanout.name.as_str());
        let (items, held) = self.items(&name, fanout, lane)?;
        let winner = self.winner_before(&name, place).await?;
        let lanes = Lanes {
            run: self,
            fanout,
            around: lane,
            place,
        };
        let ended = lanes.run(items, winner).await;
        drop(held);
        let output = match ended {
            Ok(output) => output,
            Err(error) if fanout.join == Join::All => {
                return Err(self.keep_error(&name, place, error, &lane.cancel).await?);
            }
            Err(error) => return Err(error),
        };
        lane.write(&name, &Path::key(fanout.name.as_str()), output)
    }

    /// The lane that the journal kept as the one that counts. Which lane is first hangs on time, and
    /// what followed from it must follow again.
    async fn winner_before(&self, name: &str, place: &Place) -> Result<Option<usize>, FlowError> {
        let Some(Kept::Ended(end)) = self.recall(name, place).await? else {
            return Ok(None);
        };
        if let Some(report) = end.get("error") {
            return Err(FlowError::of_report(report).unwrap_or_else(|| unreadable(name)));
        }
        let lane = end.get("lane").and_then(Value::as_u64);
        let lane = lane.and_then(|lane| usize::try_from(lane).ok());
        lane.map(Some).ok_or_else(|| unreadable(name))
    }

    /// The items, and what they take until their lanes have ended.
    fn items(
        &self,
        name: &str,
        fanout: &Fanout,
        lane: &Lane<'_>,
    ) -> Result<(Vec<Value>, Charge), FlowError> {
        let at = format!("{name}.items");
        let items = self.value(&at, &fanout.items, lane)?;
        let mut held = lane.charge.another();
        let charged = held.take(&items, 0);
        charged.map_err(|source| FlowError::context(&at, source))?;
        let items = match items {
            Value::Array(items) => items,
            other => {
                let source = EvaluateError::Type {
                    what: "items",
                    expected: "a list",
                    found: evaluate::type_of(&other),
                };
                return Err(FlowError::context(&at, source));
            }
        };
        if u32::try_from(items.len()).is_ok_and(|items| items <= fanout.max_items) {
            return Ok((items, held));
        }
        Err(FlowError::Items {
            name: name.to_owned(),
            items: items.len(),
            max_items: fanout.max_items,
        })
    }
}

/// The lanes of one fanout.
struct Lanes<'r, 'a, 's> {
    run: &'r Run<'a>,
    fanout: &'a Fanout,
    around: &'r Lane<'s>,
    place: &'r Place,
}

impl Lanes<'_, '_, '_> {
    /// Runs the lanes and gives what they come to. Where a journal knows the lane that counts, each of
    /// the others is only brought to its end.
    async fn run(&self, items: Vec<Value>, winner: Option<usize>) -> Result<Value, FlowError> {
        let others = self.around.cancel.child_token();
        if winner.is_some() {
            others.cancel();
        }
        let concurrency = self.fanout.concurrency;
        let concurrency = concurrency.unwrap_or(self.run.limits.concurrency);
        let mut ends = self.ends(items.len());
        let goes_on = |ends: &Ends| {
            let visits_all = winner.is_some() || self.around.closes;
            !ends.is_broken() && (visits_all || !ends.is_over())
        };
        let mut waiting = items.into_iter().enumerate();
        let mut running = Together::new();
        loop {
            while goes_on(&ends) && running.len() < concurrency {
                let Some((number, item)) = waiting.next() else {
                    break;
                };
                let cancel = match winner {
                    Some(winner) if winner == number => &self.around.cancel,
                    _ => &others,
                };
                running.add(number, self.lane(number, item, cancel.clone()));
            }
            let Some((number, end)) = running.next().await else {
                break;
            };
            let is_loser = winner.is_some_and(|winner| winner != number);
            match end {
                Err(error @ FlowError::Journal { .. }) => {
                    ends.fatal = Some(error);
                    others.cancel();
                }
                _ if ends.is_decided() || is_loser => continue,
                Err(error) if error.is_final() || self.around.is_cut_by(&error) => {
                    ends.fatal = Some(error);
                }
                end => ends.take(number, end),
            }
            if ends.is_broken() {
                continue;
            }
            if ends.first.is_some() && winner.is_none() {
                if let Err(error) = self.keep_winner(number).await {
                    ends.fatal = Some(error);
                }
                others.cancel();
            }
        }
        ends.outcome()
    }

    /// What is known before any lane has ended.
    fn ends(&self, items: usize) -> Ends {
        let limits = self.run.limits;
        Ends {
            name: self.around.named(self.fanout.name.as_str()),
            join: self.fanout.join,
            outputs: vec![Value::Null; items],
            first: None,
            failed: None,
            fatal: None,
            held: self.around.charge.another(),
            left_bytes: limits.gathered_bytes,
            limit_bytes: limits.gathered_bytes,
        }
    }

    async fn lane(
        &self,
        number: usize,
        item: Value,
        cancel: CancellationToken,
    ) -> Result<Value, FlowError> {
        let name = self.fanout.name.as_str();
        let at = u32::try_from(number).unwrap_or(u32::MAX);
        let mut lanes = self.around.lanes.clone();
        lanes.push(at);
        let closes = self.run.journal.is_some() && cancel.is_cancelled();
        let mut bound = Lane {
            scope: Scope::over(&self.around.scope),
            charge: self.around.charge.another(),
            cancel: cancel.clone(),
            closes,
            lanes: lanes.clone(),
        };
        // The items are held as a whole.
        bound.put(name, &Path::key(self.fanout.bind.as_str()), item)?;
        if let Some(index) = &self.fanout.index {
            bound.write(name, &Path::key(index.as_str()), number.into())?;
        }
        let mut lane = Lane {
            scope: Scope::over(&bound.scope),
            charge: self.around.charge.another(),
            cancel,
            closes,
            lanes,
        };
        self.run
            .node(&self.fanout.body, &mut lane, self.place.turn(at))
            .await?;
        Ok(lane.scope.into_own().into_value())
    }

    async fn keep_winner(&self, number: usize) -> Result<(), FlowError> {
        let Some(journal) = self.run.journal else {
            return Ok(());
        };
        let ended = journal.ended(self.place, &json!({ "lane": number })).await;
        ended.map_err(|source| FlowError::journal(self.fanout.name.as_str(), source))
    }
}

/// What is known of the lanes so far.
struct Ends {
    /// The fanout's.
    name: String,
    join: Join,
    /// The output of each lane that ended.
    outputs: Vec<Value>,
    /// The lane that counts, where it is the first.
    first: Option<Result<Value, FlowError>>,
    /// The error of the lowest lane that failed.
    failed: Option<(usize, FlowError)>,
    /// An error that is not for the join to judge.
    fatal: Option<FlowError>,
    /// What of the outputs waits to be written.
    held: Charge,
    left_bytes: usize,
    limit_bytes: usize,
}

impl Ends {
    /// Whether what is not known yet makes no difference any more.
    fn is_decided(&self) -> bool {
        self.fatal.is_some() || self.first.is_some()
    }

    /// Whether the journal failed.
    fn is_broken(&self) -> bool {
        matches!(self.fatal, Some(FlowError::Journal { .. }))
    }

    /// Whether no more lanes are to start.
    fn is_over(&self) -> bool {
        self.is_decided() || (self.join == Join::All && self.failed.is_some())
    }

    fn take(&mut self, number: usize, end: Result<Value, FlowError>) {
        match (self.join, end) {
            (Join::Race, end) | (Join::Any, end @ Ok(_)) => {
                if let Ok(output) = &end {
                    self.hold(output);
                }
                self.first = Some(end);
            }
            (Join::All, Ok(output)) => self.add(number, output),
            (Join::AllSettled, Ok(output)) => {
                let status = ("status".to_owned(), Value::from("success"));
                let value = ("value".to_owned(), output);
                self.add(number, Value::Object([status, value].into_iter().collect()));
            }
            (Join::AllSettled, Err(error)) => {
                self.add(number, json!({"status": "failed", "error": error.report()}));
            }
            (Join::All | Join::Any, Err(error)) => {
                self.failed = Some(lower(self.failed.take(), (number, error)));
            }
        }
    }

    fn add(&mut self, number: usize, output: Value) {
        match evaluate::measure(&output, self.left_bytes, self.limit_bytes) {
            Ok(bytes) => self.left_bytes = self.left_bytes.saturating_sub(bytes),
            Err(source) => {
                let limit_bytes = self.limit_bytes;
                let source = match source {
                    EvaluateError::TooLarge { .. } => EvaluateError::Lanes { limit_bytes },
                    other => other,
                };
                self.fatal = Some(FlowError::context(&self.name, source));
            }
        }
        self.hold(&output);
        if let Some(place) = self.outputs.get_mut(number) {
            *place = output;
        }
    }

    fn hold(&mut self, output: &Value) {
        if let Err(source) = self.held.take(output, 0) {
            let error = FlowError::context(&self.name, source);
            self.fatal.get_or_insert(error);
        }
    }

    fn outcome(self) -> Result<Value, FlowError> {
        if let Some(error) = self.fatal {
            return Err(error);
        }
        match (self.join, self.first, self.failed) {
            (_, Some(first), _) => first,
            (Join::All, None, Some((_, error))) => Err(error),
            (Join::All | Join::AllSettled, None, _) => Ok(Value::Array(self.outputs)),
            (Join::Any | Join::Race, None, failed) => Err(FlowError::Lanes {
                name: self.name,
                first: failed.map(|(_, error)| Box::new(error)),
            }),
        }
    }
}
