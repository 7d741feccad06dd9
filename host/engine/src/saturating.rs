//! Conversions between the sizes of limits (`u64`) and of memory (`usize`), at the larger end.

/// A limit as a size; a limit larger than the address space is no limit.
pub(crate) fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A size as a count on the wire.
pub(crate) fn to_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
