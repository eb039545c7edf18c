"""Near duplicates and hits that are alike, in whole searches, compared with a plain model."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.commands.running import Capture, succeeds
from tests.kinds import retrieved_by

from ranklet import build
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.handlers.api.answers import rank
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.tools import call
from ranklet.runtime import Bundle, InputError, load

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

WORDS = [
    "flour", "water", "yeast", "salt", "oven", "crust", "crumb", "rye", "wheat", "spelt", "malt",
    "honey", "bran", "germ",
]  # fmt: skip
LIMITS = Limits()
Row = dict[str, Any]


def rows(random: Random, count: int, name: str = "d") -> list[Row]:
    """Return texts of which many are nearly alike, and each with words that no other has."""
    made = list[Row]()
    for number in range(count):
        own = f"{name}{number}word"
        words = random.sample(WORDS, random.randint(1, 12))
        if made and random.random() < 0.6:
            words = random.choice(made)["text"].split()
            if random.random() < 0.5:
                words[random.randrange(len(words))] = random.choice([*WORDS, own])
        random.shuffle(words)
        text = " ".join(words)
        made.append({"id": f"{name}{number}", "text": text, "kind": random.choice("abc")})
    return made


def alike(one: Row, other: Row) -> float:
    a, b = (set(each["text"].split()) for each in (one, other))
    return len(a & b) / len(a | b)


def folded(ranked: list[str], by_id: dict[str, Row], most: int) -> dict[str, list[str]]:
    """Return the documents that are kept, and what is folded into each before the next one."""
    kept: dict[str, list[str]] = {}
    for name in ranked:
        into = (each for each in kept if alike(by_id[each], by_id[name]) >= 0.9)
        if (best := next(into, None)) is not None:
            kept[best].append(name)
        elif len(kept) == most:
            break
        else:
            kept[name] = []
    return kept


def diversified(
    ranked: list[str], scores: dict[str, float], by_id: dict[str, Row], share: float
) -> list[str]:
    """Return the first hundred in the order of maximal marginal relevance, and the others."""
    left, chosen = ranked[:100], list[str]()
    if not left:
        return ranked
    best, least = (scores[left[at]] for at in (0, -1))
    while left:
        gains = [
            (1 - share) * ((scores[name] - least) / (best - least or 1.0))
            - share * max((alike(by_id[name], by_id[each]) for each in chosen), default=0.0)
            for name in left
        ]
        chosen.append(left.pop(gains.index(max(gains))))
    return chosen + ranked[100:]


def compare(bundle: Bundle, made: list[Row], random: Random) -> None:
    by_id = {row["id"]: row for row in made}
    query, share = " ".join(random.sample(WORDS, 2)), random.choice([None, 0.3, 0.7])
    unique = share is None or random.random() < 0.5
    where = random.choice([{}, {"kind": ["a", "b"]}])
    scores = dict(bundle.rank_ids(query, where=where))
    wanted = list(scores)
    if unique:
        wanted = list(folded(wanted, by_id, len(made)))
    if share is not None:
        wanted = diversified(wanted, scores, by_id, share)
    k = random.randint(1, 9)
    options: dict[str, Any] = {"where": where, "unique": unique, "diversity": share}
    pages = [bundle.rank(query, k=k, offset=at, **options) for at in range(0, len(wanted) + 1, k)]
    hits = [hit for page in pages for hit in page]
    assert [hit.id for hit in hits] == wanted
    assert [hit.score for hit in hits] == [scores[hit.id] for hit in hits]
    if unique and share is None:
        for page, hits_of in enumerate(pages):
            found = folded(list(scores), by_id, (page + 1) * k)
            assert [list(hit.folded) for hit in hits_of] == [found[hit.id] for hit in hits_of]


@pytest.mark.slow
def test_pages_are_those_of_a_plain_model(tmp_path: Path) -> None:
    random, path = Random(11), tmp_path / "rows.ranklet"
    made = rows(random, 120)
    build(made, path)
    for _ in range(8):
        compare(load(path), made, random)
    with WritableBundle(path) as live:
        more = rows(random, 20, "n")
        live.add(more)
        gone = [row["id"] for row in random.sample(made, 30)]
        live.delete(gone)
    left = [row for row in made if row["id"] not in gone] + more
    for _ in range(8):
        compare(load(path), left, random)


@pytest.mark.slow
def test_copies_are_folded_on_all_fronts_and_k_stays_filled(
    tmp_path: Path, capsys: Capture
) -> None:
    made = [{"id": f"a{n}", "text": "Knead the dough."} for n in range(1500)]
    made += [{"id": f"b{n}", "text": f"Dough, and long words on {'x' * n}."} for n in range(1, 4)]
    path = Path(build(made, tmp_path / "rows.ranklet"))
    bundle = load(path)
    wanted = [hit.id for hit in bundle.rank("dough", k=3, unique=True)]
    assert wanted[0] == "a0"
    assert len(wanted) == 3  # although the first 1,000 are one
    assert bundle.rank("dough", k=1, unique=True)[0].folded[0] == "a1"
    late = bundle.rank("dough", k=1200, unique=True, budget_ms=0, sort=["score"])
    assert [hit.id for hit in late][:2] == ["a0", "a1000"]  # as there was no time for more
    assert late.left_out == ("fold near duplicates: 503 of 1,503 hits",)
    body = {"query": "dough", "k": 3, "unique": True, "diversity": 0}
    answer = rank(bundle, body, LIMITS).body
    assert isinstance(answer, dict)
    assert [hit["id"] for hit in answer["hits"]] == wanted
    assert answer["hits"][0]["folded"][0] == "a1"
    found = call(bundle, "search", body, LIMITS).values
    assert [hit["id"] for hit in found["hits"]] == wanted
    printed = succeeds(capsys, "rank", path, "dough", "-k", 3, "--unique", "--diversity", 0.3)
    assert "near duplicates: a1, a2" in printed
    pinned = bundle.rank("dough", pin=["a7"], unique=True, k=2)
    assert [hit.id for hit in pinned] == ["a7", wanted[1]]  # which is what the others are like
    own = bundle.rank("dough", ["dough rises", "Rising dough!", "the dough"], unique=True)
    assert [(hit.id, hit.folded) for hit in own] == [("2", ()), ("0", ("1",))]
    for wrong in (1.5, "x", True):
        with pytest.raises(InputError, match=r"diversity is .*; it must be a number from 0 to 1"):
            bundle.rank("dough", diversity=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_vectors_tell_what_is_alike_where_there_are_any(tiny: "TinyRankers") -> None:
    bundle = tiny.bundle("dense")
    (name,) = (n for n, e in bundle.manifest.rankers.items() if e.kind == "dense")
    pipeline, query = retrieved_by(name), "a quiet stream and an old motor"
    plain = bundle.rank(query, k=20, pipeline=pipeline)
    unlike = bundle.rank(query, k=20, pipeline=pipeline, diversity=0.9)
    assert unlike[0] == plain[0]
    assert {hit.id for hit in unlike} <= {hit.id for hit in bundle.rank(query, k=100)}
    vectors = bundle.encode_document([f"{hit.title} {hit.text}" for hit in unlike[:2]])
    second = bundle.encode_document([f"{hit.title} {hit.text}" for hit in plain[:2]])
    assert float(vectors[0] @ vectors[1]) <= float(np.dot(second[0], second[1])) + 1e-3
    assert len(bundle.rank(query, k=20, pipeline=pipeline, unique=True)) == 20


def test_sorting_comes_before_folding(tmp_path: Path) -> None:
    made = [
        {"id": f"d{n}", "text": f"Knead the dough {'well ' * (n % 3)}", "n": n} for n in range(9)
    ]
    bundle = load(build(made, tmp_path / "rows.ranklet").path)
    boost = {"n": {"linear": True, "weight": 1}}
    found = bundle.rank("dough", sort=["-n"], unique=True, boost=boost, k=5)
    assert [(hit.id, hit.folded) for hit in found] == [
        ("d8", ("d7", "d5", "d4", "d2", "d1")), ("d6", ("d3", "d0"))
    ]  # fmt: skip
    scores = {hit.id: hit.score for hit in bundle.rank("dough", boost=boost)}
    assert [hit.score for hit in found] == [scores["d8"], scores["d6"]]
    with pytest.raises(InputError, match="both order the hits"):
        bundle.rank("dough", sort=["n"], diversity=0.5)
