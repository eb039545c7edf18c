"""The variants of an exported graph: fp32 as the reference, fp16 for GPUs, int8 for processors."""

import os
from collections.abc import Callable
from pathlib import Path

from ranklet.runtime.encoder import VARIANTS
from ranklet.runtime.errors import InputError

# What is stored in 8 bits: all that holds weights. Embeddings are half of a small model's size.
QUANTISED = ("MatMul", "Attention", "EmbedLayerNormalization", "Gemm")


def convert(variant: str, source: Path, target: Path) -> None:
    """Write a variant of an fp32 graph.

    Raises:
        InputError: an unknown variant.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    if variant not in _CONVERTERS:
        raise InputError(f"unknown variant {variant!r}; allowed are {', '.join(VARIANTS)}")
    _CONVERTERS[variant](source, target)


def _fp32(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())


def _fp16(source: Path, target: Path) -> None:
    """Store and compute in 16 bits; inputs and outputs stay as they are.

    The fused Attention and SkipLayerNormalization kernels sum softmax and variance in 32 bits
    themselves; casting around them would undo the fusion.
    """
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = convert_float_to_float16(
        onnx.load(str(source)), keep_io_types=True, disable_shape_infer=True
    )
    onnx.save(model, str(target))


def _int8(source: Path, target: Path) -> None:
    """Store weights in 8 bits a channel, quantise activations as they come.

    Chosen by measurement over per-tensor, unsigned, reduced-range, static and weight-only forms:
    docs/LOG.md and `python -m benchmarks quantisation`.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        str(source),
        str(target),
        op_types_to_quantize=list(QUANTISED),
        weight_type=QuantType.QInt8,
        per_channel=True,
        # Fused operators have no shape inference: without a default the quantiser gives up.
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


_CONVERTERS: dict[str, Callable[[Path, Path], None]] = {
    "fp32": _fp32,
    "fp16": _fp16,
    "int8": _int8,
}
