"""A checkpoint of each neural kind: imported where MiniLM is one, else trained for a few steps."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.gpu.material import backbone_folder, texts
from benchmarks.gpu.setting import Setting
from ranklet.corpus.collections.probes import Probes, draw_probes
from ranklet.corpus.collections.splits import read_split
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.importing import read_model

LEARN, HELD_OUT = "train", "dev"
LEARNED, MEASURED = 200, 12  # queries to learn from and to evaluate on
QUERY_TOKENS = 16
SHORT_TEXTS = {"batch": 8, "max_query_tokens": QUERY_TOKENS, "max_document_tokens": 48}
ORACLE = "gpu.oracle"  # folder of the ColBERT that a light ranker imitates
# Options by kind, next to the number of steps. The sizes are the defaults wherever they decide how
# exact a network is in 16 bits, and small where they only cost time.
TRAINED: Mapping[str, Mapping[str, Any]] = {
    "cross_encoder": {"batch": 4, "accumulation": 1},
    "splade": SHORT_TEXTS,
    "epic": SHORT_TEXTS,
    "colbert": SHORT_TEXTS,
    "srm": {**SHORT_TEXTS, "sub_embeddings": 3, "distil_batch": 16, "distil_texts": 400},
    "conformer_kernel": {"batch": 8},
    "tk": {"batch": 8},
    "neural_model1": {"batch": 8, "negatives_each": 2, "vector": 16, "hidden": (16, 8)},
}
PAIRWISE = ("cross_encoder", "tk", "neural_model1")  # their networks read pairs


def imported_dense(setting: Setting) -> Checkpoint:
    """Return MiniLM as it was published, with probes of the material."""
    return replace(read_model(backbone_folder(setting), kind="dense"), probes=probes(setting))


def imported_cross_encoder(setting: Setting) -> Checkpoint:
    """Return a cross-encoder in transformers' form whose classifier has random weights."""
    made = read_model(cross_encoder_folder(setting), kind="cross_encoder")
    settings: CrossEncoderSettings = made.settings
    shorter = replace(
        settings,
        max_tokens=min(settings.max_tokens, setting.longest_pair),
        max_query_tokens=min(settings.max_query_tokens, QUERY_TOKENS),
    )
    return replace(made, settings=shorter, probes=probes(setting))


def cross_encoder_folder(setting: Setting) -> Path:
    """Return a BertForSequenceClassification over the backbone, as the peers read it."""
    from transformers import AutoModelForSequenceClassification

    from ranklet.training.imported.encoder import quiet
    from ranklet.training.learning.device import seeded

    folder, source = setting.work / "gpu.cross", backbone_folder(setting)
    if not folder.is_dir():
        loader: Any = AutoModelForSequenceClassification
        with seeded(0), quiet():
            network = loader.from_pretrained(str(source), num_labels=1)
            network.save_pretrained(str(folder))
        for file in source.iterdir():
            if "token" in file.name or file.name == "vocab.txt":
                (folder / file.name).write_bytes(file.read_bytes())
    return folder


def checkpoint_of(kind: str, setting: Setting, device: str) -> Checkpoint:
    """Return a checkpoint of a kind, whose training takes a few steps on a device.

    The probes are as few as the setting says.
    """
    size = setting.pair_probes if kind in PAIRWISE else setting.probes
    if kind == "dense":
        found = imported_dense(setting)
    else:
        changes = {"oracle": _oracle(setting, device)} if kind == "srm" else {}
        found = _trained(kind, setting, device, **changes)
    made = found.probes or probes(setting)
    return replace(found, probes=made.nearest(*size))


def probes(setting: Setting) -> Probes:
    """Return queries and documents of the material."""
    collection = texts(setting)
    queries = read_split(collection, HELD_OUT)
    return draw_probes(collection.documents(), queries).nearest(*setting.probes)


def _oracle(setting: Setting, device: str) -> Path:
    folder = setting.work / ORACLE
    if not folder.is_dir():
        settings = {"similarity": "dot", "special_tokens": False}
        _trained("colbert", setting, device, **settings).save(folder)
    return folder


def _trained(kind: str, setting: Setting, device: str, **changes: Any) -> Checkpoint:
    options = import_module(f"ranklet.training.rankers.{kind}.options").Options
    training = import_module(f"ranklet.training.rankers.{kind}.training")
    chosen = dict(TRAINED[kind]) | changes
    known = options.__dataclass_fields__
    if "backbone" in known and kind != "srm":
        chosen["backbone"] = backbone_folder(setting)
    if kind == "srm":
        chosen["distil_steps"] = setting.steps
    if kind == "cross_encoder":
        chosen["settings"] = CrossEncoderSettings(
            max_query_tokens=QUERY_TOKENS, max_tokens=setting.longest_pair
        )
    collection = texts(setting)
    learn = read_split(collection, LEARN, limit=LEARNED)
    dev = read_split(collection, HELD_OUT, limit=MEASURED)
    made: Checkpoint = training.train(
        collection, learn, dev, options(**chosen, steps=setting.steps, evaluations=1, device=device)
    )
    return made
