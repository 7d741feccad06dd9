//! `file_status`: asks the host for what WASI does not tell of a path.

use serde_json::json;

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::file_status;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match file_status::get(arguments.text("path", ""), arguments.flag("follow")) {
        Ok(status) => {
            let details = json!({
                "mode": status.mode,
                "uid": status.uid,
                "gid": status.gid,
                "device": status.device,
                "inode": status.inode,
                "links": status.links,
                "sizeBytes": status.size_bytes,
                "blocks": status.blocks,
                "blockSizeBytes": status.block_size_bytes,
                "accessedNs": status.accessed_ns,
                "modifiedNs": status.modified_ns,
                "changedNs": status.changed_ns,
            });
            outcome::detailed("ok", &details)
        }
        Err(failure) => outcome::refused(&failure),
    }
}
