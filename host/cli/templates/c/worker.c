// The worker `{{name}}`: counts the words of its prompt, and stages what it has to say as the part
// `count.txt`.
//
// What an invocation hands over is ours to free. What we hand back is freed by the generated code, so that
// it must come from `malloc`.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker_plugin.h"

static size_t count_words(const worker_plugin_string_t *text) {
  size_t words = 0;
  bool is_inside = false;
  for (size_t at = 0; at < text->len; at++) {
    bool is_letter = !isspace(text->ptr[at]);
    if (is_letter && !is_inside) words++;
    is_inside = is_letter;
  }
  return words;
}

bool exports_tidegate_plugin_worker_run(exports_tidegate_plugin_worker_invocation_t *invocation,
                                        exports_tidegate_plugin_worker_json_t *ret,
                                        exports_tidegate_plugin_worker_failure_t *err) {
  size_t words = count_words(&invocation->prompt);
  exports_tidegate_plugin_worker_invocation_free(invocation);
  if (words == 0) {
    memset(err, 0, sizeof *err);
    worker_plugin_string_dup(&err->code, "BLANK");
    worker_plugin_string_dup(&err->message, "the prompt has no words");
    return false;
  }
  char said[32];
  snprintf(said, sizeof said, "%zu words\n", words);
  worker_plugin_string_t name, content;
  worker_plugin_string_set(&name, "count.txt");
  worker_plugin_string_set(&content, said);
  worker_plugin_list_u8_t bytes = {.ptr = content.ptr, .len = content.len};
  if (!tidegate_plugin_parts_stage(&name, &bytes, err)) return false;

  char json[48];
  snprintf(json, sizeof json, "{\"words\":%zu}", words);
  worker_plugin_string_dup(ret, json);
  return true;
}
