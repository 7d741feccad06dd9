//! Bodies in content codings, made by hand: small on the wire, large or true to the byte behind it.
//!
//! Deliberately absent: compression. A body that has to be in gzip is only wrapped, and the large
//! ones are zeros, whose codes are known beforehand (Source: RFC 1951, RFC 1952, RFC 8878).

use crc32fast::Hasher;

/// 128 MiB of zeros in brotli, in a window of 16 MiB.
pub(crate) const BROTLI_ZEROS: &[u8] = &[
    0xcf, 0xff, 0xff, 0x7f, 0x00, 0x24, 0x00, 0xe2, 0xb1, 0x40, 0x72, 0xef, 0xff, 0xf9, 0xff, 0xff,
    0x0f, 0x80, 0x04, 0x40, 0x1c, 0x16, 0x80, 0xee, 0xfd, 0x3f, 0xff, 0xff, 0xff, 0x01, 0x90, 0x00,
    0x88, 0xc3, 0x02, 0xd0, 0xbd, 0xff, 0xe7, 0xff, 0xff, 0x3f, 0x00, 0x12, 0x00, 0x71, 0x58, 0x00,
    0xba, 0xf7, 0xff, 0xfc, 0xff, 0xff, 0x07, 0x40, 0x02, 0x20, 0x0e, 0x0b, 0x40, 0xf7, 0xfe, 0x9f,
    0xff, 0xff, 0xff, 0x00, 0x48, 0x00, 0xc4, 0x61, 0x01, 0xe8, 0xde, 0xff, 0xf3, 0xff, 0xff, 0x1f,
    0x00, 0x09, 0x80, 0x38, 0x2c, 0x00, 0xdd, 0xfb, 0x7f, 0xfe, 0xff, 0xff, 0x03, 0x20, 0x01, 0x10,
    0x87, 0x05, 0xa0, 0x7b, 0xff, 0x6f, 0x00, 0x03,
];

/// The member header: deflate, no name, no time, an unknown system.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// Wraps bytes as gzip, in blocks without compression.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = GZIP_HEAD.to_vec();
    let mut blocks = bytes.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap();
        member.push(u8::from(blocks.peek().is_none()));
        member.extend(length.to_le_bytes());
        member.extend((!length).to_le_bytes());
        member.extend(block);
    }
    if bytes.is_empty() {
        member.extend([1, 0, 0, 0xff, 0xff]);
    }
    let mut sum = Hasher::new();
    sum.update(bytes);
    finish(member, sum, bytes.len())
}

/// So many zeros in gzip: about a thousandth of the size.
pub(crate) fn gzip_zeros(length: usize) -> Vec<u8> {
    /// What the longest match covers.
    const MATCH: usize = 258;
    let mut bits = Bits {
        bytes: GZIP_HEAD.to_vec(),
        used: 8,
    };
    // The last block, with codes of its own: 286 literals and lengths, 1 distance, 18 code lengths.
    for (value, count) in [(1, 1), (2, 2), (29, 5), (0, 5), (14, 4)] {
        bits.push(value, count);
    }
    // Code lengths are told by three codes: 18 (many zeros) in 1 bit, 2 and 1 in 2 bits each.
    for place in 0..18 {
        let size = match place {
            2 => 1,
            15 | 17 => 2,
            _ => 0,
        };
        bits.push(size, 3);
    }
    // Literal 0 in 2 bits, 255 unused, the end in 2 bits, 28 unused, length 258 and distance 1 in
    // 1 bit each. Codes go with their first bit first.
    let (two, one, zeros) = ((0b11, 2), (0b01, 2), (0, 1));
    for (value, count) in [two, zeros, (138 - 11, 7), zeros, (117 - 11, 7)] {
        bits.push(value, count);
    }
    for (value, count) in [two, zeros, (28 - 11, 7), one, one] {
        bits.push(value, count);
    }
    // A match needs something before it; what is no whole match goes by literals too.
    let literals = match length {
        0 => 0,
        _ => 1 + (length - 1) % MATCH,
    };
    for _ in 0..literals {
        bits.push(0b01, 2);
    }
    bits.skip(2 * ((length - literals) / MATCH));
    bits.push(0b11, 2);
    finish(bits.bytes, sum_of_zeros(length), length)
}

/// So many times 128 KiB of zeros in zstd: four bytes each.
pub(crate) fn zstd_zeros(blocks: usize) -> Vec<u8> {
    // The magic number; no size, no checksum; a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for block in 1..=blocks {
        let is_last = u32::from(block == blocks);
        let repeated = 1 << 1;
        let [low, middle, high, _] = ((128 << 10 << 3) | repeated | is_last).to_le_bytes();
        frame.extend([low, middle, high, 0]);
    }
    frame
}

/// Adds what stands behind the data of a gzip member: its sum, and its size modulo 2^32.
fn finish(mut member: Vec<u8>, sum: Hasher, length: usize) -> Vec<u8> {
    member.extend(sum.finalize().to_le_bytes());
    let size = u32::try_from(length & 0xffff_ffff).unwrap();
    member.extend(size.to_le_bytes());
    member
}

/// Put together from halves, since running over them all takes long in a build for tests.
fn sum_of_zeros(length: usize) -> Hasher {
    let mut sum = Hasher::new();
    let mut power = Hasher::new();
    power.update(&[0]);
    let mut left = length;
    while left > 0 {
        if left % 2 == 1 {
            sum.combine(&power);
        }
        let half = power.clone();
        power.combine(&half);
        left /= 2;
    }
    sum
}

/// Bytes that are filled from their lowest bit.
struct Bits {
    bytes: Vec<u8>,
    /// How many bits of the last byte are taken.
    used: usize,
}

impl Bits {
    fn push(&mut self, value: u8, count: usize) {
        for place in 0..count {
            self.skip(1);
            let bit = (value >> place) & 1;
            *self.bytes.last_mut().unwrap() |= bit << (self.used - 1);
        }
    }

    /// Adds zero bits.
    fn skip(&mut self, count: usize) {
        let end = self.used + count;
        let more = end.div_ceil(8).max(1) - 1;
        self.bytes.resize(self.bytes.len() + more, 0);
        self.used = end - 8 * more;
    }
}
