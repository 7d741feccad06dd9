"""Workers: one step of a flow, done inside the host."""

import json
from typing import Any

from componentize_py_types import Err
from tidegate_plugin import Refusal
from wit_world import exports
from wit_world.exports.worker import Invocation
from wit_world.imports import parts

__all__ = ["Invocation", "Refusal", "Worker", "known", "stage"]


class Worker(exports.Worker):
    """A worker. Its own class of this name has `work`."""

    def work(self, invocation: Invocation) -> Any:
        """Does the step and gives its value; a `Refusal` fails the attempt."""
        raise NotImplementedError

    def run(self, invocation: Invocation) -> str:
        try:
            return json.dumps(self.work(invocation), allow_nan=False)
        except Refusal as refusal:
            raise Err(refusal.failure) from None


def known(invocation: Invocation) -> dict[str, Any]:
    """What the worker may know: the object `context`."""
    return json.loads(invocation.context)


def stage(name: str, text: str) -> None:
    """Stages one named part of the running attempt; the last text of a name counts."""
    parts.stage(name, text.encode())
