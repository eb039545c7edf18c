"""PyTorch → ONNX: the one call of torch.onnx.export, and the fusion of attention after it."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.runtime.onnx.session import quiet_telemetry

if TYPE_CHECKING:
    import torch
    from onnx import ModelProto

# The TorchScript exporter at opset 17 gives a graph in which onnxruntime's optimiser fuses every
# attention; from the dynamo exporter it fuses none at opset 18, and opset 23's own Attention node
# is slower for single texts (docs/LOG.md).
OPSET = 17


@dataclass(frozen=True)
class Transformer:
    """What the optimiser must know of a BERT-like network to fuse its attention."""

    heads: int
    hidden: int  # size of the hidden states
    layers: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Transformer":
        """Return the sizes that a config.json of transformers gives."""
        names = ("num_attention_heads", "hidden_size", "num_hidden_layers")
        return cls(*(config[name] for name in names))


def export_graph(
    module: "torch.nn.Module",
    example: Mapping[str, "torch.Tensor"],
    output: str,
    target: Path,
    transformer: Transformer | None = None,
    axes: Mapping[str, Mapping[int, str]] | None = None,
) -> None:
    """Write a module as an fp32 ONNX file with dynamic batch and sequence axes.

    Args:
        module: takes the example's tensors by position, in its order.
        example: named inputs, each (batch, tokens) int64.
        output: name of the output, (batch, …) float32. Not the name of an operator such as
            "embedding": exporters have been seen to write broken graphs then.
        target: the file.
        transformer: fuse attention, layer norms and GELU of this network; None leaves the graph.
        axes: dynamic axes by input and output; None for batch and tokens. Further outputs get their
            names from it.

    Raises:
        ExportError: the transformer's attention was not fused in every layer.
    """
    import torch

    was_training = module.training
    module.eval()
    dynamic = axes or _batch_and_tokens(example, output, one_length=transformer is not None)
    others = [name for name in dynamic if name != output and name not in example]
    try:
        with warnings.catch_warnings(), torch.no_grad():
            # The tracer warns of every branch on a shape; parity on real texts is what counts.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module,
                tuple(example.values()),
                str(target),
                dynamo=False,
                opset_version=OPSET,
                input_names=list(example),
                output_names=[output, *others],
                dynamic_axes=dynamic,
            )
    finally:
        module.train(was_training)
    if transformer is not None:
        _fuse(target, transformer)


def _batch_and_tokens(
    inputs: Iterable[str], output: str, *, one_length: bool
) -> dict[str, dict[int, str]]:
    axes = {name: {0: "batch", 1: "tokens" if one_length else f"{name}_tokens"} for name in inputs}
    return {**axes, output: {0: "batch"}}


def example_inputs(names: Sequence[str]) -> "dict[str, torch.Tensor]":
    """Return inputs to trace with: two texts, the second padded, (2, tokens) int64 each."""
    import torch

    found = {name: torch.ones((2, 8 + at), dtype=torch.int64) for at, name in enumerate(names)}
    if "attention_mask" in found:  # inputs of one text have one length
        found = {name: torch.ones((2, 8), dtype=torch.int64) for name in names}
        found["attention_mask"][1, 5:] = 0
    return found


class TorchSession:
    """PyTorch in the place of a session, so that both sides see the very same token ids.

    Args:
        module: takes the feeds' tensors by position, in their order.
    """

    provider = "PyTorch"
    on_gpu = False
    workers = 1

    def __init__(self, module: "torch.nn.Module") -> None:
        self._module = module.eval()

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:  # noqa: ARG002
        """Run the module; `output` is ignored: it is the module's only or first one."""
        import torch

        with torch.inference_mode():
            found = self._module(*(torch.from_numpy(values) for values in feeds.values()))
        first: NDArray[np.float32] = (found[0] if isinstance(found, tuple) else found).numpy()
        return first


def _fuse(target: Path, transformer: Transformer) -> None:
    quiet_telemetry()
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    model = optimizer.optimize_model(
        str(target),
        model_type="bert",
        num_heads=transformer.heads,
        hidden_size=transformer.hidden,
        optimization_options=FusionOptions("bert"),
        opt_level=1,  # the basic rewrites, which hang on no machine; fusion needs them
    )
    model.save_model_to_file(str(target))
    fused = fused_operators(model.model).get("Attention", 0)
    if fused != transformer.layers:
        raise ExportError(
            f"attention was fused in {fused} of {transformer.layers} layers; "
            "the backbone must be BERT-like and loaded with attn_implementation='eager'"
        )


def fused_operators(model: "ModelProto") -> dict[str, int]:
    """Count the operators that fusion makes in a graph; QAttention is Attention in 8 bits."""
    made = (
        "Attention", "QAttention", "BiasGelu", "EmbedLayerNormalization", "SkipLayerNormalization"
    )  # fmt: skip
    counts = Counter(node.op_type for node in model.graph.node)
    return {name: counts[name] for name in made if counts[name]}
