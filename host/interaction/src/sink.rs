//! The port of a sink, where final messages go, and the sinks of one runtime by name (SPEC D1, D2).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tidegate_contract::limits::Limits;
use tidegate_contract::{CallError, Delivery, OutputReceipt};

use crate::tool::{BoxFuture, CallContext};

/// Takes final messages and says what became of them.
///
/// ```
/// use tidegate::{BoxFuture, CallContext, Sink};
/// use tidegate_contract::{CallError, Delivery, Failure, OutputReceipt, ReceiptStatus};
///
/// struct Closed;
///
/// impl Sink for Closed {
///     fn deliver<'a>(
///         &'a self,
///         delivery: &'a Delivery,
///         _context: &'a CallContext,
///     ) -> BoxFuture<'a, Result<OutputReceipt, CallError>> {
///         Box::pin(async move {
///             let error = Failure::new("DELIVERY_REJECTED", "The destination rejected the result")
///                 .map_err(|error| CallError::InvalidReceipt { reason: error.to_string() })?;
///             Ok(OutputReceipt {
///                 delivery_id: delivery.delivery_id.as_str().to_owned(),
///                 status: ReceiptStatus::Rejected,
///                 artifacts: None,
///                 error: Some(error),
///                 metadata: None,
///             })
///         })
///     }
/// }
///
/// let mut sinks = tidegate::Sinks::default();
/// sinks.insert("closed", Closed);
/// ```
pub trait Sink: Send + Sync {
    /// Takes one delivery. Called once for each; the runtime never repeats it.
    ///
    /// # Errors
    ///
    /// The delivery was tried and no valid receipt came; that proves nothing about delivery.
    fn deliver<'a>(
        &'a self,
        delivery: &'a Delivery,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<OutputReceipt, CallError>>;

    /// Whether it could take a delivery now, as far as it knows without trying.
    ///
    /// # Errors
    ///
    /// The refusal that [`deliver`](Self::deliver) would give.
    fn ready(&self) -> Result<(), CallError> {
        Ok(())
    }

    /// What each of its calls may use.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// The sinks of one runtime by name.
#[derive(Clone, Default)]
pub struct Sinks(BTreeMap<String, Arc<dyn Sink>>);

impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Sinks {
    /// Adds a sink under a name, in place of the one that had it.
    pub fn insert(&mut self, name: impl Into<String>, sink: impl Sink + 'static) {
        self.0.insert(name.into(), Arc::new(sink));
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name of the sink a call goes to, where one was named or there is only one.
    pub(crate) fn named<'a>(&'a self, name: Option<&'a str>) -> Option<&'a str> {
        let only = || self.0.keys().next().filter(|_| self.0.len() == 1);
        name.or_else(|| only().map(String::as_str))
    }

    /// The sink a call goes to: the named one, or the only one.
    pub(crate) fn choose(&self, name: Option<&str>) -> Result<Arc<dyn Sink>, CallError> {
        let names = || {
            self.0
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        };
        match (name, self.0.len()) {
            (_, 0) => Err(CallError::NotInjected {
                node: "INTERACTION.OUTPUT",
            }),
            (Some(name), _) => {
                self.0
                    .get(name)
                    .map(Arc::clone)
                    .ok_or_else(|| CallError::InvalidCall {
                        reason: format!("no such sink; there are: {}", names()),
                    })
            }
            (None, 1) => self
                .0
                .values()
                .next()
                .map(Arc::clone)
                .ok_or(CallError::NotInjected {
                    node: "INTERACTION.OUTPUT",
                }),
            (None, _) => Err(CallError::InvalidCall {
                reason: format!("several sinks and none chosen; there are: {}", names()),
            }),
        }
    }
}
