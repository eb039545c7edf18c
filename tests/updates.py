"""Random changes of small collections, and what a bundle of them holds."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source
from ranklet.runtime.bundles.files import BundleFiles

# Inflections that share lemmas, words that no dictionary has, stop words, accents and ideographs.
_TEXT = """
run running runs ran mouse mice parse parsing parsed gnorp gnorping bacteria bacterium cat cats the
of is being house houses better good best zebra's café 五 x1 don't red old apple apples river rivers
fiddle violin stream winter cold unparsed rerun
"""
WORDS = _TEXT.split()
WHOLE = SourceOptions(passage_words=0, overlap_words=0)
SPLIT = SourceOptions(passage_words=6, overlap_words=2)

Record = dict[str, Any]


class Change(NamedTuple):
    """What is added and deleted, and what the collection has afterwards."""

    add: list[Record]
    delete: list[str]
    after: list[Record]


def seeded(seed: int) -> random.Random:
    """Return random numbers that are the same in every run."""
    return random.Random(seed)


def record(name: str, rng: random.Random) -> Record:
    """Return a document of one to four short sentences, one in two with a title.

    Most have metadata of every type.
    """
    sentences = [" ".join(rng.choices(WORDS, k=4)) for _ in range(rng.randint(1, 4))]
    title = " ".join(rng.sample(WORDS, 2)) if rng.random() < 0.5 else ""
    found: Record = {"id": name, "title": title, "text": ". ".join(sentences)}
    if rng.random() < 0.7:
        found |= {"year": rng.randint(1990, 2030), "price": rng.randint(0, 99) + 0.5}
    if rng.random() < 0.7:
        found |= {
            "tags": rng.sample(WORDS, 2),
            "brand": rng.choice(WORDS),
            "new": rng.random() < 0.5,
        }
        found["day"] = f"2024-0{rng.randint(1, 9)}-15"
    return found


def first_records(rng: random.Random, count: int = 8) -> list[Record]:
    """Return the documents that a collection begins with."""
    return [record(f"d{at}", rng) for at in range(count)]


def changes(
    before: list[Record], rng: random.Random, count: int, name: str = ""
) -> Iterator[Change]:
    """Yield changes that follow one another; some documents are given once more as they are.

    Args:
        before: the documents at first.
        rng: draws the changes.
        count: how many.
        name: a part of the names of new documents.
    """
    held = {each["id"]: each for each in before}
    for step in range(count):
        delete = rng.sample(list(held), rng.randint(0, min(3, len(held) - 1)))
        rest = [each for each in held if each not in delete]
        again = rng.sample(rest, min(len(rest), rng.randint(0, 3)))
        add = [held[each] if rng.random() < 0.3 else record(each, rng) for each in again]
        add += [record(f"n{name}{step}-{at}", rng) for at in range(rng.randint(0, 2))]
        if not add and not delete:
            add = [record(f"n{name}{step}", rng)]
        rng.shuffle(add)
        for each in delete:
            del held[each]
        held |= {one["id"]: one for one in add}
        yield Change(add, delete, list(held.values()))


def indexed(rankers: Path, records: list[Record], target: Path, options: SourceOptions) -> Path:
    """Return a bundle of these documents, built from scratch."""
    return Path(index_bundle(rankers, Source(records, options), target, overwrite=True))


def held(bundle: Path) -> dict[str, Any]:
    """Return all that a manifest says except for the date, the provenance and measured weights.

    It has the sha256 of every file, so bundles of which this is equal are equal byte for byte. An
    update keeps the weights that an earlier collection gave.
    """
    manifest = BundleFiles(bundle, check="full").manifest
    rankers = {name: entry.to_json() for name, entry in manifest.rankers.items()}
    return {
        **{path: entry.sha256 for path, entry in manifest.files.items()},
        **{f"ranker {name}": entry for name, entry in rankers.items()},
        "documents": manifest.documents, "fields": manifest.fields, "titles": manifest.titles,
        "pipelines": {
            name: pipeline.rankers if name == SUM else pipeline
            for name, pipeline in manifest.pipelines.items()
        },
        "default": manifest.default_pipeline,
        "words": (manifest.languages, manifest.normaliser),
        "splitting": manifest.splitting, "metadata": manifest.metadata,
    }  # fmt: skip


def documents_of(bundle: Path) -> list[Document]:
    """Return the passages of a bundle."""
    documents = BundleFiles(bundle).need_documents()
    return [Document(*documents.record(number)) for number in range(len(documents))]
