"""What is built block by block is the same as at once, and BM25's impacts may have fewer bits."""

import hashlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.commands.running import Capture, succeeds

from ranklet.commands import main
from ranklet.corpus import processes
from ranklet.corpus.building import writer
from ranklet.corpus.indexing import analysed, impacts, ordering, packer, postings, word_tokens
from ranklet.corpus.indexing import reuse as analysis
from ranklet.corpus.updating.merge import merge
from ranklet.corpus.updating.update import update
from ranklet.export.build import build
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.verification import verify

WORDS = [
    f"{first}{second}" for first in ("ba", "do", "ki", "le", "mu") for second in "bdfgklmnprst"
]
QUERIES = ["bab dod kif", "leg muk", "bab bab mut the kin"]
# What is read, inverted, joined, converted or written at a time.
AT_A_TIME: list[tuple[Any, str, int]] = [
    (processes, "BLOCK", 99),
    (analysis, "_TEXTS", 3),
    (word_tokens, "_TOKENS", 11),
    (postings, "BLOCK", 7),
    (postings, "_TOKENS", 50),
    (postings, "_JOINED", 13),
    (postings, "_IMPACTS", 9),
    (impacts, "_AT_ONCE", 17),
    (ordering, "_READ", 5),
    (packer, "_WRITTEN", 64),
    (packer, "_OFFSETS", 5),
    (analysed, "_COUNTED", 19),
    (analysis, "_TOKENS", 7),
    (writer, "_WRITTEN", 100),
]


def documents(count: int) -> list[dict[str, Any]]:
    random = Random(1)
    return [
        {
            "id": f"d{at * 7919 % 1000}",
            "title": " ".join(random.choices(WORDS, k=random.randint(0, 3))),
            "text": " ".join(random.choices(WORDS, k=random.randint(1, 30))),
        }
        for at in range(count)
    ]


def digests(bundle: Path) -> dict[str, str]:
    return {
        path.relative_to(bundle).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in bundle.rglob("*.npy")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"title_boost": 2.5}, {"impacts": "uint8"}, {"impacts": "float16"}]
)
def test_blocks_change_no_byte(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = documents(60)
    whole = Path(build(rows, tmp_path / "whole.ranklet", **options))
    for module, name, value in AT_A_TIME:
        monkeypatch.setattr(module, name, value)
    small = Path(build(rows, tmp_path / "small.ranklet", **options))
    assert digests(small) == digests(whole)
    first = Path(build(rows[:40], tmp_path / "first.ranklet", **options))
    second = Path(build(rows[40:], tmp_path / "second.ranklet", **options))
    update(first, rows[40:], target=tmp_path / "updated.ranklet")
    merge([first, second], tmp_path / "merged.ranklet")
    for name in ("updated", "merged"):
        assert digests(tmp_path / f"{name}.ranklet") == digests(whole)


@pytest.mark.parametrize(("form", "most"), [("float16", 1e-3), ("uint8", 0.02)])
def test_scores_are_those_of_the_stored_impacts(form: str, most: float, tmp_path: Path) -> None:
    rows = documents(80)
    paths = [Path(build(rows, tmp_path / "exact.ranklet", title_boost=1))]
    paths.append(Path(build(rows, tmp_path / "b.ranklet", impacts=form, title_boost=1)))
    exact, bundle = map(load, paths)
    assert list(verify(paths[1]))
    whole, small = (path.joinpath("rankers/bm25/impacts.npy").stat().st_size for path in paths)
    assert small < whole
    for query in QUERIES:
        found = {hit.id: hit for hit in bundle.rank(query, k=80, explain=True)}
        wanted = {hit.id: hit.score for hit in exact.rank(query, k=80)}
        assert found.keys() == wanted.keys()
        texts = [f"{row['title']}\n{row['text']}" for row in rows]
        given = bundle.score(query, texts)
        for row, score in zip(rows, given, strict=True):
            if row["id"] in found:
                hit = found[row["id"]]
                assert hit.score == pytest.approx(wanted[hit.id], rel=0.01, abs=len(query) * most)
                assert score == pytest.approx(hit.score, rel=1e-5)  # of the same text
                assert hit.explanation is not None
                assert hit.explanation.value == pytest.approx(hit.score, rel=1e-5)


def test_the_form_is_a_setting_that_is_stated_where_it_is_not_the_default(tmp_path: Path) -> None:
    rows = documents(5)
    plain = Path(build(rows, tmp_path / "plain.ranklet"))
    assert "impacts" not in BundleFiles(plain).manifest.rankers["bm25"].settings
    small = Path(build(rows, tmp_path / "small.ranklet", impacts="uint8"))
    bundle = BundleFiles(small)
    assert bundle.manifest.rankers["bm25"].settings["impacts"] == "uint8"
    ranker = ranker_of(bundle, "bm25")
    assert isinstance(ranker, BM25)
    assert ranker.index.impacts.dtype == np.uint8
    with pytest.raises(InputError, match="its settings differ"):
        merge(
            [plain, Path(build(documents(9)[5:], tmp_path / "o", impacts="uint8"))], tmp_path / "no"
        )


def test_commands_store_fewer_bits(tmp_path: Path, capsys: Capture) -> None:
    source = tmp_path / "c.csv"
    source.write_text("id,text\n1,bab dod\n2,dod kif\n3,leg")
    built = ("build", source, "-o", tmp_path / "b.ranklet", "--impacts")
    succeeds(capsys, *built, "uint8")
    assert BundleFiles(tmp_path / "b.ranklet").settings("bm25").impacts == "uint8"
    succeeds(capsys, "rank", tmp_path / "b.ranklet", "kif")
    with pytest.raises(SystemExit):
        main(list(map(str, (*built, "int4", "--force"))))
    assert "impacts is 'int4'; allowed are float32, float16, uint8" in capsys.readouterr().err
