// What the errors of the C library mean here. The host decides what may be read; a denial arrives
// as an ordinary error.

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"

// Whether some folder above the path can be seen. The C library says of a path outside all granted
// folders that it is not there.
static bool in_granted_folder(const char *path) {
  char folder[MAX_PATH_BYTES + 1];
  struct stat status;
  strcpy(folder, path);
  for (char *slash = strrchr(folder, '/'); slash != NULL; slash = strrchr(folder, '/')) {
    *slash = 0;
    if (stat(folder, &status) == 0) return true;
  }
  return stat(".", &status) == 0;
}

static enum refusal why_not_opened(const char *path, int error) {
  struct stat status;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return in_granted_folder(path) ? NOT_FOUND : READ_DENIED;
    case EACCES:
    case EPERM:
    case ENOTCAPABLE:
      return READ_DENIED;
    case EISDIR:
      return NOT_A_FILE;
    default:
      // The host refuses to open pipes and devices, each with an error of its own.
      return stat(path, &status) == 0 && !S_ISREG(status.st_mode) ? NOT_A_FILE : READ_FAILED;
  }
}

enum refusal open_file(const char *path, int *descriptor, uint64_t *length) {
  *descriptor = open(path, O_RDONLY);
  if (*descriptor < 0) return why_not_opened(path, errno);
  struct stat status;
  enum refusal refusal = NO_REFUSAL;
  if (fstat(*descriptor, &status) != 0) refusal = READ_FAILED;
  else if (!S_ISREG(status.st_mode)) refusal = NOT_A_FILE;
  else if (status.st_size > (off_t)MAX_FILE_BYTES) refusal = TOO_LARGE;
  if (refusal == NO_REFUSAL) *length = (uint64_t)status.st_size;
  else close(*descriptor);
  return refusal;
}
