"""The tool's arguments: their schema, and what a schema can't say about them."""

import json

import schema

COLUMN = {"type": "string", "minLength": 1, "maxLength": 256}

CONDITION = {
    "type": "object",
    "properties": {
        "column": COLUMN,
        "op": {"enum": ["eq", "ne", "lt", "lte", "gt", "gte", "contains", "empty"]},
        "value": {
            "type": ["string", "number", "boolean", "null"],
            "maxLength": 1024,
            "description": "What cells are compared with; a number is compared with cells that say one",
        },
    },
    "required": ["column", "op"],
    "additionalProperties": False,
}

AGGREGATE = {
    "type": "object",
    "properties": {
        "op": {"enum": ["count", "sum", "avg", "min", "max"]},
        "column": COLUMN,
    },
    "required": ["op"],
    "additionalProperties": False,
}

INPUT_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1024,
            "description": "Path of the file, relative to the workspace",
        },
        "format": {
            "enum": ["csv", "json"],
            "description": "By default json for a path that ends in .json, else csv",
        },
        "delimiter": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1,
            "default": ",",
            "description": "What separates the cells of a CSV file",
        },
        "where": {
            "type": "array",
            "maxItems": 16,
            "items": CONDITION,
            "description": "Conditions that all have to hold for a row",
        },
        "select": {
            "type": "array",
            "minItems": 1,
            "maxItems": 64,
            "uniqueItems": True,
            "items": COLUMN,
            "description": "The columns to return; all by default",
        },
        "groupBy": {
            "type": "array",
            "minItems": 1,
            "maxItems": 8,
            "uniqueItems": True,
            "items": COLUMN,
            "description": "Columns whose equal cells make a group; needs aggregate",
        },
        "aggregate": {
            "type": "array",
            "minItems": 1,
            "maxItems": 16,
            "uniqueItems": True,
            "items": AGGREGATE,
            "description": "Values over all rows or each group, named as in sum(price)",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "default": 100,
            "description": "How many rows to return at most",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}

OUTPUT_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "maxItems": 1000, "items": {"type": "object"}},
        "matched": {"type": "integer", "minimum": 0, "description": "Rows that were looked at"},
        "truncated": {"type": "boolean", "description": "Whether there are more rows than returned"},
    },
    "required": ["path", "columns", "rows", "matched", "truncated"],
    "additionalProperties": False,
}


def problems(text: str) -> list[tuple[str, str]]:
    """Places and reasons of what is wrong beyond the schema; empty if nothing is."""
    try:
        values = json.loads(text)
    except ValueError:
        return [("", "the arguments are not JSON")]
    if broken := schema.problem(values, INPUT_SCHEMA):
        return [broken]
    found = []
    if reason := path_reason(values["path"]):
        found.append(("/path", reason))
    if values.get("delimiter", ",") in ('"', "\r", "\n", "\0"):
        found.append(("/delimiter", "it must not be a quote, a line end or NUL"))
    if "groupBy" in values and "aggregate" not in values:
        found.append(("/groupBy", "it needs `aggregate`"))
    if "select" in values and "aggregate" in values:
        found.append(("/select", "it does not go with `aggregate`"))
    for at, one in enumerate(values.get("aggregate", [])):
        if "column" not in one and one["op"] != "count":
            found.append((f"/aggregate/{at}", "a column is required"))
    for at, one in enumerate(values.get("where", [])):
        if reason := condition_reason(one):
            found.append((f"/where/{at}", reason))
    return found


def condition_reason(condition: dict) -> str | None:
    op, value = condition["op"], condition.get("value")
    if op == "empty":
        return "`empty` takes no value" if "value" in condition else None
    if "value" not in condition:
        return "a value is required"
    if op == "contains" and not isinstance(value, str):
        return "`contains` takes a string"
    if op in ("lt", "lte", "gt", "gte") and (value is None or isinstance(value, bool)):
        return "an order takes a string or a number"
    return None


def path_reason(path: str) -> str | None:
    if path.startswith("/"):
        return "the path must be relative to the workspace"
    if any(ord(letter) < 0x20 or letter in "\x7f\\" for letter in path):
        return "the path has a backslash or a control character"
    if any(name in ("", "..") for name in path.split("/")):
        return "the path has an empty or `..` segment"
    return None
