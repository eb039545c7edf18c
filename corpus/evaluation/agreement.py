"""How much two rankings of the same query agree, without judgements."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

PERSISTENCE = 0.9  # of rank-biased overlap: how likely a reader goes on; ten hits weigh 86 %


@dataclass(frozen=True)
class Agreement:
    """Two rankings of one query, as ids of documents, best first, each id once."""

    query: str
    before: Sequence[str]
    after: Sequence[str]

    @cached_property
    def places(self) -> dict[str, tuple[int | None, int | None]]:
        """By id its places before and after, from 1; None where it is missing. Best first."""
        old = {name: place for place, name in enumerate(self.before, 1)}
        new = {name: place for place, name in enumerate(self.after, 1)}
        found = {name: (old.get(name), new.get(name)) for name in {**new, **old}}
        last = len(found) + 1
        return dict(
            sorted(found.items(), key=lambda each: [place or last for place in each[1][::-1]])
        )

    @property
    def changed(self) -> dict[str, tuple[int | None, int | None]]:
        """Those of the places that differ: hits that moved, entered or left."""
        return {name: pair for name, pair in self.places.items() if pair[0] != pair[1]}

    @property
    def overlap(self) -> float:
        """The share of the longer ranking that both have; 1 if both are empty."""
        longer = max(len(self.before), len(self.after))
        return len(set(self.before) & set(self.after)) / longer if longer else 1.0

    @cached_property
    def rbo(self) -> float:
        """Rank-biased overlap; see `rank_biased_overlap`."""
        return rank_biased_overlap(self.before, self.after)


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE) -> float:
    """Return RBO_EXT, from 0 for disjoint rankings to 1 for equal ones.

    It is eq. 23 of Webber, Moffat and Zobel, "A similarity measure for indefinite rankings" (2010):
    the agreement at each depth d weighs p^d, and that at the end goes on. A shorter ranking has no
    more hits, so at greater depths the others agree with nothing.

    >>> rank_biased_overlap("abc", "abc"), rank_biased_overlap("ab", "cd")
    (1.0, 0.0)

    Args:
        one: ids, best first, each once.
        other: likewise.
        p: the persistence, above 0 and below 1.
    """
    common, seen, total, agreement = 0, set[str](), 0.0, 1.0
    depths = max(len(one), len(other))
    for depth in range(1, depths + 1):
        pair = [*one[depth - 1 : depth], *other[depth - 1 : depth]]
        common += len(seen.intersection(pair)) + len(pair) - len(set(pair))
        seen.update(pair)
        agreement = common / depth
        total += agreement * p**depth
    return min(1.0, (1 - p) / p * total + agreement * p**depths)
