// The sink `{{name}}`: prints the text of each message, for which it is granted `stdout`.
//
// What a delivery hands over is ours to free. What we hand back is freed by the generated code, so that it
// must come from `malloc`.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink_plugin.h"

static bool is_blank(const sink_plugin_string_t *text) {
  for (size_t at = 0; at < text->len; at++) {
    if (!isspace(text->ptr[at])) return false;
  }
  return true;
}

static void fail(exports_tidegate_plugin_sink_receipt_t *receipt, const char *code, const char *message) {
  receipt->error.is_some = true;
  sink_plugin_string_dup(&receipt->error.val.code, code);
  sink_plugin_string_dup(&receipt->error.val.message, message);
}

static void reject(exports_tidegate_plugin_sink_receipt_t *receipt, const char *message) {
  receipt->status = TIDEGATE_PLUGIN_TYPES_RECEIPT_STATUS_REJECTED;
  fail(receipt, "NOT_PRINTED", message);
}

void exports_tidegate_plugin_sink_deliver(exports_tidegate_plugin_sink_delivery_t *delivery,
                                          exports_tidegate_plugin_sink_receipt_t *ret) {
  memset(ret, 0, sizeof *ret);
  sink_plugin_string_dup_n(&ret->delivery_id, (const char *)delivery->delivery_id.ptr,
                           delivery->delivery_id.len);
  tidegate_plugin_types_content_t *content = &delivery->message.content;
  if (content->tag != TIDEGATE_PLUGIN_TYPES_CONTENT_TEXT) {
    reject(ret, "the message is not one text");
  } else if (is_blank(&content->val.text)) {
    reject(ret, "there is nothing to print");
  } else {
    fwrite(content->val.text.ptr, 1, content->val.text.len, stdout);
    putchar('\n');
    if (fflush(stdout) != 0 || ferror(stdout)) {
      // Lines of it may have been printed.
      ret->status = TIDEGATE_PLUGIN_TYPES_RECEIPT_STATUS_UNKNOWN;
      fail(ret, "OUTCOME_UNKNOWN", "standard output did not take the whole message");
    }
  }
  exports_tidegate_plugin_sink_delivery_free(delivery);
}
