"""Count how much of an evaluation a training has already seen.

A ranker that learned that a document is relevant for one query may prefer it for others, too. So a
gain on queries whose relevant documents were relevant in training is partly memorisation.
"""

from collections.abc import Iterable, Mapping

from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.bundles.manifest import Manifest


def count_shared(learned: Iterable[JudgedQuery], held_out: Iterable[JudgedQuery]) -> int:
    """Return how many held-out queries have a relevant document that a learned query has, too."""
    seen = {name for query in learned for name in query.relevant}
    return sum(not seen.isdisjoint(query.relevant) for query in held_out)


def trained_rankers(manifest: Manifest) -> list[str]:
    """Return the rankers of a bundle that learned from judged queries, which they may remember.

    BM25 learns two or three numbers, which remember nothing, and an imported model learned from
    other queries.
    """
    reports = manifest.provenance.get("checkpoints")
    if not isinstance(reports, Mapping):
        return []
    return [
        name
        for name, entry in manifest.rankers.items()
        if entry.kind != "bm25" and (report := reports.get(name)) and "imported" not in report
    ]
