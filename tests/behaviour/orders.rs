//! Any graph either waits for itself and is refused, or runs each step once and in order (SPEC X4).

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate::ToolRegistry;
use tidegate::flow::FlowProblem;
use tidegate_contract::ToolOutcome;

use super::acting::{Told, acting, calling, flow_of, run_told, runtime_of};

const STEPS: usize = 7;

/// Which step comes after which, directly.
type Edges = [[bool; STEPS]; STEPS];

/// Whether a step comes after itself once every way is followed.
fn is_cyclic(mut after: Edges) -> bool {
    for middle in 0..STEPS {
        for from in 0..STEPS {
            for to in 0..STEPS {
                after[from][to] |= after[from][middle] && after[middle][to];
            }
        }
    }
    (0..STEPS).any(|at| after[at][at])
}

fn graph(after: &Edges, concurrency: usize) -> Value {
    let name = |at: usize| format!("s{at}");
    let steps: Vec<Value> = (0..STEPS)
        .map(|at| {
            let names: Vec<String> = (0..STEPS)
                .filter(|&other| after[at][other])
                .map(name)
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            calling(&name(at), "yield", &names)
        })
        .collect();
    json!({"id": "any", "flow": {"graph": steps}, "limits": {"concurrency": concurrency}})
}

/// Runs a graph of a tool that lets others go first, as often as its name says.
fn lines(after: &Edges, concurrency: usize) -> Vec<String> {
    let yielding = acting("yield", |id| {
        Box::pin(async move {
            let digits = id.trim_start_matches('s').parse::<usize>().unwrap();
            for _ in 0..(digits * 5) % STEPS {
                tokio::task::yield_now().await;
            }
            Ok(ToolOutcome::text(id))
        })
    });
    let tools = ToolRegistry::new();
    drop(tools.register(yielding).unwrap());
    let flow = flow_of(graph(after, concurrency));
    let run = async {
        let (ended, lines) = run_told(&flow, &runtime_of(&tools, None), Told::default()).await;
        ended.unwrap();
        lines
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(run)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn x4_each_step_starts_once_after_all_that_it_names(
        ways in prop::collection::vec((0..STEPS, 0..STEPS), 0..9),
        concurrency in 1..4_usize,
    ) {
        let mut after = [[false; STEPS]; STEPS];
        for (from, to) in ways {
            after[from][to] = true;
        }
        let checked = flow_of(graph(&after, concurrency)).check();
        if is_cyclic(after) {
            prop_assert!(matches!(checked, Err(FlowProblem::Cycle { .. })), "{:?}", checked);
            return Ok(());
        }
        prop_assert_eq!(checked, Ok(()));
        let lines = lines(&after, concurrency);
        prop_assert_eq!(lines.len(), 2 * STEPS);
        let at = |line: String| lines.iter().position(|told| *told == line).unwrap();
        for (step, names) in after.iter().enumerate() {
            let started = at(format!("+s{step}"));
            let ended = at(format!("-s{step}: success"));
            prop_assert!(started < ended);
            for before in (0..STEPS).filter(|&before| names[before]) {
                let ended = at(format!("-s{before}: success"));
                prop_assert!(ended < started);
            }
        }
        let mut running = 0_usize;
        for line in &lines {
            running = if line.starts_with('+') { running + 1 } else { running - 1 };
            prop_assert!(running <= concurrency);
        }
    }
}
