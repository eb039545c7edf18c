"""Tiny collections under the names of the real ones, with parts as qa-mix has them."""

from pathlib import Path

from benchmarks.cross_encoders.scope import Scope, Sizes
from benchmarks.harness.place import Place
from tests.kinds import TinyRankers

from ranklet.export.options import ExportOptions
from ranklet.training.data.collection import Document, Query, write_collection

SIZES = Sizes(
    tokens=48, query_tokens=12, steps=2, rate_steps=1, needle_steps=1, needle_pool=3, pool=3,
    rate_pool=3, tuning=10, queries=6, others=6, depth=4, needle_depth=4, chunk=6, least=2,
    needles=5, relevant=3,
)  # fmt: skip
OPTIONS = ExportOptions(variants=("fp32",), max_ndcg_loss=1.0)
FILLERS = 8


def miniature(tiny: TinyRankers, folder: Path) -> Scope:
    """Write qa-mix, medquad and scifact into a folder; return what a run on them covers."""
    collection = tiny.data.collection
    documents = list(collection.documents())
    renamed = {each.id: f"{_part(each.id)}-{each.id}" for each in documents}
    mixed = [each._replace(id=renamed[each.id]) for each in documents]
    mixed += [Document(f"nq-{at}", "", f"{at} days that nobody asks for") for at in range(FILLERS)]
    splits = {}
    for split in ("train", "dev"):
        queries = collection.queries(split)
        qrels = {
            f"{_part(query.id.removeprefix('q-'))}-{query.id}": {
                renamed[name]: 1 for name in collection.qrels(split)[query.id]
            }
            for query in queries
        }
        texts = [query.text for query in queries]
        splits[split] = [Query(*each) for each in zip(qrels, texts, strict=True)], qrels
    write_collection(folder / "data" / "qa-mix", mixed, splits)
    own = {
        split: (collection.queries(split), collection.qrels(split)) for split in ("train", "dev")
    }
    write_collection(folder / "data" / "medquad", documents, own)
    tested = {"train": own["train"], "test": own["dev"]}
    write_collection(folder / "data" / "scifact", documents, tested)
    return Scope(Place(folder / "data", folder / "work"), SIZES, tiny.data.bert)


def _part(name: str) -> str:
    return "md" if name.startswith(("winter", "planet")) else "ss"
