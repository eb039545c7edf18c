"""The model card of an exported folder: what is in it, how it is used, and its proof."""

import json
from collections.abc import Sequence

from ranklet.corpus.evaluation.proof_report import Report
from ranklet.export.onnx.graph import Transformer
from ranklet.export.proof.as_others import LOGITS, AsOthers
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.training.checkpoint import Checkpoint
from ranklet.version import __version__

_SENTENCE = """
```python
# pip install "sentence-transformers[onnx]"
from sentence_transformers import {library}

model = {library}("FOLDER", backend="onnx", model_kwargs={{"file_name": "{file}"}})
{use}
```
"""
_ONNXRUNTIME = """
```python
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("FOLDER/tokenizer.json")
session = onnxruntime.InferenceSession("FOLDER/{file}")
text = tokenizer.encode({text})  # of at most {longest} tokens
ids, mask, types = text.ids, text.attention_mask, text.type_ids
every = {{"input_ids": [ids], "attention_mask": [mask], "token_type_ids": [types]}}
inputs = {{each.name: np.array(every[each.name], np.int64) for each in session.get_inputs()}}
{use}
```
"""
_LOGITS = "logits = session.run(None, inputs)[0][0]"
_STATES = """states = session.run(None, inputs)[0][0]  # (tokens, hidden)
vector = {state}"""
_LENGTH = "\nvector /= np.linalg.norm(vector)"
_FASTEMBED = """
```python
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

TextEmbedding.add_custom_model(
    model={name}, pooling=PoolingType.{pooling}, normalization={normalise}, dim={whole},
    sources=ModelSource(hf={name}), model_file="{file}",
)
vectors = list(TextEmbedding({name}, specific_model_path="FOLDER").embed([{text}])){first}
```
"""
_SCRIPT = """
```js
import {{ {classes} }} from "@huggingface/transformers";

{use}
```
"""
_VECTORS = """const encode = await pipeline("feature-extraction", "FOLDER", {{ dtype: "{dtype}" }});
const options = {{ pooling: "{pooling}", normalize: {normalise} }};
const vectors = (await encode([{text}], options)){cut};"""
_PAIRS = """const tokenizer = await AutoTokenizer.from_pretrained("FOLDER");
const options = {{ dtype: "{dtype}" }};
const model = await AutoModelForSequenceClassification.from_pretrained("FOLDER", options);
const inputs = tokenizer(["a query"], {{ text_pair: ["a text"], padding: true, truncation: true }});
const {{ logits }} = await model(inputs);"""


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
        _use(name, checkpoint, output, model.task, reports),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _quoted(text: str) -> str:
    """Return a text in the quotes of JSON, which are those of Python and JavaScript, too."""
    return json.dumps(text, ensure_ascii=False)


def _proof(reports: Sequence[Report]) -> str:
    judged = any(each.judged for each in reports)
    head = [
        "file",
        "MB",
        "ms per text",
        "largest error",
        "cosine, mean and least",
        "Kendall's τ",
        "same top 10",
        "same first",
    ]
    head += ["loss of nDCG@10"] if judged else []
    rows = [head, ["---"] + ["--:"] * (len(head) - 1)]
    for each in reports:
        file = "not written" if each.refused else f"onnx/{VARIANTS[each.variant]}"
        row = [f"{each.variant}, {file}", f"{each.bytes / 1e6:.1f}", f"{each.ms:.1f}"]
        cosines = f"{each.cosine:.4f}, {each.least_cosine:.4f}" if each.cosine else "–"
        row += [f"{each.max_error:.2%}", cosines, f"{each.kendall:.4f}", f"{each.overlap:.1%}"]
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


def _use(
    name: str, checkpoint: Checkpoint, output: str, task: str, reports: Sequence[Report]
) -> str:
    from ranklet.training.imported.layers import LAYERS

    settings = checkpoint.settings
    written = [each.variant for each in reports if not each.refused]
    dtype = "int8" if "int8" in written else written[0]
    shared = {"file": f"onnx/{VARIANTS[dtype]}", "dtype": dtype}
    if output == LOGITS:
        if task != "text-ranking":
            return ""
        longest, text = settings.max_tokens, '"a query", "a text"'
        use = 'scores = model.predict([("a query", "a text")])'
        return (
            "## Use\n"
            + _SENTENCE.format(library="CrossEncoder", use=use, **shared)
            + _ONNXRUNTIME.format(text=text, longest=longest, use=_LOGITS, **shared)
            + _SCRIPT.format(
                classes="AutoTokenizer, AutoModelForSequenceClassification",
                use=_PAIRS.format(**shared),
            )
        )
    pooling = getattr(settings, "pooling", "")
    if pooling not in ("mean", "cls"):
        return ""
    own = 'vectors = model.encode_document(["a text"])'
    sentence = "## Use\n" + _SENTENCE.format(library="SentenceTransformer", use=own, **shared)
    if checkpoint.network.get(LAYERS):
        layers = "The layers after the pooling are in folders of their own (modules.json)."
        return f"{sentence}\n{layers}"
    normalise = settings.similarity == "cosine"
    sizes, kept = Transformer.of(checkpoint.network), settings.dimension
    whole = sizes.hidden if sizes else kept  # of which a Matryoshka model keeps the first numbers
    text, name = _quoted(f"{settings.document_prompt}a text"), _quoted(name)
    values = {"name": name, "text": text, "whole": whole, **shared}
    state = "states.mean(0)" if pooling == "mean" else "states[0]"
    first, cut = "", ""
    if kept < whole:
        state += f"[:{kept}]"
        first = f"\nvectors = [each[:{kept}] for each in vectors]"
        cut = f".slice(null, [0, {kept}])" + ".normalize(2, -1)" * normalise
    pooled = _STATES.format(state=state) + _LENGTH * normalise
    longest = settings.max_document_tokens
    use = _VECTORS.format(
        pooling=pooling, normalise=str(normalise and not cut).lower(), cut=cut, **values
    )
    return (
        sentence
        + _ONNXRUNTIME.format(text=text, longest=longest, use=pooled, **shared)
        + _FASTEMBED.format(pooling=pooling.upper(), normalise=normalise, first=first, **values)
        + _SCRIPT.format(classes="pipeline", use=use)
    )
