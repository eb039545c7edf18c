"""What `ranklet rank` prints for a query."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ranklet.runtime.answers.console import printable
from ranklet.runtime.hits import in_line
from ranklet.runtime.syntax.signs import is_sign

if TYPE_CHECKING:
    from ranklet.runtime import Ranking

ROWS = 10  # maximum number of rows that are printed of an explanation


def as_text(ranking: "Ranking", offset: int = 0, *, wanted: bool = True) -> str:
    """Return a ranking as readable text, whose first hit has the place after `offset`.

    If there is none, the text says why, and not that nothing was found where no hit was `wanted`.
    """
    lines = [
        f"searched for {better!r} instead of {word!r}"
        for word, better in ranking.corrections.items()
    ]
    if ranking.suggestion:
        lines.append(f"did you mean {ranking.suggestion!r}?")
    if not len(ranking):
        after = f" after the first {offset:,}" if offset else ""
        why = after if wanted else ", because -k is 0"
        nothing = f"no hits for {ranking.query!r}{why}"
        return laid_out([*lines, nothing, *counted(ranking), *said(ranking)])
    for place, hit in enumerate(ranking, offset + 1):
        name = f"{hit.name} (pinned)" if hit.pinned else hit.name
        likely = "" if hit.relevance is None else f" ({hit.relevance:.0%} likely)"
        lines.append(f"{place:2}. {hit.score:8.4f}{likely}  {name}  {hit.title}".rstrip())
        lines.append(f"              {hit.snippet}")
        if hit.folded:
            lines.append(f"              near duplicates: {', '.join(hit.folded)}")
        if hit.metadata:
            lines.append(f"              {in_line(hit.metadata)}")
        for span in hit.spans:
            lines += [f"      {each}" for each in (f"[{span.source}]", *span.text.split("\n"))]
        if hit.explanation is not None:
            tree = hit.explanation.text(ROWS, " (--json, or explain --html FILE, shows all)")
            lines += [f"      {line}" for line in tree.splitlines()]
    lines += counted(ranking)
    if any(hit.explanation for hit in ranking):  # who asks why may ask how fast, too
        lines.append(f"({sum(timing.ms for timing in ranking.timings):.1f} ms)")
    for ranker, count in ranking.truncated.items():
        lines.append(f"truncated because longer than {ranker} reads: {count}")
    if ranking.left_out:
        lines.append(f"no time for: {'; '.join(ranking.left_out)}")
    return laid_out([*lines, *said(ranking)])


def counted(ranking: "Ranking") -> list[str]:
    """Return how many documents match, and the facets, a line each; [] if nothing was counted."""
    if ranking.total is None:
        return []
    found = "documents match" if ranking.exact else "candidates, since vectors compare everything"
    lines = [f"{ranking.total:,} {found}"]
    for name, counts in ranking.facets.items():
        shown = (f"{_value(each.to_dict()['value'])} ({each.count:,})" for each in counts)
        lines.append(f"{name}: {' · '.join(shown)}")
    return lines


def _value(value: object) -> str:
    """Return a value, or the range that a pair is, for people."""
    if isinstance(value, list):
        begin, end = ("" if each is None else str(each) for each in value)
        return f"{begin}–<{end}"
    return "(none)" if value is None else value if isinstance(value, str) else json.dumps(value)


def laid_out(lines: Iterable[str]) -> str:
    """Return lines that are safe to print."""
    return "\n".join(map(printable, lines))


def said(ranking: "Ranking") -> list[str]:
    """Return lines for ignored words, unknown ids, and rankers that took no part."""
    ids = [f"unknown ids: {', '.join(ranking.unknown)}"] if ranking.unknown else []
    without = [f"ranked without {each}" for each in ranking.without]
    return [*describe_ignored(ranking), *ids, *without]


def describe_ignored(ranking: "Ranking") -> list[str]:
    """Return the lines that name the ignored signs and words of a query; [] if there are none."""
    signs = [each for each in ranking.ignored if is_sign(each)]
    words = [each for each in ranking.ignored if not is_sign(each)]
    lines = [f"left out as stop words: {', '.join(words)}"] if words else []
    if signs:
        lines.append(f"without a meaning here: {', '.join(signs)} (docs/searching.md)")
    return lines
