"""What metadata add to a score: how recent a document is, a number of it, or a value that it has.

A signal is plain data, and its formulas are here. Missing values add nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import check_number

HALF_LIFE, LOG, LINEAR, SATURATION, EQUALS, IN = SHAPES = (
    "half_life", "log", "linear", "saturation", "equals", "in",
)  # fmt: skip
OF_NUMBERS = (LOG, LINEAR, SATURATION)
OF_VALUES = (EQUALS, IN)
MAX_SIGNALS = 16  # of one pipeline; each is a pass over the candidates
MAX_VALUES = 1_000  # of one signal
MAX_WEIGHT = 1_000_000  # with this bound, sums of any sane signal's amounts stay finite

_PERIOD = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([hdwy])\s*", re.ASCII)
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.25}
_EXAMPLE = '{"date": {"half_life": "30d", "weight": 0.2}}'

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Signal:
    """What one field of the metadata adds to a score.

    Attributes:
        field: its name.
        shape: how its values become amounts, one of `SHAPES`.
        operand: the half life, as it was given; True for `LOG` and `LINEAR`; the number that is
            half of the most for `SATURATION`; the value or the values of `OF_VALUES`.
        weight: factor of the amounts.
        now: the instant from which ages count, in ISO 8601; None for the clock, in UTC.
    """

    field: str
    shape: str
    operand: Any
    weight: float
    now: str | None = None

    def __str__(self) -> str:
        operand = self.operand
        if self.shape == HALF_LIFE:
            period = operand if isinstance(operand, str) else f"{operand:g} days"
            what = f"{self.field}, half life {period}"
        elif self.shape == SATURATION:
            what = f"{self.field} / ({self.field} + {operand:g})"
        elif self.shape in OF_VALUES:
            several = isinstance(operand, tuple) and len(operand) > 3
            shown = f"{len(operand)} values" if several else repr(operand)[:80]
            what = f"{self.field} {'is' if self.shape == EQUALS else 'in'} {shown}"
        else:
            what = f"log({self.field})" if self.shape == LOG else self.field
        return f"{self.weight:.4g}·{what}"

    def to_json(self) -> dict[str, Any]:
        """Return what `read_signals` reads again."""
        operand = list(self.operand) if isinstance(self.operand, tuple) else self.operand
        now = {} if self.now is None else {"now": self.now}
        return {self.shape: operand, "weight": self.weight, **now}

    def moment(self) -> datetime:
        """Return the instant from which ages count, in UTC."""
        if self.now is None:
            return datetime.now(UTC)
        moment = datetime.fromisoformat(self.now)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values that one of `OF_VALUES` rewards."""
        return self.operand if isinstance(self.operand, tuple) else (self.operand,)


def recency(ages: Floats, half_life: float) -> Floats:
    """Return 2^(−age / half life), where an age below 0 counts as 0.

    >>> recency(np.array([-1.0, 0.0, 30.0, 60.0]), 30).tolist()
    [1.0, 1.0, 0.5, 0.25]

    Args:
        ages: in days.
        half_life: in days.
    """
    return np.asarray(np.exp2(-np.maximum(ages, 0.0) / half_life))


def of_numbers(shape: str, numbers: Floats, pivot: float = 1.0) -> Floats:
    """Return the amounts of numbers; one below 0 counts as 0, unless they count as they are.

    Craswell et al. 2005, "Relevance weighting for query independent evidence", have these forms.

    >>> of_numbers(LOG, np.array([0.0, 9.0, 99.0])).tolist()
    [0.0, 1.0, 2.0]
    >>> of_numbers(SATURATION, np.array([-1.0, 0.0, 50.0, 150.0]), 50).tolist()
    [0.0, 0.0, 0.5, 0.75]

    Args:
        shape: `LOG` is log₁₀(1 + x), `SATURATION` is x / (x + pivot), and `LINEAR` is x.
        numbers: x.
        pivot: the number that is half of the most.
    """
    if shape == LINEAR:
        return numbers
    positive = np.maximum(numbers, 0.0)
    if shape == LOG:
        return np.asarray(np.log10(1.0 + positive))
    return np.asarray(positive / (positive + pivot))


def count_days(period: str | float) -> float:
    """Return a period in days: a number of days, or hours, days, weeks or years.

    >>> count_days("36h"), count_days("2w"), count_days(30)
    (1.5, 14.0, 30.0)

    Raises:
        InputError: it is none, or 0.
    """
    found = _PERIOD.fullmatch(period) if isinstance(period, str) else None
    days = float(found[1]) * _DAYS[found[2]] if found else period
    if not _is_number(days) or not 0 < float(days) <= 1e9:
        raise InputError(
            f'boost: half_life is {period!r:.60}; give a number of days, or text such as "12h", '
            '"30d", "4w" or "1y"'
        )
    return float(days)


def read_signals(boost: object, *, weight: float | None = None) -> tuple[Signal, ...]:
    """Return the signals that an object says, such as `_EXAMPLE`.

    Args:
        boost: by field, an object with one of `SHAPES`, and with a weight.
        weight: of a signal that says none; None if each must.

    Raises:
        InputError: it says something else.
    """
    if not isinstance(boost, Mapping):
        raise InputError(f"boost must be an object such as {_EXAMPLE}, not {boost!r:.60}")
    if len(boost) > MAX_SIGNALS:
        raise InputError(f"boost has {len(boost):,} fields; at most {MAX_SIGNALS} are allowed")
    return tuple(_signal(field, raw, weight) for field, raw in boost.items())


def _signal(field: object, raw: object, weight: float | None) -> Signal:
    if not isinstance(field, str) or not isinstance(raw, Mapping):
        raise InputError(
            f"boost: {field!r:.60} must be a field with an object, as in {_EXAMPLE}, not "
            f"{raw!r:.60}"
        )
    given = {key: _plain(value) for key, value in raw.items() if value is not None}
    shapes = [key for key in given if key in SHAPES]
    now = (None if HALF_LIFE not in shapes else "now",) if "now" in given else ()
    unknown = given.keys() - {*shapes[:1], "weight", *now}
    if len(shapes) != 1 or unknown:
        wrong = f"{min(map(str, unknown))!r:.40} is not known there" if unknown else "none is given"
        raise InputError(
            f"boost: {field[:80]!r} needs a weight and one of {', '.join(SHAPES)}, and half_life "
            f"may have now; {wrong}"
        )
    (shape,) = shapes
    factor: Any = given.get("weight", weight)
    check_number(f"boost: the weight of {field[:80]!r}", factor, -MAX_WEIGHT, MAX_WEIGHT)
    operand = _operand(field, shape, given[shape])
    return Signal(field, shape, operand, float(factor), _moment(given.get("now")))


def _operand(field: str, shape: str, value: Any) -> Any:
    if shape == HALF_LIFE:
        count_days(value)
        return value
    if shape == IN:
        if not isinstance(value, list | tuple) or not 0 < len(value) <= MAX_VALUES:
            raise InputError(
                f"boost: {field[:80]!r}: in takes a list of 1 to {MAX_VALUES:,} values"
            )
        return tuple(_value(field, each) for each in value)
    if shape == EQUALS:
        return _value(field, value)
    if shape == SATURATION:
        check_number(f"boost: the saturation of {field[:80]!r}", value, 1e-9, MAX_WEIGHT**2)
        return float(value)
    if value is not True:
        raise InputError(f"boost: {field[:80]!r}: {shape} takes true, not {value!r:.40}")
    return True


def _value(field: str, value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str | bool) or _is_number(value):
        return value
    raise InputError(f"boost: {field[:80]!r}: {value!r:.40} is no value of metadata")


def _moment(now: Any) -> str | None:
    if now is None:
        return None
    try:
        text = now.isoformat() if isinstance(now, date) else str(now)
        Signal("", HALF_LIFE, 1, 1.0, text).moment()
    except (ValueError, OverflowError):
        raise InputError(
            f'boost: now is {now!r:.60}; give an instant such as "2024-05-31T12:00:00Z"'
        ) from None
    return text


def _plain(value: Any) -> Any:
    """Return numbers and arrays of numpy as those of Python."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and value == value and abs(value) < float("inf")
