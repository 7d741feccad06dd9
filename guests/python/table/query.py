"""Filtering and aggregating rows."""

import json
import math
import operator
import re
from collections.abc import Iterator

import refusal
from rows import MAX_INTEGER, MIN_INTEGER, Row, decimal, integer

# The most groups that are kept.
MAX_GROUPS = 1_000

# The longest text that a group is told by, or that is kept as the least or greatest.
MAX_KEPT = 1_024

NUMBER = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,4})?")

ORDERS = {"lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge}


def number(cell) -> int | float | None:
    """The number that a cell is or says; None if it is none."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, (int, float)):
        return cell
    if not isinstance(cell, str):
        return None
    # What most numbers look like, without the expression's price.
    if len(cell) < 19 and cell.isascii() and cell.isdecimal():
        return int(cell)
    found = NUMBER.fullmatch(cell.strip())
    if found is None:
        return None
    try:
        is_whole = found[1] is None and found[2] is None
        return integer(found[0]) if is_whole else decimal(found[0])
    except ValueError:
        return None


def is_empty(cell) -> bool:
    return cell is None or cell == ""


def holds(condition: dict, row: Row) -> bool:
    """Whether one condition holds for a row. Cells and values of two kinds are never equal and in
    no order; a cell that says a number is one where it is compared with one."""
    cell = row.get(condition["column"])
    op = condition["op"]
    if op == "empty":
        return is_empty(cell)
    value = condition["value"]
    if op == "contains":
        return isinstance(cell, str) and value in cell
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        cell = number(cell)
    if type(cell) is bool or type(value) is bool or cell is None or value is None:
        is_equal = type(cell) is type(value) and cell == value
        return is_equal if op == "eq" else op == "ne" and not is_equal
    if isinstance(cell, str) != isinstance(value, str) or isinstance(cell, (list, dict)):
        return op == "ne"
    if op in ORDERS:
        return ORDERS[op](cell, value)
    return (cell == value) == (op == "eq")


def filtered(rows: Iterator[Row], where: list[dict]) -> Iterator[Row]:
    return (row for row in rows if all(holds(condition, row) for condition in where))


def selected(rows: Iterator[Row], select: list[str] | None) -> Iterator[Row]:
    if select is None:
        return rows
    return ({name: row.get(name) for name in select} for row in rows)


class Aggregate:
    """One value over the rows of a group."""

    def __init__(self, op: str, column: str | None):
        self.op = op
        self.column = column
        self.name = op if column is None else f"{op}({column})"
        self.count = 0
        self._whole = 0
        self._broken = 0.0
        self._number = None
        self._text = None
        self._is_text = False

    def add(self, row: Row) -> None:
        if self.column is None:
            self.count += 1
            return
        cell = row.get(self.column)
        if is_empty(cell):
            return
        self.count += 1
        if self.op in ("sum", "avg"):
            self._sum(cell)
        elif self.op in ("min", "max"):
            self._extreme(cell)

    def _sum(self, cell) -> None:
        value = number(cell)
        if value is None:
            raise refusal.Refusal("NOT_A_NUMBER", "a cell of a summed column is no number")
        if isinstance(value, int):
            self._whole += value
        else:
            self._broken += value

    def _extreme(self, cell) -> None:
        better = min if self.op == "min" else max
        value = number(cell)
        if value is None:
            self._is_text = True
        else:
            self._number = value if self._number is None else better(self._number, value)
        # Until the end nobody knows whether all cells are numbers.
        text = kept(cell)
        self._text = text if self._text is None else better(self._text, text)

    def value(self):
        """None over no cells; `count` and `sum` are 0."""
        if self.op == "count":
            return self.count
        if self.op == "sum":
            return shown(self._whole + self._broken if self._broken else self._whole)
        if self.count == 0:
            return None
        if self.op == "avg":
            return shown((self._whole + self._broken) / self.count)
        return self._text if self._is_text else shown(self._number)


def shown(value):
    """A number as JSON has it."""
    if isinstance(value, int) and not MIN_INTEGER <= value <= MAX_INTEGER:
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise refusal.Refusal("OVERFLOW", "a result is too large for a number")
    return value


def kept(cell) -> str:
    text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
    if len(text) > MAX_KEPT:
        raise refusal.too_large(f"a cell to be compared is longer than {MAX_KEPT:,} characters")
    return text


def aggregated(rows: Iterator[Row], group_by: list[str], aggregate: list[dict]) -> Iterator[Row]:
    """One row for each group, in the order in which they are met; without groups one for all."""
    groups: dict[tuple, tuple] = {}
    if not group_by:
        groups[()] = ((), fresh(aggregate))
    for row in rows:
        cells = [row.get(name) for name in group_by]
        key = tuple([cell if type(cell) is str else keyed(cell) for cell in cells])
        group = groups.get(key)
        if group is None:
            if len(groups) == MAX_GROUPS:
                raise refusal.Refusal("TOO_MANY_GROUPS", f"there are more than {MAX_GROUPS:,} groups")
            for cell in cells:
                kept(cell)
            groups[key] = group = (cells, fresh(aggregate))
        for value in group[1]:
            value.add(row)
    for cells, values in groups.values():
        yield dict(zip(group_by, cells)) | {value.name: value.value() for value in values}


def keyed(cell) -> tuple:
    """What makes cells other than texts equal: `1`, `1.0` and `true` are three."""
    return (type(cell).__name__, json.dumps(cell, sort_keys=True))


def fresh(aggregate: list[dict]) -> list[Aggregate]:
    return [Aggregate(one["op"], one.get("column")) for one in aggregate]
