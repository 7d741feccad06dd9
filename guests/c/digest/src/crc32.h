// CRC-32 as Ethernet, gzip and PNG have it (ISO 3309), over bytes that come in pieces.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct crc32 {
  uint32_t table[256];
  uint32_t value;
};

void crc32_start(struct crc32 *sum);
void crc32_add(struct crc32 *sum, const uint8_t *bytes, size_t count);
uint32_t crc32_end(const struct crc32 *sum);
