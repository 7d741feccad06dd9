//! Sets of bytes, and the named classes of the C locale.

/// A set of bytes: one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set([u128; 2]);

impl Set {
    pub(crate) const EMPTY: Self = Self([0; 2]);

    pub(crate) fn of(is: impl Fn(u8) -> bool) -> Self {
        let mut set = Self::EMPTY;
        for byte in 0..=u8::MAX {
            if is(byte) {
                set.insert(byte);
            }
        }
        set
    }

    pub(crate) fn insert(&mut self, byte: u8) {
        let [low, high] = &mut self.0;
        let half = if byte < 128 { low } else { high };
        *half |= bit(byte);
    }

    pub(crate) fn contains(&self, byte: u8) -> bool {
        let [low, high] = self.0;
        let half = if byte < 128 { low } else { high };
        half & bit(byte) != 0
    }

    /// The set of the bytes that are in either.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let ([low, high], [other_low, other_high]) = (self.0, other.0);
        Self([low | other_low, high | other_high])
    }
}

/// The bit of a byte in its half.
fn bit(byte: u8) -> u128 {
    1 << (byte % 128)
}

/// The bytes of a class such as `alpha`.
pub(crate) fn named(name: &[u8]) -> Option<Set> {
    Some(match name {
        b"alpha" => Set::of(|byte| byte.is_ascii_alphabetic()),
        b"digit" => Set::of(|byte| byte.is_ascii_digit()),
        b"alnum" => Set::of(|byte| byte.is_ascii_alphanumeric()),
        b"upper" => Set::of(|byte| byte.is_ascii_uppercase()),
        b"lower" => Set::of(|byte| byte.is_ascii_lowercase()),
        b"space" => Set::of(is_space),
        b"blank" => Set::of(is_blank),
        b"punct" => Set::of(|byte| byte.is_ascii_punctuation()),
        b"print" => Set::of(|byte| byte == b' ' || byte.is_ascii_graphic()),
        b"graph" => Set::of(|byte| byte.is_ascii_graphic()),
        b"cntrl" => Set::of(|byte| byte.is_ascii_control()),
        b"xdigit" => Set::of(|byte| byte.is_ascii_hexdigit()),
        _ => return None,
    })
}

/// Whether the C locale calls a byte white space.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Whether the C locale calls a byte blank.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
