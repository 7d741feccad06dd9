// Reading JSON as far as flat arguments need it: one object whose values are strings.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The value of a key as a new string with its NUL, or NULL: where the key is missing or is no string, where
// a NUL is in it, and where the text is no such object. The host has checked already that it is JSON.
char *json_text(const uint8_t *json, size_t length, const char *key);
