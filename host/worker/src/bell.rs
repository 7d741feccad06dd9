//! Who waits for what: a bell for each thing that is waited for, rung when something about it has
//! become durable. Whoever hears it looks for itself. Deliberately absent: what has happened.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// Bells that may be forgotten are looked for when there are twice as many as after the last time,
/// and not below this many.
const LEAST: usize = 64;

/// The bells of one kind of thing.
#[derive(Debug)]
pub(crate) struct Bells<K>(Mutex<Kept<K>>);

#[derive(Debug)]
struct Kept<K> {
    bells: HashMap<K, watch::Sender<()>>,
    tidy_at: usize,
}

impl<K> Default for Bells<K> {
    fn default() -> Self {
        Self(Mutex::new(Kept {
            bells: HashMap::new(),
            tidy_at: LEAST,
        }))
    }
}

impl<K: Eq + Hash + Clone> Bells<K> {
    /// Hears every ring from now on.
    pub(crate) fn listen(&self, key: &K) -> watch::Receiver<()> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = kept.bells.get(key) {
            return bell.subscribe();
        }
        if kept.bells.len() >= kept.tidy_at {
            kept.bells.retain(|_, bell| bell.receiver_count() > 0);
            kept.tidy_at = LEAST.max(kept.bells.len().saturating_mul(2));
        }
        let (bell, listener) = watch::channel(());
        kept.bells.insert(key.clone(), bell);
        listener
    }

    /// Tells whoever listens.
    pub(crate) fn ring(&self, key: &K) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.bells.get(key) {
            Some(bell) if bell.receiver_count() > 0 => {
                bell.send_replace(());
            }
            Some(_unheard) => {
                kept.bells.remove(key);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i12_who_listens_hears_what_comes_after_and_nothing_else() {
        let bells = Bells::default();
        bells.ring(&1);
        let (one, other) = (bells.listen(&1), bells.listen(&2));
        assert!(!one.has_changed().unwrap());
        bells.ring(&1);
        assert!(one.has_changed().unwrap());
        assert!(!other.has_changed().unwrap());
        assert!(!bells.listen(&1).has_changed().unwrap());
    }

    #[test]
    fn c8_bells_that_nobody_listens_to_are_forgotten() {
        let bells = Bells::default();
        let kept = bells.listen(&0);
        for key in 1..10_000 {
            drop(bells.listen(&key));
        }
        assert!(bells.0.lock().unwrap().bells.len() <= 2 * LEAST);
        bells.ring(&0);
        assert!(kept.has_changed().unwrap());
    }
}
