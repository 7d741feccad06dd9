//! How much the store keeps and for how long: names, defaults and ranges.

/// What the store keeps at most. Default: the table's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactBounds {
    /// Bytes in all. An entry below 4 KiB counts as 4 KiB: that is what a file takes.
    pub total_bytes: u64,
    /// Bytes of one tenant, counted alike.
    pub tenant_bytes: u64,
    /// How old an entry can become.
    pub age_ms: u64,
    /// How long an entry does not make way for a newer one.
    pub keep_ms: u64,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundSpec {
    /// The name, the same in the config file and as the Rust field.
    pub name: &'static str,
    /// What holds when nothing is said.
    pub default: u64,
    /// The smallest value.
    pub minimum: u64,
    /// The largest value.
    pub maximum: u64,
}

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;
const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// A bound that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} must be from {} to {}, not {value}", spec.name, spec.minimum, spec.maximum)]
pub struct ArtifactBoundError {
    /// The bound.
    pub spec: BoundSpec,
    /// The value that was refused.
    pub value: u64,
}

impl ArtifactBounds {
    /// Every bound, in the order of the fields.
    pub const SPECS: [BoundSpec; 4] = [
        BoundSpec {
            name: "total_bytes",
            default: GIB,
            minimum: 1,
            maximum: 1024 * GIB,
        },
        BoundSpec {
            name: "tenant_bytes",
            default: 256 * MIB,
            minimum: 1,
            maximum: 1024 * GIB,
        },
        BoundSpec {
            name: "age_ms",
            default: 7 * DAY_MS,
            minimum: 1,
            maximum: 365 * DAY_MS,
        },
        BoundSpec {
            name: "keep_ms",
            default: 10 * MINUTE_MS,
            minimum: 0,
            maximum: DAY_MS,
        },
    ];

    /// Checks that each is in its range.
    ///
    /// # Errors
    ///
    /// The first that is not.
    pub fn check(&self) -> Result<(), ArtifactBoundError> {
        let values = [
            self.total_bytes,
            self.tenant_bytes,
            self.age_ms,
            self.keep_ms,
        ];
        let mut rows = Self::SPECS.into_iter().zip(values);
        let wrong = rows.find(|(spec, value)| !(spec.minimum..=spec.maximum).contains(value));
        match wrong {
            None => Ok(()),
            Some((spec, value)) => Err(ArtifactBoundError { spec, value }),
        }
    }
}

impl Default for ArtifactBounds {
    fn default() -> Self {
        let [total, tenant, age, keep] = Self::SPECS;
        Self {
            total_bytes: total.default,
            tenant_bytes: tenant.default,
            age_ms: age.default,
            keep_ms: keep.default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o3_each_bound_has_a_range_and_names_itself() {
        ArtifactBounds::default().check().unwrap();
        let set = |at: usize, value| {
            let mut bounds = ArtifactBounds::default();
            let fields = [
                &mut bounds.total_bytes,
                &mut bounds.tenant_bytes,
                &mut bounds.age_ms,
                &mut bounds.keep_ms,
            ];
            *fields.into_iter().nth(at).unwrap() = value;
            bounds.check()
        };
        for (at, spec) in ArtifactBounds::SPECS.into_iter().enumerate() {
            for fits in [
                spec.minimum,
                spec.minimum + 1,
                spec.maximum - 1,
                spec.maximum,
            ] {
                set(at, fits).unwrap();
            }
            let over = set(at, spec.maximum + 1).unwrap_err().to_string();
            assert!(over.starts_with(spec.name), "{over}");
            if let Some(under) = spec.minimum.checked_sub(1) {
                set(at, under).unwrap_err();
            }
        }
    }
}
