"""The plugin's exports: the tool `table_query`."""

import csv
import io
import itertools
import json

import arguments
import query
import rows
from componentize_py_types import Err
from refusal import Refusal
from wit_world import exports
from wit_world.exports.tools import Problem
from wit_world.imports import context
from wit_world.imports.context import Level
from wit_world.imports.types import (
    Content_Text,
    Effect,
    Outcome,
    Status,
    ToolCall,
    ToolDefinition,
)

NAME = "table_query"

UNKNOWN = "this plugin has no tool of that name"

DESCRIPTION = (
    "Filters and aggregates the rows of a CSV file with a line of names, or of a JSON array of "
    "objects, in the workspace. The file must be UTF-8; a CSV file is at most 4,194,304 bytes long, "
    "a JSON file 2,097,152."
)

# The rows of an answer have at most so many bytes as JSON. They stand in it twice, once as text.
MAX_ANSWER_BYTES = 262_144


class Tools(exports.Tools):
    """What the host calls."""

    def definitions(self) -> list[ToolDefinition]:
        return [
            ToolDefinition(
                name=NAME,
                description=DESCRIPTION,
                input_schema=json.dumps(arguments.INPUT_SCHEMA),
                output_schema=json.dumps(arguments.OUTPUT_SCHEMA),
                effects=[Effect.READ],
                requires_approval=False,
            )
        ]

    def validate(self, name: str, arguments_: str) -> None:
        found = arguments.problems(arguments_) if name == NAME else [("", UNKNOWN)]
        if found:
            raise Err([Problem(pointer, reason) for pointer, reason in found])

    def execute(self, call: ToolCall) -> Outcome:
        try:
            return run(call)
        except Refusal as refused:
            return refused.outcome()
        except MemoryError:
            return Refusal("OUT_OF_MEMORY", "the call has too little memory for this file").outcome()
        except Exception as error:
            # Left alone it would print a traceback, which the caller gets to see.
            context.log(Level.ERROR, f"unexpected {type(error).__name__}")
            return Refusal("INTERNAL", "the plugin has a fault").outcome()


def run(call: ToolCall) -> Outcome:
    if call.name != NAME:
        raise Refusal("UNKNOWN_TOOL", UNKNOWN)
    if found := arguments.problems(call.arguments):
        raise Refusal("INVALID_ARGUMENTS", found[0][1])
    asked = json.loads(call.arguments)
    path = asked["path"]
    kind = asked.get("format", "json" if path.lower().endswith(".json") else "csv")
    read = Matched(rows.read(path, kind, asked.get("delimiter", ","), columns_of(asked)))
    matching = read.count(query.filtered(read.rows, asked.get("where", [])))
    if "aggregate" in asked:
        answer = query.aggregated(matching, asked.get("groupBy", []), asked["aggregate"])
    else:
        answer = query.selected(matching, asked.get("select"))
    kept, is_cut = bounded(answer, asked.get("limit", 100))
    columns = asked.get("select") or list(dict.fromkeys(name for row in kept for name in row))
    data = {
        "path": path,
        "columns": columns,
        "rows": kept,
        "matched": read.matched,
        "truncated": is_cut,
    }
    return Outcome(
        status=Status.SUCCESS,
        content=Content_Text(as_csv(columns, kept)),
        structured_content=as_json(data),
        references=[],
        error=None,
        metadata=None,
    )


class Matched:
    """Counts the rows that conditions let through."""

    def __init__(self, all_rows):
        self.rows = all_rows
        self.matched = 0

    def count(self, matching):
        for row in matching:
            self.matched += 1
            yield row


def columns_of(asked: dict) -> set[str]:
    """Every column that is named."""
    named = [*asked.get("select", []), *asked.get("groupBy", [])]
    for one in itertools.chain(asked.get("where", []), asked.get("aggregate", [])):
        if "column" in one:
            named.append(one["column"])
    return set(named)


def bounded(answer, limit: int) -> tuple[list[dict], bool]:
    """The first rows, and whether there are more. Reading stops there."""
    kept, size = [], 0
    for row in answer:
        size += len(as_json(row).encode())
        if len(kept) == limit or size > MAX_ANSWER_BYTES:
            return kept, True
        kept.append(row)
    return kept, False


def as_csv(columns: list[str], kept: list[dict]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if columns:
        writer.writerow(columns)
    for row in kept:
        cells = (row.get(name) for name in columns)
        writer.writerow([cell if isinstance(cell, str) else cell_text(cell) for cell in cells])
    return whole(text.getvalue())


def cell_text(cell) -> str:
    return "" if cell is None else as_json(cell)


def as_json(value) -> str:
    return whole(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def whole(text: str) -> str:
    """The text with halves of characters replaced: JSON may escape one alone, UTF-8 has none."""
    return text.encode("utf-8", "replace").decode()
