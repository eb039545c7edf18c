"""The int8 variant: what 8 bits cost in ranking, and what they gain.

MiniLM-L6 with RepBERT's pooling, not fine-tuned, so with token_type_ids 0 as it was trained. Each
query is ranked against the relevant documents of all of them. Texts run alone and unpadded, as the
runtime runs them on a processor; forms are calibrated on texts of the training split.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.harness.timing import take_turns
from ranklet.export.onnx.calibration import Feeds
from ranklet.export.onnx.graph import TorchSession, Transformer, example_inputs, export_graph
from ranklet.export.onnx.int8_embeddings import store_words_by_row
from ranklet.export.onnx.int8_weights import QUANTISED, store_weights_by_channel
from ranklet.export.onnx.smoothing import scale_tokens, smooth_channels
from ranklet.export.onnx.variants import convert
from ranklet.export.proof.report import compare_scores
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.dense import INPUTS, OUTPUT
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.evaluation.measures import Judged, parse_measure, per_query
from ranklet.training.pretrained.backbone import load_backbone

PACKAGES = ("onnxruntime", "onnx", "torch", "transformers")
COLLECTION, SPLIT, CALIBRATION_SPLIT = "qa-mix", "dev", "train"
QUERIES, CALIBRATION = 1_500, 150  # queries; of the first, and of the second with a document each
STATIC_CALIBRATION, STATIC_TOKENS = 40, 64  # of static forms: texts, and tokens of each
MAX_TOKENS, SEGMENT = 128, 0
PADDED = 16  # documents in the padded batch
TIMED, ROUNDS, LOADS = 30, 3, 5
MEASURE = "nDCG@10"
INTERVAL = 1.96  # standard errors: 95 %
GOALS = "loss ≤ 0.5 %, at least twice as fast, size ≤ 27 %"
EMBEDDING = "EmbedLayerNormalization"
CHOSEN = "**ours (`convert`)**"

# Writes a form of the fp32 graph to a path.
Form = Callable[[Path, Path], None]


class Texts(NamedTuple):
    """What is ranked: token ids are made by the encoder."""

    queries: list[str]
    documents: list[str]
    relevant: list[list[int]]  # for each query, places of its relevant documents


@dataclass(frozen=True)
class Run:
    """A form's scores, its scores of documents in a padded batch, and what it takes."""

    scores: NDArray[np.float32]  # (queries, documents)
    padded: NDArray[np.float32]  # (queries, PADDED)
    bytes: int
    load_ms: float
    session: Session


def run(place: Place) -> str:
    """Make every form, rank with it, and time it."""
    logging.disable(logging.WARNING)  # the quantisers' remarks on every form but ours
    collection = place.collection(COLLECTION)
    backbone = load_backbone(attention="eager")
    texts = _texts(collection, read_split(collection, SPLIT, limit=QUERIES))
    learned = _texts(collection, read_split(collection, CALIBRATION_SPLIT, limit=CALIBRATION))
    runs = {}
    with TemporaryDirectory() as scratch:
        source = Path(scratch) / "fp32.onnx"
        recorded = _export(backbone, source)
        encoder = partial(
            Encoder,
            output=OUTPUT,
            tokenizer=backbone.tokenizer,
            dimension=backbone.config.hidden_size,
        )
        _encode(encoder(recorded), learned.queries + learned.documents)
        forms: dict[str, Form] = {"fp32": _copy, **_forms(recorded.feeds)}
        for name, form in forms.items():
            target = Path(scratch) / "form.onnx"
            form(source, target)
            runs[name] = _run(target, encoder, texts)
    speeds = {
        what: _speeds(runs, encoder(runs["fp32"].session), chosen)
        for what, chosen in (("queries", texts.queries), ("documents", texts.documents))
    }
    return _report(runs, speeds, texts)


def _forms(calibration: list[Feeds]) -> dict[str, Form]:
    """Return all forms but fp32, by what the table calls them."""
    ours = partial(_ours, calibration=calibration)
    # The quantiser's weights in the place of ours, all else as in ours.
    theirs = partial(
        _dynamic, calibration=calibration, tokens=True, words=True, WeightSymmetric=False
    )
    # Histograms need texts of one length, and are kept of all activations, so of few texts.
    cut = [{name: ids[:, :STATIC_TOKENS] for name, ids in each.items()} for each in calibration]
    cut = [each for each in cut if each[INPUTS[0]].shape[1] == STATIC_TOKENS]
    static = partial(_static, calibration=cut[:STATIC_CALIBRATION])
    return {
        CHOSEN: partial(convert, "int8", calibration=calibration),
        "ours, channels not smoothed": partial(convert, "int8"),
        "ours, tokens not scaled": partial(ours, tokens=False),
        "ours, one scale for all words": partial(ours, words=False),
        "ours, 8 bit weights that need VNNI": theirs,
        "ours, 7 bit weights": partial(theirs, reduce_range=True),
        "ours, unsigned weights": partial(theirs, unsigned=True),
        "ours, a scale a tensor": partial(theirs, per_channel=False),
        "ours, first FFN output in fp32": partial(theirs, exclude="layer.0/output"),
        "dynamic": _dynamic,
        "dynamic, a scale a tensor": partial(_dynamic, per_channel=False),
        "dynamic, unsigned, a scale a tensor": partial(_dynamic, per_channel=False, unsigned=True),
        "dynamic, FFN outputs in fp32": partial(_dynamic, exclude="/output", keep="attention"),
        "static, largest values": partial(static, method="MinMax"),
        "static, 99.999 %": partial(static, method="Percentile"),
        "static, smoothed, largest values": partial(static, method="MinMax", smoothed=calibration),
        "weights only, blocks of 128": partial(_weights_only, accuracy=0),
        "the same, int8 arithmetic": partial(_weights_only, accuracy=4),
    }


def _copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())


def _ours(
    source: Path, target: Path, *, calibration: list[Feeds], tokens: bool = True, words: bool = True
) -> None:
    """Write int8 as `convert` does, without scales of tokens or of words."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    model = _prepared(source, calibration, tokens=tokens, words=words)
    store_weights_by_channel(model)
    onnx.save(model, str(target))
    if not words:
        extra = {"DefaultTensorType": onnx.TensorProto.FLOAT}
        quantize_dynamic(model, str(target), op_types_to_quantize=[EMBEDDING], extra_options=extra)


def _prepared(source: Path, calibration: Sequence[Feeds], *, tokens: bool, words: bool) -> Any:
    """Return the fp32 graph, smoothed where there is calibration, with what else is wanted."""
    import onnx

    model = onnx.load(str(source))
    smooth_channels(model, calibration)
    if tokens:
        scale_tokens(model)
    if words:
        store_words_by_row(model)
    return model


def _dynamic(
    source: Path,
    target: Path,
    *,
    calibration: Sequence[Feeds] = (),
    tokens: bool = False,
    words: bool = False,
    per_channel: bool = True,
    unsigned: bool = False,
    reduce_range: bool = False,
    exclude: str = "",
    keep: str = "\0",
    **extra: bool,
) -> None:
    """Quantise dynamically, with any of the parts of ours; `exclude` leaves nodes in fp32."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = _prepared(source, calibration, tokens=tokens, words=words)
    left = [
        n.name for n in model.graph.node if exclude and exclude in n.name and keep not in n.name
    ]
    quantize_dynamic(
        model,
        str(target),
        op_types_to_quantize=[*QUANTISED, *([] if words else [EMBEDDING])],
        weight_type=QuantType.QUInt8 if unsigned else QuantType.QInt8,
        per_channel=per_channel,
        reduce_range=reduce_range,
        nodes_to_exclude=[name for name in left if name.endswith("MatMul")],
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT, **extra},
    )


def _static(
    source: Path,
    target: Path,
    *,
    calibration: Sequence[Feeds],
    method: str,
    smoothed: Sequence[Feeds] = (),
) -> None:
    """Quantise with scales found beforehand; words as in ours."""
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        CalibrationMethod,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._left = iter(calibration)

        def get_next(self) -> Feeds | None:
            return next(self._left, None)

    model = _prepared(source, smoothed, tokens=bool(smoothed), words=True)
    names = {
        name
        for node in model.graph.node
        if node.op_type in ("MatMul", "Attention")
        for name in (node.input[0], node.output[0])
    }
    model.graph.value_info.extend(  # only tensors of a known type are calibrated
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names
    )
    quantize_static(
        model,
        str(target),
        Reader(),
        quant_format=QuantFormat.QOperator,
        op_types_to_quantize=["MatMul", "Attention"],
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
        calibrate_method=CalibrationMethod[method],
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def _weights_only(source: Path, target: Path, *, accuracy: int) -> None:
    """Store the weights of MatMul in blocks of 8 bits; fused attention stays fp32."""
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    model = onnx.load(str(source))
    store_words_by_row(model)
    quantiser = MatMulNBitsQuantizer(
        model, bits=8, block_size=128, is_symmetric=True, accuracy_level=accuracy
    )
    quantiser.process()
    quantiser.model.save_model_to_file(str(target))


def _texts(collection: Collection, queries: list[JudgedQuery]) -> Texts:
    """Return queries, and all documents that are relevant to one of them."""
    wanted = {name for query in queries for name in query.relevant}
    found = {
        document.id: f"{document.title}\n{document.text}".strip()
        for document in collection.documents()
        if document.id in wanted
    }
    place_of = {name: place for place, name in enumerate(found)}
    relevant = [
        [place_of[name] for name in query.relevant if name in place_of] for query in queries
    ]
    return Texts([query.text for query in queries], list(found.values()), relevant)


def _export(backbone: Any, target: Path) -> TorchSession:
    from ranklet.runtime.rankers.dense import DenseSettings
    from ranklet.training.rankers.dense.network import DenseNetwork

    config = backbone.config
    network = Transformer(config.num_attention_heads, config.hidden_size, config.num_hidden_layers)
    module = DenseNetwork(backbone.model, DenseSettings(similarity="dot"))
    export_graph(module, example_inputs(INPUTS), OUTPUT, target, network)
    return TorchSession(module)


def _session(path: Path) -> Session:
    return Session(path.read_bytes(), path.name, device="cpu")


def _encode(encoder: Encoder, texts: list[str]) -> NDArray[np.float32]:
    return encoder.encode(texts, MAX_TOKENS, SEGMENT).vectors


def _run(path: Path, encoder: Callable[[Session], Encoder], texts: Texts) -> Run:
    loads = []
    for _ in range(LOADS):
        begin = perf_counter()
        session = _session(path)
        loads.append(perf_counter() - begin)
    made = encoder(session)
    queries, documents = _encode(made, texts.queries), _encode(made, texts.documents)
    ids, _ = made.token_ids(texts.documents[:PADDED], MAX_TOKENS)
    padded = session.run(OUTPUT, _feeds(ids))
    return Run(
        queries @ documents.T,
        queries @ padded.T,
        path.stat().st_size,
        float(np.median(loads)) * 1e3,
        session,
    )


def _feeds(ids: list[list[int]]) -> dict[str, NDArray[np.int64]]:
    """Return the inputs of some texts in one batch, padded, (texts, tokens) int64 each."""
    longest = max(map(len, ids))
    mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
    padded = np.array([row + [0] * (longest - len(row)) for row in ids])
    return dict(zip(INPUTS, (padded, mask, np.zeros_like(mask)), strict=True))


def _speeds(runs: dict[str, Run], encoder: Encoder, texts: list[str]) -> dict[str, float]:
    """Return how many times as fast as fp32 each form encodes some texts, one at a time."""
    feeds = [_feeds([ids]) for ids in encoder.token_ids(texts[:TIMED], MAX_TOKENS)[0]]
    took = take_turns(
        {name: partial(each.session.run, OUTPUT) for name, each in runs.items()}, feeds, ROUNDS, 10
    )
    return {name: float(took["fp32"].sum() / times.sum()) for name, times in took.items()}


def _report(runs: dict[str, Run], speeds: dict[str, dict[str, float]], texts: Texts) -> str:
    exact = runs["fp32"]
    grades = np.zeros(exact.scores.shape)
    for row, places in zip(grades, texts.relevant, strict=True):
        row[places] = 1
    judged = Judged.from_lists([row[:, None] for row in exact.scores], list(grades))
    goal = parse_measure(MEASURE)
    best = per_query(judged, exact.scores, goal)
    spread = exact.scores.std()
    rows = []
    for name, each in runs.items():
        found = per_query(judged, each.scores, goal)
        lost = best - found
        margin = INTERVAL * lost.std(ddof=1) / np.sqrt(len(lost)) / best.mean()
        compared = compare_scores(name, each.bytes, exact.scores, each.scores, texts.relevant)
        moved = np.abs(each.padded - each.scores[:, :PADDED]).max() / spread
        rows.append(
            [
                name,
                f"{np.abs(each.scores - exact.scores).mean() / spread:.1%}",
                f"{compared.max_error:.0%}",
                f"{compared.kendall:.3f}",
                f"{compared.overlap:.1%}",
                f"{found.mean():.4f}",
                f"{lost.mean() / best.mean():+.2%} ± {margin:.2%}",
                f"{moved:.1%}",
                f"{speeds['queries'][name]:.2f}",
                f"{speeds['documents'][name]:.2f}",
                f"{each.bytes / exact.bytes:.1%}",
                f"{each.load_ms:.0f}",
            ]
        )
    head = [
        "form", "mean error", "max error", "Kendall τ", "same top 10", MEASURE, "loss, 95 %",
        "padded", "speed, queries", "speed, documents", "size", "load, ms",
    ]  # fmt: skip
    return f"""
{COLLECTION}, {len(texts.queries):,} {SPLIT} queries against {len(texts.documents):,} documents, \
{MAX_TOKENS} tokens at most. Goals: {GOALS}.

{table(head, rows)}

- *Error*: of a score, as a share of the standard deviation of fp32's scores; *padded*: how far \
the scores of {PADDED} documents move at most when they run in one padded batch.
- *Loss*: relative, with 1.96 standard errors of the mean difference over queries.
- *Speed*: times as fast as fp32, a text at a time; fp32 takes {exact.bytes / 1e6:.1f} MB.
- *dynamic*: onnxruntime's quantiser, a scale an output channel, scales of activations as they \
come. *Ours* adds a scale a token behind GELU, smoothed channels behind layer norms and a scale a \
word, and weights that need no VNNI: x86 processors without it clamp the sums of all other forms \
but those with 7 bit or unsigned weights, so that their vectors hang on the machine.
- The quantiser leaves fused attention in fp32 in static forms and with weights only. Its entropy \
calibration chooses the largest values here, so it is not shown.
"""
