//! `artifacts`: how much is kept of what is too large for an answer, and where (SPEC O3).

use anyhow::Context as _;
use serde::Deserialize;
use tidegate::{ArtifactBounds, Artifacts};
use tidegate_contract::{ExternalResult, Value};
use tidegate_sandbox::ambient;

use crate::print;

/// The folder of the store in the user's state folder.
const FOLDER: &str = "artifacts";

/// The tool that reads them, which no plugin defines.
pub(crate) const TOOL: &str = "read_artifact";

/// `artifacts`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ArtifactSettings {
    pub(crate) total_bytes: Option<u64>,
    pub(crate) tenant_bytes: Option<u64>,
    pub(crate) age_ms: Option<u64>,
    pub(crate) keep_ms: Option<u64>,
}

impl ArtifactSettings {
    /// The bounds of the store; what is not set has its default.
    ///
    /// # Errors
    ///
    /// A bound out of its range.
    pub(crate) fn bounds(&self) -> anyhow::Result<ArtifactBounds> {
        let usual = ArtifactBounds::default();
        let bounds = ArtifactBounds {
            total_bytes: self.total_bytes.unwrap_or(usual.total_bytes),
            tenant_bytes: self.tenant_bytes.unwrap_or(usual.tenant_bytes),
            age_ms: self.age_ms.unwrap_or(usual.age_ms),
            keep_ms: self.keep_ms.unwrap_or(usual.keep_ms),
        };
        bounds.check().context("artifacts")?;
        Ok(bounds)
    }

    /// Opens the user's store; `None` where there is no folder for it, or none that can be trusted.
    ///
    /// # Errors
    ///
    /// A bound out of its range.
    pub(crate) fn open(&self) -> anyhow::Result<Option<Artifacts>> {
        let bounds = self.bounds()?;
        let Some(folder) = ambient::user_state_folder() else {
            return Ok(None);
        };
        let opened = Artifacts::open(&folder.join(FOLDER), bounds);
        Ok(opened
            .inspect_err(|error| tracing::warn!(%error, "results over their bound are not kept"))
            .ok())
    }

    /// The first key that is set, for a file that may set none.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let keys = [
            self.total_bytes,
            self.tenant_bytes,
            self.age_ms,
            self.keep_ms,
        ];
        let mut rows = ArtifactBounds::SPECS.iter().zip(keys);
        rows.find_map(|(spec, value)| value.map(|_set| spec.name))
    }
}

/// Says on stderr what of a result is not in it, and how to read the whole.
pub(crate) fn tell(result: &ExternalResult) {
    let omitted = result.metadata.as_ref();
    let omitted = omitted.and_then(|metadata| metadata.get("omitted"));
    for (field, said) in omitted.and_then(Value::as_object).into_iter().flatten() {
        let (bytes, uri) = (said["omittedBytes"].as_u64(), said["uri"].as_str());
        if let (Some(bytes), Some(uri)) = (bytes, uri) {
            print::warning(&format!(
                "{field} is longer by {bytes} bytes; read it with: tidegate call {TOOL} \
                 '{{\"uri\":\"{uri}\"}}' --allow tool={TOOL}"
            ));
        }
    }
}
