//! All the linear memory of this plugin, byte by byte: data, stack, heap, and what was given back.
//!
//! No safe code can look at memory that belongs to nothing.

/// How often the bytes that `reversed` is backwards lie in memory; never, if it is empty.
pub(super) fn count_reversed(reversed: &[u8]) -> usize {
    if reversed.is_empty() {
        return 0;
    }
    (1..size_bytes())
        .filter(|last| ends_at(*last, reversed))
        .count()
}

/// Whether the bytes before and at `last` are `reversed` backwards. The null address is not read.
fn ends_at(last: usize, reversed: &[u8]) -> bool {
    reversed.iter().enumerate().all(|(back, byte)| {
        last.checked_sub(back)
            .filter(|address| *address > 0)
            .is_some_and(|address| byte_at(address) == *byte)
    })
}

/// Reads one byte of this plugin's memory; the address is below [`size_bytes`].
#[cfg(target_family = "wasm")]
fn byte_at(address: usize) -> u8 {
    // SAFETY: linear memory is readable from its start to its size and never shrinks, any byte is a
    // valid `u8`, no other thread writes, and a volatile read assumes nothing of its owner.
    unsafe { std::ptr::with_exposed_provenance::<u8>(address).read_volatile() }
}

/// The size of the linear memory.
#[cfg(target_family = "wasm")]
fn size_bytes() -> usize {
    /// A page of linear memory, in bytes.
    const PAGE_BYTES: usize = 64 * 1024;
    core::arch::wasm32::memory_size(0).saturating_mul(PAGE_BYTES)
}

/// A program has no linear memory: there is nothing to look through.
#[cfg(not(target_family = "wasm"))]
fn byte_at(_address: usize) -> u8 {
    0
}

#[cfg(not(target_family = "wasm"))]
fn size_bytes() -> usize {
    0
}
