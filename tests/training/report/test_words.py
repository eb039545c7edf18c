from dataclasses import asdict

import pytest

from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.learning.options import recorded
from ranklet.training.rankers.dense.options import Options
from ranklet.training.report.words import options_said, settings_said


def test_only_what_was_changed_is_marked() -> None:
    options = Options(learning_rate=1e-3, titles=False, bm25=BM25Settings(k1=2))
    found = {each.name: each for each in options_said("dense", recorded(options))}
    changed = {name: each.value for name, each in found.items() if each.changed}
    bm25 = "field lemmas, k1 2, b 0.4, title_boost 1, impacts float32"
    assert changed == {"--lr": "0.001", "--no-titles": "yes", "--bm25": bm25}
    assert found["--float32"].value == "no"
    assert found["--batch"].about == "queries per batch, each with a relevant document"


@pytest.mark.parametrize("settings", [BM25Settings(), BM25Settings("words", 1.5, 0.1)])
def test_settings_are_said_with_what_they_are(settings: BM25Settings) -> None:
    found = {each.name: each for each in settings_said(settings)}
    assert set(found) <= set(asdict(settings))
    assert found["k1"].value == f"{settings.k1:g}"
    assert all(each.about for each in found.values())
