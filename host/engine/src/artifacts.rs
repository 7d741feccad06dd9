//! `artifacts.put`: what a plugin keeps beside its answer (SPEC O3), within the bounds of its call.
//!
//! Deliberately absent: keeping an answer that is too large. That is done once for all kinds of tools,
//! by whoever checks their outcomes.

use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;
use tidegate_contract::limits::Limits;
use tidegate_sandbox::artifacts::{ArtifactError, Kept, Shelf};

use crate::bindings::tidegate::plugin::{artifacts, types};
use crate::imports::public;
use crate::saturating::to_u64;
use crate::secrets;
use crate::store::CallState;

/// Most artifacts of one call: enough for its work, too few to fill a store with crumbs.
const PUTS: u32 = 1_000;

/// What one call may still keep, and where.
pub(crate) struct Keeping {
    /// The store as its caller sees it; `None` where this host keeps nothing.
    pub(crate) shelf: Option<Shelf>,
    left_puts: u32,
    left_bytes: u64,
    /// The largest result that is taken from the guest to be kept; `None` where a result over
    /// `result_bytes` is lost.
    pub(crate) result_bytes: Option<u64>,
}

impl Keeping {
    pub(crate) fn nothing(limits: &Limits) -> Self {
        Self::on(None, limits)
    }

    /// For a call whose result is the guest's last word: a receipt, a value.
    pub(crate) fn on(shelf: Option<Shelf>, limits: &Limits) -> Self {
        Self {
            shelf,
            left_puts: PUTS,
            left_bytes: limits.artifact_bytes,
            result_bytes: None,
        }
    }

    /// For a call whose result is kept where it is too large.
    pub(crate) fn with_result(shelf: Option<Shelf>, limits: &Limits) -> Self {
        let keeps = shelf.is_some() && limits.artifact_bytes > limits.result_bytes;
        let result_bytes = keeps.then_some(limits.artifact_bytes);
        Self {
            result_bytes,
            ..Self::on(shelf, limits)
        }
    }
}

impl artifacts::Host for CallState {
    fn put(
        &mut self,
        media_type: String,
        content: Vec<u8>,
    ) -> wasmtime::Result<Result<types::Reference, types::Failure>> {
        let kept = self.keep(&media_type, &content);
        let reference = kept.map(|kept| types::Reference {
            uri: kept.uri,
            media_type: Some(media_type),
            digest: Some(kept.digest),
        });
        Ok(reference.map_err(|failure| public(&failure)))
    }
}

impl CallState {
    fn keep(&mut self, media_type: &str, content: &[u8]) -> Result<Kept, Failure> {
        let Some(shelf) = &self.keeping.shelf else {
            let message = "this host keeps no artifacts".to_owned();
            return Err(host_failure("ARTIFACTS_UNAVAILABLE", message));
        };
        if secrets::is_in_bytes(&self.setup.handles.secrets, content) {
            let message = "the artifact holds a secret".to_owned();
            return Err(host_failure("SECRET_IN_RESULT", message));
        }
        let full = |message| host_failure("ARTIFACTS_FULL", message);
        let left_bytes = self.keeping.left_bytes.checked_sub(to_u64(content.len()));
        let left_bytes = left_bytes.ok_or_else(|| {
            let limit = self.setup.limits.artifact_bytes;
            full(format!("the call kept more than artifact_bytes = {limit}"))
        })?;
        let left_puts = self.keeping.left_puts.checked_sub(1);
        let left_puts =
            left_puts.ok_or_else(|| full(format!("the call kept more than {PUTS} artifacts")))?;
        // Also a put that fails has its cost.
        self.keeping.left_bytes = left_bytes;
        self.keeping.left_puts = left_puts;
        shelf.put(media_type, content).map_err(|error| {
            if let ArtifactError::Failed { step, source } = &error {
                let plugin = &*self.setup.plugin;
                tracing::error!(plugin, step, %source, "an artifact was not kept");
            }
            error.to_failure()
        })
    }
}
