"""The model card of an exported folder: what is in it, its proof, and how it is used."""

import json
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from ranklet.corpus.evaluation.proof_report import Report
from ranklet.export.onnx.graph import Transformer
from ranklet.export.proof.as_others import AsOthers
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.storage.package_files import package_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.version import __version__

_VECTORS = (
    "\nA vector has $dimension numbers. The prompt of a query is `$query_prompt`, and that of a "
    "document is `$document_prompt`.\n"
)
_TEXTS = "a text", "another text, which is longer"
_LAYERS = "\nThe layers after the pooling are in folders of their own (modules.json).\n"


def card(
    name: str, checkpoint: Checkpoint, model: AsOthers, reports: Sequence[Report], front: str
) -> str:
    """Return the card as Markdown.

    Args:
        name: the model's name.
        checkpoint: the model.
        model: its graph.
        reports: the proofs of its variants.
        front: the front matter of the original's card, without its lines of hyphens.
    """
    lines = [line for line in front.splitlines() if not line.startswith("pipeline_tag:")]
    if not any(line.startswith("tags:") for line in lines):
        lines.append("tags: [onnx, transformers.js]")
    written = [each.variant for each in reports if not each.refused]
    variant = "int8" if "int8" in written else written[0]
    text = _read("card") + _examples(checkpoint, model.task)
    vectors = _VECTORS if hasattr(checkpoint.settings, "dimension") else ""
    return Template(text.replace("$vectors", vectors)).substitute(
        _slots(checkpoint.settings, Transformer.of(checkpoint.network)),
        front="\n".join(lines), task=model.task, name=name, quoted=_quoted(name),
        version=__version__, kind=checkpoint.kind, inputs=", ".join(model.graph.inputs),
        output=model.graph.output, queries=f"{reports[0].queries:,}",
        documents=f"{reports[0].documents:,}", proof="\n".join(map(_row, reports)),
        file=f"onnx/{VARIANTS[variant]}", dtype=variant,
    )  # fmt: skip


def _examples(checkpoint: Checkpoint, task: str) -> str:
    """Return an example for each library that opens a model and does what comes after the graph."""
    from ranklet.training.imported.chain import MODULES

    sentence = _read("sentence_transformers")
    if task == "text-ranking":
        return sentence + _read("pairs")
    if checkpoint.queries is not None:
        return sentence
    if getattr(checkpoint.settings, "pooling", "") not in ("mean", "cls"):
        return ""
    return sentence + (_LAYERS if checkpoint.network.get(MODULES) else _read("encoder"))


def _slots(settings: Any, sizes: Transformer | None) -> dict[str, object]:
    """Return what the texts say of a model's settings."""
    if not hasattr(settings, "dimension"):
        call = 'scores = model.predict([("a query", "a text"), ("a query", "another text")])'
        return {
            "library": "CrossEncoder",
            "call": call,
            "longest": getattr(settings, "max_tokens", 0),
        }
    pooling, cosine = getattr(settings, "pooling", ""), settings.similarity == "cosine"
    return {
        "library": "SentenceTransformer",
        "call": 'vectors = model.encode_document(["a text", "another text"])',
        "longest": settings.max_document_tokens, "dimension": settings.dimension,
        # A Matryoshka model keeps the first numbers of the whole.
        "whole": sizes.hidden if sizes else settings.dimension,
        "query_prompt": _quoted(settings.query_prompt),
        "document_prompt": _quoted(settings.document_prompt),
        "texts": ", ".join(_quoted(settings.document_prompt + each) for each in _TEXTS),
        "cosine": cosine, "pooling": pooling, "POOLING": pooling.upper(),
        "state": "(states * mask).sum(1) / mask.sum(1)" if pooling == "mean" else "states[:, 0]",
        "length": "np.linalg.norm(vectors, axis=1, keepdims=True)" if cosine else "1",
        "unit": ".normalize(2, -1)" if cosine else "",
    }  # fmt: skip


def _row(report: Report) -> str:
    """Return a variant's row in the table of proofs."""
    file = "not written" if report.refused else f"onnx/{VARIANTS[report.variant]}"
    loss = f"{report.ndcg_loss:.2%}" if report.judged else "–"
    return (
        f"| {report.variant}, {file} | {report.bytes / 1e6:.1f} | {report.ms:.1f} | "
        f"{report.max_error:.2%} | {report.kendall:.4f} | {report.overlap:.1%} | {loss} | "
        f"{report.refused} |"
    )


def _quoted(text: str) -> str:
    """Return a text in the quotes of JSON, which are those of Python and JavaScript, too."""
    return json.dumps(text, ensure_ascii=False)


def _read(name: str) -> str:
    return package_text(Path(__file__).with_name(f"{name}.md"))
