"""Timing that is fair on a busy machine: contenders take turns, and every figure is a median."""

import gc
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def take_turns(
    contenders: Mapping[str, Callable[[T], object]],
    items: Sequence[T],
    rounds: int,
    block: int = 25,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, NDArray[np.float64]]:
    """Time each contender on each item; they take turns after every `block` items.

    Turns are short, so that a slow spell of the machine meets everybody; and not of one item, so
    that each runs from its own caches, as a server does, and not from those that another swept.
    The order of turns is drawn anew for each block. A first round warms up and is not counted.
    `clock` returns seconds; that of a processor, `process_time`, leaves out what others take.

    Returns:
        By contender, the median over rounds for each item, (items,) ms.
    """
    named = list(contenders.items())
    took = {name: np.zeros((rounds, len(items))) for name in contenders}
    rng = np.random.default_rng(0)
    gc.collect()
    gc.disable()
    try:
        for turn in (0, *range(rounds)):  # the first is overwritten
            for start in range(0, len(items), block):
                for which in rng.permutation(len(named)).tolist():
                    name, function = named[which]
                    for at, item in enumerate(items[start : start + block], start):
                        begin = clock()
                        function(item)
                        took[name][turn, at] = (clock() - begin) * 1e3
    finally:
        gc.enable()
    return {name: np.median(times, axis=0) for name, times in took.items()}


def spread(ms: NDArray[np.float64]) -> list[str]:
    """Return p50 and p99 as text."""
    return [f"{value:.3f}" for value in (np.median(ms), np.percentile(ms, 99))]
