"""The networks of a ranker as its export proves them, and PyTorch on a device in their place."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.export.bundles import export_bundle
from ranklet.export.jobs import ExportJob
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import Graph, Proof, Score, export_proven
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import Runs, Session
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch

EXACT, HALF = "fp32", "fp16"
# The exporters' modules that prove networks; each has `export_proven` under its own name.
PROVING = (
    "sparse.exporting", "rankers.dense.exporting", "rankers.cross_encoder",
    "rankers.colbert.exporting", "rankers.srm.exporting", "rankers.conformer_kernel.network",
    "rankers.neural_model1.exporting",
)  # fmt: skip


@dataclass(frozen=True)
class Networks:
    """The networks of an exported ranker.

    Attributes:
        name: of the ranker.
        bundle: what the export has written.
        graphs: the networks in PyTorch, on the processor.
        score: scores texts by one session per graph, as serving does.
        probes: the texts of the proof.
        reference: PyTorch's scores of the probes on the processor, (queries, documents).
    """

    name: str
    bundle: BundleFiles
    graphs: Sequence[Graph]
    score: Score
    probes: Probes
    reference: NDArray[np.float32]

    def has(self, variant: str) -> bool:
        """Return whether the export has accepted a variant."""
        return all(self.bundle.has(self._file(graph, variant)) for graph in self.graphs)

    def by_onnxruntime(self, variant: str, device: str) -> list[Runs]:
        """Return the sessions of a variant, opened as the runtime opens them."""
        files = [self._file(graph, variant) for graph in self.graphs]
        return [Session(self.bundle.file(file), file, device=device, strict=True) for file in files]

    def by_torch(self, variant: str, device: str) -> list[Runs]:
        """Return PyTorch in place of the sessions."""
        return [
            DeviceSession(deepcopy(graph.module), device, half=variant == HALF)
            for graph in self.graphs
        ]

    def _file(self, graph: Graph, variant: str) -> str:
        return f"rankers/{self.name}/{graph.folder}{VARIANTS[variant]}"


def exported(name: str, checkpoint: Checkpoint, path: Path) -> Networks:
    """Export a checkpoint in 32 and 16 bits; return what was proven.

    Raises:
        ExportError: no variant is within its tolerance on the processor.
        ValueError: the export proves no network.
    """
    with recorded() as proven:
        options = ExportOptions(variants=(EXACT, HALF), max_ndcg_loss=1.0)
        export_bundle({name: checkpoint}, path, options, overwrite=True)
    if not proven:
        raise ValueError(f"the export of {name} has proven no network")
    graphs, score, probes, reference = proven[0]
    return Networks(name, BundleFiles(path), graphs, score, probes, reference)


@contextmanager
def recorded() -> Iterator[list[tuple[Sequence[Graph], Score, Probes, NDArray[np.float32]]]]:
    """Record what is proven during a ``with``: graphs, how they score, probes, PyTorch's scores."""
    found: list[tuple[Sequence[Graph], Score, Probes, NDArray[np.float32]]] = []

    def record(
        job: ExportJob, graphs: Sequence[Graph], score: Score, probes: Probes, **options: Any
    ) -> Proof:
        proof = export_proven(job, graphs, score, probes, **options)
        found.append((graphs, score, probes, proof.reference))
        return proof

    with ExitStack() as patches:
        for module in PROVING:
            where = import_module(f"ranklet.export.{module}")
            patches.enter_context(patch.object(where, "export_proven", record))
        yield found


class DeviceSession:
    """PyTorch on a device in place of a session.

    Args:
        module: takes the feeds' tensors by position, in their order; it is moved to the device.
        device: its name.
        half: compute in 16 bits by autocast, which leaves in 32 bits what needs them.
    """

    provider = "PyTorch"
    workers = 1
    by_length = False
    outputs: tuple[str, ...] = ()  # it returns the first output by any name

    def __init__(self, module: "torch.nn.Module", device: str, *, half: bool) -> None:
        self._module, self._device, self._half = module.eval().to(device), device, half
        self.on_gpu = device == "cuda"  # texts of similar length run together

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:  # noqa: ARG002
        """Run the module and return its first output, whatever `output` is."""
        import torch

        inputs = [torch.from_numpy(values).to(self._device) for values in feeds.values()]
        half = torch.autocast(self._device, torch.float16, enabled=self._half)
        with torch.inference_mode(), half:
            outputs = self._module(*inputs)
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        values: NDArray[np.float32] = first.float().cpu().numpy()
        return values
