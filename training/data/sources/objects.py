"""Read documents from objects of Python."""

from collections.abc import Iterable, Sized
from dataclasses import dataclass

from ranklet.training.data.opening import Position
from ranklet.training.data.sources.json_files import as_record
from ranklet.training.data.sources.records import Records


@dataclass(frozen=True)
class Objects:
    """Texts, or objects with a text."""

    texts: Iterable[object]
    are_texts: bool = False

    @property
    def twice(self) -> bool:
        """Whether they can be read twice. Others may be at their end, although no error says so."""
        return isinstance(self.texts, Sized) and hasattr(self.texts, "__getitem__")

    def position(self) -> Position:
        """Return a position at the beginning."""
        return Position(len(self.texts) if isinstance(self.texts, Sized) else 0)

    def records(self, position: Position) -> Records:
        """Yield the records."""
        for number, value in enumerate(self.texts):
            position.done = number + 1
            yield as_record(f"documents[{number}]", value)
