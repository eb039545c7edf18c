"""BM25F over fields equals a plain computation, with syntax, filters, additions and deletions."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.distributed import RAY, InProcess, in_process

import ranklet
from ranklet.commands import main
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating.merge import merge
from ranklet.corpus.updating.update import update
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.manifest import MANIFEST, seal_manifest
from ranklet.runtime.ground.errors import InputError
from ranklet.workflows.build import build

__all__ = ["in_process"]  # a fixture
WORDS = ("gnorp", "blick", "zorf", "tamble", "quindle", "vresh")  # each its own lemma
WHOLE = SourceOptions(passage_words=0, overlap_words=0)
COLUMNS = ("author", "tags")
K1, B = 0.9, 0.4

Record = dict[str, Any]


def list_searched(record: Record, field: str, titled: bool) -> list[str]:
    """Return the texts of a field of a record; the title is a part of the text or a field."""
    if field == "text":
        return [record["text"]] if titled else [f"{record['title']}\n{record['text']}"]
    value = record.get(field) or []
    return value if isinstance(value, list) else [value]


def counted(record: Record, field: str, titled: bool) -> Counter[str]:
    return Counter(" ".join(list_searched(record, field, titled)).split())


def records(chance: random.Random, count: int, prefix: str) -> list[Record]:
    """Return records of which some lack an author, tags or a title."""

    def some(most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randrange(1, most)))

    made = []
    for at in range(count):
        record: Record = {"id": f"{prefix}{at}", "title": "", "text": some(9), "year": at % 3}
        if chance.random() < 0.7:
            record["title"] = some(4)
        if chance.random() < 0.6:
            record["author"] = some(4)
        if chance.random() < 0.5:
            record["tags"] = [some(3) for _ in range(chance.randrange(1, 3))]
        made.append(record)
    return made


class Plain:
    """BM25F in plain Python.

    Args:
        base: records that the averages are of.
        added: further records.
        weights: of the text and of the fields.
    """

    def __init__(
        self, base: Sequence[Record], added: Sequence[Record], weights: Mapping[str, float]
    ) -> None:
        self.every, self.weights = [*base, *added], weights
        self.titled = "title" in weights
        self.average = {}
        for field in weights:
            lengths = [sum(self.counts(each, field).values()) for each in base]
            there = lengths if field == "text" else [each for each in lengths if each]
            self.average[field] = sum(there) / len(there) if there else 0.0

    def counts(self, record: Record, field: str) -> Counter[str]:
        return counted(record, field, self.titled)

    def amounts(self, record: Record, word: str) -> dict[str, float]:
        """Return what each field adds to a word's frequency, for weights of 1."""
        found = {}
        for field in self.weights:
            counts = self.counts(record, field)
            relative = sum(counts.values()) / max(self.average[field], 1e-9)
            found[field] = counts[word] / (1 - B + B * relative)
        return found

    def score(self, record: Record, words: Sequence[str], weights: Mapping[str, float]) -> float:
        total = 0.0
        for word in words:
            df = sum(any(self.amounts(each, word).values()) for each in self.every)
            idf = log1p((len(self.every) - df + 0.5) / (df + 0.5))
            x = sum(weights[name] * each for name, each in self.amounts(record, word).items())
            total += idf * x / (x + K1) if x else 0.0
        return total


class Asked:
    """A random query with syntax, and what it asks of a record."""

    def __init__(self, chance: random.Random, fields: Sequence[str], titled: bool) -> None:
        self._chance, self._titled = chance, titled
        self._fields = fields
        self.words: list[str] = []
        self.parts: list[str] = []
        self.groups: list[list[tuple[str, str]]] = []  # a field, "" for any, and a text
        self.out: list[tuple[str, str]] = []
        for _ in range(chance.randrange(1, 4)):
            chance.choice((self._plain, self._plain, self._plus, self._scoped, self._either))()
        if chance.random() < 0.3:
            field, word = chance.choice(("", *fields)), chance.choice(WORDS)
            self.parts.append(f"-{field}:{word}" if field else f"-{word}")
            self.out.append((field, word))
        self.text = " ".join(self.parts)

    def _plain(self) -> None:
        self._add(self._chance.choice(WORDS))

    def _plus(self) -> None:
        self.groups.append([("", self._add(self._chance.choice(WORDS), "+"))])

    def _scoped(self) -> None:
        self.groups.append([self._clause()])

    def _either(self) -> None:
        first = self._clause()
        self.parts.append("OR")
        self.groups.append([first, self._clause()])

    def _clause(self) -> tuple[str, str]:
        field = self._chance.choice(self._fields)
        if self._chance.random() < 0.4:
            phrase = " ".join(self._chance.choices(WORDS, k=2))
            self.parts.append(f'{field}:"{phrase}"')
            self.words += phrase.split()
            return field, phrase
        return field, self._add(self._chance.choice(WORDS), f"{field}:")

    def _add(self, word: str, sign: str = "") -> str:
        self.parts.append(sign + word)
        self.words.append(word)
        return word

    def allows(self, record: Record) -> bool:
        having = [any(self._has(record, each) for each in group) for group in self.groups]
        return all(having) and not any(self._has(record, each) for each in self.out)

    def _has(self, record: Record, clause: tuple[str, str]) -> bool:
        field, text = clause
        fields = [field] if field else self._fields
        texts = [each for name in fields for each in list_searched(record, name, self._titled)]
        return any(f" {text} " in f" {' '.join(each.split())} " for each in texts)


def check(bundle: Bundle, plain: Plain, there: Sequence[Record], chance: random.Random) -> None:
    """Compare a ranking, page by page, for a random query, filter and weights."""
    asked = Asked(chance, list(plain.weights), plain.titled)
    where = chance.choice((None, {"year": {">=": 1}}))
    own = chance.choice((None, {name: chance.choice((0, 0.5, 3)) for name in plain.weights}))
    weights = own or plain.weights
    wanted = {
        each["id"]: score
        for each in there
        if asked.allows(each) and (where is None or each["year"] >= 1)
        if (score := plain.score(each, asked.words, weights)) > 0
    }
    options: Any = {"where": where, "fields": own, "syntax": True}
    ranking = bundle.rank(asked.text, k=len(there), explain=True, **options)
    assert ranking.ignored == (), asked.text
    assert {hit.id: hit.score for hit in ranking} == pytest.approx(wanted, rel=2e-6), asked.text
    assert all(one.score >= other.score for one, other in pairwise(ranking))
    pages = [bundle.rank(asked.text, k=3, offset=at, **options) for at in range(0, len(there), 3)]
    assert [hit.id for page in pages for hit in page] == [hit.id for hit in ranking]
    ordered = bundle.rank(asked.text, k=len(there), facets=["year"], sort=["year"], **options)
    assert (ordered.total, {hit.id for hit in ordered}) == (len(wanted), set(wanted))
    assert sum(count for _, count in ordered.facets["year"]) == len(wanted)
    by_id = {each["id"]: each for each in there}
    for hit in ranking:
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, rel=2e-6)
        for word in hit.explanation.parts:
            amounts = plain.amounts(by_id[hit.id], word.label)
            total = sum(weights[name] * each for name, each in amounts.items())
            assert {part.label: part.value / word.value for part in word.parts} == pytest.approx(
                {
                    f"in {name}": weights[name] * each / total
                    for name, each in amounts.items()
                    if weights[name] * each
                },
                rel=1e-5,
            )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_ranking_equals_a_plain_computation(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    base, added = records(chance, 30, "b"), records(chance, 8, "a")
    base[0] |= {"author": "gnorp blick", "tags": ["zorf"]}
    names = chance.sample((*COLUMNS, "title"), k=chance.randrange(1, 4))
    fields = {name: chance.choice((0.5, 1, 2.5)) for name in names}
    path = tmp_path / "bundle"
    # With impacts in 32 bits, because 8 bits round the scores.
    build(base, path, fields=fields, title_boost=1, language="en", source=WHOLE, impacts="float32")
    weights = {"text": 1.0, **fields}
    for _ in range(12):
        check(ranklet.load(path), Plain(base, [], weights), base, chance)
    gone = {each["id"] for each in chance.sample(base, 5)}
    with ranklet.open(path, writable=True) as live:
        assert isinstance(live, WritableBundle)
        live.add(added[:5])
        live.delete(sorted(gone))
        live.add(added[5:])
    there = [each for each in (*base, *added) if each["id"] not in gone]
    for _ in range(12):
        check(ranklet.load(path), Plain(base, added, weights), there, chance)


def list_source_files(path: Path) -> Iterator[tuple[str, bytes]]:
    for each in sorted(path.rglob("*")):
        if each.is_file() and each.name != "manifest.json":
            yield each.relative_to(path).as_posix(), each.read_bytes()


@pytest.mark.slow
def test_updates_merges_compaction_and_clusters_make_the_bytes_of_a_build(
    tmp_path: Path, in_process: InProcess
) -> None:
    chance = random.Random(9)
    one, two = records(chance, 20, "b"), records(chance, 9, "a")
    options: Any = {"fields": {"author": 1, "tags": 2}, "language": "en", "source": WHOLE}
    build([*one, *two], tmp_path / "all", **options)
    for name, part in (("one", one), ("two", two), ("live", one)):
        build(part, tmp_path / name, **options)
    update(tmp_path / "one", two, target=tmp_path / "updated")
    merge([tmp_path / "one", tmp_path / "two"], tmp_path / "merged")
    with ranklet.open(tmp_path / "live", writable=True) as live:
        assert isinstance(live, WritableBundle)
        live.add(two)
    assert main(["compact", str(tmp_path / "live")]) == 0
    build([*one, *two], tmp_path / "shards", engine=RAY, **options)
    assert in_process.given
    wanted = dict(list_source_files(tmp_path / "all"))
    assert any(name.startswith("rankers/bm25/fields/") for name in wanted)
    for name in ("updated", "merged", "live", "shards"):
        assert dict(list_source_files(tmp_path / name)) == wanted, name
    assert main(["verify", str(tmp_path / "merged")]) == 0


def test_fields_that_cannot_be_searched_are_refused(tmp_path: Path) -> None:
    rows = [{"id": "1", "title": "t", "text": "gnorp", "author": "blick", "year": 3}]
    for fields, message in (
        ({"autor": 1}, "no document has a column 'autor'"),
        ({"year": 1}, "--types year=string"),
        ({"author": 0}, "above 0"),
        ({"text": 1}, "above 0"),
        ({"author": "x"}, "must be a number"),
        (["author"], "give weights"),
    ):
        with pytest.raises(InputError, match=message):
            build(rows, tmp_path / "bundle", fields=fields)
    with pytest.raises(InputError, match="leave title_boost out"):
        build(rows, tmp_path / "bundle", fields={"title": 2}, title_boost=3)
    with pytest.raises(InputError, match="titles are not ranked"):
        build(rows, tmp_path / "bundle", fields={"title": 2}, titles=False)
    plain = build(rows, tmp_path / "bundle")
    with pytest.raises(InputError, match="has no fields to weigh"):
        plain.rank("gnorp", fields={"author": 1})
    with pytest.raises(InputError, match="the fields of this bundle are none"):
        plain.rank("gnorp -author:blick", syntax=True)


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("text.npy", [np.nan, 0], "negative or not finite"),
        ("text.npy", [0, 0], "in no field"),
        ("averages.npy", [np.nan], "negative or not finite"),
        ("0.counts.npy", [1], "counts"),
    ],
)
def test_damaged_fields_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, values: list[float], message: str
) -> None:
    path = tmp_path / "bundle"
    rows = [{"id": "1", "text": "gnorp", "author": "blick"}]
    build(rows, path, fields={"author": 1}, language="en")
    name = f"rankers/bm25/fields/{file}"
    kept = np.load(path / name)
    np.save(path / name, np.array(values, kept.dtype))
    data, manifest = (path / name).read_bytes(), json.loads((path / MANIFEST).read_text())
    manifest["files"][name] = {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    (path / MANIFEST).write_text(seal_manifest(manifest))
    assert main(["verify", str(path)]) != 0
    assert message in "".join(capsys.readouterr())
