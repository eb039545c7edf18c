"""Count what is wrong with a source, and say where, what was found and what to do."""

from collections import Counter
from collections.abc import Mapping

from ranklet.runtime.console import printable
from ranklet.training.data.sources.records import Bad, Fault

_NAMES: Mapping[Fault, tuple[str, str]] = {
    "broken": ("record cannot be read", "records cannot be read"),
    "encoding": ("text has another encoding", "texts have another encoding"),
    "no id": ("document has no id", "documents have no id"),
    "empty": ("document has no text", "documents have no text"),
    "duplicate": ("id occurs twice", "ids occur twice"),
}
_OTHER_ID = "pass another --id-column, or --id-column - to number the documents"
_HINTS: Mapping[Fault, str] = {
    "encoding": "pass --encoding, for example --encoding cp1252",
    "no id": _OTHER_ID,
    "duplicate": _OTHER_ID,
}
EXAMPLES = 3  # places that a message names for each fault


class Problems:
    """The faults of a source, with the first places of each."""

    def __init__(self) -> None:
        self.counts: Counter[Fault] = Counter()
        self._examples: dict[Fault, list[Bad]] = {}

    def add(self, bad: Bad) -> None:
        """Count a fault."""
        self.counts[bad.fault] += 1
        examples = self._examples.setdefault(bad.fault, [])
        if len(examples) < EXAMPLES:
            examples.append(bad)

    def __str__(self) -> str:
        """Describe every fault on one line each."""
        return "\n".join(self._line(fault) for fault in self.counts)

    def _line(self, fault: Fault) -> str:
        count, examples = self.counts[fault], self._examples[fault]
        places = ", ".join(f"{bad.place} ({bad.found})" for bad in examples)
        more = ", …" if count > len(examples) else ""
        return printable(f"  {count:,} {_NAMES[fault][count > 1]}: {places}{more}")

    def hint(self) -> str:
        """Return what to type."""
        hints = dict.fromkeys(_HINTS[fault] for fault in self.counts if fault in _HINTS)
        return "; ".join(["Correct them", *hints, "or pass --skip-bad to leave them out"])
