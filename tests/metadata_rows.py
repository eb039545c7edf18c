"""Documents with metadata, filters of them, and what the filters mean, in plain Python."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

WORDS = ["bread", "dough", "mouse", "house", "water", "gnorp", "tyre", "patch", "cat", "dog"]
CATEGORIES = ["", "a", "b", "é", "z z"]
TAGS = ["x", "y", "ü", "x/y", ""]
DAY = date(2024, 2, 27)
MOMENT = datetime(2024, 2, 28, 22, 30, tzinfo=UTC)
# The odd name must work, too: it is no file's name.
CATEGORY, YEAR, PRICE, OPEN, DUE, SEEN, KEYS = FIELDS = (
    "category", "year", "../price €", "open", "due", "seen", "tags",
)  # fmt: skip


def plainly(name: str) -> tuple[str, str]:
    """Return a key of a string's place in a dictionary."""
    apart = unicodedata.normalize("NFD", name.casefold())
    return "".join(each for each in apart if not unicodedata.combining(each)), name


def rows(random: Random, count: int) -> list[dict[str, Any]]:
    """Return documents, of which each lacks each field with a probability of one fifth."""
    made = []
    for number in range(count):
        fields = {
            CATEGORY: random.choice(CATEGORIES),
            YEAR: random.randint(2018, 2023),
            PRICE: random.choice([0.5, 1.0, 2.25, -3.0]),
            OPEN: random.random() < 0.5,
            DUE: DAY + timedelta(random.randint(0, 4)),
            SEEN: MOMENT + timedelta(minutes=30 * random.randint(0, 8)),
            KEYS: random.choices(TAGS, k=random.randint(0, 3)),
        }
        kept = {name: value for name, value in fields.items() if random.random() < 0.8}
        text = " ".join(random.choices(WORDS, k=random.randint(1, 8)))
        made.append({"id": f"d{number}", "text": text, **kept})
    return made


def a_filter(random: Random, depth: int = 0, fields: Sequence[str] = FIELDS) -> dict[str, Any]:
    """Return a filter of some fields with up to two conditions on each of up to three levels."""
    entries: dict[str, Any] = {}
    for _ in range(random.choice([1, 1, 2]) if depth else random.choice([0, 1, 1, 2])):
        joint = random.choice(["and", "or", "not", "", "", ""]) if depth < 2 else ""
        if joint == "not":
            entries["not"] = a_filter(random, depth + 1, fields)
        elif joint:
            count = random.randint(0, 3)
            entries[joint] = [a_filter(random, depth + 1, fields) for _ in range(count)]
        else:
            name = random.choice(fields)
            entries[name] = _condition(random, name)
    return entries


def _condition(random: Random, name: str) -> Any:
    some = [_operand(random, name) for _ in range(random.randint(0, 3))]
    if random.random() < 0.1:
        return {"missing": random.random() < 0.5}
    if name == KEYS:
        return random.choice(
            [{"has": _operand(random, name)}, {"has any": some}, {"has all": some}]
        )
    order = [] if name == OPEN else [">=", ">", "<=", "<"]
    if name == CATEGORY:
        order += ["starts with", "contains"]
    operator = random.choice(["", "list", "==", "!=", "in", "not in", *order])
    if operator == "list":
        return some
    if operator in ("in", "not in"):
        return {operator: some}
    operand = _operand(random, name)
    if not operator:
        return operand
    more = {random.choice(order): _operand(random, name)} if order and random.random() < 0.3 else {}
    return {operator: operand, **more}


def _operand(random: Random, name: str) -> Any:
    day = DAY + timedelta(random.randint(-1, 5))
    moment = MOMENT + timedelta(minutes=15 * random.randint(-1, 17))
    if name in (DUE, SEEN):
        return random.choice([day, day.isoformat(), moment, moment.isoformat()])
    return {
        CATEGORY: random.choice([*CATEGORIES, "aa", "zzz", "z", " ", "%", "_"]),
        YEAR: random.choice([2019, 2020, 2020.0, 2020.5, 10**30, -(10**30)]),
        PRICE: random.choice([0.5, 1, 2.25, -3, 10**400]),
        OPEN: random.random() < 0.5,
        KEYS: random.choice([*TAGS, "w"]),
    }[name]


def allows(where: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Return whether a filter allows a document."""
    return all(_holds(name, value, row) for name, value in where.items())


def _holds(name: str, value: Any, row: Mapping[str, Any]) -> bool:
    if name == "and":
        return all(allows(each, row) for each in value)
    if name == "or":
        return any(allows(each, row) for each in value)
    if name == "not":
        return not allows(value, row)
    if isinstance(value, list):
        return _compared("in", row.get(name), value)
    if isinstance(value, dict):
        return all(_compared(operator, row.get(name), each) for operator, each in value.items())
    return _compared("==", row.get(name), value)


def _compared(operator: str, held: Any, operand: Any) -> bool:
    if operator == "missing":
        return (held is None) == bool(operand)
    if operator in ("!=", "not in"):
        return not _compared({"!=": "==", "not in": "in"}[operator], held, operand)
    if held is None:
        return False
    if operator == "in":
        return any(_compared("==", held, each) for each in operand)
    if operator in ("starts with", "contains"):
        return bool(held.startswith(operand) if operator == "starts with" else operand in held)
    if operator == "has":
        return bool(operand in held)
    if operator == "has any":
        return any(each in held for each in operand)
    if operator == "has all":
        return all(each in held for each in operand)
    first, last = _interval(held, operand)
    key = _key(held)
    outcomes: dict[str, bool] = {
        "==": first <= key <= last,
        ">=": key >= first,
        ">": key > last,
        "<=": key <= last,
        "<": key < first,
    }
    return outcomes[operator]


def _key(held: Any) -> Any:
    if isinstance(held, date) and not isinstance(held, datetime):
        return datetime(held.year, held.month, held.day, tzinfo=UTC)
    return held


def _interval(held: Any, operand: Any) -> Sequence[Any]:
    """Return the first and the last moment of an operand; a day of a moment is all of it."""
    if isinstance(held, date) and isinstance(operand, str):
        operand = datetime.fromisoformat(operand) if "T" in operand else date.fromisoformat(operand)
    if isinstance(operand, date) and not isinstance(operand, datetime):
        begin = _key(operand)
        whole = (
            timedelta(1) - timedelta(microseconds=1) if isinstance(held, datetime) else timedelta()
        )
        return begin, begin + whole
    return operand, operand
