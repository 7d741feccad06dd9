//! An executor of the embedder's own: the port is asked once for what is granted and what it has, and
//! what it gives stays within the bounds of the run, whatever it is (SPEC S4, R4, R5).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use tidegate::command::{CommandExecutor, CommandOutput, CommandRun, Surroundings};
use tidegate::{CommandError, Executor, Runtime};

use crate::support::{Fixture, ask, commands};

type Answer = fn(&CommandRun, &Surroundings<'_>) -> Result<CommandOutput, CommandError>;

/// Has `cat` and nothing else, and answers by a function.
#[derive(Debug)]
struct Own {
    answer: Answer,
    asked: AtomicU32,
}

impl CommandExecutor for Own {
    fn has(&self, command: &str) -> bool {
        command == "cat"
    }

    fn run(
        &self,
        run: &CommandRun,
        around: &Surroundings<'_>,
    ) -> Result<CommandOutput, CommandError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        (self.answer)(run, around)
    }
}

fn over(fixture: &Fixture, answer: Answer) -> (Runtime, Arc<Own>) {
    let asked = AtomicU32::new(0);
    let own = Arc::new(Own { answer, asked });
    let port: Arc<dyn CommandExecutor> = Arc::<Own>::clone(&own);
    (fixture.tools_over(Executor::Own(port)), own)
}

#[test]
fn s4_an_executor_of_the_embedder_is_given_the_run_and_what_it_may_reach() {
    let fixture = commands();
    let (tools, own) = over(&fixture, |run, around| {
        assert_eq!((run.command.as_str(), run.args.len()), ("cat", 2));
        assert_eq!(around.readable.len(), 1);
        assert!(around.environment.is_empty() && !(around.cancelled)());
        Ok(CommandOutput {
            exit_code: 3,
            stdout: run.args.join(" ").into_bytes(),
            stderr: b"said\n".to_vec(),
            ..CommandOutput::default()
        })
    });
    let answer = ask(&tools, "cat", json!({"path": "f"})).unwrap();
    answer.is(3, "-- f", "said\n");
    assert_eq!(answer.code, "COMMAND_EXIT_NONZERO");
    assert_eq!(own.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn r4_an_executor_of_the_embedder_passes_no_bound() {
    let mut fixture = commands();
    fixture.set("max_output_bytes", 10);
    fixture.set("max_error_bytes", 4);
    let (tools, _) = over(&fixture, |_, _| {
        Ok(CommandOutput {
            stdout: "é".repeat(1_000).into_bytes(),
            stderr: b"123456789".to_vec(),
            stdout_omitted: 7,
            ..CommandOutput::default()
        })
    });
    let answer = ask(&tools, "cat", json!({"path": "f"})).unwrap();
    answer.is(0, "ééééé", "1234");
    assert_eq!(*answer.field("stdoutOmittedBytes"), json!(1_997));
    assert_eq!(*answer.field("stderrOmittedBytes"), json!(5));
}

#[test]
fn s4_an_executor_of_the_embedder_is_asked_for_nothing_else() {
    let not_reached: Answer = |_, _| panic!("nothing may run");
    let granted = commands();
    let (tools, own) = over(&granted, not_reached);
    let error = ask(&tools, "wc", json!({"path": "f"})).unwrap_err();
    assert_eq!(error.code(), "PERMISSION_DENIED", "{error}");
    let unreadable = Fixture::new(&["execute=*"]);
    let (tools, other) = over(&unreadable, not_reached);
    let error = ask(&tools, "cat", json!({"path": "f"})).unwrap_err();
    assert_eq!(error.code(), "PERMISSION_DENIED", "{error}");
    for own in [own, other] {
        assert_eq!(own.asked.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn r5_what_an_executor_of_the_embedder_could_not_do_ends_the_call() {
    let fixture = commands();
    let cases: [(Answer, &str, &str); 3] = [
        (
            |_, _| {
                Err(CommandError::Fault {
                    step: "reach the other machine",
                    source: io::Error::other("down"),
                })
            },
            "",
            "EXECUTOR_FAULT",
        ),
        (
            |_, _| Err(CommandError::Deadline),
            "timeout",
            "LIMIT_DEADLINE",
        ),
        (
            |_, _| Err(CommandError::Cancelled),
            "cancelled",
            "CANCELLED",
        ),
    ];
    for (answer, status, code) in cases {
        let (tools, own) = over(&fixture, answer);
        match ask(&tools, "cat", json!({"path": "f"})) {
            Ok(ended) => assert_eq!((&*ended.status, &*ended.code), (status, code)),
            Err(error) => assert_eq!(("", error.code()), (status, code), "{error}"),
        }
        assert_eq!(own.asked.load(Ordering::Relaxed), 1);
    }
}
