//! Linear memory and tables of one call, summed over all memories, tables and instances.
//!
//! wasmtime's own `StoreLimits` bounds each memory by itself, so that ten memories get ten times
//! the bound; this one adds them up and sees initial sizes too.

use wasmtime::ResourceLimiter;

use crate::breach::Breach;
use crate::saturating::to_usize;

/// Counts what a store's instances hold and refuses what would pass the bound.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_bytes: usize,
    memory_limit_bytes: usize,
    table_elements: usize,
    table_limit_elements: usize,
    core_instances: usize,
    /// The last growth that was refused. It is the reason of a trap that follows; a guest that
    /// copes with the refusal keeps its result.
    pub(crate) refused: Option<Breach>,
}

impl Limiter {
    pub(crate) fn new(limits: &tidegate_contract::limits::Limits) -> Self {
        Self {
            memory_bytes: 0,
            memory_limit_bytes: to_usize(limits.memory_bytes),
            table_elements: 0,
            table_limit_elements: to_usize(limits.table_elements),
            core_instances: to_usize(limits.core_instances),
            refused: None,
        }
    }
}

impl Limiter {
    /// Counts, from nothing, what a second store of the same call may still hold.
    pub(crate) fn rest(&self) -> Self {
        Self {
            memory_bytes: 0,
            memory_limit_bytes: self.memory_limit_bytes.saturating_sub(self.memory_bytes),
            table_elements: 0,
            table_limit_elements: self
                .table_limit_elements
                .saturating_sub(self.table_elements),
            core_instances: self.core_instances,
            refused: None,
        }
    }

    /// Remembers the refusal; `false` is what the guest's growth then gives.
    fn refuse(&mut self, breach: Breach) -> bool {
        self.refused = Some(breach);
        false
    }
}

/// What is held after growing one part from `current` to `desired`, or `None` past the limit.
fn grown(held: usize, current: usize, desired: usize, limit: usize) -> Option<usize> {
    let total = held.saturating_sub(current).saturating_add(desired);
    (total <= limit).then_some(total)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let total = grown(self.memory_bytes, current, desired, self.memory_limit_bytes);
        let Some(total) = total else {
            return Ok(self.refuse(Breach::Memory));
        };
        self.memory_bytes = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let total = grown(
            self.table_elements,
            current,
            desired,
            self.table_limit_elements,
        );
        let Some(total) = total else {
            return Ok(self.refuse(Breach::Table));
        };
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.core_instances
    }

    /// Memories are bounded by their bytes and by what the pool has.
    fn memories(&self) -> usize {
        usize::MAX
    }

    fn tables(&self) -> usize {
        usize::MAX
    }
}

#[cfg(test)]
mod tests {
    use tidegate_contract::limits::Limits;

    use super::*;

    fn limiter(memory_bytes: u64, table_elements: u64) -> Limiter {
        Limiter::new(&Limits {
            memory_bytes,
            table_elements,
            ..Limits::default()
        })
    }

    #[test]
    fn s5_memories_are_summed_and_the_edge_is_exact() {
        let mut limiter = limiter(300, 10);
        assert!(limiter.memory_growing(0, 100, None).unwrap());
        assert!(limiter.memory_growing(0, 199, None).unwrap(), "n - 1");
        assert!(limiter.memory_growing(199, 200, None).unwrap(), "n");
        assert_eq!(limiter.refused, None);
        assert!(!limiter.memory_growing(200, 201, None).unwrap(), "n + 1");
        assert_eq!(limiter.refused, Some(Breach::Memory));
        assert_eq!(limiter.memory_bytes, 300);
    }

    #[test]
    fn s5_tables_are_summed_and_the_edge_is_exact() {
        let mut limiter = limiter(300, 10);
        assert!(limiter.table_growing(0, 4, None).unwrap());
        assert!(limiter.table_growing(0, 6, None).unwrap());
        assert!(!limiter.table_growing(6, 7, None).unwrap());
        assert_eq!(limiter.refused, Some(Breach::Table));
    }

    #[test]
    fn a_growth_past_the_modules_own_maximum_is_no_breach() {
        let mut limiter = limiter(300, 10);
        assert!(!limiter.memory_growing(0, 200, Some(100)).unwrap());
        assert_eq!(limiter.refused, None);
    }
}
