//! Running a graph: steps side by side in one task, each as soon as what it comes after has ended.

use std::collections::VecDeque;

use super::act::End;
use super::check::dependencies;
use super::error::FlowError;
use super::place::Place;
use super::run::{Lane, Run};
use super::step::Step;
use super::together::Together;

impl<'a> Run<'a> {
    /// Runs every step of a graph. After the first error nothing new starts; what runs is waited
    /// for, then the error is given back; of several, that of the first step in the file.
    pub(super) async fn graph(
        &self,
        steps: &'a [Step],
        lane: &mut Lane<'_>,
        place: &Place,
    ) -> Result<(), FlowError> {
        self.failed_before("graph", place).await?;
        let before = dependencies(steps).map_err(FlowError::Invalid)?;
        let mut order = Order::new(&before);
        let mut running: Together<'_, Result<End, FlowError>> = Together::new();
        let mut failed: Option<(usize, FlowError)> = None;
        loop {
            while (failed.is_none() || lane.closes) && running.len() < self.limits.concurrency {
                let Some(position) = order.ready.pop_front() else {
                    break;
                };
                let Some(step) = steps.get(position) else {
                    continue;
                };
                match self.begin(step, lane, place.child(position)) {
                    Ok(begun) => running.add(position, self.act(begun)),
                    Err(error) => failed = Some(lower(failed.take(), (position, error))),
                }
            }
            let Some((position, end)) = running.next().await else {
                break;
            };
            let Some(step) = steps.get(position) else {
                continue;
            };
            match end.and_then(|end| lane.take(step, end)) {
                Ok(()) => order.ended(position),
                Err(error) => failed = Some(lower(failed.take(), (position, error))),
            }
        }
        match failed {
            None => Ok(()),
            Some((_, error)) => Err(self.keep_error("graph", place, error, &lane.cancel).await?),
        }
    }
}

/// The error of the lower position; one that ends the run comes before any other.
pub(super) fn lower(
    known: Option<(usize, FlowError)>,
    next: (usize, FlowError),
) -> (usize, FlowError) {
    match known {
        Some(known) if known.1.is_final() => known,
        Some(known) if known.0 < next.0 && !next.1.is_final() => known,
        _ => next,
    }
}

/// Which steps can start.
struct Order {
    ready: VecDeque<usize>,
    /// How many steps each one still waits for.
    waits: Vec<usize>,
    /// Which steps wait for each one.
    waiting: Vec<Vec<usize>>,
}

impl Order {
    fn new(before: &[Vec<usize>]) -> Self {
        let waits: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); before.len()];
        for (position, after) in before.iter().enumerate() {
            for &dependency in after {
                if let Some(waiting) = waiting.get_mut(dependency) {
                    waiting.push(position);
                }
            }
        }
        let starts = waits.iter().enumerate().filter(|(_, waits)| **waits == 0);
        Self {
            ready: starts.map(|(position, _)| position).collect(),
            waits,
            waiting,
        }
    }

    fn ended(&mut self, position: usize) {
        for &next in self.waiting.get(position).into_iter().flatten() {
            if let Some(waits) = self.waits.get_mut(next) {
                *waits = waits.saturating_sub(1);
                if *waits == 0 {
                    self.ready.push_back(next);
                }
            }
        }
    }
}
