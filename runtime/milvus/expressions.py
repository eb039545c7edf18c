"""Write a filter by metadata as an expression of Milvus."""

from collections.abc import Mapping
from datetime import date

from ranklet.runtime.metadata.columns import count_span
from ranklet.runtime.metadata.where import (
    CONTAINS,
    EQUAL,
    HAS,
    HAS_ALL,
    HAS_ANY,
    IN,
    MISSING,
    STARTS_WITH,
    Both,
    Condition,
    Not,
    Operand,
    Test,
)
from ranklet.runtime.milvus.names import KEY, METADATA

NOTHING, EVERYTHING = f'{KEY} == ""', f'{KEY} != ""'  # no entity has an empty key
ESCAPES = str.maketrans({'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r"})  # in a text
WILD = str.maketrans({each: f"\\{each}" for each in "\\%_"})  # in a pattern
NEGATED = {"==": "!=", ">=": "<", ">": "<=", "<=": ">", "<": ">="}


def expression(condition: Condition, types: Mapping[str, str], *, negated: bool = False) -> str:
    """Return the expression of a condition, or of its opposite.

    In Milvus, a comparison of a missing value is neither true nor false. So `not` never stands
    before a comparison, and each comparison says what a missing value means.

    Args:
        condition: the condition of a filter; see `read_where`.
        types: the type of each field of the metadata.
        negated: whether the opposite is wanted.

    >>> expression(Test("year", ">=", (2020,)), {"year": "number"})
    '(exists metadata["year"] and (metadata["year"] >= 2020))'
    >>> expression(Not(Test("year", ">=", (2020,))), {"year": "number"})
    '(not (exists metadata["year"]) or (metadata["year"] < 2020))'
    """
    if isinstance(condition, Not):
        return expression(condition.inner, types, negated=not negated)
    if isinstance(condition, Test):
        return f"({_test(condition, types[condition.field], negated)})"
    both = isinstance(condition, Both) != negated
    if not condition.inner:
        return f"({EVERYTHING if both else NOTHING})"
    word = " and " if both else " or "
    parts = (expression(each, types, negated=negated) for each in condition.inner)
    return f"({word.join(parts)})"


def _test(test: Test, type_: str, negated: bool) -> str:
    field = f"{METADATA}[{text(test.field)}]"
    exists, missing = f"exists {field}", f"not (exists {field})"
    if test.operator == MISSING:
        return exists if negated else missing
    holds = _holds(field, test, type_, negated)
    return f"{missing} or ({holds})" if negated else f"{exists} and ({holds})"


def _holds(field: str, test: Test, type_: str, negated: bool) -> str:
    """Return whether a value that is there fulfils a test, or does not."""
    before = "not " if negated else ""
    if test.operator == HAS:
        return f"{before}json_contains({field}, {text(test.operands[0])})"
    if test.operator in (STARTS_WITH, CONTAINS):
        part = str(test.operands[0]).translate(WILD)
        pattern = f"{part}%" if test.operator == STARTS_WITH else f"%{part}%"
        return f"{before}({field} like {text(pattern)})"
    if test.operator in (HAS_ANY, HAS_ALL) and test.operands:
        name = "json_contains_any" if test.operator == HAS_ANY else "json_contains_all"
        return f"{before}{name}({field}, [{', '.join(map(text, test.operands))}])"
    if not test.operands:  # of a list of wanted values
        return EVERYTHING if (test.operator == HAS_ALL) != negated else NOTHING
    if test.operator == IN:
        parts = [_compared(field, EQUAL, each, type_, negated) for each in test.operands]
        return (" and " if negated else " or ").join(f"({each})" for each in parts)
    return _compared(field, test.operator, test.operands[0], type_, negated)


def _compared(field: str, operator: str, operand: Operand, type_: str, negated: bool) -> str:
    if not isinstance(operand, date):
        return f"{field} {NEGATED[operator] if negated else operator} {_literal(operand)}"
    low, high = count_span(operand, type_)
    if operator == EQUAL and negated:
        return f"{field} < {low} or {field} > {high}"
    if operator == EQUAL:
        return f"{field} >= {low} and {field} <= {high}"
    bound = low if operator in (">=", "<") else high
    return f"{field} {NEGATED[operator] if negated else operator} {bound}"


def _literal(operand: Operand) -> str:
    if isinstance(operand, bool):
        return "true" if operand else "false"
    return text(operand) if isinstance(operand, str) else repr(operand)


def text(operand: object) -> str:
    r"""Return a text as it stands in an expression, where all but these four stand for themselves.

    >>> print(text('a "b" \\'))
    "a \"b\" \\"
    """
    return f'"{str(operand).translate(ESCAPES)}"'
