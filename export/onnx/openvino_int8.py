"""Quantise a graph statically for OpenVINO by nncf, which makes texts of any length faster.

Weights have one scale per channel and activations one scale each, measured on real texts. nncf
smooths channels (Xiao et al. 2023) and corrects biases.
"""

import io
import logging
import sys
import tempfile
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ranklet.export.errors import ExportError
from ranklet.export.onnx.calibration import Feeds, thin
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.extras import install
from ranklet.runtime.onnx.encoder import WEIGHTS

_TELEMETRY = "openvino_telemetry"


def need_packages() -> None:
    """Raise InputError if a package is missing that the variant needs."""
    missing = [name for name in ("openvino", "nncf") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the variant openvino needs {' and '.join(missing)}; "
            f"{install('openvino')}, or leave it out of --variants"
        )


def quantise(
    source: Path, calibration: Sequence[Feeds], exact: Collection[str] = ()
) -> tuple[bytes, bytes]:
    """Return the contents of the .xml and .bin files of an fp32 graph in 8 bits.

    Args:
        source: the ONNX file, whose attention is not fused, because OpenVINO knows no operators of
            onnxruntime.
        calibration: one or more feeds of real texts.
        exact: tensors of the graph that are computed in 32 bits.

    Raises:
        ExportError: OpenVINO cannot load the graph, or nncf cannot quantise it.
    """
    import openvino

    with _silence(), tempfile.TemporaryDirectory() as scratch:
        nncf = _import_nncf()
        logging.getLogger("nncf").setLevel(logging.ERROR)
        target = Path(scratch) / "model.xml"
        try:
            model = openvino.Core().read_model(str(source))
            names = {each.any_name for each in model.inputs}
            feeds = [
                {name: values for name, values in each.items() if name in names}
                for each in thin(calibration)
            ]
            kept = [
                node.get_friendly_name() for node in model.get_ops()
                if any(not output.get_names().isdisjoint(exact) for output in node.outputs())
            ]  # fmt: skip
            quantised = nncf.quantize(
                model, nncf.Dataset(feeds), subset_size=len(feeds),
                model_type=nncf.ModelType.TRANSFORMER,
                ignored_scope=nncf.IgnoredScope(names=kept, validate=False),
            )  # fmt: skip
            openvino.save_model(quantised, str(target), compress_to_fp16=False)
        except Exception as error:  # both raise many kinds
            reason = " ".join(str(error).split())
            raise ExportError(
                f"OpenVINO cannot convert the network: {reason:.300}. Leave openvino out of "
                "--variants"
            ) from error
        return target.read_bytes(), target.with_suffix(WEIGHTS).read_bytes()


def _import_nncf() -> Any:
    """Import nncf, without the package by which it would report over the network."""
    known, logger_class = sys.modules.get(_TELEMETRY), logging.getLoggerClass()
    sys.modules[_TELEMETRY] = None  # type: ignore[assignment]  # an import of it fails
    try:
        import nncf
    finally:
        logging.setLoggerClass(logger_class)  # nncf sets its own for every logger made later
        del sys.modules[_TELEMETRY]
        if known is not None:
            sys.modules[_TELEMETRY] = known
    return nncf


@contextmanager
def _silence() -> Iterator[None]:
    """Drop progress bars and warnings, which concern the makers of nncf and not its users.

    What nncf changes in the logging of the whole process is undone.
    """
    kind = logging.getLoggerClass()
    levels = [(handler, handler.level) for handler in logging.getLogger().handlers]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.setLoggerClass(kind)
            for handler, level in levels:
                handler.setLevel(level)
