from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.kinds import ROWS, TinyRankers

from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import REPORT
from ranklet.training.outcome import Lists, comparison_of
from ranklet.training.report.page import page

TRAINING: dict[str, Any] = {
    "comparison": comparison_of(Lists("MRR@10", 7, 0.5), 0.25, 0.75), "warning": "", "seconds": 61,
    "evaluation_seconds": 9, "steps": 300, "epochs": 2, "stopped_by": "steps", "best_step": 200,
    "evaluations": [{"step": 0, "value": 0.25}, {"step": 200, "value": 0.75}],
    "options": {"steps": 300, "epochs": 1, "learning_rate": 1e-3}, "documents": 1234,
}  # fmt: skip
CURVE: dict[str, list[float]] = {
    "step": [1, 2, 3],
    "loss": [3.0, 2.0, 1.0],
    "rate": [1e-5, 2e-5, 0.0],
}


class Read(HTMLParser):
    """Collects the texts and the tags of a page, and whatever it would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [f"{tag} {name}" for name, _ in attributes if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def dense_page(**changes: Any) -> Read:
    return Read(page("dense", BM25Settings(), {**TRAINING, **changes}, CURVE))


def test_a_page_shows_the_comparison_the_curves_and_the_options() -> None:
    found = dense_page()
    assert found.tags.count("svg") == 3
    assert {"before training", "after training", "0.2500", "0.7500", "1:01 of learning, 0:09 of "
            "evaluations", "300, in 2 epochs", "1,234"} <= set(found.texts)  # fmt: skip
    assert {"MRR@10, 7 queries", "loss", "learning rate", "steps"} <= set(found.texts)
    assert "--lr" in found.texts
    assert "--steps" in found.texts
    assert "--epochs" not in found.texts  # the steps replaced them
    assert "--negatives" not in found.texts  # of which the report says nothing
    assert not found.loaded
    assert "script" not in found.tags


def test_a_warning_is_shown() -> None:
    assert "Warning: it is short." in dense_page(warning="it is short").texts
    assert not any("Warning" in text for text in dense_page().texts)


def test_hostile_text_is_only_text() -> None:
    hostile = "<script>alert(1)</script>"
    found = dense_page(backbone=hostile)
    assert hostile in found.texts
    assert "script" not in found.tags


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROWS)
def test_every_kind_writes_its_report(kind: str, tiny: TinyRankers, tmp_path: Path) -> None:
    settings = next(iter(ROWS[kind].rankers.values()))
    checkpoint = tiny.checkpoint(kind, **settings)
    if "comparison" not in checkpoint.training:
        pytest.skip("the kind learns nothing, so it has no report")
    found = Read((checkpoint.save(tmp_path / kind) / REPORT).read_text("utf-8"))
    assert f"Training of a ranker: {kind}" in found.texts
    assert "after training" in found.texts
    assert found.tags.count("svg") == {"bm25": 0, "model1": 1}.get(kind, 3)
    assert (
        not any(text.startswith("Warning") for text in found.texts)
        or (checkpoint.training["warning"])
    )
