"""The collection that no choice has seen is measured with defaults, and its goals are named."""

import numpy as np
import pytest

unseen = pytest.importorskip("benchmarks.quality.unseen_collection")
comparing = pytest.importorskip("benchmarks.all_systems.comparing")
pipelines = pytest.importorskip("benchmarks.all_systems.pipelines")
RANKED_BY = comparing.RANKED_BY


def test_the_goals_and_the_gain_over_the_untrained_encoder_are_tested() -> None:
    pytest.importorskip("scipy")
    rng = np.random.default_rng(0)
    base = rng.uniform(0.4, 0.6, 200)
    first = pipelines.Pipeline((pipelines.Retrieve("bm25", 9),))
    above = {
        "BM25": 0.0,
        unseen.START: -0.1,
        unseen.LEARNED: 0.1,
        unseen.HYBRID: 0.05,
        unseen.BEST[unseen.Reads.NOTHING]: 0.1,
        unseen.BEST[unseen.Reads.QUERY]: 0.2,
        unseen.BEST[unseen.Reads.PAIRS]: 0.25,
    }
    systems = [
        pipelines.System(name, first, unseen.Reads.NOTHING, "0.5 · BM25" if "best" in name else "")
        for name in above
    ]
    values = {
        name: dict.fromkeys(comparing.MEASURES, base + gain + rng.normal(0, 0.01, 200))
        for name, gain in above.items()
    }
    sources = dict.fromkeys(above, "–")
    study = comparing.Studied(10, 200, 20, systems, values, sources)
    page = unseen.section({unseen.COLLECTION: study})
    assert "above BM25, p < .01: met (debian-packages +0.1" in page
    assert f"above {unseen.HYBRID}, p < .01: met" in page
    assert "best with one encoder 1.39" in page
    assert "best with a cross-encoder last − best with one encoder: +0.0" in page
    gain = page.split("the trained one ")[1]
    assert gain.split(": ")[1].startswith(("+0.19", "+0.20"))


def test_all_kinds_learn_from_the_collection_and_not_from_others() -> None:
    sources = {each.source_of(unseen.COLLECTION, unseen.STUDY) for each in unseen.USED.values()}
    assert sources == {unseen.COLLECTION, "nothing"}
