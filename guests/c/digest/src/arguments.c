// A reader for what the schema lets through: one object whose values are strings. The host has
// checked already that the text is JSON; whatever else comes is refused and never trusted.

#include "arguments.h"

#include <string.h>

#define MAX_PATH_CHARACTERS 1024

// The text that is still to be read.
struct reader {
  const uint8_t *at;
  const uint8_t *end;
};

static void skip_space(struct reader *from) {
  while (from->at < from->end && strchr(" \t\r\n", *from->at) != NULL && *from->at != 0) from->at++;
}

static bool take(struct reader *from, char letter) {
  skip_space(from);
  if (from->at == from->end || *from->at != letter) return false;
  from->at++;
  return true;
}

// Four hexadecimal digits, or a value that is no character.
static uint32_t hex4(struct reader *from) {
  uint32_t value = 0;
  for (int digit = 0; digit < 4; digit++) {
    if (from->at == from->end) return UINT32_MAX;
    uint8_t letter = *from->at++;
    if (letter >= '0' && letter <= '9') value = value * 16 + (letter - '0');
    else if (letter >= 'a' && letter <= 'f') value = value * 16 + (letter - 'a' + 10);
    else if (letter >= 'A' && letter <= 'F') value = value * 16 + (letter - 'A' + 10);
    else return UINT32_MAX;
  }
  return value;
}

// The character of a `\u` escape, which may be two for one outside of the first plane.
static uint32_t unicode(struct reader *from) {
  uint32_t first = hex4(from);
  if (first < 0xd800 || first > 0xdfff) return first;
  if (first > 0xdbff || from->end - from->at < 2 || from->at[0] != '\\' || from->at[1] != 'u') {
    return UINT32_MAX;
  }
  from->at += 2;
  uint32_t second = hex4(from);
  if (second < 0xdc00 || second > 0xdfff) return UINT32_MAX;
  return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

static uint32_t escaped(struct reader *from) {
  if (from->at == from->end) return UINT32_MAX;
  switch (*from->at++) {
    case '"': return '"';
    case '\\': return '\\';
    case '/': return '/';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'u': return unicode(from);
    default: return UINT32_MAX;
  }
}

// Writes one character as UTF-8 and gives back how many bytes it took.
static size_t encode(uint32_t character, char bytes[4]) {
  if (character < 0x80) {
    bytes[0] = (char)character;
    return 1;
  }
  size_t count = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  for (size_t at = count - 1; at > 0; at--) {
    bytes[at] = (char)(0x80 | (character & 0x3f));
    character >>= 6;
  }
  bytes[0] = (char)((0xf00 >> count) | character);
  return count;
}

enum taken { WHOLE, CUT, NO_STRING };

// Reads one string into `text` of `room` bytes, its NUL included. A NUL in it is no string here.
static enum taken take_string(struct reader *from, char *text, size_t room) {
  if (!take(from, '"')) return NO_STRING;
  size_t length = 0;
  enum taken taken = WHOLE;
  while (from->at < from->end) {
    uint8_t letter = *from->at++;
    if (letter == '"') {
      text[length] = 0;
      return taken;
    }
    char bytes[4];
    size_t count = 1;
    bytes[0] = (char)letter;
    if (letter == '\\') {
      uint32_t character = escaped(from);
      if (character == 0 || character > 0x10ffff) return NO_STRING;
      count = encode(character, bytes);
    }
    if (length + count >= room) {
      taken = CUT;
    } else {
      memcpy(text + length, bytes, count);
      length += count;
    }
  }
  return NO_STRING;
}

static size_t characters(const char *text) {
  size_t count = 0;
  for (; *text != 0; text++) count += ((uint8_t)*text & 0xc0) != 0x80;
  return count;
}

// What is wrong with a path, or NULL.
static const char *path_reason(const char *path) {
  if (*path == 0) return "a path is required";
  if (characters(path) > MAX_PATH_CHARACTERS) return "the path is longer than 1,024 characters";
  if (*path == '/') return "the path must be relative to the workspace";
  for (const char *at = path; *at != 0; at++) {
    if ((uint8_t)*at < 0x20 || *at == 0x7f || *at == '\\') {
      return "the path has a backslash or a control character";
    }
  }
  for (const char *name = path;;) {
    size_t length = strcspn(name, "/");
    if (length == 0 || (length == 2 && memcmp(name, "..", 2) == 0)) {
      return "the path has an empty or `..` segment";
    }
    if (name[length] == 0) return NULL;
    name += length + 1;
  }
}

static bool wrong(struct problem *problem, const char *pointer, const char *reason) {
  *problem = (struct problem){.pointer = pointer, .reason = reason};
  return false;
}

// Reads the value of one key.
static bool take_value(struct reader *from, const char *key, struct arguments *arguments,
                       struct problem *problem) {
  if (strcmp(key, "path") == 0) {
    switch (take_string(from, arguments->path, sizeof arguments->path)) {
      case WHOLE: return true;
      case CUT: return wrong(problem, "/path", "the path is longer than 1,024 characters");
      case NO_STRING: return wrong(problem, "/path", "the path must be a string without NUL");
    }
  }
  if (strcmp(key, "algorithm") == 0) {
    char name[16];
    bool is_whole = take_string(from, name, sizeof name) == WHOLE;
    if (is_whole && strcmp(name, "sha-256") == 0) arguments->algorithm = SHA_256;
    else if (is_whole && strcmp(name, "crc32") == 0) arguments->algorithm = CRC_32;
    else return wrong(problem, "/algorithm", "the algorithm must be sha-256 or crc32");
    return true;
  }
  return wrong(problem, "", "there is an argument that the tool does not have");
}

bool read_arguments(const uint8_t *json, size_t length, struct arguments *arguments,
                    struct problem *problem) {
  struct reader from = {.at = json, .end = json + length};
  arguments->path[0] = 0;
  arguments->algorithm = SHA_256;
  if (!take(&from, '{')) return wrong(problem, "", "the arguments must be an object");
  if (!take(&from, '}')) {
    do {
      char key[16];
      if (take_string(&from, key, sizeof key) == NO_STRING || !take(&from, ':')) {
        return wrong(problem, "", "the arguments are not JSON");
      }
      if (!take_value(&from, key, arguments, problem)) return false;
    } while (take(&from, ','));
    if (!take(&from, '}')) return wrong(problem, "", "the arguments are not JSON");
  }
  const char *reason = path_reason(arguments->path);
  return reason == NULL || wrong(problem, "/path", reason);
}
