"""The networks that exports prove: all of them are recorded, and none stays on the processor."""

from pathlib import Path
from typing import Any

import pytest
from tests.kinds import ROWS, TinyRankers

networks = pytest.importorskip("benchmarks.gpu.networks")

from benchmarks.gpu.setting import KINDS  # noqa: E402

from ranklet.runtime.kinds import KINDS as EVERY  # noqa: E402

EXPORT = Path(__file__).resolve().parents[3] / "export"


def test_every_module_that_proves_networks_is_recorded() -> None:
    proving = {
        ".".join(path.relative_to(EXPORT).with_suffix("").parts)
        for path in EXPORT.rglob("*.py")
        if "export_proven(" in path.read_text("utf-8")
    }
    assert set(networks.PROVING) == proving - {"proof.variants", "hub.writing"}


def test_every_kind_with_a_network_is_compared() -> None:
    assert set(KINDS) == {kind for kind in ROWS if not EVERY[kind].lexical}


def left_behind(value: Any) -> list[Any]:
    """Return the tensors of a value that are not on the device "meta"."""
    import torch

    if isinstance(value, torch.Tensor):
        return [] if value.device.type == "meta" else [value]
    if isinstance(value, dict):
        return [each for one in value.values() for each in left_behind(one)]
    if isinstance(value, list | tuple):
        return [each for one in value for each in left_behind(one)]
    return []


def test_a_tensor_that_is_no_buffer_is_found() -> None:
    import torch

    module = torch.nn.Linear(1, 1).to("meta")
    assert left_behind(vars(module)) == []
    vars(module)["means"] = [torch.ones(1)]
    assert len(left_behind(vars(module))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_tensor_moves_to_the_device(tiny: TinyRankers, tmp_path: Path, kind: str) -> None:
    name, settings = next(iter(ROWS[kind].rankers.items()))
    if kind == "conformer_kernel":
        name, settings = "ndrm3", {"architecture": "ndrm3"}
    checkpoint = tiny.checkpoint(kind, **settings)
    made = networks.exported(name, checkpoint, tmp_path / "bundle")
    assert made.has("fp32")
    for graph in made.graphs:
        for module in graph.module.to("meta").modules():
            assert left_behind(vars(module)) == [], type(module)
