"""Tools: functions with a schema of their arguments."""

import json
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tools import Problem
from wit_world.imports.types import (
    Content_Text,
    Effect,
    Outcome,
    Status,
    ToolCall,
    ToolDefinition,
)

from tidegate_plugin import Refusal

__all__ = ["Answer", "Effect", "Refusal", "Tool", "Tools"]

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A success: a text to read, data, or both."""

    text: Optional[str] = None
    data: Any = None


@dataclass(frozen=True)
class Tool:
    """One tool of a plugin."""

    name: str
    """1 to 64 of letters, digits, `_` and `-`."""

    description: str
    """Tells a model when to use the tool and what it gets."""

    input_schema: dict[str, Any]
    """JSON Schema of the arguments. `"additionalProperties": False` closes it."""

    run: Callable[[Arguments], Union[str, Answer]]
    """Runs once. A text is an answer too; a `Refusal` says what went wrong."""

    problems: Callable[[Arguments], list[tuple[str, str]]] = lambda arguments: []
    """What a schema can't say: each place that is wrong, as a JSON pointer, with a reason in one line."""

    output_schema: Optional[dict[str, Any]] = None
    """JSON Schema of the data of an answer."""

    effects: list[Effect] = field(default_factory=list)
    """What the tool touches."""

    requires_approval: bool = False
    """Whether a person should agree before each run."""


class Tools(exports.Tools):
    """The tools of a plugin. Its own class of this name sets `tools`."""

    tools: list[Tool] = []

    def definitions(self) -> list[ToolDefinition]:
        return [
            ToolDefinition(
                tool.name,
                tool.description,
                json.dumps(tool.input_schema),
                json.dumps(tool.output_schema) if tool.output_schema else None,
                tool.effects,
                tool.requires_approval,
            )
            for tool in self.tools
        ]

    def validate(self, name: str, arguments: str) -> None:
        tool = self._find(name)
        found = tool.problems(json.loads(arguments)) if tool else [("", NO_SUCH_TOOL)]
        if found:
            raise Err([Problem(pointer, reason) for pointer, reason in found])

    def execute(self, call: ToolCall) -> Outcome:
        try:
            tool = self._find(call.name)
            if tool is None:
                raise Refusal("UNKNOWN_TOOL", NO_SUCH_TOOL)
            return _success(tool.run(json.loads(call.arguments)))
        except Refusal as refusal:
            return Outcome(Status.FAILED, None, None, [], refusal.failure, None)

    def _find(self, name: str) -> Optional[Tool]:
        return next((tool for tool in self.tools if tool.name == name), None)


NO_SUCH_TOOL = "this plugin has no tool of that name"


def _success(answer: Union[str, Answer]) -> Outcome:
    if isinstance(answer, str):
        answer = Answer(answer)
    content = None if answer.text is None else Content_Text(answer.text)
    # With a text, no data is no data; without one it is null.
    has_data = content is None or answer.data is not None
    data = json.dumps(answer.data, allow_nan=False) if has_data else None
    return Outcome(Status.SUCCESS, content, data, [], None, None)
