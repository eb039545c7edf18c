"""The picture of relevance is an SVG with a panel per collection."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from benchmarks.quality.relevance_picture import BINS, COLOURS, Told, bins, picture

SVG = "{http://www.w3.org/2000/svg}"


def test_true_probabilities_lie_on_the_diagonal() -> None:
    rng = np.random.default_rng(0)
    likely = rng.random(80_000)
    found = bins(Told(likely, (rng.random(80_000) < likely).astype(float)))
    assert len(found) == BINS
    assert [told for told, _ in found] == pytest.approx([right for _, right in found], abs=0.02)


def test_every_collection_has_a_panel_and_every_system_a_line() -> None:
    told = Told(np.array([0.1, 0.4, 0.9]), np.array([0.0, 1.0, 1.0]))
    shown = {"a <b>": {"words": told, "vectors": told}, "c": {"words": told}}
    errors = {"words": [0.1, 0.05], "vectors": [0.08, 0.02]}
    root = ET.fromstring(picture(shown, errors, (0, 100)))  # noqa: S314  # ours
    panels = [[each.text for each in panel.iter(f"{SVG}text")] for panel in root.iter(f"{SVG}g")]
    assert [texts[0] for texts in panels] == ["error by judged queries", "a <b>", "c"]
    legend = [each.get("fill") for each in root.findall(f"{SVG}circle")]
    assert legend == [*COLOURS[: len(errors)], "none"]
    lines = [len(list(panel.iter(f"{SVG}polyline"))) for panel in root.iter(f"{SVG}g")]
    assert lines == [2, 3, 2]  # with the diagonal
