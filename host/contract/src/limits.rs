//! The limits of one call: their names, defaults and hard bounds.
//!
//! Deliberately absent: `concurrency` and `queue`, which belong to the engine, and enforcing.

use serde::Serialize;

use crate::nearest::nearest;
use crate::text::cut;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const HOUR_MS: u64 = 3_600_000;

/// How many log lines of one call are kept.
pub const LOG_LINES: usize = 1000;

/// How many bytes of one log line are kept.
pub const LOG_LINE_BYTES: usize = 4096;

/// What one call may use. Sizes are bytes, times milliseconds. Default: the table's.
///
/// Source: SPEC S5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Wall-clock time of the whole call, waiting in the queue included.
    pub deadline_ms: u64,
    /// CPU time of the thread that runs the call.
    pub cpu_ms: u64,
    /// Linear memory, summed over memories and instances.
    pub memory_bytes: u64,
    /// Table elements, summed over tables.
    pub table_elements: u64,
    /// Core instances of the component.
    pub core_instances: u64,
    /// Resource handles that are open at one time.
    pub handles: u64,
    /// One allocation that the host makes for the guest: one lifted value, one buffer.
    pub host_allocation_bytes: u64,
    /// The text of the arguments.
    pub arguments_bytes: u64,
    /// The result that is handed on whole.
    pub result_bytes: u64,
    /// The result that is kept as an artifact.
    pub artifact_bytes: u64,
    /// Kept standard output.
    pub stdout_bytes: u64,
    /// Kept standard error.
    pub stderr_bytes: u64,
    /// HTTP requests, redirects included.
    pub http_requests: u64,
    /// One decoded HTTP response body.
    pub http_response_bytes: u64,
    /// The headers of one HTTP message.
    pub http_header_bytes: u64,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSpec {
    /// The name, the same for `--limit`, in YAML and as the Rust field.
    pub name: &'static str,
    /// What holds when nothing is said.
    pub default: u64,
    /// The smallest value that can be set.
    pub minimum: u64,
    /// The largest value that can be set.
    pub maximum: u64,
}

const fn row(name: &'static str, default: u64, minimum: u64, maximum: u64) -> LimitSpec {
    LimitSpec {
        name,
        default,
        minimum,
        maximum,
    }
}

/// Every limit of a call, in the order of the table in the guide.
pub const LIMITS: [LimitSpec; 15] = [
    row(
        "deadline_ms",
        Limits::DEFAULT.deadline_ms,
        1,
        Limits::MAXIMUM.deadline_ms,
    ),
    row("cpu_ms", Limits::DEFAULT.cpu_ms, 1, Limits::MAXIMUM.cpu_ms),
    row(
        "memory_bytes",
        Limits::DEFAULT.memory_bytes,
        1,
        Limits::MAXIMUM.memory_bytes,
    ),
    row(
        "table_elements",
        Limits::DEFAULT.table_elements,
        1,
        Limits::MAXIMUM.table_elements,
    ),
    row(
        "core_instances",
        Limits::DEFAULT.core_instances,
        1,
        Limits::MAXIMUM.core_instances,
    ),
    row(
        "handles",
        Limits::DEFAULT.handles,
        1,
        Limits::MAXIMUM.handles,
    ),
    row(
        "host_allocation_bytes",
        Limits::DEFAULT.host_allocation_bytes,
        1,
        Limits::MAXIMUM.host_allocation_bytes,
    ),
    row(
        "arguments_bytes",
        Limits::DEFAULT.arguments_bytes,
        1,
        Limits::MAXIMUM.arguments_bytes,
    ),
    row(
        "result_bytes",
        Limits::DEFAULT.result_bytes,
        1,
        Limits::MAXIMUM.result_bytes,
    ),
    row(
        "artifact_bytes",
        Limits::DEFAULT.artifact_bytes,
        1,
        Limits::MAXIMUM.artifact_bytes,
    ),
    row(
        "stdout_bytes",
        Limits::DEFAULT.stdout_bytes,
        0,
        Limits::MAXIMUM.stdout_bytes,
    ),
    row(
        "stderr_bytes",
        Limits::DEFAULT.stderr_bytes,
        0,
        Limits::MAXIMUM.stderr_bytes,
    ),
    row(
        "http_requests",
        Limits::DEFAULT.http_requests,
        0,
        Limits::MAXIMUM.http_requests,
    ),
    row(
        "http_response_bytes",
        Limits::DEFAULT.http_response_bytes,
        1,
        Limits::MAXIMUM.http_response_bytes,
    ),
    row(
        "http_header_bytes",
        Limits::DEFAULT.http_header_bytes,
        1,
        Limits::MAXIMUM.http_header_bytes,
    ),
];

/// Why a limit could not be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No limit has this name.
    #[error("unknown limit `{name}`{}", hint(*nearest))]
    Unknown {
        /// What was typed, cut to 64 bytes.
        name: String,
        /// The name that may have been meant.
        nearest: Option<&'static str>,
    },
    /// The value is outside what can be set.
    #[error("{name} must be from {minimum} to {maximum}, not {value}")]
    OutOfRange {
        /// The limit.
        name: &'static str,
        /// The value that was refused.
        value: u64,
        /// The smallest value.
        minimum: u64,
        /// The largest value.
        maximum: u64,
    },
    /// The value is no whole number.
    #[error("{name} must be a whole number from {minimum} to {maximum}")]
    NotANumber {
        /// The limit.
        name: &'static str,
        /// The smallest value.
        minimum: u64,
        /// The largest value.
        maximum: u64,
    },
    /// It is not written NAME=VALUE.
    #[error("a limit is written NAME=VALUE, for example deadline_ms=5000")]
    NotAnAssignment,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

impl Limits {
    /// What holds when nothing is said.
    pub const DEFAULT: Self = Self {
        deadline_ms: 30_000,
        cpu_ms: 10_000,
        memory_bytes: 64 * MIB,
        table_elements: 20_000,
        core_instances: 32,
        handles: 4096,
        host_allocation_bytes: 8 * MIB,
        arguments_bytes: MIB,
        result_bytes: MIB,
        artifact_bytes: 64 * MIB,
        stdout_bytes: 64 * KIB,
        stderr_bytes: 8 * KIB,
        http_requests: 16,
        http_response_bytes: 4 * MIB,
        http_header_bytes: 64 * KIB,
    };

    /// The most that can be set; also what an engine's slots are made for.
    pub const MAXIMUM: Self = Self {
        deadline_ms: HOUR_MS,
        cpu_ms: HOUR_MS,
        memory_bytes: GIB,
        table_elements: 1_000_000,
        core_instances: 128,
        handles: 65_536,
        host_allocation_bytes: 64 * MIB,
        arguments_bytes: 16 * MIB,
        result_bytes: 16 * MIB,
        artifact_bytes: GIB,
        stdout_bytes: MIB,
        stderr_bytes: 64 * KIB,
        http_requests: 1000,
        http_response_bytes: 64 * MIB,
        http_header_bytes: 256 * KIB,
    };

    /// Each limit, raised to the other's where that is larger.
    #[must_use]
    pub fn at_least(&self, other: &Self) -> Self {
        let mut raised = *self;
        for spec in &LIMITS {
            let floor = other.get(spec.name).unwrap_or(0);
            if let Some(field) = raised.field(spec.name) {
                *field = floor.max(*field);
            }
        }
        raised
    }

    /// Sets one limit by its name.
    ///
    /// # Errors
    /// `Unknown` or `OutOfRange`; nothing is changed then.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
        let spec = spec(name)?;
        if value < spec.minimum || value > spec.maximum {
            return Err(LimitError::OutOfRange {
                name: spec.name,
                value,
                minimum: spec.minimum,
                maximum: spec.maximum,
            });
        }
        if let Some(field) = self.field(spec.name) {
            *field = value;
        }
        Ok(())
    }

    /// One limit by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        let mut copy = *self;
        copy.field(name).copied()
    }

    fn field(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "deadline_ms" => &mut self.deadline_ms,
            "cpu_ms" => &mut self.cpu_ms,
            "memory_bytes" => &mut self.memory_bytes,
            "table_elements" => &mut self.table_elements,
            "core_instances" => &mut self.core_instances,
            "handles" => &mut self.handles,
            "host_allocation_bytes" => &mut self.host_allocation_bytes,
            "arguments_bytes" => &mut self.arguments_bytes,
            "result_bytes" => &mut self.result_bytes,
            "artifact_bytes" => &mut self.artifact_bytes,
            "stdout_bytes" => &mut self.stdout_bytes,
            "stderr_bytes" => &mut self.stderr_bytes,
            "http_requests" => &mut self.http_requests,
            "http_response_bytes" => &mut self.http_response_bytes,
            "http_header_bytes" => &mut self.http_header_bytes,
            _ => return None,
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Sets one limit from `NAME=VALUE`, as `--limit` takes it. The value is plain digits.
///
/// # Errors
/// Every variant of [`LimitError`]; nothing is changed then.
pub fn parse_limit(assignment: &str, limits: &mut Limits) -> Result<(), LimitError> {
    let Some((name, value)) = assignment.split_once('=') else {
        return Err(LimitError::NotAnAssignment);
    };
    let spec = spec(name)?;
    let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse() {
        Ok(value) if is_plain => limits.set(name, value),
        _ => Err(LimitError::NotANumber {
            name: spec.name,
            minimum: spec.minimum,
            maximum: spec.maximum,
        }),
    }
}

fn spec(name: &str) -> Result<&'static LimitSpec, LimitError> {
    let found = LIMITS.iter().find(|spec| spec.name == name);
    found.ok_or_else(|| LimitError::Unknown {
        name: cut(name, 64).escape_debug().to_string(),
        nearest: nearest(name, &LIMITS.map(|spec| spec.name)),
    })
}
