//! The worker: its value is true, or it answers wrongly.

use crate::answer::{failure, spin};
use crate::bindings::exports::tidegate::plugin::worker::{Guest, Invocation};
use crate::bindings::tidegate::plugin::parts;
use crate::bindings::tidegate::plugin::types::Failure;
use crate::{Broken, fault, trap};

impl Guest for Broken {
    fn run(_invocation: Invocation) -> Result<String, Failure> {
        match fault::name() {
            "worker_traps" => trap(),
            "worker_spins" => spin(),
            "worker_no_json" => return Ok("done".to_owned()),
            "worker_error_path" => return Err(failure("LOST", "can't open /tmp/plan.md")),
            "worker_part" => stage("../plan.md", b"plan"),
            "worker_part_bytes" => stage("plan.md", b"\xff\xfe"),
            _ => stage("plan.md", b"plan"),
        }
        Ok("true".to_owned())
    }
}

fn stage(name: &str, content: &[u8]) {
    match parts::stage(name, content) {
        // A worker that does not look whether the part was taken.
        Ok(()) | Err(_) => {}
    }
}
