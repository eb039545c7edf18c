"""From a fresh process to the first answer: import, open, rank, stage by stage.

What a serverless function pays when it wakes: google-wiki, BM25 over lemmas, a warm page cache.
"""

from typing import Any

import numpy as np

from benchmarks.built.bundles import google_wiki, google_wiki_zip
from benchmarks.built.peers import asked, bm25s_folder, opened, tantivy_folder
from benchmarks.harness.place import Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import goal, table

PACKAGES = ("bm25s", "numba", "tantivy")
ROUNDS = 11
MOST_IMPORT, MOST_FIRST = 60, 150  # ms beyond `import numpy`, the design's goals
HEAVY = ("torch", "transformers", "scipy", "onnx", "onnxruntime", "tokenizers", "simplemma")

NUMPY = """
import numpy
lap("import numpy")
"""
OURS = """
from ranklet import runtime
lap("import")
bundle = runtime.load(path)
lap("open")
hits = bundle.rank(text, k=10)
lap("first query")
answer["modules"], answer["hits"] = sorted(sys.modules), len(hits)
"""
# Without numba: it is optional for bm25s, which imports it where it is found, for 0.3 s or more.
BM25S = """
if not numba:
    sys.modules["numba"] = None
import bm25s
lap("import")
index = bm25s.BM25.load(path, mmap=mmap)
lap("open")
found = index.retrieve([lemmas], k=10, show_progress=False, n_threads=0)
lap("first query")
answer["hits"] = len(found.documents[0])
"""
TANTIVY = """
from tantivy import Index, Occur, Query
lap("import")
index = Index.open(path)
searcher = index.searcher()
lap("open")
terms = [(Occur.Should, Query.term_query(index.schema, "body", each, "freq")) for each in lemmas]
hits = searcher.search(Query.boolean_query(terms), 10, count=False).hits
numbers = searcher.fast_field_values("number", [address for _, address in hits])
lap("first query")
answer["hits"] = len(numbers)
"""
STAGES = ("interpreter", "import numpy", "import", "open", "first query")


def run(place: Place) -> str:
    """Start every process in turn, eleven times."""
    folder, zipped = str(google_wiki(place)), str(google_wiki_zip(place))
    text, lemmas = asked(place, opened(google_wiki(place)))[0]
    peer = {"path": str(bm25s_folder(place)), "lemmas": lemmas}
    snippets: dict[str, tuple[str, dict[str, Any]]] = {
        "ranklet, folder": (NUMPY + OURS, {"path": folder, "text": text}),
        "ranklet, zip": (NUMPY + OURS, {"path": zipped, "text": text}),
        "bm25s, mmap": (NUMPY + BM25S, {**peer, "mmap": True, "numba": False}),
        "bm25s": (NUMPY + BM25S, {**peer, "mmap": False, "numba": False}),
        "bm25s, mmap, numba installed": (NUMPY + BM25S, {**peer, "mmap": True, "numba": True}),
        "tantivy": (TANTIVY, {"path": str(tantivy_folder(place)), "lemmas": lemmas}),
    }
    laps: dict[str, list[dict[str, float]]] = {name: [] for name in snippets}
    modules: set[str] = set()
    for turn in range(-1, ROUNDS):  # the first fills the page cache and is not counted
        for name, (snippet, values) in snippets.items():
            found = fresh(snippet, values)
            if found["hits"] != 10:
                raise ValueError(f"{name} found {found['hits']} of 10 hits")
            modules |= set(found.get("modules", ()))
            if turn >= 0:
                laps[name].append(found["laps"])
    heavy = [name for name in HEAVY if name in modules]
    if heavy:
        raise ValueError(f"ranking with BM25 has loaded {', '.join(heavy)}")
    beyond = {name: _median(each, STAGES[2:]) for name, each in laps.items()}
    ours = beyond["ranklet, folder"], beyond["ranklet, zip"]
    imported = _median(laps["ranklet, folder"], ("import",))
    rows = [
        [
            name,
            *(f"{_median(each, (stage,)):.0f}" if stage in each[0] else "" for stage in STAGES),
            f"{beyond[name]:.0f}",
            f"{_median(each, STAGES):.0f}",
        ]
        for name, each in laps.items()
    ]
    head = ["ms", *STAGES, "beyond numpy", "from process start"]
    return f"""
Medians of {ROUNDS} fresh processes each, in turns. *Beyond numpy* is import, open and first query.

{table(head, rows)}

{goal("`import ranklet.runtime` beyond numpy", imported, MOST_IMPORT)}
{goal("open and first answer beyond numpy, folder", ours[0], MOST_FIRST)}
{goal("the same, zip", ours[1], MOST_FIRST)}
- {len(modules)} modules are loaded after ranking, none of {", ".join(HEAVY)}: checked in \
`sys.modules` of every run.
- Our first query begins with text, and ends with ids, titles and texts of 10 hits. bm25s and \
tantivy are handed finished lemmas, and end with document numbers. bm25s's rows are without \
numba, which is optional and slow to import, except the one that says so. tantivy needs no numpy.
- `import numpy` is the yardstick of how busy the machine was: 50 ms where it is idle.
"""


def _median(laps: list[dict[str, float]], stages: tuple[str, ...]) -> float:
    return float(np.median([sum(each.get(stage, 0.0) for stage in stages) for each in laps]))
