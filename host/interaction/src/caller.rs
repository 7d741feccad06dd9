//! Who makes a call (SPEC X7): a tenant, what it may use, and how much at once.

use std::num::NonZeroU32;
use std::sync::Arc;

use tidegate_contract::Tenant;
use tidegate_contract::grant::Grant;

/// Who makes a call. The default is the tenant `default` with everything the runtime permits.
///
/// ```
/// use tidegate::{Caller, InvokeOptions};
/// use tidegate::contract::{Tenant, grant::{Grant, parse_allow}};
///
/// let mut grant = Grant::default();
/// parse_allow("tool=read_text", &mut grant)?;
/// parse_allow("read=docs", &mut grant)?;
/// let caller = Caller {
///     tenant: Tenant::new("acme")?,
///     grant: Some(grant.into()),
///     concurrency: std::num::NonZeroU32::new(4),
///     ..Caller::default()
/// };
/// let options = InvokeOptions { caller, ..InvokeOptions::default() };
/// # assert_eq!(options.caller.tenant.as_str(), "acme");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Whose call it is. Waiting calls of one tenant are first come first served; tenants take
    /// turns. Nothing in an answer to one tenant depends on what another has.
    pub tenant: Tenant,
    /// The most it may use; it narrows what the runtime permits and never widens it. `None` is
    /// everything the runtime permits. A component that was granted more than its caller may use is
    /// denied to that caller.
    pub grant: Option<Arc<Grant>>,
    /// Calls of the tenant that run at once. `None` is as many as there is room for.
    pub concurrency: Option<NonZeroU32>,
    /// The run of a flow that the call belongs to; `None` outside of one. What a call keeps as an
    /// artifact is for callers of the same tenant and run.
    pub run: Option<Arc<str>>,
}
