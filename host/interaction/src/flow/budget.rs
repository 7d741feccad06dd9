//! The bytes of JSON that one run holds in its context, in the layers over it and in what waits to be
//! written to them. They are bounded together, however many lanes there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::evaluate::{self, EvaluateError};

/// What is left to a run.
struct Budget {
    left_bytes: AtomicUsize,
    limit_bytes: usize,
}

/// What one layer, or one value that waits, takes of its run's budget. It is given back at its end.
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    /// Nothing, of a new budget.
    pub(super) fn of(limit_bytes: usize) -> Self {
        let budget = Budget {
            left_bytes: AtomicUsize::new(limit_bytes),
            limit_bytes,
        };
        Self {
            budget: Arc::new(budget),
            bytes: 0,
        }
    }

    /// Nothing yet, of the same budget.
    pub(super) fn another(&self) -> Self {
        Self {
            budget: Arc::clone(&self.budget),
            bytes: 0,
        }
    }

    /// Takes what a value needs, and so many bytes more for the way to it.
    pub(super) fn take(&mut self, value: &Value, way_bytes: usize) -> Result<(), EvaluateError> {
        let limit_bytes = self.budget.limit_bytes;
        let passed = || EvaluateError::Context { limit_bytes };
        let left = &self.budget.left_bytes;
        let most = left.load(Ordering::Relaxed);
        let bytes = match evaluate::measure(value, most, limit_bytes) {
            Ok(bytes) => bytes.saturating_add(way_bytes),
            Err(EvaluateError::TooLarge { .. }) => return Err(passed()),
            Err(other) => return Err(other),
        };
        let less = |left: usize| left.checked_sub(bytes);
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.map_err(|_left| passed())?;
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Gives back what is held no more.
    pub(super) fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.budget.left_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes over what another holds of the same budget.
    pub(super) fn absorb(&mut self, mut other: Self) {
        self.bytes = self.bytes.saturating_add(std::mem::take(&mut other.bytes));
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

/// What a value is charged; one that nests too deeply never was.
pub(super) fn bytes_of(value: &Value) -> usize {
    evaluate::measure(value, usize::MAX, usize::MAX).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn c8_a_budget_is_taken_to_its_last_byte_and_given_back() {
        // Written as JSON the text has two quotes more.
        let ten = json!("x".repeat(8));
        let passed = Err(EvaluateError::Context { limit_bytes: 31 });
        let mut one = Charge::of(31);
        let mut other = one.another();
        assert_eq!(one.take(&ten, 0), Ok(()));
        assert_eq!(other.take(&ten, 0), Ok(()));
        assert_eq!(other.take(&ten, 2), passed, "one byte too many");
        assert_eq!(other.take(&ten, 1), Ok(()), "the last byte");
        assert_eq!(one.take(&json!(1), 0), passed);
        other.give_back(1);
        assert_eq!(one.take(&json!(1), 0), Ok(()));
        drop(other);
        let mut third = one.another();
        assert_eq!(third.take(&ten, 10), Ok(()));
        one.absorb(third);
        assert_eq!(one.take(&json!(1), 0), passed, "what was absorbed is kept");
    }
}
