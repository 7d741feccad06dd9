//! Runs that are stopped in the middle and go on after the next start.

use std::sync::Arc;

use serde_json::json;
use tidegate_worker::service::Service;
use tidegate_worker::store::{RunStatus, SqliteStore, Store as _};

use crate::fixture::code;
use crate::shop::{Shop, ask, blueprint, count, me, submit, tenant};

fn nothing(_service: &Service) {}

#[tokio::test]
async fn i10_a_run_goes_on_where_it_stood_wherever_it_was_killed() {
    let mut shop = Shop::new();
    let agents = json!({"plan": {}, "build": {}});
    let nodes = [
        count("before"),
        ask("plan", json!("")),
        count("between"),
        ask("build", json!("")),
    ];
    let run = shop.launch(&nodes, &agents);

    shop.until(&run, "attempt.dispatched").await;
    shop = shop.killed(nothing).await;
    let plan = shop.claim("plan").await;
    assert_eq!(plan.attempt, 1, "the waiting attempt, and no new one");
    shop.stage(&plan, "notes", "kept").unwrap();

    shop = shop.killed(nothing).await;
    assert!(!shop.has_work("plan").await, "it was claimed before");
    // The old handle serves on.
    assert_eq!(shop.prompt(&plan).unwrap().attempt, 1);
    shop.submit(&plan, "planned").unwrap();

    let build = shop.claim("build").await;
    shop = shop
        .killed(|service| {
            // It completes while no flow waits for it.
            submit(service, &build.handle, ("built", None)).unwrap();
        })
        .await;
    let view = shop.ended(&run).await;
    assert_eq!(view.status, RunStatus::Completed);
    let result = view.result.unwrap();
    assert_eq!(
        result["plan"],
        json!({"out": "planned", "parts": {"notes": "kept"}})
    );
    assert_eq!(result["build"], "built");
    let once = [("before".to_owned(), 1), ("between".to_owned(), 1)];
    assert_eq!(shop.counter.calls(), once);
    // Nothing of it is taken up again.
    assert_eq!(shop.runs.resume().await.unwrap(), 0);
}

#[tokio::test]
async fn i10_a_call_that_was_cut_has_an_unknown_outcome_and_is_not_made_again() {
    let shop = Shop::new();
    let gate = Arc::clone(&shop.counter.gate);
    let closed = gate.lock().await;
    let run = shop.launch(&[count("cut")], &json!({}));
    shop.counter.begun().await;
    let shop = shop.killed(nothing).await;
    drop(closed);
    let result = shop.ended(&run).await.result.unwrap();
    assert_eq!(result["cut"]["status"], "unknown");
    assert_eq!(result["cut"]["error"]["code"], "OUTCOME_UNKNOWN");
    assert_eq!(shop.counter.calls(), [("cut".to_owned(), 1)]);
}

#[tokio::test]
async fn x5_closing_lets_a_call_end_and_starts_nothing_more() {
    let shop = Shop::new();
    let gate = Arc::clone(&shop.counter.gate);
    let closed = gate.lock().await;
    let run = shop.launch(&[count("one"), count("two")], &json!({}));
    shop.counter.begun().await;
    let waiting = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    shop.until(&waiting, "attempt.dispatched").await;
    tokio::join!(shop.runs.close(), async {
        tokio::task::yield_now().await;
        drop(closed);
    });
    assert_eq!(shop.counter.calls(), [("one".to_owned(), 1)]);
    let refused = json!({"blueprint": blueprint(&[], &json!({}))});
    assert_eq!(code(shop.try_launch(&me(), refused)), "CLOSED");
    assert!(!shop.has_work("plan").await);
    for open in [&run, &waiting] {
        assert_eq!(shop.view(open).status, RunStatus::Running);
    }

    let shop = shop.killed(nothing).await;
    let result = shop.ended(&run).await.result.unwrap();
    assert_eq!(result["one"]["content"], "counted one");
    assert_eq!(result["two"]["content"], "counted two");
    let once = [("one".to_owned(), 1), ("two".to_owned(), 1)];
    assert_eq!(shop.counter.calls(), once);
    shop.done("plan", "").await;
    assert_eq!(shop.ended(&waiting).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn i10_files_are_there_again_before_a_run_goes_on() {
    let shop = Shop::new();
    let agents = json!({"plan": {}, "build": {}});
    let run = shop.launch(&[ask("plan", json!("")), ask("build", json!(""))], &agents);
    let plan = shop.claim("plan").await;
    shop.stage(&plan, "plan.txt", "raw").unwrap();
    shop.submit(&plan, "planned").unwrap();
    shop.until(&run, "step.ended").await;
    shop.remove_files();
    let shop = shop.killed(nothing).await;
    assert_eq!(shop.file(&plan.task, "plan.txt"), Some("raw".to_owned()));
    let file = shop.file(&plan.task, "plan.md").unwrap();
    assert!(file.ends_with("\n\nplanned"));
}

#[tokio::test]
async fn i10_files_of_a_run_that_has_ended_are_made_again_unless_they_have_reached_the_disk() {
    for is_lost in [true, false] {
        let shop = Shop::new();
        let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
        let plan = shop.claim("plan").await;
        shop.stage(&plan, "plan.txt", "raw").unwrap();
        shop.submit(&plan, "planned").unwrap();
        assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
        let path = shop.state.path().join("worker.sqlite3");
        // A crash of the machine, as the database and the folder tell of it.
        let crash = move |_service: &Service| {
            let database = rusqlite::Connection::open(path).unwrap();
            let lose = "UPDATE runs SET files_synced = 0 WHERE ?1";
            database.execute(lose, [is_lost]).unwrap();
        };
        shop.remove_files();
        let shop = shop.killed(crash).await;
        let made = ["plan.txt", "plan.md"].map(|name| shop.file(&plan.task, name).is_some());
        assert_eq!(made, [is_lost; 2]);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn i8_i10_what_a_flow_has_taken_is_not_judged_again_at_a_start() {
    let shop = Shop::new();
    let nodes = [ask("plan", json!("")), ask("next", json!(""))];
    let launch = json!({
        "blueprint": blueprint(&nodes, &json!({"plan": {}, "next": {}})),
        "work_dir": shop.work_dir(), "check_policy": "strict",
    });
    let run = shop.try_launch(&me(), launch).unwrap();
    shop.done("plan", "taken").await;
    shop.until(&run, "step.ended").await;
    shop.remove_files();
    std::os::unix::fs::symlink("none", format!("{}/workspace", shop.work_dir())).unwrap();
    let shop = shop.killed(nothing).await;
    assert_eq!(shop.view(&run).steps[0].attempts[0].state, "completed");
    let claimed = shop.claim("next").await;
    assert_eq!(code(shop.submit(&claimed, "x")), "PROJECTION_REFUSED");
    assert_eq!(shop.ended(&run).await.status, RunStatus::Failed);
}

#[tokio::test]
async fn i10_an_expired_and_a_cancelled_run_stay_so_after_a_start() {
    let shop = Shop::new();
    let agents = json!({"plan": {"ttl_ms": 1}, "other": {}});
    let expired = shop.launch(&[ask("plan", json!(""))], &agents);
    shop.claim("plan").await;
    let before = shop.ended(&expired).await;
    let cancelled = shop.launch(&[ask("other", json!(""))], &agents);
    shop.runs.cancel(&tenant(), &cancelled).unwrap();
    let shop = shop.killed(nothing).await;
    assert_eq!(shop.view(&expired), before);
    assert_eq!(shop.view(&cancelled).status, RunStatus::Cancelled);
    assert!(!shop.has_work("other").await);
}

#[tokio::test]
async fn i10_a_plan_that_cannot_be_read_ends_its_run_and_no_other() {
    let shop = Shop::new();
    let agents = json!({"plan": {}});
    let damaged = shop.launch(&[ask("plan", json!(""))], &agents);
    let sound = shop.launch(&[ask("plan", json!(""))], &agents);
    shop.until(&sound, "attempt.dispatched").await;
    let path = shop.state.path().join("worker.sqlite3");
    let id = damaged.clone();
    let shop = shop
        .killed(move |_service| {
            let database = rusqlite::Connection::open(path).unwrap();
            let damage = "UPDATE runs SET plan = replace(plan, '\"grant\":null', '\"grant\":{}')
                WHERE id = ?1";
            assert_eq!(database.execute(damage, [id]).unwrap(), 1);
        })
        .await;
    let view = shop.ended(&damaged).await;
    assert_eq!(view.error.unwrap()["code"], "HOST_FAULT");
    assert_eq!(shop.view(&sound).status, RunStatus::Running);
}

/// How many transactions the log of a database holds: the frames that end one (the file format of
/// `SQLite`, 4.1).
fn commits(shop: &Shop) -> usize {
    let folder = tidegate_sandbox::ambient::open_folder(shop.state.path()).unwrap();
    let log = folder.read("worker.sqlite3-wal").unwrap();
    let number = |at: usize| u32::from_be_bytes(*log.get(at..).unwrap().first_chunk().unwrap());
    let frame = 24 + usize::try_from(number(8)).unwrap();
    let frames = (32..log.len()).step_by(frame);
    let of_this_log = |at: &usize| number(at + 8) == number(16) && number(at + 12) == number(20);
    let ends_one = |at: &usize| number(at + 4) != 0;
    frames.filter(of_this_log).filter(ends_one).count()
}

#[tokio::test]
async fn i10_a_step_costs_two_commits_and_one_that_is_submitted_no_more() {
    let shop = Shop::new();
    let before = commits(&shop);
    let run = shop.launch(&[count("a"), count("b"), count("c")], &json!({}));
    shop.ended(&run).await;
    let launch_and_end = 2;
    assert_eq!(commits(&shop) - before, launch_and_end + 3 * 2);

    let before = commits(&shop);
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    // Writes that come at once may share a commit.
    shop.until(&run, "attempt.dispatched").await;
    let claimed = shop.claim("plan").await;
    let (claimed_at, claim) = (commits(&shop), 1);
    shop.submit(&claimed, "x").unwrap();
    // The end of the step is kept with what comes next, or by itself a little later.
    let submitted = commits(&shop) - claimed_at;
    assert!((1..=2).contains(&submitted), "{submitted}");
    shop.ended(&run).await;
    let (start, submit) = (1, 1);
    let least = launch_and_end + start + claim + submit;
    let all = commits(&shop) - before;
    assert!((least..=least + 1).contains(&all), "{all}");
}

#[tokio::test]
async fn i10_the_journal_of_a_run_that_has_ended_is_gone() {
    let shop = Shop::new();
    let run = shop.launch(&[count("a")], &json!({}));
    shop.ended(&run).await;
    let path = shop.state.path().join("worker.sqlite3");
    let database = rusqlite::Connection::open(path).unwrap();
    let count = "SELECT count(*) FROM journal";
    let left: i64 = database.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
    let store = SqliteStore::open(shop.state.path()).unwrap();
    assert!(store.open_runs().unwrap().is_empty());
}
