//! The command tools beside GNU's: the same arguments have to give the same output (SPEC R6).
//!
//! What differs on purpose is listed in `docs/commands.md`. It is left out of the random cases, and
//! each point has a test of its own in `exceptions`.

mod cases;
mod exceptions;
mod gnu;
pub(crate) mod random;
mod tree;

use cases::Case;
use random::Random;

use crate::support::{Answer, ask, wide_commands};

/// Random cases of one run in CI; [`CASES_VARIABLE`] asks for more.
const CASES: usize = 300;

/// How many random cases to try; 5,000 are worth it after a change to a command.
const CASES_VARIABLE: &str = "TIDEGATE_DIFFERENTIAL_CASES";

/// Which random cases to try; each failure says which they were.
const SEED_VARIABLE: &str = "TIDEGATE_DIFFERENTIAL_SEED";

/// The most cases that a failure shows.
const SHOWN: usize = 8;

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| {
        let read = text.parse();
        read.unwrap_or_else(|error| panic!("{variable}={text}: {error}"))
    })
}

#[test]
fn r6_output_errors_and_exit_codes_are_gnus() {
    gnu::is_installed();
    let seed = number(SEED_VARIABLE, 1);
    let mut random = Random::new(seed);
    let fixture = wide_commands();
    tree::plant(&fixture);
    let tools = fixture.tools();
    let mut failed = Vec::new();
    for round in 0..number(CASES_VARIABLE, CASES) {
        let case = Case::random(&mut random);
        let differences = match ask(&tools, case.tool, case.arguments.clone()) {
            Ok(ours) => differences(&case, &ours, &gnu::run(&case, fixture.workspace.path())),
            Err(error) => vec![error.to_string()],
        };
        if !differences.is_empty() {
            failed.push(format!(
                "case {round}: {case:?}\n{}",
                differences.join("\n")
            ));
        }
    }
    let shown = failed.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    let (count, shown) = (failed.len(), shown.join("\n"));
    assert!(
        failed.is_empty(),
        "{count} cases of {SEED_VARIABLE}={seed} differ\n{shown}"
    );
}

/// Every way in which the two are not the same.
fn differences(case: &Case, ours: &Answer, gnus: &gnu::Ended) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, ours: String, gnus: String| {
        if ours != gnus {
            found.push(format!("{what}: ours {ours:.400}, GNU's {gnus:.400}"));
        }
    };
    let args = ours.field("args").to_string();
    compare("args", args, serde_json::json!(case.args).to_string());
    compare(
        "exit code",
        format!("{:?}", ours.exit),
        format!("{:?}", Some(gnus.exit)),
    );
    let is_success = gnus.exit == 0;
    compare(
        "success",
        (ours.status == "success").to_string(),
        is_success.to_string(),
    );
    compare("cut", ours.truncated.to_string(), false.to_string());
    let (ours_out, gnus_out) = (
        gnu::comparable(case.tool, &ours.stdout),
        gnu::comparable(case.tool, &gnus.stdout),
    );
    if ours_out != gnus_out {
        found.push(first_difference(&ours_out, &gnus_out));
    }
    if ours.stderr.is_empty() != gnus.stderr.is_empty() {
        let (ours, gnus) = (&ours.stderr, &gnus.stderr);
        found.push(format!("errors: ours {ours:?}, GNU's {gnus:?}"));
    }
    found
}

/// Where two outputs part, without all that is equal.
fn first_difference(ours: &[String], gnus: &[String]) -> String {
    let pairs = ours.iter().zip(gnus);
    let equal = pairs.take_while(|(ours, gnus)| ours == gnus).count();
    let line = |of: &[String]| {
        of.get(equal)
            .map_or("nothing".to_owned(), |line| format!("{line:.400?}"))
    };
    format!(
        "line {}: ours {}, GNU's {}",
        equal + 1,
        line(ours),
        line(gnus)
    )
}

#[test]
fn the_comparison_can_fail() {
    gnu::is_installed();
    let fixture = wide_commands();
    fixture.write("a", "one\ntwo");
    let tools = fixture.tools();
    let case = |tool, path: &str| Case::of_path(tool, &[], path);
    let ours = ask(&tools, "cat", serde_json::json!({"path": "a"})).unwrap();
    let same = gnu::run(&case("cat", "a"), fixture.workspace.path());
    assert_eq!(differences(&case("cat", "a"), &ours, &same), [""; 0]);
    fixture.write("a", "one\ntwo\n");
    let newline = gnu::run(&case("cat", "a"), fixture.workspace.path());
    let missing = gnu::run(&case("cat", "b"), fixture.workspace.path());
    assert_eq!(differences(&case("cat", "a"), &ours, &newline).len(), 1);
    assert_eq!(
        differences(&case("cat", "b"), &ours, &missing).len(),
        5,
        "args, exit code, success, output, errors"
    );
}
