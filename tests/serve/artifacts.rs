//! What was too large for an answer of a run, read over the wire by whoever may read the run (SPEC O3,
//! X7).

use serde_json::{Value, json};

use super::client::{Answer, Request};
use super::house::{As, House, one_step};
use crate::support::root;

const SIZE: usize = 3_000_001;

/// A house whose runs may call the probe, and a run that has kept an artifact: with its digest.
fn house() -> (House, String, String) {
    let probe = root().join("guests/dist/probe.wasm");
    let probe = probe.canonicalize().unwrap();
    let options = ["--plugin", probe.to_str().unwrap(), "--allow", "tool=large"];
    let house = House::with("", &options);
    let (run, references) = large(&house);
    let digest = references[0]["digest"].as_str().unwrap().to_owned();
    (house, run, digest)
}

fn large(house: &House) -> (String, Value) {
    let arguments = json!({"text": SIZE, "word": "tide é "});
    let call = json!({"id": "c", "name": "large", "arguments": arguments});
    let mut step = json!({"name": "made", "node": "INTERACTION.ACT.TOOL"});
    step["in"] = json!({ "call": call });
    let run = house.launch(&json!({
        "id": "large", "flow": {"step": step}, "result": {"$path": "$.made.references"},
        "agents": {},
    }));
    let view = house.ended(&run);
    assert_eq!(view["status"], "completed", "{view}");
    (run, view["result"].clone())
}

fn get(run: &str, digest: &str) -> Request {
    Request::get(&format!("/v1/runs/{run}/artifacts/{digest}"))
}

fn expected() -> Vec<u8> {
    let mut text = "tide é ".repeat(SIZE / "tide é ".len());
    text.push_str(&".".repeat(SIZE - text.len()));
    text.into_bytes()
}

#[test]
fn o3_an_artifact_of_a_run_is_served_whole_and_by_ranges() {
    let (house, run, digest) = house();
    let ask = |name: &str, value: &str| {
        let request = get(&run, &digest).field(name, value);
        house.ask(As::Observer, request)
    };
    let whole = house.ask(As::Observer, get(&run, &digest));
    let text = expected();
    assert!(whole.is(200, "").body == text);
    let hex = digest.strip_prefix("sha-256:").unwrap();
    assert_eq!(tidegate_engine::digest(&whole.body), hex);
    let etag = format!("\"sha256:{hex}\"");
    let field = |answer: &Answer, name: &str| answer.field(name).unwrap_or_default().to_owned();
    for (name, value) in [
        ("etag", &*etag),
        ("content-type", "text/plain"),
        ("content-length", &SIZE.to_string()),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "private, no-cache"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        (
            "content-disposition",
            &format!("attachment; filename=\"sha-256-{hex}\""),
        ),
    ] {
        assert_eq!(field(&whole, name), value, "{name}");
    }
    // Over the border of what is read at once.
    for (range, first, last) in [
        ("bytes=0-0", 0, 0),
        ("bytes=262143-262144", 262_143, 262_144),
        ("bytes=2999999-", 2_999_999, SIZE - 1),
        ("bytes=-4", SIZE - 4, SIZE - 1),
    ] {
        let part = ask("Range", range);
        assert!(part.is(206, "").body == text[first..=last], "{range}");
        let told = format!("bytes {first}-{last}/{SIZE}");
        assert_eq!(field(&part, "content-range"), told, "{range}");
        assert_eq!(field(&part, "etag"), etag, "{range}");
    }
    let beyond = ask("Range", &format!("bytes={SIZE}-"));
    beyond.is(416, "RANGE_NOT_SATISFIABLE");
    assert_eq!(field(&beyond, "content-range"), format!("bytes */{SIZE}"));
    let same = ask("If-None-Match", &etag);
    assert!(same.is(304, "").body.is_empty());
    assert_eq!(ask("If-None-Match", "\"sha256:00\"").status, 200);
    let head = get(&run, &digest).with_method("HEAD");
    let head = house.ask(As::Operator, head);
    assert_eq!(
        (head.status, &*field(&head, "content-length")),
        (200, &*SIZE.to_string())
    );
}

#[test]
fn x7_an_artifact_is_there_for_its_run_and_its_tenant_alone() {
    let (house, run, digest) = house();
    let absent = format!("sha-256:{}", "0".repeat(64));
    let upper = digest.to_uppercase();
    let other = house.launch(&one_step());
    let nothing = house.ask(As::Operator, get(&run, &absent));
    nothing.is(404, "NOT_FOUND");
    for (who, run, digest) in [
        (As::Stranger, &run, &digest),
        (As::Operator, &other, &digest),
        (As::Operator, &"R-0".to_owned(), &digest),
        (As::Operator, &run, &upper),
        (As::Operator, &run, &"sha-256:".to_owned()),
        (As::Operator, &run, &"..%2F..%2Fetc%2Fpasswd".to_owned()),
    ] {
        let answer = house.ask(who, get(run, digest));
        assert_eq!(answer.is(404, "NOT_FOUND").body, nothing.body, "{digest}");
    }
    house
        .service
        .send(&get(&run, &digest))
        .is(401, "UNAUTHORIZED");
    let worker = house.claim("planner");
    let asked = get(&other, &digest).bearer(&worker.handle);
    house.service.send(&asked).is(403, "FORBIDDEN");
    let more = get(&run, &format!("{digest}?path=x"));
    house.ask(As::Operator, more).is(400, "INVALID_REQUEST");
    // The same bytes of another run are another run's.
    let (again, references) = large(&house);
    assert_eq!(references[0]["digest"], *digest);
    house.ask(As::Operator, get(&again, &digest)).is(200, "");
    let restarted = house.restarted();
    let answer = restarted.ask(As::Operator, get(&run, &digest));
    assert!(answer.is(200, "").body == expected());
}
