"""All parts of the GPU checks on the processor, with tiny networks, as they run on a GPU."""

import shutil
from pathlib import Path

import pytest
from tests.kinds import TinyRankers

checks = pytest.importorskip("benchmarks.gpu.gpu_checks")
command = pytest.importorskip("benchmarks.gpu.__main__")

from benchmarks.gpu.material import FOLDER  # noqa: E402
from benchmarks.gpu.setting import Setting  # noqa: E402
from benchmarks.harness import report  # noqa: E402

KINDS = ("dense", "cross_encoder")  # one that encodes texts and one that reads pairs


def tiny_setting(tiny: TinyRankers, folder: Path) -> Setting:
    """Return the setting of a run that takes seconds, with the tests' collection and encoder."""
    shutil.copytree(tiny.data.collection.path, folder / FOLDER)
    return Setting(
        folder, device="cpu", backbone=str(tiny.data.bert), kinds=KINDS, steps=2, probes=(4, 12),
        pair_probes=(3, 12), lengths=(16,), pair_tokens=32, batches=(1, 2), rounds=1,
        clients=(1, 2), client_seconds=0.3,
    )  # fmt: skip


@pytest.mark.slow
def test_every_part_runs_and_its_section_is_written(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    status = command.write(tiny_setting(tiny, tmp_path / "work"), 600.0, only_print=False)
    text = (tmp_path / "gpu.md").read_text("utf-8")
    assert status == 0, text
    assert text.startswith("# gpu\n\n<!-- begin gpu_checks -->\n## gpu_checks: fp16 and CUDA")
    for title in ("Machine", "Parity", "Throughput", "Server under load", "I/O binding"):
        assert f"### {title}\n" in text
    for kind in KINDS:
        for library in ("PyTorch", "onnxruntime"):
            for variant in ("fp32", "fp16"):
                assert f"| {kind}, {library}, {variant} | " in text, text
    assert "| encoding, 16 tokens, 2 a call | " in text
    assert "| reranking pairs, 32 tokens, 2 a call | " in text
    assert "| 2 × 16 tokens | " in text
    assert "failed" not in text
    assert "skipped" not in text


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
