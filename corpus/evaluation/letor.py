"""Write the candidates of pipelines with their rankers' scores as LETOR files, to learn from.

    # 1 bm25, 2 minilm                    the features by number, scaled as for a sum
    2 qid:1 1:3.5 2:0.25 # q1 d7          grade, number of the query, features, ids of both

Source: Qin and Liu 2013, "Introducing LETOR 4.0 Datasets" (arXiv 1306.2597).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.collections.trec import line_writer
from ranklet.corpus.evaluation.systems import Hits, Watcher
from ranklet.runtime.ground.errors import InputError

if TYPE_CHECKING:
    from ranklet.runtime import Bundle

SUFFIX = ".letor"


def check_letor_files(folder: Path, pipelines: Iterable[str]) -> None:
    """Raise InputError if a file would be replaced."""
    for path in (folder / f"{name}{SUFFIX}" for name in pipelines):
        if path.exists():
            raise InputError(f"{str(path)!r} exists; remove it, or give another folder to --letor")


@contextmanager
def letor_files(folder: Path, bundle: "Bundle", queries: JudgedQueries) -> Iterator[Watcher]:
    """Give a watcher that writes the candidates of every query to PIPELINE.letor in a folder.

    The files appear complete when the context ends, and after an error there are none.

    Raises:
        CollectionError: as `line_writer`.
    """
    numbered = {query.id: (number, query) for number, query in enumerate(queries, 1)}
    with ExitStack() as files:
        writers: dict[str, Callable[[Iterable[str]], None]] = {}

        def write(query_id: str, rankings: Mapping[str, Hits]) -> None:
            for name in rankings:
                first = name not in writers
                if first:
                    path = folder / f"{name}{SUFFIX}"
                    writers[name] = files.enter_context(line_writer(path))
                writers[name](_lines(bundle, name, *numbered[query_id], names=first))

        yield write


def _lines(
    bundle: "Bundle", pipeline: str, number: int, query: JudgedQuery, *, names: bool
) -> Iterator[str]:
    """Yield a line per candidate, and before them the names of the features."""
    ids, columns = bundle.features(query.text, pipeline=pipeline)
    if names:
        yield f"# {', '.join(f'{at} {name}' for at, name in enumerate(columns, 1))}\n"
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    for id_, row in zip(ids, rows, strict=True):
        features = " ".join(f"{at}:{value:.7g}" for at, value in enumerate(row, 1))
        yield f"{query.relevant.get(id_, 0)} qid:{number} {features} # {query.id} {id_}\n"
