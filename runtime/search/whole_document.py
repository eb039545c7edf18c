"""A document of a collection, whole, as `Bundle.document` returns it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ranklet.runtime.answers.plain import to_values
from ranklet.runtime.bundles.location import Location, joined, without_headings
from ranklet.runtime.bundles.manifest import Splitting, Value
from ranklet.runtime.search.texts import Passage


@dataclass(frozen=True)
class WholeDocument:
    """A document of a collection.

    Attributes:
        id: the document's id.
        title: the title; it may be empty.
        text: the whole text, without the title.
        metadata: the other fields that the document has, as in a `Hit`.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ("id", "title", "text")
    PERHAPS: ClassVar[tuple[str, ...]] = ("metadata",)

    id: str
    title: str
    text: str
    metadata: Mapping[str, Value]

    @classmethod
    def of(cls, passages: Sequence[Passage], splitting: Splitting) -> "WholeDocument":
        """Return the document that was split into passages."""
        first = passages[0]
        text = whole_text([(each.location, each.text) for each in passages], splitting)
        title = without_headings(first.title, first.location)
        return cls(first.document, title, text, first.metadata)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; metadata only if there are any. Dates are ISO 8601 strings."""
        return to_values(self)


def whole_text(passages: Sequence[tuple[Location | None, str]], splitting: Splitting) -> str:
    """Return the text that was split into passages, of which each location is given.

    Where they are not known, white space between passages becomes a single space.
    """
    placed = [(location, text) for location, text in passages if location is not None]
    if len(placed) == len(passages):
        return placed[0][0].before + joined(placed)
    from ranklet.runtime.text.sentences import rejoined  # saves 2 ms of a cold start

    return rejoined([text for _, text in passages], *splitting)
