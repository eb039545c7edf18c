"""Write rankings as TREC runs while queries are ranked, one file per pipeline."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from ranklet.training.data.trec import line_writer, run_lines
from ranklet.training.evaluation.systems import Hits, Watcher


@contextmanager
def run_files(folder: Path) -> Iterator[Watcher]:
    """Give a watcher that writes every query to PIPELINE.run in a folder.

    The files appear complete when the context ends, and after an error there are none.

    Raises:
        CollectionError: as `run_lines` and `line_writer`.
    """
    with ExitStack() as files:
        writers: dict[str, Callable[[Iterable[str]], None]] = {}

        def write(query_id: str, rankings: Mapping[str, Hits]) -> None:
            for name, hits in rankings.items():
                path = folder / f"{name}.run"
                if name not in writers:
                    writers[name] = files.enter_context(line_writer(path))
                writers[name](run_lines(path, query_id, untied(hits), f"ranklet-{name}"))

        yield write


def untied(hits: Hits) -> list[tuple[str, float]]:
    """Return a run's hits with strictly descending scores, for a file that trec_eval will read.

    trec_eval ignores ranks and orders equal scores by descending document id, so it would measure
    another ranking. Therefore each of several equal scores is one float32 step below the one before
    it. trec_eval does not distinguish smaller steps.

    >>> [score < 0.5 for _, score in untied([("a", 0.5), ("b", 0.5), ("c", 0.25)])]
    [False, True, True]
    """
    descending: list[tuple[str, float]] = []
    largest = np.float32(np.inf)
    for name, score in hits:
        single = min(np.float32(score), largest)
        descending.append((name, float(single)))
        largest = np.nextafter(single, np.float32(-np.inf))
    return descending
