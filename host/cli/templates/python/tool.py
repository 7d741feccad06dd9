"""The tool `{{name}}`: counts the words of a text."""

import tidegate_plugin.tool as plugin
from tidegate_plugin.tool import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {
            "type": "string",
            "maxLength": 10_000,
            "description": "The text whose words are counted",
        },
    },
    "required": ["text"],
    "additionalProperties": False,
}


def problems(arguments: dict) -> list[tuple[str, str]]:
    text = arguments.get("text")
    if isinstance(text, str) and text.strip():
        return []
    return [("/text", "the text is blank")]


def count(arguments: dict) -> str:
    return f"{len(arguments['text'].split())} words"


class Tools(plugin.Tools):
    tools = [
        Tool(
            name="{{name}}",
            description="Counts the words of a text: what stands between white space.",
            input_schema=SCHEMA,
            problems=problems,
            run=count,
        ),
    ]
