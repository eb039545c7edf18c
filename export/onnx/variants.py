"""Write the variants of an exported graph, fp32 as the reference, fp16 for GPUs, int8 for CPUs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.export.onnx.calibration import Feeds
from ranklet.export.onnx.fp32_head import head_aside
from ranklet.export.onnx.int8_embeddings import store_words_by_row
from ranklet.export.onnx.int8_weights import store_weights_alone, store_weights_by_channel
from ranklet.export.onnx.layer_norms import split_skip_norms
from ranklet.export.onnx.smoothing import scale_tokens, smooth_channels
from ranklet.runtime.onnx.session import quiet_telemetry

if TYPE_CHECKING:
    from onnx import ModelProto

# Forms of int8 by speed. Smoothing suits networks with the outliers of BERT. Where activations have
# others, they lose too much in 8 bits, and only the weights can be stored so.
SMOOTHED, UNSMOOTHED, WEIGHTS_ONLY = "smoothed", "unsmoothed", "weights only"
FORMS = {"int8": (SMOOTHED, UNSMOOTHED, WEIGHTS_ONLY)}


def convert(
    variant: str,
    source: Path,
    target: Path,
    calibration: Sequence[Feeds] = (),
    form: str = SMOOTHED,
) -> None:
    """Write a variant of an fp32 graph.

    Args:
        variant: fp32, fp16 or int8. That of OpenVINO is made from another graph, see
            openvino_int8.py.
        source: the file of the fp32 graph.
        target: the file to write.
        calibration: feeds of real texts, which improve int8.
        form: the form of int8, one of `FORMS`.
    """
    quiet_telemetry()
    import onnx

    model = onnx.load(str(source))
    if variant == "fp16":
        _store_in_16_bits(model)
    else:
        if variant == "int8":
            _store_in_8_bits(model, calibration, form)
        split_skip_norms(model)
    onnx.save(model, str(target))


def _store_in_16_bits(model: "ModelProto") -> None:
    """Store and compute in 16 bits, except inputs and outputs.

    The fused Attention and SkipLayerNormalization kernels sum softmax and variance in 32 bits
    anyway. Casts around them would undo the fusion.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16

    with head_aside(model, half=True):
        convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True)


def _store_in_8_bits(model: "ModelProto", calibration: Sequence[Feeds], form: str) -> None:
    """Store weights in 8 bits per channel, smooth outliers, and quantise activations dynamically.

    Measurements on MiniLM favoured this over per-tensor, unsigned, reduced-range, static and
    weight-only forms, see docs/maintainers/log. The other forms do without smoothing, or leave
    activations in 32 bits.
    """
    if form == SMOOTHED:
        smooth_channels(model, calibration)
    with head_aside(model):
        store_words_by_row(model)
        if form == WEIGHTS_ONLY:
            store_weights_alone(model)
        else:
            scale_tokens(model)
            store_weights_by_channel(model)
