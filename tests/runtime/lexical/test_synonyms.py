"""Scores with synonyms against plain Python, over additions, deletions, filters and pages."""

from itertools import pairwise
from math import log1p
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.range_server import RangeServer

import ranklet
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.workflows.build import build

WORDS = ["bab", "cab", "xac", "bax", "abba", "caxa", "xxab", "bcb"]
Rule = tuple[tuple[str, ...], tuple[str, ...], float]  # what stands for what, and its weight


def rows(random: Random, begin: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"d{begin + number}",
            "text": " ".join(random.choices(WORDS, k=random.randint(1, 7))),
            "even": number % 2 == 0,
        }
        for number in range(count)
    ]


def some_rules(random: Random) -> tuple[str, list[Rule]]:
    """Return the text of a file, and what it means."""
    lines, rules = ["# words", ""], list[Rule]()
    for _ in range(4):
        sides = [tuple(random.sample(WORDS, random.choice([1, 1, 2]))) for _ in range(3)]
        weights = [random.choice([1.0, 0.5, 0.25]) for _ in sides]
        written = [
            " ".join(side) + ("" if weight == 1 else f" * {weight}")
            for side, weight in zip(sides, weights, strict=True)
        ]
        if random.random() < 0.5:
            lines.append(", ".join(written))
            origins = sides
        else:
            lines.append(f"{' '.join(sides[0])} => {', '.join(written[1:])}")
            origins = sides[:1]
            sides, weights = sides[1:], weights[1:]
        for origin in origins:
            rules += [(w, origin, v) for w, v in zip(sides, weights, strict=True) if w != origin]
    return "\n".join(lines), rules


class Plain:
    """What each word adds to each document, as the bundle ranks it alone."""

    def __init__(self, bundle: Bundle) -> None:
        texts = [bundle.documents.record(n)[2].split() for n in range(len(bundle.documents))]
        self.of = {
            word: {hit.id: hit.score for hit in bundle.rank(word, k=1000, synonyms=False)}
            for word in WORDS
        }
        counts = {word: sum(word in text for text in texts) for word in WORDS}
        size = len(texts)
        self.idf = {w: log1p((size - n + 0.5) / (n + 0.5)) for w, n in counts.items()}

    def amount(self, words: tuple[str, ...], most: float, weight: float, name: str) -> float:
        shares = [self.of[word].get(name, 0) / self.idf[word] for word in words]
        return weight * min(most, sum(self.idf[word] for word in words)) * min(shares)

    def score(self, query: list[str], rules: list[Rule], name: str) -> float:
        found, at = sum(self.of[word].get(name, 0) for word in query), 0
        while at < len(query):
            for length in (2, 1):
                row = tuple(query[at : at + length])
                meant = [(words, weight) for words, origin, weight in rules if origin == row]
                if meant and len(row) == length:
                    most = sum(self.idf[word] for word in row)
                    own = sum(self.of[word].get(name, 0) for word in row)
                    best = max(self.amount(words, most, v, name) for words, v in meant)
                    found += max(0.0, best - own)
                    at += length - 1
                    break
            at += 1
        return found


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_plain_python(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    first = rows(random, 0, 40)
    path = Path(build(first, tmp_path / "b.ranklet"))
    every = {row["id"]: row for row in first}
    if seed % 2:
        live: Any = ranklet.open(path, writable=True)
        more = rows(random, 35, 12)
        live.add(more)
        live.delete(["d1", "d40"])
        every |= {row["id"]: row for row in more}
        every = {name: row for name, row in every.items() if name not in ("d1", "d40")}
    for _ in range(3):
        text, rules = some_rules(random)
        path.with_name("b.ranklet.synonyms").write_text(text)
        bundle = load(path)
        plain = Plain(bundle)
        for _ in range(12):
            query = random.choices(WORDS, k=random.randint(1, 4))
            where = random.choice([None, {"even": True}])
            names = [name for name, row in every.items() if where is None or row["even"]]
            wanted = {name: plain.score(query, rules, name) for name in names}
            wanted = {name: score for name, score in wanted.items() if score > 0}
            typed = " ".join(query)
            ranking = bundle.rank(typed, k=100, where=where, explain=True, facets=["even"])
            found = {hit.id: hit.score for hit in ranking}
            assert found == pytest.approx(wanted, rel=1e-5), (text, typed)
            assert ranking.total == len(wanted)
            assert all(one.score >= two.score for one, two in pairwise(ranking))
            for hit in ranking:
                assert hit.explanation is not None
                assert hit.explanation.value == pytest.approx(hit.score, rel=1e-5)
                assert bundle.highlight(hit)
            pages = [bundle.rank(typed, k=7, offset=at, where=where) for at in range(0, 60, 7)]
            assert [hit.id for page in pages for hit in page] == [hit.id for hit in ranking]
            ids = list(wanted)
            assert list(bundle.score(typed, ids=ids)) == pytest.approx(
                [wanted[name] for name in ids], rel=1e-5
            )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    texts = {
        "car": "The car is red.", "auto": "My autos are old.", "both": "A car, an auto.",
        "big": "A big apple.", "city": "New York never sleeps, the Big Apple.",
        "new": "A new big day.",
    }  # fmt: skip
    made = [{"id": name, "text": text} for name, text in texts.items()]
    path = Path(build(made, tmp_path / "b.ranklet"))
    path.with_name("b.ranklet.synonyms").write_text("car, auto * .5\nbig apple => new york\n")
    return path


def ids(bundle: Bundle, query: str, **options: Any) -> list[str]:
    return sorted(hit.id for hit in bundle.rank(query, **options))


def test_inflections_phrases_typos_and_marks(path: Path) -> None:
    bundle = load(path)
    assert ids(bundle, "cars") == ["auto", "both", "car"]
    assert ids(bundle, "cars", synonyms=False) == ["both", "car"]
    assert ids(bundle, '"car" red', syntax=True) == ["both", "car"]  # a phrase stays one
    assert ids(bundle, "carr", typos=True) == ["auto", "both", "car"]
    assert ids(bundle, "new york") == ["city", "new"]  # a rule has one direction
    found = {hit.id: hit for hit in bundle.rank("car", explain=True)}
    label = found["auto"].explanation
    assert label is not None
    assert label.parts[0].label == "auto, synonym of car"
    assert [(each.begin, each.end) for each in bundle.highlight(found["auto"])] == [(4, 9)]
    assert bundle.marks("car", bundle.rank("car")[2]) == [(4, 9)]
    assert found["both"].score == next(
        hit.score for hit in bundle.rank("car", synonyms=False) if hit.id == "both"
    )  # having both is worth no more
    assert bundle.score("car", ["an auto"])[0] > 0


def test_another_file_counts_at_once(path: Path) -> None:
    assert ids(load(path), "dog") == []
    beside = path.with_name("b.ranklet.synonyms")
    beside.write_text("dog => big apple\n")
    assert ids(load(path), "dog") == ["big", "city"]
    beside.unlink()
    assert ids(load(path), "dog") == []


def test_synonyms_on_object_storage(path: Path, tmp_path: Path) -> None:
    made = [{"id": "1", "text": "My auto."}, {"id": "2", "text": "A dog."}]
    zipped = Path(build(made, tmp_path / "z.zip"))
    files = {
        "/z.zip": zipped.read_bytes(),
        "/z.zip.synonyms": path.with_name("b.ranklet.synonyms").read_bytes(),
    }
    with RangeServer(files) as server:
        assert ids(Bundle(server.address("/z.zip")), "car") == ["1"]
    with RangeServer({"/z.zip": zipped.read_bytes()}) as server:
        assert ids(Bundle(server.address("/z.zip")), "car") == []
