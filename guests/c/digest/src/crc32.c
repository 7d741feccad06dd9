// CRC-32 by a table of what each byte comes to.

#include "crc32.h"

// The polynomial, its lowest power in the highest bit.
#define POLYNOMIAL 0xedb88320u

void crc32_start(struct crc32 *sum) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (value & 1 ? POLYNOMIAL : 0);
    sum->table[byte] = value;
  }
  sum->value = UINT32_MAX;
}

void crc32_add(struct crc32 *sum, const uint8_t *bytes, size_t count) {
  for (size_t at = 0; at < count; at++) {
    sum->value = (sum->value >> 8) ^ sum->table[(sum->value ^ bytes[at]) & 0xff];
  }
}

uint32_t crc32_end(const struct crc32 *sum) {
  return ~sum->value;
}
