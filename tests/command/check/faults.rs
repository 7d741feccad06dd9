//! One component with one fault after the other planted in its bytes, and the rule that finds each.

use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use super::{checked, rules};
use crate::support::guest;

/// What stands before a fault's name in the component `broken`, and how much room the name has.
const MARK: &[u8] = b"planted-fault:";
const NAME_BYTES: usize = 26;

/// Faults by the name that the component knows them by, and the rule that finds each.
pub(super) const FAULTS: [(&str, &str); 67] = [
    // What it says of its tool.
    ("definitions_trap", "definitions-unusable"),
    ("name_with_space", "definitions-unusable"),
    ("name_twice", "definitions-unusable"),
    ("schema_no_json", "definitions-unusable"),
    ("schema_list", "definitions-unusable"),
    ("description_too_long", "definitions-unusable"),
    ("definitions_random", "definitions-differ"),
    ("no_tools", "no-tools"),
    ("name_taken", "name-taken"),
    ("description_missing", "description-missing"),
    ("description_hidden", "description-hidden"),
    ("schema_wrong_type", "schema-invalid"),
    ("schema_remote", "schema-invalid"),
    ("output_schema_remote", "schema-invalid"),
    ("schema_takes_no_object", "schema-takes-no-object"),
    ("schema_contradicts", "schema-contradicts"),
    ("schema_bad_example", "schema-example"),
    ("schema_unbounded", "schema-unbounded"),
    ("schema_open", "schema-open"),
    ("effect_impossible", "effect-impossible"),
    // What it refuses.
    ("refuses_all", "validate-refuses-valid"),
    ("refuses_silently", "refusal-without-problem"),
    ("refuses_blankly", "refusal-reason"),
    ("refuses_with_path", "refusal-reason"),
    ("refuses_nowhere", "refusal-pointer"),
    ("takes_anything", "validate-takes-invalid"),
    ("validate_traps", "traps"),
    // What it answers.
    ("traps", "traps"),
    ("exits", "traps"),
    ("traps_on_invalid", "traps-on-invalid"),
    ("success_empty", "result-empty"),
    ("success_with_error", "result-invalid"),
    ("failed_without_error", "error-missing"),
    ("error_path", "error-unfit"),
    ("error_secret", "error-unfit"),
    ("error_lines", "error-unfit"),
    ("error_blank", "error-unfit"),
    ("error_long", "error-unfit"),
    ("error_code", "error-unfit"),
    ("error_reserved", "error-code-reserved"),
    ("structured_no_json", "result-invalid"),
    ("metadata_list", "result-invalid"),
    ("reference_blank", "result-invalid"),
    ("structured_off_schema", "result-schema"),
    ("structured_missing", "result-schema"),
    ("answers_random", "answers-differ"),
    ("ends_by_call", "ends-differ"),
    ("needs_definitions", "never-succeeds"),
    // What it uses.
    ("spins", "limit-passed"),
    ("sleeps", "limit-passed"),
    ("grows", "limit-passed"),
    ("floods", "limit-passed"),
    ("copes_badly", "small-limits"),
    ("runs_undeclared", "effect-undeclared"),
    ("prints_much", "output-dropped"),
    ("goes_back", "progress-goes-back"),
    // Its sink and its worker.
    ("sink_traps", "traps"),
    ("receipt_other_id", "receipt-invalid"),
    ("receipt_artifact", "receipt-invalid"),
    ("receipt_silent", "error-missing"),
    ("receipt_error_path", "error-unfit"),
    ("sink_refuses", "never-succeeds"),
    ("worker_traps", "traps"),
    ("worker_spins", "limit-passed"),
    ("worker_no_json", "result-invalid"),
    ("worker_part", "part-unfit"),
    ("worker_part_bytes", "part-unfit"),
];

/// The component with a fault planted, as a file.
pub(super) fn planted(folder: &TempDir, fault: &str) -> String {
    let mut component = guest("broken");
    let is_mark = |window: &[u8]| window == MARK;
    let at = component.windows(MARK.len()).position(is_mark).unwrap();
    let again = component.windows(MARK.len()).skip(at + 1).any(is_mark);
    assert!(!again, "the mark stands in one place");
    let name = at + MARK.len()..at + MARK.len() + NAME_BYTES;
    assert_eq!(
        &component[name.clone()],
        format!("{:.<26}", "none").as_bytes()
    );
    component[name].copy_from_slice(format!("{fault:.<26}").as_bytes());
    let path = folder.path().join(format!("{fault}.wasm"));
    fs::write(&path, component).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The component whose tool fails with a code of its own, of ten characters.
pub(super) fn failing_with(folder: &TempDir, code: &str) -> String {
    let path = planted(folder, "error_reserved");
    let mut component = fs::read(&path).unwrap();
    let (was, is) = (b"QUEUE_FULL", code.as_bytes());
    assert_eq!(was.len(), is.len());
    let places: Vec<usize> = (0..component.len() - was.len())
        .filter(|at| component[*at..].starts_with(was))
        .collect();
    assert!(!places.is_empty(), "the code stands in the component");
    for at in places {
        component[at..at + was.len()].copy_from_slice(is);
    }
    fs::write(&path, component).unwrap();
    path
}

/// Checks every fault of one half of the table: two tests share the work of compiling them.
fn check_half(half: usize) {
    let folder = TempDir::new().unwrap();
    for (fault, expected) in FAULTS.iter().skip(half).step_by(2) {
        let component = planted(&folder, fault);
        let output = checked(&[
            &component,
            "--json",
            "--limit",
            "cpu_ms=500",
            "--limit",
            "deadline_ms=3000",
        ]);
        let report = output.json();
        let errors = rules(&report, "error");
        let others = rules(&report, "warning")
            .into_iter()
            .chain(rules(&report, "note"));
        if others.into_iter().any(|rule| rule == *expected) {
            assert_eq!((errors.len(), output.exit), (0, 0), "{fault}: {report}");
        } else {
            let only = BTreeSet::from([(*expected).to_owned()]);
            // A validate that always traps does so for bad arguments too.
            let errors: BTreeSet<String> = errors
                .into_iter()
                .filter(|rule| *fault != "validate_traps" || rule != "traps-on-invalid")
                .collect();
            assert_eq!(errors, only, "{fault}: {report}");
            assert_eq!(output.exit, 1, "{fault}");
        }
    }
}

#[test]
fn p3_check_finds_each_planted_fault_and_no_other_error_first_half() {
    check_half(0);
}

#[test]
fn p3_check_finds_each_planted_fault_and_no_other_error_second_half() {
    check_half(1);
}
