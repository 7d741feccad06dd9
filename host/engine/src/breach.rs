//! A bound that a call passed, and the failure the caller reads about it (SPEC S5, table E).

use std::fmt;

use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;
use tidegate_contract::limits::Limits;
use tidegate_contract::result::Status;

/// Why the host ended a call, or refused it something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    Cancelled,
    Deadline,
    Cpu,
    Memory,
    Table,
    Instances,
    Handles,
    HostAllocation,
    Result,
    /// Larger than what is kept of a result.
    KeptResult,
    /// Larger than what can be taken from the guest at once.
    LiftedResult,
    HttpRequests,
    HttpResponse,
    HttpHeaders,
}

impl Breach {
    /// All of them.
    pub(crate) const ALL: [Self; 14] = [
        Self::Cancelled,
        Self::Deadline,
        Self::Cpu,
        Self::Memory,
        Self::Table,
        Self::Instances,
        Self::Handles,
        Self::HostAllocation,
        Self::Result,
        Self::KeptResult,
        Self::LiftedResult,
        Self::HttpRequests,
        Self::HttpResponse,
        Self::HttpHeaders,
    ];

    const fn code(self) -> &'static str {
        match self {
            Self::Cancelled => "CANCELLED",
            Self::Deadline => "LIMIT_DEADLINE",
            Self::Cpu => "LIMIT_CPU",
            Self::Memory => "LIMIT_MEMORY",
            Self::Table => "LIMIT_TABLE",
            Self::Instances => "LIMIT_INSTANCES",
            Self::Handles => "LIMIT_HANDLES",
            Self::HostAllocation => "LIMIT_HOST_ALLOCATION",
            Self::Result | Self::KeptResult | Self::LiftedResult => "LIMIT_RESULT",
            Self::HttpRequests | Self::HttpResponse | Self::HttpHeaders => "LIMIT_HTTP",
        }
    }

    pub(crate) const fn status(self) -> Status {
        match self {
            Self::Cancelled => Status::Cancelled,
            Self::Deadline => Status::Timeout,
            _ => Status::Failed,
        }
    }

    /// The public failure; it names the limit and its value.
    pub(crate) fn failure(self, limits: &Limits) -> Failure {
        let message = match self {
            Self::Cancelled => return Failure::cancelled(),
            Self::Deadline => return Failure::deadline(limits.deadline_ms),
            Self::Cpu => format!("the call used up cpu_ms = {}", limits.cpu_ms),
            Self::Memory => format!(
                "the call needed more than memory_bytes = {}",
                limits.memory_bytes
            ),
            Self::Table => {
                format!(
                    "the call needed more than table_elements = {}",
                    limits.table_elements
                )
            }
            Self::Instances => {
                format!(
                    "the component needs more than core_instances = {}",
                    limits.core_instances
                )
            }
            Self::Handles => format!("the call held more than handles = {}", limits.handles),
            Self::HostAllocation => format!(
                "one host call needed more than host_allocation_bytes = {}",
                limits.host_allocation_bytes
            ),
            Self::Result => return Failure::result_too_large(limits.result_bytes),
            Self::KeptResult => format!(
                "the result is larger than artifact_bytes = {}",
                limits.artifact_bytes
            ),
            Self::LiftedResult => format!(
                "the result is larger than host_allocation_bytes = {}",
                limits.host_allocation_bytes
            ),
            Self::HttpRequests => format!(
                "the call made more than http_requests = {}",
                limits.http_requests
            ),
            Self::HttpResponse => format!(
                "an HTTP response was larger than http_response_bytes = {}",
                limits.http_response_bytes
            ),
            Self::HttpHeaders => format!(
                "the headers of an HTTP message were larger than http_header_bytes = {}",
                limits.http_header_bytes
            ),
        };
        host_failure(self.code(), message)
    }
}

/// As an error it ends the guest at the next epoch or refused host call.
impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl std::error::Error for Breach {}
