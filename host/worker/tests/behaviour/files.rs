//! Files: which are written, which are not, and what follows from that.

use tidegate_worker::projection::{CheckPolicy, FrontMatter, Placement};
use tidegate_worker::service::Outcome;
use tidegate_worker::store::Launch;
use tidegate_worker::verdict::Ending;

use crate::fixture::{House, code, run, step};

fn under(check_policy: CheckPolicy) -> House {
    House::with(Launch {
        check_policy,
        ..Launch::default()
    })
}

#[test]
fn i8_a_submit_writes_the_steps_file_and_each_part_raw() {
    let house = House::new();
    let at = house.dispatch("plan");
    for name in ["plan.txt", "a..b", ".env"] {
        house.stage(&at, name, "raw\r\n").unwrap();
    }
    assert_eq!(house.file("plan.txt"), None, "written by the submit");
    house.submit(&at, "body").unwrap();
    for name in ["plan.txt", "a..b", ".env"] {
        assert_eq!(house.file(name).unwrap(), "raw\r\n", "{name}");
    }
    let document = house.file("plan.md").unwrap();
    let front = FrontMatter {
        task: "T-1".to_owned(),
        step: step("plan"),
        attempt: 1,
        ending: Ending::Pass,
    };
    assert_eq!(FrontMatter::read(&document), Some((front, "body")));
}

#[test]
fn io01_io02_an_unfit_name_keeps_its_data_and_skips_its_file_with_a_warning() {
    let house = House::new();
    let at = house.dispatch("plan");
    let names = [
        "../x",
        "a/../../x",
        "/abs",
        "a/b",
        ".",
        "..",
        "c:x",
        "a\\b",
        "README.md:stream",
        "NUL",
        "x.",
        "x ",
        "ok\r\nX-Injected: 1",
        "plan.md",
        "PLAN.MD",
    ];
    for name in names {
        let accepted = house.stage(&at, name, "text").unwrap();
        assert_eq!(accepted.warnings.len(), 1, "{name:?}");
    }
    house.submit(&at, "final").unwrap();
    let Outcome::Passed(value) = house.outcome(&at) else {
        panic!();
    };
    assert_eq!(value["parts"].as_object().unwrap().len(), names.len());
    let folder = house.root().open_dir("workspace/tasks/T-1/ctx").unwrap();
    let written: Vec<_> = folder
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(written, ["plan.md"]);
    assert!(house.file("plan.md").unwrap().ends_with("\n\nfinal"));
}

#[test]
fn io13_twins_are_kept_apart_as_data_and_only_the_first_has_a_file() {
    let house = House::new();
    let at = house.dispatch("plan");
    for (name, warnings) in [
        ("A.txt", 0),
        ("a.txt", 1),
        ("caf\u{e9}.md", 0),
        ("cafe\u{301}.md", 1),
        ("A.txt", 0),
    ] {
        let accepted = house.stage(&at, name, name).unwrap();
        assert_eq!(accepted.warnings.len(), warnings, "{name:?}");
    }
    house.submit(&at, "").unwrap();
    let Outcome::Passed(value) = house.outcome(&at) else {
        panic!();
    };
    for name in ["A.txt", "a.txt", "caf\u{e9}.md", "cafe\u{301}.md"] {
        assert_eq!(value["parts"][name], name);
    }
    assert_eq!(house.file("A.txt").unwrap(), "A.txt");
    assert_eq!(house.file("a.txt"), None);
}

#[test]
fn gap11_no_step_or_lane_writes_over_anothers_file() {
    let house = House::new();
    let (one, two) = (house.dispatch("one"), house.dispatch("two[0]"));
    for name in ["two[0].md", "One.md", "ONE.MD"] {
        assert_eq!(house.stage(&one, name, "x").unwrap().warnings.len(), 1);
    }
    assert!(
        house
            .stage(&one, "shared", "one")
            .unwrap()
            .warnings
            .is_empty()
    );
    assert_eq!(
        house.stage(&two, "shared", "two").unwrap().warnings.len(),
        1
    );
    house.submit(&one, "1").unwrap();
    house.submit(&two, "2").unwrap();
    assert_eq!(house.file("shared").unwrap(), "one");
    assert!(house.file("two[0].md").unwrap().ends_with("\n\n2"));
    // A new attempt of the step may write over its own.
    let again = house.dispatch("one");
    assert!(
        house
            .stage(&again, "shared", "new")
            .unwrap()
            .warnings
            .is_empty()
    );
    house.submit(&again, "1").unwrap();
    assert_eq!(house.file("shared").unwrap(), "new");
}

#[test]
fn gap11_a_steps_own_file_does_not_replace_what_another_step_has() {
    let house = House::new();
    let first = house.dispatch("first");
    house.stage(&first, "later.md", "a part").unwrap();
    house.submit(&first, "1").unwrap();
    let (later, twin) = (house.dispatch("later"), house.dispatch("FIRST"));
    for at in [&later, &twin] {
        let accepted = house.submit(at, "final").unwrap();
        assert_eq!(accepted.warnings.len(), 1);
        assert_eq!(house.outcome(at), Outcome::Passed("final".into()));
    }
    assert_eq!(house.file("later.md").unwrap(), "a part");
    assert!(house.file("first.md").unwrap().ends_with("\n\n1"));
    assert_eq!(house.file("FIRST.md"), None);
}

#[test]
fn i8_a_strict_policy_fails_the_step_over_a_bad_name() {
    let house = under(CheckPolicy::Strict);
    let at = house.dispatch("plan");
    house.stage(&at, "good", "x").unwrap();
    let error = house.stage(&at, "a/b", "x").unwrap_err();
    assert_eq!((error.status(), error.code()), (422, "PROJECTION_REFUSED"));
    assert!(matches!(house.outcome(&at), Outcome::Failed(_)));
    assert_eq!(code(house.submit(&at, "late")), "ATTEMPT_GONE");
    assert_eq!(house.file("good"), None);
}

#[test]
fn i8_a_silent_policy_says_nothing() {
    let house = under(CheckPolicy::Silent);
    let at = house.dispatch("plan");
    assert!(house.stage(&at, "a/b", "x").unwrap().warnings.is_empty());
    house.submit(&at, "x").unwrap();
}

#[test]
fn i8_without_a_folder_files_are_skipped_or_the_launch_is_refused() {
    let house = House::new();
    let strict = Launch {
        check_policy: CheckPolicy::Strict,
        ..Launch::default()
    };
    let refused = house.service.launch(&run("R-2", strict), None);
    assert_eq!(code(refused), "INVALID_REQUEST");
    house
        .service
        .launch(&run("R-3", Launch::default()), None)
        .unwrap();
    let at = house.dispatch_in("R-3", "plan", tidegate_worker::store::Order::default());
    assert_eq!(house.submit(&at, "x").unwrap().warnings.len(), 1);
    assert!(matches!(house.outcome(&at), Outcome::Passed(_)));
}

#[test]
fn i8_a_launch_is_checked_before_anything_is_kept() {
    let house = House::new();
    let bad_placement = Launch {
        placement: Some("../{task_id}".to_owned()),
        ..Launch::default()
    };
    let refused = house.service.launch(&run("R-2", bad_placement), None);
    assert_eq!(code(refused), "INVALID_REQUEST");
    let refused = house.service.launch(&run("..", Launch::default()), None);
    assert_eq!(code(refused), "INVALID_REQUEST");
    let twice = house.service.launch(&run("R-1", Launch::default()), None);
    assert_eq!(code(twice), "RUN_EXISTS");
    Placement::parse("x/{task_id}").unwrap();
}

#[cfg(unix)]
#[test]
fn io04_a_link_in_the_way_is_never_followed() {
    for (policy, expected) in [
        (CheckPolicy::Warn, "ok"),
        (CheckPolicy::Strict, "PROJECTION_REFUSED"),
    ] {
        let house = under(policy);
        house.root().create_dir("victim").unwrap();
        house.root().symlink("victim", "workspace").unwrap();
        let at = house.dispatch("plan");
        assert_eq!(code(house.submit(&at, "x")), expected);
        let left = house.root().open_dir("victim").unwrap();
        assert_eq!(left.entries().unwrap().count(), 0);
        let failed = matches!(house.outcome(&at), Outcome::Failed(_));
        assert_eq!(failed, policy == CheckPolicy::Strict);
    }
}

/// Puts a link where the run's files stand.
#[cfg(unix)]
fn bar(house: &House) {
    let root = house.root();
    if root.exists("workspace") {
        root.remove_dir_all("workspace").unwrap();
    }
    root.create_dir_all("victim").unwrap();
    root.symlink("victim", "workspace").unwrap();
}

#[cfg(unix)]
#[test]
fn i8_a_strict_policy_fails_a_blocked_step_over_its_file_too() {
    let house = under(CheckPolicy::Strict);
    bar(&house);
    let at = house.dispatch("plan");
    let blocked = || code(house.submit_as(&at, "no", Some("blocked")));
    assert_eq!(blocked(), "PROJECTION_REFUSED");
    assert!(matches!(house.outcome(&at), Outcome::Failed(_)));
    assert_eq!(blocked(), "ATTEMPT_GONE");
}

#[cfg(unix)]
#[test]
fn i8_i10_a_stop_between_a_submit_and_its_refusal_passes_no_step_without_its_file() {
    for (policy, fails) in [(CheckPolicy::Warn, false), (CheckPolicy::Strict, true)] {
        let house = under(policy);
        let at = house.dispatch("plan");
        house.submit(&at, "kept").unwrap();
        bar(&house);
        let house = house.started_again();
        for run in house.service.open_runs().unwrap() {
            house.service.attach(&run.id, house.root());
            assert_eq!(house.service.restore(&run).unwrap().len(), 1);
        }
        let failed = matches!(house.outcome(&at), Outcome::Failed(_));
        assert_eq!(failed, fails, "{policy:?}");
    }
}

#[test]
fn i10_files_are_made_again_from_the_store_at_start() {
    let house = House::new();
    let at = house.dispatch("plan");
    house.stage(&at, "part", "raw").unwrap();
    house.submit(&at, "old").unwrap();
    let at = house.dispatch("plan");
    house.stage(&at, "part", "raw again").unwrap();
    house.submit(&at, "new").unwrap();
    house.root().remove_dir_all("workspace").unwrap();

    let house = house.started_again();
    let open = house.service.open_runs().unwrap();
    assert_eq!(open, [run("R-1", Launch::default())]);
    for run in &open {
        house.service.attach(&run.id, house.root());
        assert!(house.service.restore(run).unwrap().is_empty());
    }
    assert_eq!(house.file("part").unwrap(), "raw again");
    assert!(house.file("plan.md").unwrap().ends_with("\n\nnew"));
    house.service.end("R-1").unwrap();
    assert!(house.service.open_runs().unwrap().is_empty());
}

#[test]
fn i10_a_folder_that_is_gone_at_start_takes_no_submit_back() {
    let house = under(CheckPolicy::Strict);
    let at = house.dispatch("plan");
    house.submit(&at, "kept").unwrap();
    let house = house.started_again();
    for run in house.service.open_runs().unwrap() {
        assert_eq!(house.service.restore(&run).unwrap().len(), 1);
    }
    assert_eq!(house.submit(&at, "kept").unwrap().warnings.len(), 1);
    assert_eq!(house.outcome(&at), Outcome::Passed("kept".into()));
}

#[test]
fn i8_that_a_run_has_no_folder_is_said_once_and_fails_each_step_under_a_strict_policy() {
    let house = under(CheckPolicy::Warn).started_again();
    let submit = |house: &House, step| house.submit(&house.dispatch(step), "x");
    let warned = |step| submit(&house, step).unwrap().warnings.len();
    assert_eq!([warned("plan"), warned("build"), warned("test")], [1, 0, 0]);
    let house = under(CheckPolicy::Strict).started_again();
    for step in ["plan", "build"] {
        assert_eq!(code(submit(&house, step)), "PROJECTION_REFUSED");
    }
}
