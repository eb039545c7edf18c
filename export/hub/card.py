"""The model card of an exported folder: what is in it, how it is used, and its proof."""

from collections.abc import Sequence

from ranklet.corpus.evaluation.proof_report import Report
from ranklet.export.proof.as_others import LOGITS, AsOthers
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.training.checkpoint import Checkpoint
from ranklet.version import __version__

_FASTEMBED = """
```python
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

TextEmbedding.add_custom_model(
    model="{name}", pooling=PoolingType.{pooling}, normalization={normalise}, dim={dimension},
    sources=ModelSource(hf="{name}"), model_file="onnx/model.onnx",
)
vectors = list(TextEmbedding("{name}", specific_model_path="FOLDER").embed(["{document}a text"]))
```
"""
_SCRIPT = """
```js
import {{ {classes} }} from "@huggingface/transformers";

{use}
```
"""
_VECTORS = """const encode = await pipeline("feature-extraction", "FOLDER", {{ dtype: "int8" }});
const options = {{ pooling: "{pooling}", normalize: {normalise} }};
const vectors = await encode(["{document}a text"], options);"""
_PAIRS = """const tokenizer = await AutoTokenizer.from_pretrained("FOLDER");
const model = await AutoModelForSequenceClassification.from_pretrained("FOLDER", { dtype: "int8" });
const inputs = tokenizer(["a query"], { text_pair: ["a text"], padding: true, truncation: true });
const { logits } = await model(inputs);"""


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
        lines += ["tags: [onnx, transformers.js]"]
    inputs, output = ", ".join(model.graph.inputs), model.graph.output
    parts = [
        "\n".join(["---", *lines, f"pipeline_tag: {model.task}", "---"]),
        f"# {name}",
        f"Exported by ranklet {__version__}. Each graph has the inputs {inputs} and the output "
        f"{output}, all with free numbers of texts and tokens.",
        _proof(reports),
        _use(name, checkpoint, output, model.task),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _proof(reports: Sequence[Report]) -> str:
    judged = any(each.judged for each in reports)
    head = [
        "file",
        "MB",
        "ms per text",
        "largest error",
        "Kendall's τ",
        "same top 10",
        "same first",
    ]
    head += ["loss of nDCG@10"] if judged else []
    rows = [head, ["---"] + ["--:"] * (len(head) - 1)]
    for each in reports:
        file = "not written" if each.refused else f"onnx/{VARIANTS[each.variant]}"
        row = [f"{each.variant}, {file}", f"{each.bytes / 1e6:.1f}", f"{each.ms:.1f}"]
        row += [f"{each.max_error:.2%}", f"{each.kendall:.4f}", f"{each.overlap:.1%}"]
        row += [f"{each.same_top:.1%}"] + ([f"{each.ndcg_loss:.2%}"] if judged else [])
        rows.append(row)
    first = reports[0]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    refused = [f"- {each.variant}: {each.refused}" for each in reports if each.refused]
    return "\n".join(
        [
            "## Proof",
            "",
            f"Scores of {first.queries:,} queries and {first.documents:,} texts, compared with "
            "PyTorch's. An error is a share of the scores' standard deviation.",
            "",
            text,
            *([""] if refused else []),
            *refused,
        ]
    )


def _use(name: str, checkpoint: Checkpoint, output: str, task: str) -> str:
    from ranklet.training.imported.layers import LAYERS

    settings = checkpoint.settings
    if output == LOGITS:
        if task != "text-ranking":
            return ""
        classes = "AutoTokenizer, AutoModelForSequenceClassification"
        return "## Use\n" + _SCRIPT.format(classes=classes, use=_PAIRS)
    pooling = getattr(settings, "pooling", "")
    if pooling not in ("mean", "cls"):
        return ""
    if checkpoint.network.get(LAYERS):
        return "The layers after the pooling are in folders of their own (modules.json)."
    normalise = settings.similarity == "cosine"
    values = {
        "name": name, "dimension": settings.dimension, "document": settings.document_prompt,
    }  # fmt: skip
    use = _VECTORS.format(
        pooling=pooling, normalise=str(normalise).lower(), document=settings.document_prompt
    )
    return (
        "## Use\n"
        + _FASTEMBED.format(pooling=pooling.upper(), normalise=normalise, **values)
        + _SCRIPT.format(classes="pipeline", use=use)
    )
