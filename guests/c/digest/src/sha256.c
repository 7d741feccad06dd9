// SHA-256 as FIPS 180-4 writes it down, section 6.2.

#include "sha256.h"

#include <string.h>

// Section 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes.
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Section 5.3.3: the same of the square roots of the first eight primes.
static const uint32_t START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static uint32_t rotate(uint32_t word, int bits) {
  return (word >> bits) | (word << (32 - bits));
}

static void schedule(const uint8_t *block, uint32_t w[64]) {
  for (int t = 0; t < 16; t++) {
    const uint8_t *at = block + 4 * t;
    w[t] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int t = 16; t < 64; t++) {
    uint32_t two = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10);
    uint32_t fifteen = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3);
    w[t] = two + w[t - 7] + fifteen + w[t - 16];
  }
}

static void compress(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64];
  schedule(block, w);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int t = 0; t < 64; t++) {
    uint32_t choice = (e & f) ^ (~e & g);
    uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t one = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + K[t] + w[t];
    uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void sha256_start(struct sha256 *hash) {
  memcpy(hash->state, START, sizeof START);
  hash->length = 0;
}

void sha256_add(struct sha256 *hash, const uint8_t *bytes, size_t count) {
  size_t held = hash->length % 64;
  hash->length += count;
  if (held > 0) {
    size_t taken = count < 64 - held ? count : 64 - held;
    memcpy(hash->block + held, bytes, taken);
    if (held + taken < 64) return;
    compress(hash->state, hash->block);
    bytes += taken;
    count -= taken;
  }
  for (; count >= 64; bytes += 64, count -= 64) compress(hash->state, bytes);
  memcpy(hash->block, bytes, count);
}

void sha256_end(struct sha256 *hash, uint8_t digest[SHA256_BYTES]) {
  uint8_t end[72] = {0x80};
  uint64_t bits = hash->length * 8;
  size_t held = hash->length % 64;
  // Up to where eight bytes are left in a block for the length in bits.
  size_t padding = held < 56 ? 56 - held : 120 - held;
  for (int at = 0; at < 8; at++) end[padding + at] = (uint8_t)(bits >> (56 - 8 * at));
  sha256_add(hash, end, padding + 8);
  for (int at = 0; at < SHA256_BYTES; at++) {
    digest[at] = (uint8_t)(hash->state[at / 4] >> (24 - 8 * (at % 4)));
  }
}
