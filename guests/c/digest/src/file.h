// Opening a file of the workspace, and the names of what can go wrong.
#pragma once

#include <stdint.h>

// The longest file that is read, in bytes: some two seconds of SHA-256, of the ten that a call has.
#define MAX_FILE_BYTES (256u << 20)

enum refusal {
  NO_REFUSAL,
  NOT_FOUND,
  READ_DENIED,
  NOT_A_FILE,
  TOO_LARGE,
  READ_FAILED,
  CANCELLED,
};

// Opens a regular file of at most MAX_FILE_BYTES. The descriptor and its length are set where it
// gives back NO_REFUSAL.
enum refusal open_file(const char *path, int *descriptor, uint64_t *length);
