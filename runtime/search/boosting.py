"""What the metadata of documents add to their scores, as the boost of a pipeline says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.manifest import DATE, DATETIME, LIST, NUMBER, PLURALS
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.metadata.columns import MICROSECONDS, Ordered, count_microseconds
from ranklet.runtime.metadata.masks import Masks
from ranklet.runtime.metadata.where import HAS_ANY, IN, Condition, Test, read_operand, unknown_field
from ranklet.runtime.pipelines.pipeline import Boost, Keep, Pipeline, Retrieve
from ranklet.runtime.pipelines.signals import (
    HALF_LIFE,
    OF_NUMBERS,
    OF_VALUES,
    Signal,
    count_days,
    of_numbers,
    recency,
)
from ranklet.runtime.storage.block_array import fetch_rows

IN_MILVUS = (
    "scores are boosted by the metadata that a bundle has, and not in Milvus; leave the boost out, "
    "or name a pipeline without one"
)


def check_boost(
    signals: Sequence[Signal], types: Mapping[str, str], remarks: Mapping[str, str]
) -> None:
    """Raise InputError unless the documents have all fields, with values that fit.

    Args:
        signals: what scores are boosted by.
        types: the types of the fields.
        remarks: see `read_where`.
    """
    for each in signals:
        if each.field not in types:
            raise InputError(f"boost: {unknown_field(each.field, types)}")
        _condition(each, types[each.field], remarks)


def _condition(signal: Signal, type_: str, remarks: Mapping[str, str]) -> Condition | None:
    """Return which documents have one of a signal's values; None for ages and numbers.

    Raises:
        InputError: the signal does not fit to the type of the field.
    """
    name = signal.field
    if signal.shape in OF_VALUES:
        given = signal.values
        operands = tuple(read_operand(each, name, type_, remarks, "boost") for each in given)
        return Test(name, HAS_ANY if type_ == LIST else IN, operands)
    wanted = (NUMBER,) if signal.shape in OF_NUMBERS else (DATE, DATETIME)
    if type_ not in wanted:
        why = f" because {remarks[name]}" if name in remarks else ""
        raise InputError(
            f"boost: {name[:80]!r} holds {PLURALS[type_]}{why}, and {signal.shape} needs "
            f"{' or '.join(PLURALS[each] for each in wanted)}"
        )
    return None


def at_one_time(boost: Boost) -> Boost:
    """Return a boost whose ages all count from one instant, also in several parts."""
    clock = Signal("", HALF_LIFE, 1, 0.0).moment().isoformat()
    return Boost(
        tuple(
            replace(each, now=clock) if each.shape == HALF_LIFE and each.now is None else each
            for each in boost.signals
        )
    )


def read_amounts(
    signal: Signal, masks: Masks, remarks: Mapping[str, str], numbers: NDArray[np.uint32]
) -> NDArray[np.float64]:
    """Return what a signal says of some documents, 0 where a value is missing, (documents,).

    Args:
        signal: with an instant, if ages count. A field that no document has adds nothing.
        masks: the documents' metadata.
        remarks: see `read_where`.
        numbers: the documents' numbers, (documents,).

    Raises:
        InputError: the field holds values of another type.
    """
    metadata = masks.metadata
    if signal.field not in metadata.types or not len(numbers):
        return np.zeros(len(numbers))
    condition = _condition(signal, metadata.types[signal.field], remarks)
    if condition is not None:
        return masks.mask(condition)[numbers].astype(np.float64)
    column = metadata.column(signal.field)
    if not isinstance(column, Ordered):  # unreachable after the check
        raise InputError(f"boost: {signal.field!r} has no single values")
    fetch_rows(numbers, plain=[column.keys])
    keys = column.keys[numbers].astype(np.float64)
    if signal.shape == HALF_LIFE:
        now = count_microseconds(signal.moment()) / MICROSECONDS
        days = keys if metadata.types[signal.field] == DATE else keys / MICROSECONDS
        values = recency(now - days, count_days(signal.operand))
    else:
        pivot = signal.operand if isinstance(signal.operand, float) else 1.0
        values = of_numbers(signal.shape, keys, pivot)
    if column.missing is not None:
        values = np.where(column.missing[numbers], 0.0, values)
    return values


def over_all_matches(pipeline: Pipeline, matches: int) -> Pipeline:
    """Return a pipeline that boosts all matches of its only ranker, and keeps as many as before.

    >>> from ranklet.runtime.pipelines.signals import read_signals
    >>> signals = read_signals({"stars": {"linear": True, "weight": 1}})
    >>> print(over_all_matches(Pipeline((Retrieve("bm25", 5),)).boosted(signals), 70))
    retrieve 70 by bm25 → boost 1·stars → keep 5

    Args:
        pipeline: retrieves and boosts.
        matches: how many documents can match.
    """
    retrieve, *others = pipeline.stages
    if not isinstance(retrieve, Retrieve) or not others or not isinstance(others[0], Boost):
        return pipeline
    whole = replace(retrieve, k=max(retrieve.k, matches))
    return Pipeline((whole, others[0], Keep(retrieve.k), *others[1:]))
