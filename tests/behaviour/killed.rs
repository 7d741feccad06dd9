//! Any small flow survives being killed anywhere: the flows are made up by a fixed seed (SPEC I10, I11).

use serde_json::{Value, json};

use super::acting::flow_of;
use super::agents::asking;
use super::durable::survives;
use crate::differential::random::Random;

/// A small flow of any shape; `room` is how much may still be nested.
fn any_node(random: &mut Random, name: &mut u32, room: u32) -> Value {
    *name += 1;
    let own = format!("n{name}");
    let agent = random.of(&["echo", "echo", "echo", "skip", "block", "fail"]);
    let step = asking(&own, agent, &json!({"wait": random.below(4), "name": own}));
    if room == 0 {
        return step;
    }
    let body = |random: &mut Random, name: &mut u32| any_node(random, name, room - 1);
    match random.below(7) {
        0 => step,
        1 => json!({"seq": [body(random, name), body(random, name)]}),
        2 => {
            let steps = (0..3).map(|at| {
                let agent = random.of(&["echo", "skip", "fail"]);
                let input = json!({"wait": random.below(4)});
                let mut step = asking(&format!("{own}_{at}"), agent, &input)["step"].clone();
                if at == 2 {
                    step["after"] = json!([format!("{own}_0")]);
                }
                step
            });
            json!({"graph": steps.collect::<Vec<Value>>()})
        }
        3 => json!({"loop": {
            "name": own, "state": 0, "body": body(random, name),
            "update": {"$add": [{"$path": format!("$.{own}")}, 1]},
            "done": {"$gte": [{"$path": format!("$.{own}")}, 2]},
        }}),
        4 => {
            let join = random.of(&["all", "any", "race", "all_settled"]);
            let item = format!("{own}_i");
            // Unless it was kept already which lane was the first, another one may be after a restart.
            // So those that race have one step each, and take their time by their items.
            let body = if ["any", "race"].contains(&join) {
                let at = json!({ "$path": format!("$.{item}") });
                let waits = random.of(&["$mul", "$sub"]);
                asking(
                    &own,
                    agent,
                    &json!({"wait": {waits: [random.of(&[6, 9]), at]}}),
                )
            } else {
                body(random, name)
            };
            json!({"fanout": {
                "name": own, "items": [0, 1, 2], "bind": item, "join": join,
                "max_items": 4, "concurrency": 1 + random.below(3), "body": body,
            }})
        }
        5 => json!({"try": {
            "body": body(random, name), "catch": {"as": format!("{own}_e"), "body": body(random, name)},
        }}),
        _ => json!({"branch": {
            "cond": {"$exists": "$.n2"}, "then": body(random, name), "else": body(random, name),
        }}),
    }
}

#[tokio::test]
async fn i11_any_small_flow_survives_being_killed_anywhere() {
    let mut random = Random::new(11);
    let (mut passed, mut failed) = (0, 0);
    for _ in 0..60 {
        let flow = any_node(&mut random, &mut 0, 3);
        let flow = flow_of(json!({"id": "any", "flow": flow}));
        match survives(&flow).await {
            Ok(_) => passed += 1,
            Err(_) => failed += 1,
        }
    }
    assert!(
        passed > 10 && failed > 10,
        "{passed} passed, {failed} failed"
    );
}
