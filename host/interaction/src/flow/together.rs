//! Futures side by side in one task: only those that were woken are polled.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// What runs, each under a number of its own.
pub(super) struct Together<'f, T> {
    running: BTreeMap<usize, Running<'f, T>>,
    woken: Arc<Woken>,
}

/// One of them, and what it wakes.
type Running<'f, T> = (Pin<Box<dyn Future<Output = T> + Send + 'f>>, Waker);

/// Which of them want to be polled, and who polls them.
#[derive(Default)]
struct Woken {
    numbers: Mutex<VecDeque<usize>>,
    task: Mutex<Option<Waker>>,
}

/// Wakes one of them.
struct Bell {
    number: usize,
    woken: Arc<Woken>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.woken.add(self.number);
        let task = lock(&self.woken.task).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Woken {
    fn add(&self, number: usize) {
        lock(&self.numbers).push_back(number);
    }
}

/// What is behind these locks is whole at any moment.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'f, T> Together<'f, T> {
    pub(super) fn new() -> Self {
        Self {
            running: BTreeMap::new(),
            woken: Arc::default(),
        }
    }

    /// How many run.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Lets one more run; it is first polled by [`next`](Self::next).
    pub(super) fn add(&mut self, number: usize, future: impl Future<Output = T> + Send + 'f) {
        let bell = Bell {
            number,
            woken: Arc::clone(&self.woken),
        };
        let waker = Waker::from(Arc::new(bell));
        self.running.insert(number, (Box::pin(future), waker));
        self.woken.add(number);
    }

    /// Waits for one of them to end and takes it out; `None` when there is none.
    pub(super) async fn next(&mut self) -> Option<(usize, T)> {
        if self.running.is_empty() {
            return None;
        }
        Some(poll_fn(|task| self.poll(task)).await)
    }

    fn poll(&mut self, task: &Context<'_>) -> Poll<(usize, T)> {
        // Before the numbers are looked at: who is woken from here on wakes this task again.
        *lock(&self.woken.task) = Some(task.waker().clone());
        // One that wakes itself must not keep the task here: it is polled again the next time.
        let woken = lock(&self.woken.numbers).len();
        for _ in 0..woken {
            let Some(number) = lock(&self.woken.numbers).pop_front() else {
                break;
            };
            // One that has ended may have been woken once more.
            let Some((future, waker)) = self.running.get_mut(&number) else {
                continue;
            };
            let end = future.as_mut().poll(&mut Context::from_waker(waker));
            if let Poll::Ready(end) = end {
                self.running.remove(&number);
                return Poll::Ready((number, end));
            }
        }
        if !lock(&self.woken.numbers).is_empty() {
            task.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn x4_whoever_wakes_itself_lets_others_go_on() {
        let polls = AtomicUsize::new(0);
        let mut together = Together::new();
        let eager = poll_fn(|task| {
            polls.fetch_add(1, Ordering::SeqCst);
            task.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        together.add(0, eager);
        let others = async {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = together.next() => panic!("it never ends"),
            () = others => {}
        }
        assert!(polls.load(Ordering::SeqCst) > 1, "it is polled again");
    }

    /// There the task that blocks has a budget of its own: once it is used up, whatever it asks for
    /// is not ready and wakes it at once, until it has let go.
    #[test]
    fn x4_a_task_that_uses_up_its_turn_lets_go_under_threads_too() {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(2).build().unwrap();
        let taken = runtime.block_on(async {
            let (give, mut take) = tokio::sync::mpsc::unbounded_channel();
            (0..1_000).for_each(|number| give.send(number).unwrap());
            drop(give);
            let mut together: Together<'_, usize> = Together::new();
            together.add(0, async move {
                let mut taken = 0;
                while take.recv().await.is_some() {
                    taken += 1;
                }
                taken
            });
            together.add(1, async {
                for _ in 0..1_000 {
                    tokio::task::yield_now().await;
                }
                0
            });
            let mut taken = 0;
            while let Some((_, end)) = together.next().await {
                taken += end;
            }
            taken
        });
        assert_eq!(taken, 1_000);
    }

    #[tokio::test]
    async fn x4_each_is_taken_out_when_it_ends() {
        let mut together = Together::new();
        for number in [3, 1, 2] {
            together.add(number, async move {
                for _ in 0..number {
                    tokio::task::yield_now().await;
                }
                number * 10
            });
        }
        assert_eq!(together.len(), 3);
        let mut ended = Vec::new();
        while let Some(end) = together.next().await {
            ended.push(end);
        }
        assert_eq!(ended, [(1, 10), (2, 20), (3, 30)]);
        assert_eq!(together.len(), 0);
    }
}
