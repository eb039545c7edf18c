"""`ranklet score`: from a cross-encoder to a file that students learn from."""

from pathlib import Path

import numpy as np
import pytest
from tests.commands.running import Capture, fails, succeeds
from tests.kinds import TinyRankers

from ranklet.commands import main
from ranklet.commands.score import needs
from ranklet.training.distilling import teacher
from ranklet.training.distilling.score_file import read_scores


@pytest.mark.slow
def test_a_bundles_cross_encoder_scores_and_a_student_learns(
    tiny: TinyRankers, tmp_path: Path, capsys: Capture
) -> None:
    collection, path = tiny.data.collection.path, tmp_path / "scores.npz"
    bundle = tiny.exported("cross_encoder")
    arguments = ("score", bundle, collection, "--split", "train", "--depth", 3, "-o", path)
    printed = succeeds(capsys, *arguments, "--max-queries", 6, "--candidates", tiny.indexed("bm25"))
    held = read_scores(path)
    assert f"{len(held.scores)} scores of 6 queries → {path}" in printed
    assert held.facts["split"] == "train"
    assert held.teacher == f"{bundle} (cross)"
    assert [each.name for each in tmp_path.iterdir()] == ["scores.npz"]
    assert "exists" in fails(capsys, *arguments)
    succeeds(capsys, *arguments, "--force")
    assert len(read_scores(path).queries) == 32
    status = main(
        [
            "train", "tk", str(collection), "-o", str(tmp_path / "tk"), "--teacher", str(path),
            "--split", "train", "--tune", "dev", "--steps", "2", "--hidden", "16", "--heads", "4",
            "--blocks", "1", "--least", "1",
        ]
    )  # fmt: skip
    assert status in (0, 3)
    assert str(path) in (tmp_path / "tk" / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_run_is_continued(
    tiny: TinyRankers, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scores.npz"
    checkpoint = tiny.checkpoints("cross_encoder")["cross"].save(tmp_path / "cross")
    arguments = ["score", str(checkpoint), str(tiny.data.collection.path), "-o", str(path)]
    arguments += ["--split", "train", "--depth", "2", "--device", "cpu"]
    monkeypatch.setattr(teacher, "BLOCK", 20)
    write, blocks = teacher._write, list[int]()

    def interrupted(*given: object) -> None:
        write(*given)  # type: ignore[arg-type]
        blocks.append(1)
        if len(blocks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(teacher, "_write", interrupted)
    assert main(arguments) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert not path.exists()
    succeeds(capsys, *arguments)
    found = read_scores(path)
    assert len(blocks) == -(-len(found.scores) // 20)
    assert not path.with_name("scores.npz.run").exists()
    succeeds(capsys, *arguments, "--force")
    np.testing.assert_allclose(read_scores(path).scores, found.scores, atol=1e-5)


def test_a_bundle_needs_no_pytorch(tiny: TinyRankers, tmp_path: Path) -> None:
    from argparse import Namespace

    checkpoint = tiny.checkpoint("bm25").save(tmp_path / "bm25")
    assert needs(Namespace(teacher=str(checkpoint))) == "train"
    assert needs(Namespace(teacher=str(tiny.exported("bm25")))) == "onnx"


def test_wrong_places_are_refused(tiny: TinyRankers, tmp_path: Path, capsys: Capture) -> None:
    collection, bundle = tiny.data.collection.path, tiny.exported("cross_encoder")
    for wrong in (tmp_path, tmp_path / "no" / "scores.npz"):
        assert "name of a file in an existing folder" in fails(
            capsys, "score", bundle, collection, "-o", wrong
        )
    assert "no cross-encoder at" in fails(
        capsys, "score", tmp_path / "nothing", collection, "-o", tmp_path / "x"
    )
    assert "that of --candidates" in fails(
        capsys, "score", bundle, collection, "-o", tmp_path / "x", "--pipeline", "bm25"
    )
