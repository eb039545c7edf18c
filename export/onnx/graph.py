"""Export PyTorch modules as ONNX graphs, and fuse the attention of transformers in them."""

import logging
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.memory import release
from ranklet.export.onnx.calibration import Feeds
from ranklet.export.onnx.rotary import fuse_rotary
from ranklet.runtime.onnx.session import quiet_telemetry, threads
from ranklet.training.imported.encoder import read_known_config
from ranklet.training.one_thread import one_thread_each

if TYPE_CHECKING:
    import torch
    from onnx import ModelProto, NodeProto


_log = logging.getLogger(__name__)

# The optimiser of onnxruntime fuses every attention in graphs of the TorchScript exporter at opset
# 17, but none in graphs of the dynamo exporter at opset 18. Single texts are slower with the
# Attention node of opset 23 (docs/maintainers/log).
OPSET = 17


@dataclass(frozen=True)
class Transformer:
    """The sizes of a BERT-like network, which the optimiser needs to fuse its attention."""

    heads: int
    hidden: int  # size of the hidden states
    layers: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Transformer | None":
        """Return the sizes that a config.json of transformers gives; None without attention."""
        if "model_type" not in config:  # there is no transformer
            return None
        # Other architectures have other names for them, which the class of the config knows.
        known = read_known_config(config)
        if not hasattr(known, "num_attention_heads"):
            return None
        return cls(known.num_attention_heads, known.hidden_size, known.num_hidden_layers)


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
        output: name of the output, (batch, …) float32. It must not be the name of an operator such
            as "embedding", because some exporters then write broken graphs.
        target: the file to write.
        transformer: the network whose attention, layer norms and GELU are fused; None fuses none.
        axes: dynamic axes by input and output; None for batch and tokens. Further outputs get their
            names from it.

    A warning is logged if the transformer's attention cannot be fused in every layer.
    """
    import torch

    was_training = module.training
    module.eval()
    dynamic = axes or _batch_and_tokens(example, output, one_length=transformer is not None)
    others = [name for name in dynamic if name != output and name not in example]
    try:
        with warnings.catch_warnings(), torch.no_grad(), _traceable_masks(), _no_log():
            # The tracer warns of every branch on a shape; the proof on real texts is what counts.
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


@contextmanager
def _traceable_masks() -> Iterator[None]:
    """Let transformers make attention masks by broadcasting, because vmap cannot be traced.

    It uses vmap where a network changes the causal mask, as a Gemma that reads in both directions.
    Whether the two agree is proven like the rest of the graph.
    """
    made = sys.modules.get("transformers.masking_utils")
    if made is None:  # an older version, or the network is not transformers'
        yield
        return
    functions = made.ALL_MASK_ATTENTION_FUNCTIONS
    eager = functions["eager"]

    def broadcast(*arguments: Any, **options: Any) -> Any:
        return eager(*arguments, **{**options, "use_vmap": False})

    functions["eager"] = broadcast
    try:
        yield
    finally:
        functions["eager"] = eager


@contextmanager
def _no_log() -> Iterator[None]:
    """Keep torch from printing a whole graph if an operator cannot be exported.

    The exporter turns its log on, whatever was set.
    """
    import torch

    log = torch._C._jit_onnx_log
    torch._C._jit_onnx_log = lambda *_: None
    try:
        yield
    finally:
        torch._C._jit_onnx_log = log


def _batch_and_tokens(
    inputs: Iterable[str], output: str, *, one_length: bool
) -> dict[str, dict[int, str]]:
    axes = {name: {0: "batch", 1: "tokens" if one_length else f"{name}_tokens"} for name in inputs}
    return {**axes, output: {0: "batch"}}


def example_inputs(names: Sequence[str]) -> "dict[str, torch.Tensor]":
    """Return inputs to trace with: two texts, the second padded, (2, tokens) int64 each."""
    import torch

    one_text = "attention_mask" in names  # so that all inputs have one length
    lengths = [8 if one_text else 8 + at for at in range(len(names))]
    inputs = {
        name: torch.ones((2, length), dtype=torch.int64)
        for name, length in zip(names, lengths, strict=True)
    }
    if one_text:
        inputs["attention_mask"][1, 5:] = 0
    return inputs


class TorchSession:
    """PyTorch in place of a session, so that both get exactly the same inputs.

    Args:
        module: takes the feeds' tensors by position, in their order.
        in_order: whether inputs run one after another, so that `feeds` has their order.
    """

    provider = "PyTorch"
    on_gpu = False
    by_length = False
    outputs: tuple[str, ...] = ()  # it returns the first output by any name

    def __init__(self, module: "torch.nn.Module", *, in_order: bool = False) -> None:
        self._module = module.eval()
        self._feeds: list[Feeds] = []
        self._in_order, self.workers = in_order, 1 if in_order else threads()

    @property
    def feeds(self) -> list[Feeds]:
        """All inputs so far, in an order that no thread changes; int8 is calibrated on them."""
        if self._in_order:
            return self._feeds
        return sorted(self._feeds, key=lambda each: [part.tobytes() for part in each.values()])

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:  # noqa: ARG002
        """Run the module and return its first output, whatever `output` is."""
        import torch

        self._feeds.append(feeds)
        with one_thread_each, torch.inference_mode():
            outputs = self._module(*(torch.from_numpy(values) for values in feeds.values()))
        first: NDArray[np.float32] = (outputs[0] if isinstance(outputs, tuple) else outputs).numpy()
        return first


def _fuse(target: Path, transformer: Transformer) -> None:
    quiet_telemetry()
    import onnx
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    traced = onnx.load(str(target))
    fuse_rotary(traced)
    onnx.save(traced, str(target))
    options = FusionOptions("bert")
    options.enable_shape_inference = False  # half of the memory; what is fused wrongly is found
    remarks = logging.getLogger("fusion_skiplayernorm")
    before = remarks.level
    remarks.setLevel(logging.ERROR)
    try:
        model = optimizer.optimize_model(
            str(target),
            model_type="bert",
            num_heads=transformer.heads,
            hidden_size=transformer.hidden,
            optimization_options=options,
            opt_level=1,  # the basic rewrites, which fusion needs and which suit every machine
        )
    finally:
        remarks.setLevel(before)
    model.save_model_to_file(str(target))
    fused = count_fused_operators(model.model).get("Attention", 0)
    del model
    release()
    if fused != transformer.layers:
        _log.warning(
            "attention was fused in %s of %s layers, so the graph is slower than a BERT's; it is "
            "verified like any other",
            fused, transformer.layers,
        )  # fmt: skip


def count_fused_operators(model: "ModelProto") -> dict[str, int]:
    """Count the operators that fusion makes in a graph; QAttention is Attention in 8 bits."""
    fused = (
        "Attention", "QAttention", "BiasGelu", "EmbedLayerNormalization", "SkipLayerNormalization",
        "RotaryEmbedding",
    )  # fmt: skip
    counts = Counter(node.op_type for node in model.graph.node)
    return {name: counts[name] for name in fused if counts[name]}


def replace_nodes(
    model: "ModelProto", replaced: "Callable[[NodeProto], Iterable[NodeProto]]"
) -> None:
    """Replace every node of a graph by some nodes, in place.

    Args:
        model: the model, whose order of nodes must stay topological.
        replaced: returns the nodes that replace a node, which it gets as a copy. The node itself is
            lost when the list is emptied.
    """
    copies = copy_nodes(model)
    nodes = [new for node in copies for new in replaced(node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def copy_nodes(model: "ModelProto") -> "list[NodeProto]":
    """Return copies of a graph's nodes, which stay valid when the graph's own list changes."""
    from onnx import NodeProto

    return [NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]


def remove_unread(model: "ModelProto", constants: set[str]) -> None:
    """Remove those of some constants that no node reads any more."""
    unread = constants - {name for node in model.graph.node for name in node.input}
    for each in [each for each in model.graph.initializer if each.name in unread]:
        model.graph.initializer.remove(each)


def add_constants(model: "ModelProto", prefix: str, constants: Mapping[str, NDArray[Any]]) -> None:
    """Add constants to a graph, each named ``PREFIX.NAME``."""
    from onnx import numpy_helper

    for name, values in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(values, f"{prefix}.{name}"))
