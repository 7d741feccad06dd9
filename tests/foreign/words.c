// `words` in C, for wit-bindgen's bindings. A letter is a byte that does not continue a character.

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

// The next word from `*at`; its length in bytes, or 0 where there is none.
static size_t next(const text_string_t *text, size_t *at) {
  while (*at < text->len && isspace(text->ptr[*at])) (*at)++;
  size_t end = *at;
  while (end < text->len && !isspace(text->ptr[end])) end++;
  return end - *at;
}

static size_t letters(const uint8_t *word, size_t length) {
  size_t count = 0;
  for (size_t at = 0; at < length; at++) count += (word[at] & 0xc0) != 0x80;
  return count;
}

void exports_example_text_words_count(text_string_t *text,
                                      exports_example_text_words_counted_t *ret) {
  *ret = (exports_example_text_words_counted_t){0};
  size_t at = 0;
  for (size_t length; (length = next(text, &at)) > 0; at += length) {
    ret->words++;
    ret->letters += letters(text->ptr + at, length);
  }
  text_string_free(text);
}

bool exports_example_text_words_longest(text_string_t *text, text_string_t *ret,
                                        text_string_t *err) {
  size_t at = 0, longest = 0, from = 0, bytes = 0;
  for (size_t length; (length = next(text, &at)) > 0; at += length) {
    size_t count = letters(text->ptr + at, length);
    if (count > longest) longest = count, from = at, bytes = length;
  }
  if (longest == 0) text_string_dup(err, "no words");
  else text_string_dup_n(ret, (const char *)text->ptr + from, bytes);
  text_string_free(text);
  return longest > 0;
}
