"""Write rankings as TREC runs while queries are ranked, one file per pipeline."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ranklet.corpus.collections.trec import line_writer, run_lines
from ranklet.corpus.evaluation.systems import Hits, Watcher
from ranklet.runtime.hits import untied


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
