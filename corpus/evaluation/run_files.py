"""Write rankings as TREC runs while queries are ranked, one file per pipeline."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ranklet.corpus.collections.trec import line_writer, run_lines
from ranklet.corpus.evaluation.systems import Hits, Watcher
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.hits import untie

_TAG = "ranklet-{}"  # of a pipeline's lines
_LONGEST_LINE = 10_000  # characters


def check_run_files(folder: Path, pipelines: Iterable[str]) -> None:
    """Raise InputError if a file would be replaced that is no run of the pipeline of its name."""
    for name in pipelines:
        path = folder / f"{name}.run"
        if path.exists() and (not path.is_file() or _tag(path) not in ("", _TAG.format(name))):
            raise InputError(
                f"{str(path)!r} exists and is no run of ranklet's; give another folder to --runs"
            )


def _tag(path: Path) -> str:
    """Return the last word of a file's first line, "" if the file is empty."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return (file.readline(_LONGEST_LINE).split() or [""])[-1]


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
                writers[name](run_lines(path, query_id, untie(hits), _TAG.format(name)))

        yield write
