"""Opening a file of the workspace and reading it in pieces. The host decides what may be read."""

import io
import os
import stat

import refusal
from wit_world.imports import context

# What is read between two reports, in bytes.
CHUNK_BYTES = 65_536


class Counted(io.RawIOBase):
    """A file that tells how far it is read, and stops at a bound or when nobody wants the answer."""

    def __init__(self, file: io.FileIO, size: int, most: int):
        self._file = file
        self._size = size
        self._most = most
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if context.cancelled():
            raise refusal.cancelled()
        try:
            count = self._file.readinto(buffer)
        except OSError:
            raise refusal.read_failed() from None
        self._done += count
        # The file may have grown since it was opened.
        if self._done > self._most:
            raise over(self._most)
        if count > 0:
            context.progress(self._done, max(self._done, self._size), "bytes read")
        return count


def over(most: int) -> refusal.Refusal:
    return refusal.too_large(f"the file is longer than {most:,} bytes")


def open_text(path: str, most: int) -> io.TextIOWrapper:
    """The text of a regular file of at most `most` bytes, with line ends as they are."""
    try:
        file = io.FileIO(path, "r")
        status = os.fstat(file.fileno())
    except OSError as error:
        raise why_not_opened(path, error) from None
    if not stat.S_ISREG(status.st_mode):
        raise refusal.not_a_file()
    if status.st_size > most:
        raise over(most)
    buffered = io.BufferedReader(Counted(file, status.st_size, most), CHUNK_BYTES)
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="strict", newline="")


def why_not_opened(path: str, error: OSError) -> refusal.Refusal:
    """What the error of an open means, where the error alone does not tell."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return refusal.not_found() if in_granted_folder(path) else refusal.denied()
    if isinstance(error, PermissionError):
        return refusal.denied()
    if isinstance(error, IsADirectoryError) or is_other_kind(path):
        return refusal.not_a_file()
    return refusal.read_failed()


def is_other_kind(path: str) -> bool:
    # The host refuses to open pipes and devices, each with an error of its own.
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def in_granted_folder(path: str) -> bool:
    """Whether some folder above the path can be seen. The C library says of a path outside all
    granted folders that it is not there."""
    names = path.split("/")[:-1]
    folders = ["/".join(names[:count]) for count in range(len(names), 0, -1)]
    for folder in [*folders, "."]:
        try:
            os.stat(folder)
        except OSError:
            continue
        return True
    return False
