//! A text to be found as it is: most of what is searched for, and much faster to look for than what
//! an automaton is built of.

use memchr::arch::all::packedpair::Pair;
use memchr::memmem;

/// A text of two bytes or more.
#[derive(Debug)]
pub(crate) struct Needle {
    text: Vec<u8>,
    pair: [Byte; 2],
}

impl Needle {
    /// None for a text that has no two bytes to look for.
    pub(crate) fn new(text: &[u8]) -> Option<Self> {
        if text.len() < 2 {
            return None;
        }
        Some(Self {
            text: text.to_owned(),
            pair: pair(text)?,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Where it stands in the haystack for the first time: looks at many places at once, and closer
    /// where both bytes of the pair are. Where that is in vain too often, a search takes over whose
    /// time does not depend on it.
    pub(crate) fn find(&self, haystack: &[u8]) -> Option<usize> {
        let places = (haystack.len() + 1).saturating_sub(self.text.len());
        let column = |byte: &Byte| {
            let column = haystack.get(byte.at..byte.at + places);
            column.unwrap_or_default().as_chunks::<BLOCK>().0
        };
        let [one, other] = &self.pair;
        let mut compared = 0;
        let mut start = 0;
        for columns in column(one).iter().zip(column(other)) {
            if has_both(columns, [one.value, other.value]) {
                let mut candidates = places_of_both(columns, [one.value, other.value]);
                while candidates != 0 {
                    let place = start + usize::try_from(candidates.trailing_zeros()).ok()?;
                    compared += self.text.len();
                    if haystack.get(place..place + self.text.len()) == Some(&self.text) {
                        return Some(place);
                    }
                    candidates &= candidates - 1;
                }
                if compared > IN_VAIN_BYTES + start {
                    break;
                }
            }
            start += BLOCK;
        }
        let rest = haystack.get(start..).unwrap_or_default();
        memmem::find(rest, &self.text).map(|found| start + found)
    }
}

/// Places looked at together.
const BLOCK: usize = 64;

/// How many bytes are compared in vain before another search takes over, beside as many as were
/// passed.
const IN_VAIN_BYTES: usize = 4 * 1024;

/// One byte of a needle.
#[derive(Debug)]
struct Byte {
    at: usize,
    value: u8,
}

/// The two bytes that are looked for first: one that is rare in most texts, and the last one, since
/// what resembles a needle mostly does so at its start.
fn pair(text: &[u8]) -> Option<[Byte; 2]> {
    let rare = Pair::new(text)?;
    let last = text.len() - 1;
    let one = usize::from(rare.index1());
    let other = if one == last {
        rare.index2().into()
    } else {
        last
    };
    let byte = |at: usize| {
        Some(Byte {
            at,
            value: *text.get(at)?,
        })
    };
    Some([byte(one)?, byte(other)?])
}

/// Whether there is a place that has the one byte in the first column and the other in the second.
#[cfg(not(target_family = "wasm"))]
fn has_both(columns: (&[u8; BLOCK], &[u8; BLOCK]), bytes: [u8; 2]) -> bool {
    let mut places = columns.0.iter().zip(columns.1);
    places.any(|(first, second)| [*first, *second] == bytes)
}

/// Whether there is a place that has the one byte in the first column and the other in the second.
#[cfg(target_family = "wasm")]
#[target_feature(enable = "simd128")]
fn has_both(columns: (&[u8; BLOCK], &[u8; BLOCK]), bytes: [u8; 2]) -> bool {
    use std::arch::wasm32::{i8x16_eq, u8x16_splat, u64x2, v128, v128_and, v128_any_true, v128_or};

    let equal = |[low, high]: &[[u8; 8]; 2], byte: v128| {
        let bytes = u64x2(u64::from_le_bytes(*low), u64::from_le_bytes(*high));
        i8x16_eq(bytes, byte)
    };
    let [one, other] = bytes.map(|byte| u8x16_splat(byte));
    let (first, _) = columns.0.as_chunks::<8>();
    let (second, _) = columns.1.as_chunks::<8>();
    let pairs = first.as_chunks::<2>().0.iter();
    let both = pairs
        .zip(second.as_chunks::<2>().0)
        .fold(u8x16_splat(0), |both, (first, second)| {
            v128_or(both, v128_and(equal(first, one), equal(second, other)))
        });
    v128_any_true(both)
}

/// At which places both are; the first one is the lowest bit.
#[cfg(not(target_family = "wasm"))]
fn places_of_both(columns: (&[u8; BLOCK], &[u8; BLOCK]), bytes: [u8; 2]) -> u64 {
    let places = (0..).zip(columns.0.iter().zip(columns.1));
    let both = places.filter(|(_, (first, second))| [**first, **second] == bytes);
    both.fold(0, |places, (at, _)| places | 1 << at)
}

/// At which places both are; the first one is the lowest bit.
#[cfg(target_family = "wasm")]
#[target_feature(enable = "simd128")]
fn places_of_both(columns: (&[u8; BLOCK], &[u8; BLOCK]), bytes: [u8; 2]) -> u64 {
    use std::arch::wasm32::{i8x16_eq, u8x16_bitmask, u8x16_splat, u64x2, v128, v128_and};

    let equal = |[low, high]: &[[u8; 8]; 2], byte: v128| {
        let bytes = u64x2(u64::from_le_bytes(*low), u64::from_le_bytes(*high));
        i8x16_eq(bytes, byte)
    };
    let [one, other] = bytes.map(|byte| u8x16_splat(byte));
    let (first, _) = columns.0.as_chunks::<8>();
    let (second, _) = columns.1.as_chunks::<8>();
    let pairs = first.as_chunks::<2>().0.iter();
    let pairs = pairs.zip(second.as_chunks::<2>().0);
    (0..)
        .step_by(16)
        .zip(pairs)
        .fold(0, |places, (at, (first, second))| {
            let both = v128_and(equal(first, one), equal(second, other));
            places | u64::from(u8x16_bitmask(both)) << at
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_needle_is_found_wherever_it_stands() {
        let needle = Needle::new(b"lazy dog").unwrap();
        for length in [8, 9, 63, 64, 65, 200, 1000] {
            for at in [0, 1, 55, 56, 63, 64, 100, 192, 992] {
                let mut text = vec![b'z'; length];
                let Some(place) = text.get_mut(at..at + 8) else {
                    continue;
                };
                place.copy_from_slice(b"lazy dog");
                assert_eq!(needle.find(&text), Some(at), "{at} of {length}");
            }
            assert_eq!(needle.find(&vec![b'z'; length]), None);
        }
    }

    #[test]
    fn what_resembles_a_needle_everywhere_is_none() {
        let needle = Needle::new(b"aabaaaaa").unwrap();
        let mut text = vec![b'a'; 100_000];
        assert_eq!(needle.find(&text), None);
        *text.get_mut(99_994).unwrap() = b'b';
        assert_eq!(needle.find(&text), Some(99_992));
    }

    #[test]
    fn one_byte_is_no_needle() {
        assert!(Needle::new(b"").is_none());
        assert!(Needle::new(b"x").is_none());
    }
}
