"""As much of JSON Schema as the tool's own schema uses. The host checks it too, unless the operator
switched that off; what follows can rely on it either way."""

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def problem(value, schema: dict, pointer: str = "") -> tuple[str, str] | None:
    """The first place where a value breaks a schema, and the reason; None if it keeps it."""
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(is_of(value, name) for name in types):
        return pointer, f"it must be {' or '.join(types)}"
    if "enum" in schema and value not in schema["enum"]:
        return pointer, f"it must be {' or '.join(schema['enum'])}"
    if isinstance(value, str):
        size, least, most = len(value), "minLength", "maxLength"
    elif isinstance(value, list):
        size, least, most = len(value), "minItems", "maxItems"
    else:
        size, least, most = value, "minimum", "maximum"
    if least in schema and size < schema[least] or most in schema and size > schema[most]:
        return pointer, "it is too short or too long, too small or too large"
    if isinstance(value, list):
        return list_problem(value, schema, pointer)
    return object_problem(value, schema, pointer) if isinstance(value, dict) else None


def is_of(value, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def list_problem(value: list, schema: dict, pointer: str) -> tuple[str, str] | None:
    if schema.get("uniqueItems") and any(one in value[:at] for at, one in enumerate(value)):
        return pointer, "two of them are the same"
    found = (problem(one, schema["items"], f"{pointer}/{at}") for at, one in enumerate(value))
    return next(filter(None, found), None)


def object_problem(value: dict, schema: dict, pointer: str) -> tuple[str, str] | None:
    if any(name not in schema["properties"] for name in value):
        return pointer, "there is an argument that the tool does not have"
    for name in schema["required"]:
        if name not in value:
            return f"{pointer}/{name}", "it is required"
    found = (problem(one, schema["properties"][name], f"{pointer}/{name}") for name, one in value.items())
    return next(filter(None, found), None)
