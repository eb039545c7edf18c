"""Learned weights of metadata: they come near the truth where there is one, and else are none."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.commands import main
from ranklet.export.build import build
from ranklet.export.learning.learn import learn
from ranklet.export.learning.options import LearnOptions
from ranklet.runtime import Bundle, InputError, load
from ranklet.runtime.pipeline import Boost, Pipeline, Retrieve
from ranklet.runtime.search.local import LocalSearch
from ranklet.runtime.signals import read_signals

NOW = date(2024, 6, 1)
TRUTH = {"day": {"half_life": "90d", "weight": 0.6, "now": NOW.isoformat()},
         "stars": {"log": True, "weight": 0.2}}  # fmt: skip
ASKED: dict[str, dict[str, Any]] = {
    "day": {"half_life": "90d", "now": NOW.isoformat()}, "stars": {"log": True},
    "noise": {"linear": True}}  # fmt: skip
QUERIES = 160
OPTIONS = LearnOptions(training=False, boost=ASKED, measure="MRR@10", minutes=5)


def rows(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return documents of many topics, so that queries share none."""
    return [
        {
            "id": f"d{n}",
            "text": f"topic{n % QUERIES} "
            + " ".join(f"word{w}" for w in rng.integers(0, 9, rng.integers(2, 6))),
            "day": NOW - timedelta(int(rng.exponential(200))),
            "stars": int(rng.pareto(0.7) * 10),
            "noise": float(rng.random()),
        }
        for n in range(12 * QUERIES)
    ]


def write_clicks(path: Path, bundle: Bundle, boost: Any, rng: np.random.Generator) -> None:
    """Write clicks on the documents that are best by the words, by the boost, and by chance."""
    lines, search = ["query,id,clicks"], bundle._search
    assert isinstance(search, LocalSearch)
    for topic in range(QUERIES):
        query = f"topic{topic} word{topic % 9}"
        unit = 1 / search.ranker("bm25").scale(search.read(query))
        pipeline = Pipeline((Retrieve("bm25", 200),)).boosted(boost)
        own = [
            (name, score)
            for name, score in bundle.rank_ids(query, pipeline=pipeline)
            if int(name[1:]) % QUERIES == topic
        ]
        scores = np.array([score for _, score in own]) + unit * rng.gumbel(0, 0.05, len(own))
        lines.append(f"{query},{own[int(scores.argmax())][0]},5")
    path.write_text("\n".join(lines))


@pytest.mark.slow
def test_weights_come_near_the_truth(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    bundle = load(build(rows(rng), tmp_path / "in.ranklet").path)
    write_clicks(tmp_path / "clicks.csv", bundle, read_signals(TRUTH), rng)
    learned = learn(bundle, tmp_path / "clicks.csv", tmp_path / "out.ranklet", OPTIONS)
    assert learned.kept is not None
    assert "boost by day" in learned.kept.name
    assert learned.kept.gain.low > 0.1
    assert learned.bundle is not None
    boost = learned.bundle.manifest.pipeline(None).boost
    assert isinstance(boost, Boost)
    weights = {each.field: each.weight for each in boost.signals}
    assert 0.15 < weights["day"] < 1.2
    assert 1.5 < weights["day"] / weights["stars"] < 6  # it is 3 in truth
    assert weights.get("noise", 0) < 0.1
    assert all(each.now is None for each in boost.signals)  # ages count from the clock
    explained = learned.bundle.rank("word1 word2", explain=True)[0].explanation
    assert explained is not None
    assert "log(stars)" in str(explained)


@pytest.mark.slow
def test_what_says_nothing_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(9)
    bundle = load(build(rows(rng), tmp_path / "in.ranklet").path)
    write_clicks(tmp_path / "clicks.csv", bundle, (), rng)
    paths = [str(tmp_path / name) for name in ("in.ranklet", "clicks.csv", "out.ranklet")]
    flags = ["--no-training", "--boost", '{"noise": {"linear": true}}']
    assert main(["learn", *paths[:2], "-o", paths[2], *flags]) == 3
    assert "without boost by noise" in capsys.readouterr().out
    with pytest.raises(InputError, match="did you mean 'noise'"):
        learn(
            bundle, paths[1], paths[2], LearnOptions(training=False, boost={"noyse": {"log": True}})
        )
