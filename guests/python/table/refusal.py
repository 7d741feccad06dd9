"""Why a tool gave up. The words are fixed: nothing of a file, a path or an exception is quoted."""

from wit_world.imports.types import Failure, Outcome, Status


class Refusal(Exception):
    """Ends a call with a code and a message that anyone may read."""

    def __init__(self, code: str, message: str, status: Status = Status.FAILED):
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status

    def outcome(self) -> Outcome:
        """What the host takes in the place of a success."""
        failure = Failure(self.code, self.message, None)
        return Outcome(self.status, None, None, [], failure, None)


def not_found() -> Refusal:
    return Refusal("NOT_FOUND", "no such file in the workspace")


def denied() -> Refusal:
    return Refusal("READ_DENIED", "the plugin may not read this file")


def not_a_file() -> Refusal:
    return Refusal("NOT_A_FILE", "the path does not name a regular file")


def read_failed() -> Refusal:
    return Refusal("READ_FAILED", "the file could not be read")


def not_text() -> Refusal:
    return Refusal("NOT_TEXT", "the file is not UTF-8 text")


def too_large(what: str) -> Refusal:
    return Refusal("TOO_LARGE", what)


def malformed(what: str) -> Refusal:
    return Refusal("MALFORMED", what)


def cancelled() -> Refusal:
    return Refusal("CANCELLED", "the caller gave up on the call", Status.CANCELLED)
