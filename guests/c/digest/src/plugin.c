// The plugin's exports: the tool `digest`.
//
// Strings of an answer are copies that the generated code frees; those of a call are ours to free.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "crc32.h"
#include "file.h"
#include "sha256.h"
#include "tool_plugin.h"

#define NAME "digest"

// What is read at a time, in bytes. Nothing else of a file is held.
#define CHUNK_BYTES 65536

static const char INPUT_SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1024,"
    "\"description\":\"Path of the file, relative to the workspace\"},"
    "\"algorithm\":{\"enum\":[\"sha-256\",\"crc32\"],\"default\":\"sha-256\"}},"
    "\"required\":[\"path\"],\"additionalProperties\":false}";

static const char OUTPUT_SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"path\":{\"type\":\"string\"},"
    "\"algorithm\":{\"enum\":[\"sha-256\",\"crc32\"]},"
    "\"digest\":{\"type\":\"string\",\"pattern\":\"^([0-9a-f]{8}|[0-9a-f]{64})$\"},"
    "\"sizeBytes\":{\"type\":\"integer\",\"minimum\":0}},"
    "\"required\":[\"path\",\"algorithm\",\"digest\",\"sizeBytes\"],\"additionalProperties\":false}";

static const char DESCRIPTION[] =
    "Computes the SHA-256 or CRC-32 of a file of the workspace, in hexadecimal digits. The file may "
    "be of any kind and at most 268,435,456 bytes long.";

// The code and the words of each refusal. Nothing of a path or file is quoted.
static const struct {
  const char *code;
  const char *message;
} REFUSALS[] = {
    [NOT_FOUND] = {"NOT_FOUND", "no such file in the workspace"},
    [READ_DENIED] = {"READ_DENIED", "the plugin may not read this file"},
    [NOT_A_FILE] = {"NOT_A_FILE", "the path does not name a regular file"},
    [TOO_LARGE] = {"TOO_LARGE", "the file is longer than 268,435,456 bytes"},
    [READ_FAILED] = {"READ_FAILED", "the file could not be read"},
    [CANCELLED] = {"CANCELLED", "the caller gave up on the call"},
};

// Both sums; only the one that is asked for is used.
struct sum {
  enum algorithm algorithm;
  struct sha256 sha256;
  struct crc32 crc32;
};

static void *allocated(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) abort();
  return memory;
}

static bool is_ours(const tool_plugin_string_t *name) {
  return name->len == strlen(NAME) && memcmp(name->ptr, NAME, name->len) == 0;
}

void exports_tidegate_plugin_tools_definitions(
    exports_tidegate_plugin_tools_list_tool_definition_t *ret) {
  ret->len = 1;
  ret->ptr = allocated(sizeof *ret->ptr);
  exports_tidegate_plugin_tools_tool_definition_t *tool = ret->ptr;
  memset(tool, 0, sizeof *tool);
  tool_plugin_string_dup(&tool->name, NAME);
  tool->description.is_some = true;
  tool_plugin_string_dup(&tool->description.val, DESCRIPTION);
  tool_plugin_string_dup(&tool->input_schema, INPUT_SCHEMA);
  tool->output_schema.is_some = true;
  tool_plugin_string_dup(&tool->output_schema.val, OUTPUT_SCHEMA);
  tool->effects.len = 1;
  tool->effects.ptr = allocated(sizeof *tool->effects.ptr);
  tool->effects.ptr[0] = TIDEGATE_PLUGIN_TYPES_EFFECT_READ;
}

bool exports_tidegate_plugin_tools_validate(tool_plugin_string_t *name,
                                            exports_tidegate_plugin_tools_json_t *arguments,
                                            exports_tidegate_plugin_tools_list_problem_t *err) {
  struct problem problem = {.pointer = "", .reason = "this plugin has no tool of that name"};
  struct arguments read;
  bool is_good =
      is_ours(name) && read_arguments(arguments->ptr, arguments->len, &read, &problem);
  tool_plugin_string_free(name);
  exports_tidegate_plugin_tools_json_free(arguments);
  if (is_good) return true;
  err->len = 1;
  err->ptr = allocated(sizeof *err->ptr);
  tool_plugin_string_dup(&err->ptr[0].pointer, problem.pointer);
  tool_plugin_string_dup(&err->ptr[0].reason, problem.reason);
  return false;
}

static void fail(tidegate_plugin_types_outcome_t *outcome, const char *code, const char *message) {
  outcome->status = TIDEGATE_PLUGIN_TYPES_STATUS_FAILED;
  outcome->error.is_some = true;
  tool_plugin_string_dup(&outcome->error.val.code, code);
  tool_plugin_string_dup(&outcome->error.val.message, message);
}

static void refuse(tidegate_plugin_types_outcome_t *outcome, enum refusal refusal) {
  fail(outcome, REFUSALS[refusal].code, REFUSALS[refusal].message);
  if (refusal == CANCELLED) outcome->status = TIDEGATE_PLUGIN_TYPES_STATUS_CANCELLED;
}

static void add(struct sum *sum, const uint8_t *bytes, size_t count) {
  if (sum->algorithm == SHA_256) sha256_add(&sum->sha256, bytes, count);
  else crc32_add(&sum->crc32, bytes, count);
}

// Reads to the end. The file may have grown since it was opened, so that its length is counted.
static enum refusal read_all(int descriptor, uint64_t expected, struct sum *sum, uint64_t *read_bytes) {
  static uint8_t chunk[CHUNK_BYTES];
  tool_plugin_string_t note;
  tool_plugin_string_set(&note, "bytes read");
  *read_bytes = 0;
  for (;;) {
    if (tidegate_plugin_context_cancelled()) return CANCELLED;
    ssize_t count = read(descriptor, chunk, sizeof chunk);
    if (count < 0) return READ_FAILED;
    if (count == 0) return NO_REFUSAL;
    *read_bytes += (uint64_t)count;
    if (*read_bytes > MAX_FILE_BYTES) return TOO_LARGE;
    add(sum, chunk, (size_t)count);
    uint64_t total = expected > *read_bytes ? expected : *read_bytes;
    tidegate_plugin_context_progress(*read_bytes, &total, &note);
  }
}

// The sum in hexadecimal digits.
static void write_hex(struct sum *sum, char text[2 * SHA256_BYTES + 1]) {
  if (sum->algorithm == CRC_32) {
    snprintf(text, 9, "%08x", (unsigned)crc32_end(&sum->crc32));
    return;
  }
  uint8_t digest[SHA256_BYTES];
  sha256_end(&sum->sha256, digest);
  for (int at = 0; at < SHA256_BYTES; at++) snprintf(text + 2 * at, 3, "%02x", digest[at]);
}

// The path as JSON. It has no control character and no backslash, so that only quotes need care.
static void quote(const char *path, char text[2 * MAX_PATH_BYTES + 1]) {
  size_t length = 0;
  for (; *path != 0; path++) {
    if (*path == '"') text[length++] = '\\';
    text[length++] = *path;
  }
  text[length] = 0;
}

static void succeed(const struct arguments *arguments, struct sum *sum, uint64_t size,
                    tidegate_plugin_types_outcome_t *outcome) {
  static char path[2 * MAX_PATH_BYTES + 1];
  static char text[sizeof path + 256];
  char hex[2 * SHA256_BYTES + 1];
  write_hex(sum, hex);
  quote(arguments->path, path);
  const char *name = sum->algorithm == SHA_256 ? "sha-256" : "crc32";
  outcome->status = TIDEGATE_PLUGIN_TYPES_STATUS_SUCCESS;
  outcome->content.is_some = true;
  outcome->content.val.tag = TIDEGATE_PLUGIN_TYPES_CONTENT_TEXT;
  snprintf(text, sizeof text, "%s  %s\n", hex, arguments->path);
  tool_plugin_string_dup(&outcome->content.val.val.text, text);
  snprintf(text, sizeof text,
           "{\"path\":\"%s\",\"algorithm\":\"%s\",\"digest\":\"%s\",\"sizeBytes\":%llu}", path,
           name, hex, (unsigned long long)size);
  outcome->structured_content.is_some = true;
  tool_plugin_string_dup(&outcome->structured_content.val, text);
}

static void digest(const struct arguments *arguments, tidegate_plugin_types_outcome_t *outcome) {
  int descriptor;
  uint64_t expected, size;
  enum refusal refusal = open_file(arguments->path, &descriptor, &expected);
  if (refusal != NO_REFUSAL) {
    refuse(outcome, refusal);
    return;
  }
  static struct sum sum;
  sum.algorithm = arguments->algorithm;
  sha256_start(&sum.sha256);
  crc32_start(&sum.crc32);
  refusal = read_all(descriptor, expected, &sum, &size);
  close(descriptor);
  if (refusal == NO_REFUSAL) succeed(arguments, &sum, size, outcome);
  else refuse(outcome, refusal);
}

void exports_tidegate_plugin_tools_execute(exports_tidegate_plugin_tools_tool_call_t *call,
                                           exports_tidegate_plugin_tools_outcome_t *ret) {
  struct problem problem;
  struct arguments arguments;
  memset(ret, 0, sizeof *ret);
  if (!is_ours(&call->name)) {
    fail(ret, "UNKNOWN_TOOL", "this plugin has no tool of that name");
  } else if (!read_arguments(call->arguments.ptr, call->arguments.len, &arguments, &problem)) {
    fail(ret, "INVALID_ARGUMENTS", problem.reason);
  } else {
    digest(&arguments, ret);
  }
  exports_tidegate_plugin_tools_tool_call_free(call);
}
