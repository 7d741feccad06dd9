//! Whom a caller belongs to (SPEC X7).
//!
//! Deliberately absent: what a tenant may do and use. That is the runtime's.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::error::CallError;

/// The longest name, in characters.
const NAME_CHARACTERS: usize = 64;

/// The name of a tenant: 1 to 64 of `[A-Za-z0-9._-]`; `default` where nobody says. It is the
/// operator's word, never shown to another tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant(Arc<str>);

impl Tenant {
    /// Checks a name.
    ///
    /// # Errors
    /// `InvalidCall` when it is empty, too long or holds another character.
    pub fn new(name: &str) -> Result<Self, CallError> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fits = (1..=NAME_CHARACTERS).contains(&name.len());
        if !fits || !name.bytes().all(is_letter) {
            return Err(CallError::InvalidCall {
                reason: "a tenant's name must be 1 to 64 of letters, digits, `.`, `_` and `-`"
                    .to_owned(),
            });
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Tenant {
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Tenant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x7_a_tenants_name_is_bounded() {
        for name in ["a", "acme.eu", "A-1_b", &"a".repeat(63), &"a".repeat(64)] {
            assert_eq!(Tenant::new(name).unwrap().as_str(), name);
        }
        for name in ["", "a b", "a/b", "ä", "a\n", &"a".repeat(65)] {
            assert!(Tenant::new(name).is_err(), "{name:?}");
        }
        assert_eq!(Tenant::default().as_str(), "default");
    }
}
