"""What the parts of the GPU checks run on, how much of it, and until when."""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

KINDS = (
    "dense", "cross_encoder", "splade", "epic", "colbert", "srm", "conformer_kernel", "tk",
    "neural_model1",
)  # fmt: skip
SKIPPED = "skipped, because this part's time was up"


class Result(NamedTuple):
    """A row of a part's table.

    Attributes:
        cells: the cells of the row, the first of which says what was measured.
        error: the last line of what it raised; empty if nothing failed.
    """

    cells: tuple[str, ...]
    error: str = ""


@dataclass(frozen=True)
class Setting:
    """The setting of one part. A test has a smaller one, on the device ``cpu``.

    Attributes:
        work: folder for what is built.
        device: ``cuda``, or ``cpu`` in tests.
        backbone: folder of the encoder; empty for MiniLM-L6 of its wheel.
        until: when the part's time is up, on the clock of `perf_counter`, which all processes of
            a machine share.
        kinds: the kinds whose networks are compared.
        steps: of each short training.
        probes: queries and documents that are scored.
        pair_probes: the same for kinds whose network reads pairs, which takes longer.
        lengths: tokens of the texts that are encoded.
        pair_tokens: tokens of the pairs that are reranked, each length once.
        batches: texts per call.
        pair_batches: pairs per call.
        rounds: of each timing, after one that warms up.
        clients: connections to the server at a time.
        client_seconds: how long each number of clients asks.
        many: passages whose vectors are made at most.
        passage_tokens: of each of them.
    """

    work: Path
    device: str = "cuda"
    backbone: str = ""
    until: float = 1e12
    kinds: tuple[str, ...] = KINDS
    steps: int = 12
    probes: tuple[int, int] = (16, 48)
    pair_probes: tuple[int, int] = (8, 24)
    lengths: tuple[int, ...] = (32, 128, 256)
    pair_tokens: tuple[int, ...] = (128, 256)
    batches: tuple[int, ...] = (1, 8, 32, 128)
    pair_batches: tuple[int, ...] = (1, 8, 32, 100)
    rounds: int = 5
    clients: tuple[int, ...] = (4, 16, 64)
    client_seconds: float = 5.0
    many: int = 1_000_000
    passage_tokens: int = 64

    @property
    def longest_pair(self) -> int:
        """Tokens of the longest pairs."""
        return max(self.pair_tokens)

    @property
    def time_is_up(self) -> bool:
        """Whether what has not begun is to be skipped."""
        return perf_counter() > self.until

    def to_json(self) -> str:
        """Return the setting as text for another process."""
        return json.dumps({**asdict(self), "work": str(self.work)})

    @classmethod
    def from_json(cls, text: str) -> "Setting":
        """Return the setting that `to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        for name, value in values.items():
            values[name] = tuple(value) if isinstance(value, list) else value
        values["work"] = Path(values["work"])
        return cls(**values)


def attempts(
    setting: Setting, items: Iterable[tuple[str, T]], measure: Callable[[str, T], Iterator[Result]]
) -> Iterator[Result]:
    """Yield the results of each item, so that one which fails hides no other.

    What has not begun when the time is up is skipped, and its row says so.

    Args:
        setting: says until when.
        items: what is measured, with its names.
        measure: yields the results of an item.
    """
    for name, item in items:
        if setting.time_is_up:
            yield Result((name, SKIPPED))
            continue
        try:
            yield from measure(name, item)
        except Exception as error:  # whatever it is, the other items are measured
            yield failure(name, error)


def failure(name: str, error: BaseException) -> Result:
    """Return the row of something that raised an error; where it did is for the standard error."""
    traceback.print_exception(error)
    line = last_line(f"{type(error).__name__}: {error}")
    return Result((name, f"**failed**: {line}"), f"{name}: {line}")


def last_line(text: str) -> str:
    """Return the last line that is not empty, fit for a cell of a table.

    >>> last_line("ValueError: a | b")
    'ValueError: a / b'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].replace("|", "/")[:300] if lines else "no message"
