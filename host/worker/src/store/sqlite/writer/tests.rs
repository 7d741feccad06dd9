//! Whoever leads, each job is done in its turn, kept or taken back for itself, and told of its commit.

use std::sync::Mutex;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::*;

fn writer() -> Writer {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("CREATE TABLE t (n INTEGER)")
        .unwrap();
    Writer::start(connection).unwrap()
}

fn insert(connection: &Connection, n: i64) -> Result<(), StoreError> {
    connection.execute("INSERT INTO t VALUES (?1)", [n])?;
    Ok(())
}

fn sum(writer: &Writer) -> i64 {
    let query = "SELECT coalesce(sum(n), 0) FROM t";
    let sum = writer.write::<i64, StoreError>(move |connection| {
        Ok(connection.query_row(query, [], |row| row.get(0))?)
    });
    sum.unwrap()
}

/// A job that waits for a word, and whom to give it.
fn held(
    writer: &Writer,
) -> (
    mpsc::Sender<()>,
    impl Future<Output = Result<(), StoreError>>,
) {
    let (open, gate) = mpsc::channel::<()>();
    let (began, running) = mpsc::channel();
    let held = writer.write_soon(move |connection| {
        began.send(()).unwrap();
        gate.recv().unwrap();
        insert(connection, 1)
    });
    let mut held = Box::pin(held);
    // It is queued when it is first asked.
    let first = futures_now(held.as_mut());
    assert!(first.is_none());
    running.recv().unwrap();
    (open, held)
}

fn futures_now<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn i10_jobs_that_wait_share_a_commit_and_are_answered_after_it() {
    let writer = writer();
    let events = Arc::new(Mutex::new(Vec::new()));
    let (open, gate) = mpsc::channel();
    let (replied, replies) = mpsc::channel();
    let mut gate = Some(gate);
    for n in 1..=3 {
        let (events, replied, gate) = (Arc::clone(&events), replied.clone(), gate.take());
        let work: Work = Box::new(move |connection| {
            if let Some(gate) = gate {
                gate.recv().unwrap();
            }
            insert(connection, n).unwrap();
            events.lock().unwrap().push(format!("ran {n}"));
            Box::new(move |commit| {
                assert_eq!(commit, Commit::Kept);
                events.lock().unwrap().push(format!("answered {n}"));
                replied.send(()).unwrap();
            })
        });
        let hurry = Hurry::Now;
        let leading = writer.shared.push(Job { work, hurry }, Lead::Thread);
        assert!(leading.is_none());
    }
    open.send(()).unwrap();
    for _ in 1..=3 {
        replies.recv().unwrap();
    }
    let expected = [
        "ran 1",
        "ran 2",
        "ran 3",
        "answered 1",
        "answered 2",
        "answered 3",
    ];
    assert_eq!(*events.lock().unwrap(), expected);
    assert_eq!(sum(&writer), 6);
}

#[test]
fn i10_what_nobody_waits_for_is_kept_with_what_comes_after_it_or_soon() {
    let writer = writer();
    let (told, done) = mpsc::channel();
    let later = |n: i64| {
        let told = told.clone();
        let tell = move |outcome: Result<(), StoreError>| told.send((n, outcome.is_ok()));
        let write = move |connection: &Connection| insert(connection, n);
        writer.write_later(write, move |outcome| tell(outcome).unwrap());
    };
    later(1);
    assert_eq!(sum(&writer), 1);
    assert_eq!(
        done.try_recv(),
        Ok((1, true)),
        "told before what came after"
    );
    later(10);
    let soon = Duration::from_mins(1);
    assert_eq!(
        done.recv_timeout(soon),
        Ok((10, true)),
        "though nothing comes after"
    );
    assert_eq!(sum(&writer), 11);
}

#[test]
fn i10_what_comes_after_the_commit_of_who_leads_is_kept_by_the_thread() {
    for hurry in [Hurry::Later, Hurry::Now] {
        // One of its own for each: the thread may still lead when it has told.
        let writer = writer();
        let (told, done) = mpsc::channel();
        let of = Arc::clone(&writer.shared);
        // Told while this thread still leads, and behind its commit.
        let follow = move |_: Result<(), StoreError>| {
            let work: Work = Box::new(move |connection| {
                let here = thread::current().id();
                insert(connection, 10).unwrap();
                Box::new(move |commit| told.send((commit, here)).unwrap())
            });
            assert!(of.push(Job { work, hurry }, Lead::Caller).is_none());
        };
        let first = |connection: &Connection| insert(connection, 1);
        let leading = writer.queue(first, (Hurry::Now, Lead::Caller), follow);
        leading.unwrap().commit();
        let (commit, thread) = done.recv_timeout(Duration::from_mins(1)).unwrap();
        assert_eq!(commit, Commit::Kept);
        assert_ne!(thread, thread::current().id(), "{hurry:?}");
        assert_eq!(sum(&writer), 11);
    }
}

#[test]
fn i10_many_that_are_put_off_and_the_end_of_the_writer_lose_none() {
    let writer = writer();
    let (told, done) = mpsc::channel();
    for n in 0..3_000 {
        let told = told.clone();
        let write = move |connection: &Connection| insert(connection, n);
        writer.write_later(write, move |outcome: Result<(), StoreError>| {
            told.send((n, outcome.is_ok())).unwrap();
        });
    }
    drop((writer, told));
    let expected: Vec<_> = (0..3_000).map(|n| (n, true)).collect();
    assert_eq!(done.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn i10_a_refused_job_leaves_nothing_and_spoils_no_other() {
    let writer = writer();
    let (open, first) = held(&writer);
    thread::scope(|scope| {
        // All of them share a commit, or follow each other: neither may show.
        let refused = scope.spawn(|| {
            writer.write(|connection| {
                insert(connection, 10)?;
                Err::<(), _>(StoreError::Missing)
            })
        });
        let panicked = scope.spawn(|| {
            writer.write::<(), StoreError>(|connection| {
                insert(connection, 1_000)?;
                panic!("a job's own fault");
            })
        });
        let kept = scope.spawn(|| writer.write(|connection| insert(connection, 100)));
        open.send(()).unwrap();
        let refused = refused.join().unwrap();
        assert!(matches!(refused, Err(StoreError::Missing)), "{refused:?}");
        let panicked = panicked.join().unwrap();
        assert!(matches!(panicked, Err(StoreError::Database(_))));
        kept.join().unwrap().unwrap();
    });
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().unwrap();
    runtime.block_on(first).unwrap();
    assert_eq!(sum(&writer), 101);
}

#[test]
fn i10_whoever_panics_when_told_keeps_the_answer_from_nobody() {
    let writer = writer();
    let (told, done) = mpsc::channel();
    let tell = |_: Result<(), StoreError>| panic!("a fault of who is told");
    writer.write_later(|connection| insert(connection, 1), tell);
    let tell = move |outcome: Result<(), StoreError>| told.send(outcome.is_ok()).unwrap();
    writer.write_later(|connection| insert(connection, 10), tell);
    assert_eq!(sum(&writer), 11);
    assert_eq!(done.recv(), Ok(true));
}

#[test]
fn i10_a_job_whose_commit_fails_is_never_acknowledged() {
    let writer = writer();
    let broken = writer.write(|connection| {
        insert(connection, 1)?;
        // Ends the transaction that the commit is to end.
        connection.execute_batch("ROLLBACK; BEGIN")?;
        Ok::<(), StoreError>(())
    });
    assert!(broken.is_err());
    assert_eq!(sum(&writer), 0);
}

/// Where a job of a task runs.
async fn thread_of_a_job(writer: &Writer) -> ThreadId {
    let (answer, answered) = oneshot::channel();
    let job = |_: &Connection| Ok::<_, StoreError>(thread::current().id());
    writer.write_here(job, move |ran| answer.send(ran).unwrap());
    answered.await.unwrap().unwrap()
}

#[test]
fn i10_a_job_that_is_alone_passes_no_other_thread_where_its_runtime_has_more() {
    let writer = writer();
    let here = thread::current().id();
    assert_eq!(
        writer
            .write::<_, StoreError>(|_| Ok(thread::current().id()))
            .unwrap(),
        here
    );
    let many = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    many.block_on(async {
        assert_eq!(thread_of_a_job(&writer).await, here);
    });
    let one = { tokio::runtime::Builder::new_current_thread() }
        .build()
        .unwrap();
    one.block_on(async {
        assert_ne!(thread_of_a_job(&writer).await, here);
    });
}

#[test]
fn i10_jobs_are_done_in_the_order_in_which_they_were_brought() {
    let writer = writer();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let (open, first) = held(&writer);
    for n in 0..600 {
        let ran = Arc::clone(&ran);
        let job = move |connection: &Connection| {
            ran.lock().unwrap().push(n);
            insert(connection, 0)
        };
        if n % 3 == 0 {
            writer.write_later(job, |outcome| outcome.unwrap());
        } else {
            writer.write_here(job, |outcome: Result<(), StoreError>| outcome.unwrap());
        }
    }
    open.send(()).unwrap();
    drop(first);
    let started = Instant::now();
    assert_eq!(sum(&writer), 1);
    assert!(started.elapsed() < Duration::from_mins(1));
    assert_eq!(*ran.lock().unwrap(), (0..600).collect::<Vec<_>>());
}
