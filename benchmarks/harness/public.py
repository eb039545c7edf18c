"""Collections of the results, made of their public sources.

    python -m benchmarks.harness.public scifact vaswani cranfield [--data FOLDER]
    git clone https://github.com/abachaa/MedQuAD && git -C MedQuAD checkout 577bd37
    python -m benchmarks.harness.public --medquad MedQuAD

ir_datasets fetches the first three. Of scifact one in eight queries of train becomes dev, and
medquad is split by the focus of a question, which are other queries than those of the results; and
those leave out 92 of the 16,407 answers. So figures are near theirs, and not the same, but for the
300 queries of scifact's test, which are BEIR's. All have licences of their own: scifact CC BY 4.0
and ODC-By, medquad CC BY 4.0.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from benchmarks.harness.place import default_data
from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.collections.irds import write_dataset

IRDS = {
    "scifact": {"train": "beir/scifact/train", "test": "beir/scifact/test"},
    "vaswani": {"test": "vaswani"},
    "cranfield": {"test": "cranfield"},
}
DEV = {"scifact": 0.12}  # the share of train that becomes dev
Splits = dict[str, tuple[list[Query], dict[str, dict[str, int]]]]


class Answer(NamedTuple):
    """A question of MedQuAD with its answer."""

    document: Document
    question: str
    focus: str


def fetch(name: str, folder: Path) -> Collection:
    """Write a collection of ir_datasets, with a split dev if it has a train."""
    made = write_dataset(folder, IRDS[name])
    if name not in DEV:
        return made
    splits: Splits = {split: (list(made.queries(split)), made.qrels(split)) for split in IRDS[name]}
    queries, qrels = splits.pop("train")
    for split in ("train", "dev"):
        own = [each for each in queries if (_share(each.id) < DEV[name]) == (split == "dev")]
        splits[split] = own, {each.id: qrels[each.id] for each in own if each.id in qrels}
    return write_collection(folder, list(made.documents()), splits, overwrite=True)


def write_medquad(clone: Path, folder: Path) -> Collection:
    """Write MedQuAD; a question's text is a query once, and its focus the title of its answers.

    A focus is in one split: eight of ten in train, one in dev, one in test.
    """
    answers = list(_read_answers(clone))
    if not answers:
        raise FileNotFoundError(f"{clone} has no */*.xml with answers; clone abachaa/MedQuAD there")
    splits: Splits = {split: ([], {}) for split in ("train", "dev", "test")}
    seen = dict[str, tuple[str, str]]()  # the query and the split of a question
    for each in answers:
        share = _share(each.focus.lower())
        split = "train" if share < 0.8 else "dev" if share < 0.9 else "test"
        if each.question not in seen:
            seen[each.question] = f"mq{len(seen)}", split
            splits[split][0].append(Query(seen[each.question][0], each.question))
        query, split = seen[each.question]
        splits[split][1].setdefault(query, {})[each.document.id] = 1
    return write_collection(folder, [each.document for each in answers], splits)


def _read_answers(clone: Path) -> Iterator[Answer]:
    seen = Counter[str]()
    for path in sorted(clone.glob("*/*.xml")):
        root = ElementTree.parse(path).getroot()  # noqa: S314, because expat has its own limits
        focus = _plain(root.findtext("Focus"))
        for pair in root.iter("QAPair"):
            question, text = pair.find("Question"), _plain(pair.findtext("Answer"))
            if question is not None and text:
                asked = _plain(question.text).replace("(are) ", "").replace(" ?", "?")
                name = f"{root.get('source')}_{question.get('qid')}"
                seen[name] += 1  # some files have an id of another file
                name += f".{seen[name]}" if seen[name] > 1 else ""
                yield Answer(Document(name, focus, text), asked, focus)


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _share(name: str) -> float:
    """Return a number from 0 to 1 that is always the same for a name."""
    return int(sha256(name.encode()).hexdigest()[:12], 16) / 16**12


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the collections that are named; one that is there stays."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness.public")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(IRDS))
    parser.add_argument("--medquad", type=Path, metavar="CLONE", help="folder of abachaa/MedQuAD")
    parser.add_argument("--data", type=Path, default=default_data())
    options = parser.parse_args(arguments)
    if unknown := {*options.names} - {*IRDS}:
        parser.error(f"unknown are {', '.join(unknown)}; known are {', '.join(IRDS)}")
    for name in [*options.names, *(["medquad"] if options.medquad else [])]:
        folder = options.data / name
        if folder.exists():
            print(f"{folder} is there")
            continue
        made = write_medquad(options.medquad, folder) if name == "medquad" else fetch(name, folder)
        counts = ", ".join(f"{split} {len(list(made.queries(split))):,}" for split in made.splits())
        print(f"{folder}: {sum(1 for _ in made.documents()):,} documents, queries {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
