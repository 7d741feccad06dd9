//! Running a graph: steps side by side in one task, each as soon as what it comes after has ended.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use serde_json::Value;
use tidegate_contract::CallError;

use super::Step;
use super::check::dependencies;
use super::run::{FlowError, Run};

/// A step that runs, and its position in the graph.
type Running<'a> = Pin<Box<dyn Future<Output = (usize, Result<Value, CallError>)> + Send + 'a>>;

impl<'a> Run<'a> {
    /// Runs every step of a graph. After the first error nothing new starts; what runs is waited
    /// for, then the error is given back.
    pub(super) async fn graph(&mut self, steps: &'a [Step]) -> Result<(), FlowError> {
        let before = dependencies(steps).map_err(FlowError::Invalid)?;
        // How many steps each one still waits for, and which steps wait for it.
        let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        for (position, after) in before.iter().enumerate() {
            for &dependency in after {
                if let Some(waiting) = waiting.get_mut(dependency) {
                    waiting.push(position);
                }
            }
        }
        let starts = waits.iter().enumerate().filter(|(_, waits)| **waits == 0);
        let mut ready: VecDeque<usize> = starts.map(|(position, _)| position).collect();
        let mut running: Vec<Running<'a>> = Vec::new();
        let mut failed = None;
        loop {
            while failed.is_none() && running.len() < self.limits.concurrency {
                let Some(position) = ready.pop_front() else {
                    break;
                };
                match steps.get(position).map(|step| self.begin(step)) {
                    Some(Ok(call)) => running.push(Box::pin(async move { (position, call.await) })),
                    Some(Err(error)) => failed = Some(error),
                    None => {}
                }
            }
            let Some((position, end)) = first(&mut running).await else {
                return failed.map_or(Ok(()), Err);
            };
            let Some(step) = steps.get(position) else {
                continue;
            };
            if let Err(error) = self.end(step, end) {
                failed.get_or_insert(error);
                continue;
            }
            for &next in waiting.get(position).into_iter().flatten() {
                if let Some(waits) = waits.get_mut(next) {
                    *waits = waits.saturating_sub(1);
                    if *waits == 0 {
                        ready.push_back(next);
                    }
                }
            }
        }
    }
}

/// Waits for one of them to end and takes it out; `None` when there is none.
async fn first(running: &mut Vec<Running<'_>>) -> Option<(usize, Result<Value, CallError>)> {
    if running.is_empty() {
        return None;
    }
    let end = poll_fn(|task| {
        let mut ends = running.iter_mut().enumerate();
        let end = ends.find_map(|(at, call)| match call.as_mut().poll(task) {
            Poll::Ready(end) => Some((at, end)),
            Poll::Pending => None,
        });
        match end {
            Some((at, end)) => {
                drop(running.remove(at));
                Poll::Ready(end)
            }
            None => Poll::Pending,
        }
    });
    Some(end.await)
}
