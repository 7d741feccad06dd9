//! How much one run of a flow may use: the key `limits` of a flow file.

use serde::Deserialize;
use thiserror::Error;

const MIB: usize = 1024 * 1024;

/// The highest `max_iterations` of a loop, and of nested loops multiplied.
pub const MAX_ITERATIONS: u32 = 10_000;

/// What `max_iterations` is when nothing is said.
pub(super) fn default_iterations() -> u32 {
    32
}

/// The highest `max_items` of a fanout, and of nested fanouts multiplied.
pub const MAX_LANES: u32 = 10_000;

/// How often a node may run in all loops and fanouts around it together.
pub const MAX_EVALUATIONS: u32 = 100_000;

/// The entries of assignments, the names in `after` and the parts of expressions in one flow.
pub const MAX_PARTS: usize = 20_000;

/// What `max_items` is when nothing is said.
pub(super) fn default_lanes() -> u32 {
    1_000
}

/// Bounds of one run. Each has a default and a hard maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowLimits {
    /// Nodes of the flow, steps among them. Default 256.
    pub nodes: usize,
    /// Bytes that one expression copies out of the context, and bytes of the outputs of one fanout
    /// together. Default 32 MiB, more than any node takes.
    pub gathered_bytes: usize,
    /// Bytes of JSON that one run holds at once: its context, what lanes and `try` write over it, and
    /// the items, inputs and outputs that wait. Default 64 MiB.
    pub context_bytes: usize,
    /// Steps of one graph, and lanes of a fanout that says nothing else, that run at once. Default 8.
    /// The others wait in the flow, where no deadline runs yet and no place of the runtime's queue is
    /// taken.
    pub concurrency: usize,
}

impl Default for FlowLimits {
    fn default() -> Self {
        Self {
            nodes: 256,
            gathered_bytes: 32 * MIB,
            context_bytes: 64 * MIB,
            concurrency: 8,
        }
    }
}

/// A limit is outside what can be set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("limits.{name} must be from 1 to {maximum}, not {value}")]
pub struct FlowLimitError {
    /// The limit.
    pub name: &'static str,
    /// What was set.
    pub value: usize,
    /// The largest value.
    pub maximum: usize,
}

impl FlowLimits {
    /// The most that can be set.
    pub const MAXIMUM: Self = Self {
        nodes: 1024,
        gathered_bytes: 64 * MIB,
        context_bytes: 512 * MIB,
        concurrency: 1024,
    };

    /// Whether each limit is from 1 to its maximum.
    ///
    /// # Errors
    ///
    /// The first that is not.
    pub fn check(&self) -> Result<(), FlowLimitError> {
        let most = Self::MAXIMUM;
        for (name, value, maximum) in [
            ("nodes", self.nodes, most.nodes),
            ("gathered_bytes", self.gathered_bytes, most.gathered_bytes),
            ("context_bytes", self.context_bytes, most.context_bytes),
            ("concurrency", self.concurrency, most.concurrency),
        ] {
            if value == 0 || value > maximum {
                return Err(FlowLimitError {
                    name,
                    value,
                    maximum,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x4_each_limit_has_a_maximum() {
        let most = FlowLimits::MAXIMUM;
        let least = FlowLimits {
            nodes: 1,
            gathered_bytes: 1,
            context_bytes: 1,
            concurrency: 1,
        };
        for fit in [
            FlowLimits::default(),
            most,
            least,
            FlowLimits {
                nodes: most.nodes - 1,
                gathered_bytes: most.gathered_bytes - 1,
                context_bytes: most.context_bytes - 1,
                concurrency: most.concurrency - 1,
            },
        ] {
            assert_eq!(fit.check(), Ok(()), "{fit:?}");
        }
        let check = |name: &str, limits: FlowLimits| {
            assert_eq!(limits.check().map_err(|error| error.name), Err(name));
        };
        for nodes in [0, most.nodes + 1] {
            check("nodes", FlowLimits { nodes, ..least });
        }
        for gathered_bytes in [0, most.gathered_bytes + 1] {
            check(
                "gathered_bytes",
                FlowLimits {
                    gathered_bytes,
                    ..least
                },
            );
        }
        for context_bytes in [0, most.context_bytes + 1] {
            check(
                "context_bytes",
                FlowLimits {
                    context_bytes,
                    ..least
                },
            );
        }
        for concurrency in [0, most.concurrency + 1] {
            check(
                "concurrency",
                FlowLimits {
                    concurrency,
                    ..least
                },
            );
        }
    }
}
