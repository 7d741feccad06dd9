//! Counting newlines, which `wc`, `grep` and `sort` do over whole files.

/// How many newlines there are.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn newlines(bytes: &[u8]) -> u64 {
    u64::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or(u64::MAX)
}

/// How many newlines there are.
///
/// Every engine that runs components has these instructions, but the component may be built without
/// them as a whole; counting lines is worth to ask for them here.
#[cfg(target_family = "wasm")]
#[target_feature(enable = "simd128")]
pub(crate) fn newlines(bytes: &[u8]) -> u64 {
    use std::arch::wasm32::{
        i8x16_eq, i8x16_splat, i8x16_sub, i32x4_extract_lane, u16x8_extadd_pairwise_u8x16,
        u32x4_extadd_pairwise_u16x8, u64x2,
    };

    /// As many as a count of one byte cannot pass.
    const RUN: usize = 255;

    let (words, _) = bytes.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let newline = i8x16_splat(10);
    let mut total = 0;
    for run in pairs.chunks(RUN) {
        let mut counts = i8x16_splat(0);
        for [low, high] in run {
            let bytes = u64x2(u64::from_le_bytes(*low), u64::from_le_bytes(*high));
            counts = i8x16_sub(counts, i8x16_eq(bytes, newline));
        }
        let sums = u32x4_extadd_pairwise_u16x8(u16x8_extadd_pairwise_u8x16(counts));
        let sums = [
            i32x4_extract_lane::<0>(sums),
            i32x4_extract_lane::<1>(sums),
            i32x4_extract_lane::<2>(sums),
            i32x4_extract_lane::<3>(sums),
        ];
        total += sums
            .iter()
            .map(|sum| u64::from(sum.cast_unsigned()))
            .sum::<u64>();
    }
    total + count_in(bytes.get(pairs.len() * 16..).unwrap_or_default())
}

#[cfg(any(test, target_family = "wasm"))]
fn count_in(bytes: &[u8]) -> u64 {
    let newlines = bytes.iter().filter(|byte| **byte == b'\n');
    u64::try_from(newlines.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newlines_are_counted_at_every_length() {
        for length in [0, 1, 31, 32, 33, 255, 8160, 8161, 20_000] {
            let bytes: Vec<u8> = (0..length)
                .map(|at| if at % 3 == 0 { b'\n' } else { b'x' })
                .collect();
            assert_eq!(newlines(&bytes), count_in(&bytes), "{length}");
        }
        assert_eq!(newlines(&vec![b'\n'; 100_000]), 100_000);
    }
}
