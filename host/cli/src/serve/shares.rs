//! Who has how many of something that there is not much of: connections by address, streams by token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What each has. Cloning gives another handle to the same.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    most: u64,
    /// Those who have any.
    taken: Arc<Mutex<HashMap<String, u64>>>,
}

/// One of somebody's, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    of: Shares,
    name: String,
}

impl Shares {
    /// Each may have so many.
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            taken: Arc::default(),
        }
    }

    /// One more for this one; `None` where it has all that it may have.
    pub(super) fn take(&self, name: &str) -> Option<Share> {
        let mut taken = self.taken();
        let count = taken.get(name).copied().unwrap_or(0);
        if count >= self.most {
            return None;
        }
        taken.insert(name.to_owned(), count + 1);
        Some(Share {
            of: self.clone(),
            name: name.to_owned(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        match taken.get_mut(&self.name) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x7_each_has_its_share_and_gets_back_what_it_gives_back() {
        let shares = Shares::new(2);
        let first = shares.take("a").unwrap();
        let _second = shares.take("a").unwrap();
        assert!(shares.take("a").is_none());
        let other = shares.take("b");
        assert!(other.is_some());
        drop(first);
        let _third = shares.take("a").unwrap();
        assert!(shares.take("a").is_none());
        drop(other);
        assert!(
            !shares.taken().contains_key("b"),
            "who has none is forgotten"
        );
    }
}
