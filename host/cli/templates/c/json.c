// A reader that takes what comes and trusts nothing: what is no flat object of strings is not read.

#include "json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The text that is still to be read.
struct reader {
  const uint8_t *at;
  const uint8_t *end;
};

static bool take(struct reader *from, char letter) {
  while (from->at < from->end && *from->at != 0 && strchr(" \t\r\n", *from->at) != NULL) from->at++;
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
  static const char letters[] = "\"\\/bfnrt";
  static const char meant[] = "\"\\/\b\f\n\r\t";
  if (from->at == from->end) return UINT32_MAX;
  uint8_t letter = *from->at++;
  if (letter == 'u') return unicode(from);
  const char *known = letter == 0 ? NULL : strchr(letters, letter);
  return known == NULL ? UINT32_MAX : (uint8_t)meant[known - letters];
}

// Writes one character as UTF-8 and gives back how many bytes it took.
static size_t encode(uint32_t character, char *bytes) {
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

// A string as a new one, or NULL. No escape is shorter than what it stands for.
static char *take_string(struct reader *from) {
  if (!take(from, '"')) return NULL;
  char *text = malloc((size_t)(from->end - from->at) + 1);
  if (text == NULL) abort();
  size_t length = 0;
  while (from->at < from->end) {
    uint8_t letter = *from->at++;
    if (letter == '"') {
      text[length] = 0;
      return text;
    }
    uint32_t character = letter == '\\' ? escaped(from) : letter;
    if (character == 0 || character > 0x10ffff) break;
    if (letter == '\\') length += encode(character, text + length);
    else text[length++] = (char)letter;
  }
  free(text);
  return NULL;
}

char *json_text(const uint8_t *json, size_t length, const char *key) {
  struct reader from = {.at = json, .end = json + length};
  char *found = NULL;
  if (!take(&from, '{')) return NULL;
  do {
    char *name = take_string(&from);
    char *value = name != NULL && take(&from, ':') ? take_string(&from) : NULL;
    bool is_it = value != NULL && found == NULL && strcmp(name, key) == 0;
    if (is_it) found = value;
    else free(value);
    free(name);
    if (value == NULL) break;
  } while (take(&from, ','));
  return found;
}
