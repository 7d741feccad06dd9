// The tool's arguments: read from their JSON, and what a schema can't say about them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of a path: its 1,024 characters have at most four each.
#define MAX_PATH_BYTES 4096

enum algorithm { SHA_256, CRC_32 };

struct arguments {
  char path[MAX_PATH_BYTES + 1];
  enum algorithm algorithm;
};

// One place of the arguments that is wrong. Both texts are constants.
struct problem {
  const char *pointer;
  const char *reason;
};

// Reads one flat JSON object. False, with the problem, where the tool can't take it.
bool read_arguments(const uint8_t *json, size_t length, struct arguments *arguments,
                    struct problem *problem);
