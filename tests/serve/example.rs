//! The example of a worker in another process, as the documents show it.

use std::fs;
use std::process::Command;

use super::service::Service;
use crate::support::root;

#[test]
fn i1_the_example_of_an_external_worker_runs_to_its_end() {
    let work = tempfile::TempDir::new().unwrap();
    let work_dir = work.path().canonicalize().unwrap();
    let work_dir = work_dir.to_str().unwrap();
    let service = Service::start(&["--work-root", work_dir]);
    let output = Command::new("/bin/sh")
        .arg(root().join("examples/external-worker/run.sh"))
        .arg(format!("http://{}", service.address))
        .arg(service.state.path().join("operator.token"))
        .arg(work_dir)
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{stdout}{stderr}{}",
        service.said()
    );
    assert!(
        stdout.contains("The goal: write a page for each of two readers"),
        "{stdout}"
    );
    let last = stdout.lines().last().unwrap();
    let end: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(end["status"], "completed");
    let pages = end["result"].as_array().unwrap();
    assert_eq!(pages.len(), 2, "{end}");
    let tasks = work.path().join("workspace/tasks");
    let task = fs::read_dir(tasks).unwrap().next().unwrap().unwrap().path();
    let plan = fs::read_to_string(task.join("ctx/plan.md")).unwrap();
    assert_eq!(
        plan,
        "# Plan\n\nThe goal: write a page for each of two readers\n"
    );
}
