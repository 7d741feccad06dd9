//! The questions of GAP 1 to 12 as the comparison asks them, answered by the service. The thirteenth,
//! which takes ten seconds of computing, is asked of the crate.

use std::process::Command;

use super::service::Service;
use crate::support::root;

#[test]
fn gap1_to_gap12_every_question_of_the_comparison_is_answered_with_yes() {
    let work = tempfile::TempDir::new().unwrap();
    let work = work.path().canonicalize().unwrap();
    let service = Service::start(&["--work-root", work.to_str().unwrap()]);
    let output = Command::new("python3")
        .arg("-B")
        .arg(root().join("tests/probes/gaps.py"))
        .args([&format!("http://{}", service.address), "tidegate"])
        .args(["--only", "1,2,3,4,5,6,7,8,9,10,11,12", "--token"])
        .arg(service.state.path().join("operator.token"))
        .arg("--work")
        .arg(&work)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{stderr}");
    let answers: Vec<&str> = said.lines().collect();
    assert_eq!(answers.len(), 12, "{said}{stderr}");
    for answer in answers {
        assert_eq!(answer.split(" | ").nth(2), Some("yes"), "{answer}");
    }
}
