// The tool `{{name}}`: counts the words of a text.
//
// What a call hands over is ours to free. What we hand back is freed by the generated code, so that it must
// come from `malloc`.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "tool_plugin.h"

static const char SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"text\":{\"type\":\"string\",\"maxLength\":10000,"
    "\"description\":\"The text whose words are counted\"}},"
    "\"required\":[\"text\"],\"additionalProperties\":false}";

static size_t count_words(const char *text) {
  static const char SPACE[] = " \t\r\n\v\f";
  size_t words = 0;
  for (text += strspn(text, SPACE); *text != 0; text += strspn(text, SPACE)) {
    words++;
    text += strcspn(text, SPACE);
  }
  return words;
}

void exports_tidegate_plugin_tools_definitions(
    exports_tidegate_plugin_tools_list_tool_definition_t *ret) {
  ret->len = 1;
  ret->ptr = calloc(1, sizeof *ret->ptr);
  if (ret->ptr == NULL) abort();
  tool_plugin_string_dup(&ret->ptr->name, "{{name}}");
  ret->ptr->description.is_some = true;
  tool_plugin_string_dup(&ret->ptr->description.val,
                         "Counts the words of a text: what stands between white space.");
  tool_plugin_string_dup(&ret->ptr->input_schema, SCHEMA);
}

bool exports_tidegate_plugin_tools_validate(tool_plugin_string_t *name,
                                            exports_tidegate_plugin_tools_json_t *arguments,
                                            exports_tidegate_plugin_tools_list_problem_t *err) {
  char *text = json_text(arguments->ptr, arguments->len, "text");
  bool is_good = text != NULL && count_words(text) > 0;
  free(text);
  tool_plugin_string_free(name);
  exports_tidegate_plugin_tools_json_free(arguments);
  if (is_good) return true;
  err->len = 1;
  err->ptr = calloc(1, sizeof *err->ptr);
  if (err->ptr == NULL) abort();
  tool_plugin_string_dup(&err->ptr->pointer, "/text");
  tool_plugin_string_dup(&err->ptr->reason, "the text is blank");
  return false;
}

void exports_tidegate_plugin_tools_execute(exports_tidegate_plugin_tools_tool_call_t *call,
                                           exports_tidegate_plugin_tools_outcome_t *ret) {
  memset(ret, 0, sizeof *ret);
  char *text = json_text(call->arguments.ptr, call->arguments.len, "text");
  if (text == NULL) {
    ret->status = TIDEGATE_PLUGIN_TYPES_STATUS_FAILED;
    ret->error.is_some = true;
    tool_plugin_string_dup(&ret->error.val.code, "INVALID_ARGUMENTS");
    tool_plugin_string_dup(&ret->error.val.message, "there is no text to count");
  } else {
    char said[32];
    snprintf(said, sizeof said, "%zu words", count_words(text));
    ret->content.is_some = true;
    ret->content.val.tag = TIDEGATE_PLUGIN_TYPES_CONTENT_TEXT;
    tool_plugin_string_dup(&ret->content.val.val.text, said);
  }
  free(text);
  exports_tidegate_plugin_tools_tool_call_free(call);
}
