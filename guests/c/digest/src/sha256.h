// SHA-256 (FIPS 180-4) over bytes that come in pieces.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
  uint32_t state[8];
  uint8_t block[64];
  uint64_t length;
};

void sha256_start(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const uint8_t *bytes, size_t count);
void sha256_end(struct sha256 *hash, uint8_t digest[SHA256_BYTES]);
