"""All parts of the GPU checks on the processor, with tiny networks, as they run on a GPU."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kinds import TinyRankers

checks = pytest.importorskip("benchmarks.gpu.gpu_checks")
command = pytest.importorskip("benchmarks.gpu.__main__")

from benchmarks.gpu.material import FOLDER  # noqa: E402
from benchmarks.gpu.parts import Outcome  # noqa: E402
from benchmarks.gpu.setting import Setting  # noqa: E402
from benchmarks.harness import report  # noqa: E402

KINDS = ("dense", "cross_encoder")  # one that encodes texts and one that reads pairs


def tiny_setting(tiny: TinyRankers, folder: Path) -> Setting:
    """Return the setting of a run that takes seconds, with the tests' collection and encoder."""
    shutil.copytree(tiny.data.collection.path, folder / FOLDER)
    small: Setting = command.miniature(folder)
    return replace(small, backbone=str(tiny.data.bert), kinds=KINDS)


@pytest.mark.slow
def test_every_part_runs_and_its_section_is_written(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    setting, keep = tiny_setting(tiny, tmp_path / "work"), tmp_path / "kept"
    status = command.write(setting, 600.0, keep=keep, only_print=False)
    text = (tmp_path / "gpu.md").read_text("utf-8")
    assert status == 0, text
    assert text.startswith("# gpu\n\n<!-- begin gpu_checks -->\n## gpu_checks\n\nfp16 and CUDA")
    for part in checks.PARTS:
        assert f"### {part.title}\n" in text
    for kind in KINDS:
        for library in ("PyTorch", "onnxruntime"):
            for variant in ("fp32", "fp16"):
                assert f"| {kind}, {library}, {variant} | " in text, text
    assert "| encoding, 16 tokens, 2 a call | " in text
    assert "| pairs, ≤ 32 tokens, 4 a call | " in text
    assert "| 64 of up to 16 tokens | " in text
    assert "| pairs, 4 × 32 tokens | " in text
    assert "| 2 × 16 tokens | " in text
    assert "failed" not in text
    assert "skipped" not in text

    (keep / "gpu.server.json").unlink()  # what is kept is not measured again
    begun: list[str] = []

    def run_part(part: Any, *_: Any) -> Outcome:
        begun.append(part.module)
        return Outcome(part, [])

    monkeypatch.setattr(checks, "run_part", run_part)
    again = checks.report(checks.measured(setting, keep=keep))
    assert begun == ["machine", "server"]
    assert "- Measured on processors, 20" in again
    assert "| 2 × 16 tokens | " in again


@pytest.mark.slow
def test_without_a_gpu_one_line_says_why_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert command.main([]) == command.NO_GPU == 77
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("bench-gpu: nothing was measured: ")
    assert line.endswith("; CONTRIBUTING.md says what to install")
    assert list(tmp_path.iterdir()) == []
