"""First days of a documentation's owner and of a researcher, in their own commands."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.commands.running import succeeds

from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.tools import call
from ranklet.runtime import load

if TYPE_CHECKING:
    from tests.conftest import Built

Capture = pytest.CaptureFixture[str]
PAGE = """<html><body><main><h1>Tracing{link}</h1><p>Start a trace with the command record, and
read it with the command report. Each event has a time.</p></main></body></html>"""
LINK = '<a class="headerlink" href="#tracing" title="Permalink">¶</a>'
MARKDOWN = """# Tracing

Start a trace with the command record, and
read it with the command report. Each event has a time.
"""
TOPICS = ("signing tags", "merging branches", "cleaning caches", "mounting disks", "reading logs")


@pytest.mark.slow
def test_a_folder_of_documents_answers_an_assistant(
    tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    notes, search = tmp_path / "notes", tmp_path / "notes.ranklet"
    notes.mkdir()
    (notes / "tracing.html").write_text(PAGE.format(link=LINK), "utf-8")
    (notes / "tracing.md").write_text(MARKDOWN, "utf-8")
    (notes / "scan.pdf").write_bytes(b"%PDF-1.4")
    for at, topic in enumerate(TOPICS):
        (notes / f"{at}.txt").write_text(f"This page is on {topic}. " * 3, "utf-8")
    monkeypatch.setattr(
        "ranklet.corpus.sources.documents.reading.find_spec",
        lambda name: None if name == "pypdf" else name,
    )
    assert "7 added, 0 replaced, 0 deleted" in succeeds(capsys, "sync", notes, search)
    assert "are not read: 1 (.pdf); run: pip install" in caplog.text
    assert "0 added, 0 replaced, 0 deleted, 7 unchanged" in succeeds(capsys, "sync", notes, search)
    bundle = load(str(search))
    found = {hit.id: hit.text for hit in bundle.rank("start a trace")}
    assert {"tracing.html", "tracing.md"} <= {*found}
    assert not any("¶" in text for text in found.values())
    values = call(bundle, "search", {"query": "start a trace"}, Limits()).values
    assert len([hit for hit in values["hits"] if "tracing" in hit["id"]]) == 1
    foreign = call(bundle, "search", {"query": "quantum chromodynamics page"}, Limits()).values
    assert "Nothing here is likely to answer" in foreign["notice"]
    assert not bundle.rank("quantum chromodynamics page", min_relevance=0.3).hits


@pytest.mark.slow
def test_a_trained_ranker_is_evaluated_and_learned_with(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    collection, model, search = built.collection.path, tmp_path / "model1", tmp_path / "search"
    exported = tmp_path / "exported"
    base = ("--bm25", built.checkpoints["bm25"])
    succeeds(capsys, "train", "model1", collection, "-o", model, "--tune", "test", *base)
    succeeds(capsys, "export", built.checkpoints["bm25"], model, "-o", exported)
    succeeds(capsys, "index", exported, collection, "-o", search)
    said = succeeds(capsys, "eval", search, collection, "--split", "test")
    assert {"bm25", "model1"} <= {line.split()[0] for line in said.splitlines() if line.strip()}
    found: Any = json.loads(
        succeeds(capsys, "eval", search, collection, "--split", "test", "--json")
    )
    assert {"bm25", "model1"} <= {*found["systems"]}
