"""The networks that exports prove: all of them are recorded, and none stays on the processor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.kinds import ROWS, TinyRankers

from ranklet.training.checkpoint import Checkpoint

networks = pytest.importorskip("benchmarks.gpu.networks")

from benchmarks.gpu.setting import KINDS  # noqa: E402

EXPORT = Path(__file__).resolve().parents[3] / "export"


def test_every_module_that_proves_networks_is_recorded() -> None:
    proving = {
        ".".join(path.relative_to(EXPORT).with_suffix("").parts)
        for path in EXPORT.rglob("*.py")
        if "export_proven([" in (text := path.read_text("utf-8")) or "export_proven(graphs" in text
    }
    assert set(networks.PROVING) == proving - {"proof.variants"}


def test_every_kind_with_a_network_is_compared() -> None:
    assert set(KINDS) == set(ROWS) - {"bm25", "model1"}


def few_probes(checkpoint: Checkpoint) -> Any:
    assert checkpoint.probes is not None
    return checkpoint.probes.nearest(2, 12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_tensor_moves_to_the_device(tiny: TinyRankers, tmp_path: Path, kind: str) -> None:
    """On PyTorch's device "meta" as on a GPU, a tensor that stayed behind raises an error."""
    import torch

    name, settings = next(iter(ROWS[kind].rankers.items()))
    name = "ndrm3" if kind == "conformer_kernel" else name  # ndrm2 has no network
    chosen = {"architecture": "ndrm3"} if kind == "conformer_kernel" else settings
    checkpoint = tiny.checkpoint(kind, **chosen)
    with networks.recorded() as proven:
        networks.exported(name, checkpoint, tmp_path / "bundle")
    (graphs, score, _, _) = proven[0]
    fed: list[Sequence[Any]] = []

    class Recorded(networks.DeviceSession):  # type: ignore[misc]
        def run(self, output: str, feeds: dict[str, Any]) -> Any:
            fed.append((self._module, tuple(feeds.values())))
            return super().run(output, feeds)

    score([Recorded(graph.module, "cpu", half=False) for graph in graphs], few_probes(checkpoint))
    for module, values in fed[:1] + fed[-1:]:
        inputs = [torch.from_numpy(each).to("meta") for each in values]
        with torch.inference_mode():
            outputs = module.to("meta")(*inputs)
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        assert first.device.type == "meta"
