"""Short and long lists, from the text of a query to ids or texts, beside tantivy with its texts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.built.bundles import GOOGLE_WIKI, google_wiki
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.harness.timing import take_turns
from ranklet import runtime
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.sources.source import Source

PACKAGES = ("tantivy",)
QUERIES, ROUNDS = 100, 5
MOST = {10: 1.0, 100: 0.5, 1000: 0.6}  # of tantivy's time to ids, by the length of a list
NO_WORD = re.compile(r"\W+")  # which tantivy's syntax may take for an operator


def run(place: Place) -> str:
    """Time both."""
    bundle, ask = runtime.load(google_wiki(place)), _tantivy(_texts_of(place))
    queries = [each.text for each in read_split(place.collection(GOOGLE_WIKI), "dev")][:QUERIES]
    rows, goals = [], []
    for k, most in MOST.items():
        callers = _callers(bundle, ask, k)
        ms = {name: float(np.median(each)) for name, each in
              take_turns(callers, queries, ROUNDS).items()}  # fmt: skip
        rows.append([f"top {k:,}", *(f"{each:.2f}" for each in ms.values())])
        ratio = ms["ranklet, ids"] / ms["tantivy, ids"]
        goals.append(goal(f"top {k:,} to ids, of tantivy's time,", ratio, most, "×"))
    lines = "\n".join(goals)
    return f"""{GOOGLE_WIKI}, {len(bundle):,} documents, {len(queries)} dev queries, one thread; \
p50 in ms of medians of {ROUNDS} rounds, in turns. Both begin with a query's text, and tantivy \
stores texts and reads a hit whole, as its Python package does.

{table(["", *callers], rows)}

{lines}
"""


def _callers(
    bundle: runtime.Bundle, ask: Callable[[str, int], list[Any]], k: int
) -> dict[str, Callable[[str], object]]:
    return {
        "ranklet, ids": lambda q: [each.id for each in bundle.rank(q, k=k)],
        "tantivy, ids": lambda q: [each["id"] for each in ask(q, k)],
        "ranklet, texts": lambda q: [each.text for each in bundle.rank(q, k=k)],
        "tantivy, texts": lambda q: [each["body"] for each in ask(q, k)],
    }


def _texts_of(place: Place) -> Path:
    """Return tantivy's index of the same documents, with their ids and texts."""

    def build(path: Path) -> None:
        import tantivy

        path.mkdir()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw")
        schema.add_text_field("body", stored=True, tokenizer_name="en_stem")
        writer = tantivy.Index(schema.build(), path=str(path)).writer(1_000_000_000, 1)
        for each in Source(place.collection(GOOGLE_WIKI).path).documents():
            text = f"{each.title}\n{each.text}"
            writer.add_document(tantivy.Document(id=each.id, body=text))
        writer.commit()
        writer.wait_merging_threads()

    return place.keep("google-wiki.texts.tantivy", build, code=())


def _tantivy(folder: Path) -> Callable[[str, int], list[Any]]:
    import tantivy

    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()

    def ask(text: str, k: int) -> list[Any]:
        query = index.parse_query(NO_WORD.sub(" ", text), ["body"])
        return [searcher.doc(address) for _, address in searcher.search(query, k).hits]

    return ask
