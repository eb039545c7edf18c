"""How likely hits answer a query: the same number in any list, and of the whole ranking."""

import pickle
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds import TinyRankers, reranked_by

from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.manifest import Manifest
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.pipelines.relevance import (
    NUMBERS,
    SHIPPED,
    Calibration,
    chances,
    evidence,
    length,
)
from ranklet.workflows.build import build


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    rng = np.random.default_rng(3)
    texts = [" ".join(f"w{each}" for each in rng.zipf(1.4, 12) % 300) for _ in range(400)]
    records: list[dict[str, Any]] = [
        {"id": f"d{number}", "text": text, "year": 2000 + number % 20, "stars": number % 5}
        for number, text in enumerate(texts)
    ]
    records += [{"id": "one", "text": "zebra quagga okapi"}]
    return load(build(records, tmp_path_factory.mktemp("relevance") / "a.ranklet", language="en"))


def test_evidence_is_what_a_plain_loop_finds() -> None:
    rng = np.random.default_rng(0)
    for size, padded in product((1, 2, 7, 250), (False, True)):
        scores = rng.random(size=size).round(1)
        best = sorted(scores.tolist(), reverse=True)[:100]
        best += [0.0] * (100 - len(best)) if padded else []
        mean = sum(best) / len(best)
        spread = max((sum((each - mean) ** 2 for each in best) / len(best)) ** 0.5, 1e-6)
        second = best[1] if len(best) > 1 else best[0]
        wanted = [
            [
                each,
                min(7, max(-7, (each - mean) / spread)),
                min(3, max(-3, (each - (second if each == best[0] else best[0])) / spread)),
            ]
            for each in scores.tolist()
        ]
        found = evidence(scores, np.arange(size), padded=padded)
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_the_number_does_not_depend_on_the_list(words: Bundle) -> None:
    query = "w2 w3 w17 zebra"
    whole = {hit.id: hit.relevance for hit in words.rank(query, k=500, relevance=True)}
    last = list(whole)[-1]
    for options in (
        {"k": 1}, {"k": 5, "offset": 3}, {"k": 7, "min_relevance": 0.0}, {"diversity": 0.5},
        {"unique": True}, {"group_by": "year", "group_size": 2}, {"facets": ["year"]},
        {"min_score": 0.1}, {"explain": True}, {"hide": [last]}, {"typos": True}, {"syntax": True},
        {"boost": {"stars": {"log": True, "weight": 0.5}}}, {"synonyms": False},
    ):  # fmt: skip
        ranking = words.rank(query, relevance=True, **options)
        assert {hit.id: hit.relevance for hit in ranking}.items() <= whole.items(), options
        assert len(ranking)
        boosted = "boost" in options  # then another one may be the best
        assert ranking.answerable == (
            ranking[0].relevance if boosted else next(iter(whole.values()))
        )
    assert all(0 <= each <= 1 for each in whole.values() if each is not None)


def test_what_is_hidden_filtered_or_pinned_counts_as_absent(words: Bundle) -> None:
    query, best = "w2 w3 w17 zebra", words.rank("w2 w3 w17 zebra", k=1)[0].id
    hidden = words.rank(query, hide=[best], relevance=True)
    pinned = words.rank(query, k=11, pin=[best], relevance=True)
    assert pinned[0].relevance is None
    assert [each.relevance for each in hidden] == [each.relevance for each in pinned[1:]]
    assert pinned.answerable == hidden.answerable == hidden[0].relevance
    seen = words.only({"year": {"<": 2010}})
    filtered = words.rank(query, where={"year": {"<": 2010}}, relevance=True)
    assert [each.relevance for each in seen.rank(query, relevance=True)] == [
        each.relevance for each in filtered
    ]
    with pytest.raises(InputError, match="leave one of them out"):
        words.rank(query, sort=["year"], relevance=True)


def test_a_text_with_all_words_is_likelier_than_one_with_some(words: Bundle) -> None:
    surely = words.rank("zebra quagga okapi", relevance=True)
    hardly = words.rank("zebra w2 w3 w5 w7", relevance=True)
    assert surely.answerable is not None
    assert hardly.answerable is not None
    assert surely.answerable > hardly.answerable


def test_a_share_is_what_the_rare_words_say(words: Bundle) -> None:
    ids, _, (first, *_) = words.evidence("zebra okapi unheardof w2", 1)
    size, common = len(words), words.rank("w2", facets=["year"]).total or 0
    idf = [np.log1p((size - df + 0.5) / (df + 0.5)) for df in (1, 1, 0, common)]
    assert ids == ["one"]
    assert first[1] == pytest.approx((idf[0] + idf[1]) / sum(idf), rel=1e-5)
    (own,) = words.rank("zebra okapi", [{"text": "an okapi"}], relevance=True)
    assert own.relevance is not None


def test_hits_that_are_unlikely_are_left_out(words: Bundle) -> None:
    hits = words.rank("zebra w2 w3", k=20, relevance=True)
    bound = sorted(each.relevance or 0.0 for each in hits)[len(hits) // 2]
    kept = words.rank("zebra w2 w3", k=20, min_relevance=bound)
    assert [each.id for each in kept] == [
        each.id for each in hits if (each.relevance or 0.0) >= bound
    ]
    none = words.rank("zebra w2 w3", min_relevance=1)
    assert not len(none)
    assert none.answerable == hits.answerable


def test_nothing_found_answers_nothing(words: Bundle) -> None:
    assert words.rank("unheardof", relevance=True).answerable == 0.0


def test_it_is_said_only_where_it_was_asked_for(words: Bundle) -> None:
    plain = words.rank("zebra")
    assert plain.answerable is None
    assert plain[0].relevance is None
    assert "relevance" not in plain[0].to_dict()
    assert "answerable" not in plain.to_dict()
    asked = words.rank("zebra", relevance=True)
    assert asked[0].to_dict()["relevance"] == asked[0].relevance
    again = pickle.loads(pickle.dumps(asked))  # noqa: S301
    assert again[0].relevance == asked[0].relevance
    assert again.answerable == asked.answerable


def test_a_pipeline_that_nobody_calibrated_is_refused(
    words: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words.rates()
    monkeypatch.setattr("ranklet.runtime.pipelines.relevance.SHIPPED", {})
    assert not words.rates()
    with pytest.raises(InputError, match="ranklet calibrate"):
        words.rank("zebra", relevance=True)
    assert len(words.rank("zebra"))


def test_scores_of_a_cross_encoder_that_reads_last_are_evidence(cross_bundle: Bundle) -> None:
    rerank = reranked_by("cross")
    ids, scores, numbers = cross_bundle.evidence("the red apple", 3, rerank)
    assert ids == [hit.id for hit in cross_bundle.rank("the red apple", k=3, pipeline=rerank)]
    assert numbers.shape == (len(ids), 2 + 2 * len(NUMBERS))  # of BM25 and of the cross-encoder
    assert set(numbers[:, 0].tolist()) == {length(2)}  # of a query without its stop word
    own = numbers[:, 5]
    np.testing.assert_allclose(own / own[0], scores / scores[0], rtol=1e-5)
    assert numbers[0, 7] >= 0 >= numbers[1, 7]  # how far ahead it is of the second
    with pytest.raises(InputError, match="ranklet calibrate"):  # what it is worth is not known
        cross_bundle.rank("the red apple", pipeline=rerank, relevance=True)


@pytest.mark.parametrize("bad", [-0.1, 1.1, "x", float("nan"), True])
def test_a_wrong_bound_is_refused(words: Bundle, bad: Any) -> None:
    with pytest.raises(InputError, match=r"min_relevance is .* from 0 to 1"):
        words.rank("zebra", min_relevance=bad)


def test_a_bundles_own_calibration_comes_first(words: Bundle, tmp_path: Path) -> None:
    own = Calibration(("bm25",), (0.0,) * 6, 60)
    manifest = replace(words.manifest, relevance=(own,))
    assert Manifest.from_json(manifest.to_json()).relevance == (own,)
    assert manifest.calibration(("bm25",)) == own
    assert "relevance" not in words.manifest.to_json()


@pytest.mark.parametrize(
    "raw",
    [
        {}, 3, {"rankers": ["a"], "weights": [1, 2], "queries": 1},
        {"rankers": "a", "weights": [0] * 6, "queries": 1},
        {"rankers": ["a"], "weights": [0] * 5 + [1e9], "queries": 1},
        {"rankers": ["a"], "weights": [0] * 5 + [True], "queries": 1},
        {"rankers": ["a"], "weights": [0] * 6, "queries": -1},
    ],
)  # fmt: skip
def test_a_damaged_calibration_is_refused(raw: object) -> None:
    with pytest.raises(BundleError, match="here"):
        Calibration.from_json(raw, "here")


def test_what_ranklet_brings_has_a_weight_per_number() -> None:
    for compared, weights in SHIPPED.items():
        assert len(weights) == 3 + len(NUMBERS) * len(compared)
        numbers = np.array([[1.4, each / 3] + [each] * (len(weights) - 3) for each in (3.0, 0.0)])
        better, worse = chances(numbers, weights).tolist()
        assert better > worse, compared


def test_texts_of_ones_own_need_no_collection(tiny: TinyRankers) -> None:
    own = load(tiny.exported("dense"), device="cpu")
    texts = ["a red apple", "the blue car"]
    ranking = own.rank("red apple", texts, pipeline="dense", relevance=True)
    assert ranking.answerable == ranking[0].relevance
