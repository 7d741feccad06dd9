"""Tools, sinks and workers for Tidegate, without the handling of the contract's raw types.

A plugin is the module `plugin`. It holds one class that is made of one of these:

- `tidegate_plugin.tool`: `Tool` and `Tools`
- `tidegate_plugin.sink`: `Sink`
- `tidegate_plugin.worker`: `Worker`

What the host offers beside is in `wit_world.imports`, for example `context`. Deliberately absent: files,
for which `open` is enough.
"""

from typing import Optional

from wit_world.imports import types


class Unknown(Exception):
    """Nobody knows whether a delivery was taken: some of it may have left. The message is one line that is
    fit for anyone."""

    def __init__(self, message: str) -> None:
        super().__init__("OUTCOME_UNKNOWN")
        self.failure = types.Failure("OUTCOME_UNKNOWN", message, None)


class Refusal(Exception):
    """What went wrong in the plugin's own business, in words that are fit for anyone.

    `code` is your own, such as `NOT_FOUND`. `message` is one line that quotes no path, no text of a
    file and no other exception. `retryable` says whether the same call could succeed later, where
    that is known.
    """

    def __init__(self, code: str, message: str, retryable: Optional[bool] = None) -> None:
        super().__init__(code)
        self.failure = types.Failure(code, message, retryable)
