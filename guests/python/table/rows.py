"""Rows of a CSV or JSON file, one after the other: no more than one is held."""

import csv
import json
import math
import re
from collections.abc import Iterator

import refusal
import source

Row = dict

# The longest CSV file, in bytes: some seconds of the ten that a call has.
MAX_CSV_BYTES = 4_194_304

# The longest JSON file, in bytes. Its text is held as a whole.
MAX_JSON_BYTES = 2_097_152

# The longest cell, in characters, and so the longest line of a quoted one.
MAX_CELL = 65_536

# The most columns of a CSV file.
MAX_COLUMNS = 256

# JSON keeps whole numbers exactly from -2^63 to 2^64-1.
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**64 - 1

# How deeply a JSON file may be nested. Beyond some thousand levels the decoder would run out of
# stack, which ends the call.
MAX_DEPTH = 64

BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]+|[\]}]+', re.DOTALL)

csv.field_size_limit(MAX_CELL)


def read(path: str, kind: str, delimiter: str, columns: set[str]) -> Iterator[Row]:
    """The rows of a file, whose kind is `csv` or `json`. A CSV file has the given columns."""
    try:
        if kind == "json":
            yield from json_rows(path)
        else:
            yield from csv_rows(path, delimiter, columns)
    except UnicodeDecodeError:
        raise refusal.not_text() from None


def csv_rows(path: str, delimiter: str, columns: set[str]) -> Iterator[Row]:
    with source.open_text(path, MAX_CSV_BYTES) as text:
        reader = csv.reader(lines(text), delimiter=delimiter, strict=True)
        try:
            names = next(reader, None)
            if names is None:
                raise refusal.malformed("the file has no line with names of columns")
            check_names(names, columns)
            for cells in reader:
                if len(cells) != len(names):
                    if len(cells) > len(names):
                        raise refusal.malformed("a line has more cells than there are columns")
                    if not cells:
                        continue  # A line without anything is none.
                    cells += [""] * (len(names) - len(cells))
                yield dict(zip(names, cells))
        except csv.Error as error:
            if "field limit" in str(error):
                raise refusal.too_large(f"a cell is longer than {MAX_CELL:,} characters") from None
            raise refusal.malformed("the file is not CSV: a quote is out of place") from None


def lines(text) -> Iterator[str]:
    is_first = True
    while line := text.readline(4 * MAX_CELL):
        if is_first:
            line = line.removeprefix("\ufeff")
            is_first = False
        yield line


def check_names(names: list[str], columns: set[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise refusal.too_large(f"the file has more than {MAX_COLUMNS} columns")
    if len(set(names)) < len(names):
        raise refusal.malformed("two columns have one name")
    if not columns <= set(names):
        raise refusal.Refusal("UNKNOWN_COLUMN", "the file lacks a column that is asked for")


def json_rows(path: str) -> Iterator[Row]:
    """The objects of an array."""
    with source.open_text(path, MAX_JSON_BYTES) as file:
        text = file.read().removeprefix("\ufeff")
    check_depth(text)
    at = after_space(text, 0)
    if not text.startswith("[", at):
        raise not_rows()
    at = after_space(text, at + 1)
    if text.startswith("]", at):
        return end(text, at)
    while True:
        try:
            row, at = DECODER.raw_decode(text, at)
        except ValueError:
            raise refusal.malformed("the file is not JSON") from None
        if not isinstance(row, dict):
            raise not_rows()
        yield row
        at = after_space(text, at)
        if text.startswith("]", at):
            return end(text, at)
        if not text.startswith(",", at):
            raise not_rows()
        at = after_space(text, at + 1)


def check_depth(text: str) -> None:
    depth = 0
    for found in BRACKETS.finditer(text):
        run = found[0]
        if run[0] in "[{":
            depth += len(run)
            if depth > MAX_DEPTH:
                raise refusal.malformed(f"the file is nested more than {MAX_DEPTH} levels deep")
        elif run[0] != '"':
            depth -= len(run)


def end(text: str, at: int) -> None:
    if after_space(text, at + 1) != len(text):
        raise not_rows()


def not_rows() -> refusal.Refusal:
    return refusal.malformed("the file is not a JSON array of objects")


def after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def integer(text: str) -> int | float:
    """A whole number, or the nearest float where JSON would not keep it."""
    if len(text) <= 20 and MIN_INTEGER <= (value := int(text)) <= MAX_INTEGER:
        return value
    return decimal(text)


def decimal(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def no_constant(_name: str):
    raise ValueError


DECODER = json.JSONDecoder(parse_int=integer, parse_float=decimal, parse_constant=no_constant)
