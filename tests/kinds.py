"""A tiny ranker of every kind: trained, exported and indexed once per test run.

`ROWS` has a row per kind. A new kind adds its own, and the tests in
tests/runtime/rankers/test_rankers.py, which hold for every kind, run for it.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from unittest.mock import patch

from tests.models import with_long_embeddings
from tests.once import alone_at, once

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.index import index_bundle
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.export.proof import variants
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.protocol import Ranker
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.rankers.tk.options import TKNetwork

VARIANTS = ("fp32", "fp16", "int8")
LOOSE = ExportOptions(variants=VARIANTS, max_ndcg_loss=1.0, prune=40)
FP32 = ExportOptions(variants=("fp32",), max_ndcg_loss=1.0)  # where variants are not the subject
TERM_SIZES: dict[str, Any] = {"hidden": 16, "heads": 4, "layers": 1, "kernels": 6, "dropout": 0.0}
CONFORMER_SIZES = {**TERM_SIZES, "groups": 4, "width": 3, "window": 6, "stride": 3}
TKL_SIZES = {**TERM_SIZES, "chunk": 8, "overlap": 2, "window": 6, "stride": 2, "regions": 2}
SHORT_TEXTS = {"batch": 8, "max_query_tokens": 12, "max_document_tokens": 16}
TERM_TRAINING = {
    "learning_rate": 0.01, "epochs": 4, "device": "cpu", "batch": 8, "depth": 20, "pool": 10,
    "least": 1,
}  # fmt: skip


@dataclass(frozen=True)
class TinyData:
    """What rankers are trained on.

    Attributes:
        collection: 48 documents; splits train and dev.
        bert: a backbone of 2 layers and 32 dimensions.
    """

    collection: Collection
    bert: Path


@dataclass(frozen=True)
class Row:
    """How the tests make rankers of a kind.

    Attributes:
        training: options with which it takes a second or two.
        rankers: those in the kind's bundle, which has a BM25, too: name → settings that differ
            from the kind's.
        backbone: the option that names the tiny backbone, if it has one.
        long: whether the backbone has long word embeddings; see `with_long_embeddings`.
        oracle: the kind and the settings of the checkpoint that the option of this name takes.
        probes: queries and documents that are left of the checkpoint's, relevant ones first.
        options: how they are exported.
    """

    training: Mapping[str, Any]
    rankers: Mapping[str, Mapping[str, Any]]
    backbone: str = ""
    long: bool = False
    oracle: tuple[str, Mapping[str, Any]] | None = None
    probes: tuple[int, int] | None = None
    options: ExportOptions = LOOSE


ROWS: dict[str, Row] = {
    "bm25": Row({}, {"bm25": {}}),
    "model1": Row({}, {"model1": {}}),
    "neural_model1": Row(
        {
            "epochs": 4, "device": "cpu", "batch": 4, "vector": 8, "hidden": (8, 4),
            "embeddings": "random",
        },
        {"neural": {}},
        backbone="tokenizer",
    ),
    "dense": Row(
        {
            "learning_rate": 1e-3, "epochs": 3, "device": "cpu", "similarity": "dot",
            "segments": "distinct", **SHORT_TEXTS,
        },
        {"dense": {}},
        backbone="backbone",
    ),
    "epic": Row(
        {"learning_rate": 3e-4, "epochs": 10, "device": "cpu", **SHORT_TEXTS}, {"epic": {}},
        backbone="backbone",
        long=True,
    ),
    "splade": Row(
        {"learning_rate": 1e-3, "epochs": 4, "device": "cpu", **SHORT_TEXTS},
        {queries: {"queries": queries} for queries in ("network", "idf", "learned")},
        backbone="backbone",
    ),
    "colbert": Row(
        {"learning_rate": 1e-3, "epochs": 3, "device": "cpu", "dimension": 16, **SHORT_TEXTS},
        {
            "colbert": {},
            "expanded": {"expansion": "unattended", "stored": "int16"},
            "dot": {"special_tokens": False, "similarity": "dot"},
        },
        backbone="backbone",
    ),
    "srm": Row(
        {
            "learning_rate": 1e-3, "steps": 2, "device": "cpu", "sub_embeddings": 3,
            "distil_steps": 8, "distil_batch": 16, "distil_tokens": 8, **SHORT_TEXTS,
        },
        {
            "light": {},
            "static": {"context": "neighbours", "similarity": "cosine"},
            "single_codes": {"sub_embeddings": 1, "window": 0, "stored": "codes"},
            "mixed_codes": {"window": 0, "stored": "codes"},
            "static_codes": {
                "window": 0, "stored": "codes", "context": "neighbours", "similarity": "cosine",
            },
            "top1_codes": {
                "window": 0, "stored": "codes", "context": "neighbours", "mixing": "top1",
            },
            "idf": {"mixing": "average", "window": 0, "stored": "int16", "idf": True},
        },
        oracle=("colbert", {"similarity": "dot", "special_tokens": False}),
        probes=(6, 16),
    ),
    "cross_encoder": Row(
        {
            "learning_rate": 1e-3, "epochs": 2, "accumulation": 1, "device": "cpu", "batch": 4,
            "negatives_each": 3, "evaluate_every": 1000,
            "settings": CrossEncoderSettings(max_query_tokens=8, max_tokens=32),
        },
        {"cross": {"head": "model1", "marking": "pre_doc"}},
        backbone="backbone",
        probes=(6, 12),
    ),
    "conformer_kernel": Row(
        {**TERM_TRAINING, "network": Network(**CONFORMER_SIZES)},
        {name: {"architecture": name} for name in ("ndrm1", "ndrm2", "ndrm3")},
        probes=(5, 16),
    ),
    "tk": Row(
        {**TERM_TRAINING, "network": TKNetwork(**TERM_SIZES)},
        {"tk": {}, "tkl": {"architecture": "tkl"}},
        probes=(5, 16),
    ),
}  # fmt: skip


@contextmanager
def usual_form() -> Iterator[None]:
    """Let no other form of int8 be tried, because tiny models have near ties, which int8 swaps."""
    with patch.object(variants, "FAITHFUL", 0.0):
        yield


def retrieved_by(ranker: str) -> list[dict[str, Any]]:
    """Return the pipeline in which a ranker retrieves all of the tiny collection."""
    return [{"stage": "retrieve", "ranker": ranker, "k": 48}]


def reranked_by(ranker: str) -> list[dict[str, Any]]:
    """Return the pipeline in which a ranker scores what BM25 retrieves."""
    return [
        {"stage": "retrieve", "ranker": "bm25", "k": 20}, {"stage": "rescore", "ranker": ranker}
    ]  # fmt: skip


R = TypeVar("R", bound=Ranker)


def opened(path: Path, name: str, ranker_class: type[R]) -> R:
    """Return a ranker of a bundle, which must be of this class."""
    ranker = open_ranker(BundleFiles(path, device="cpu"), name)
    assert isinstance(ranker, ranker_class)
    return ranker


def tiny_options(kind: str, **changes: Any) -> Any:
    """Return the options of the kind's row, changed."""
    options = import_module(f"ranklet.training.rankers.{kind}.options").Options
    # In float32, because some processors would train in bfloat16 and reach other weights.
    full = {"mixed_precision": False} if hasattr(options, "mixed_precision") else {}
    return options(**{**full, **ROWS[kind].training, **changes})


def train(
    kind: str,
    data: TinyData,
    oracle: Path | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
    **settings: Any,
) -> Checkpoint:
    """Train a ranker of a kind as its row says, with other settings than the kind's.

    Args:
        kind: of the ranker.
        data: what it is trained on.
        oracle: the checkpoint that the option of this name takes, if the kind has it.
        options: by name, where they differ from the row's.
        settings: by name.
    """
    training = import_module(f"ranklet.training.rankers.{kind}.training")
    row = ROWS[kind]
    if "marking" in settings:  # the tiny networks read 64 tokens
        settings = {"mark_tokens": 24, **settings}
    folder = with_long_embeddings(data.bert) if row.long else data.bert
    backbone = {row.backbone: folder} if row.backbone else {}
    given = {**backbone, **({"oracle": oracle} if oracle else {}), **options}
    chosen = tiny_options(kind, **given)
    if hasattr(chosen, "settings"):  # what is learned depends on them
        chosen = replace(chosen, settings=replace(chosen.settings, **settings))
    if settings.get("architecture") == "tkl":
        chosen = replace(chosen, network=TKNetwork(**TKL_SIZES))
    learned = {name: value for name, value in settings.items() if hasattr(chosen, name)}
    chosen = replace(chosen, **learned)
    queries, dev = (read_split(data.collection, split) for split in ("train", "dev"))
    trained: Checkpoint = training.train(data.collection, queries, dev, chosen)
    if row.probes and trained.probes:
        trained = replace(trained, probes=trained.probes.nearest(*row.probes))
    return replace(trained, settings=replace(trained.settings, **settings))


class TinyRankers:
    """Tiny checkpoints and bundles; made when they are first needed, once for all processes.

    Args:
        data: what they are trained on.
        folder: where they are kept; all processes of a test run share it.
    """

    def __init__(self, data: TinyData, folder: Path) -> None:
        self.data, self._folder = data, folder
        self._checkpoints: dict[Path, Checkpoint] = {}
        self._bundles: dict[str, Bundle] = {}

    def checkpoint(self, kind: str, **settings: Any) -> Checkpoint:
        """Return a trained ranker with these settings; a test may not change its arrays."""
        path = self.checkpoint_folder(kind, **settings)
        if path not in self._checkpoints:
            self._checkpoints[path] = read_checkpoint(path)
        return self._checkpoints[path]

    def checkpoint_folder(self, kind: str, **settings: Any) -> Path:
        """Return the folder of a trained ranker with these settings; a test may not change it."""
        chosen = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
        path = self._folder / f"{kind}-{chosen}.checkpoint"
        if path not in self._checkpoints:
            oracle = self.oracle(kind)
            with alone_at(path) as needed:
                if needed:
                    train(kind, self.data, oracle, **settings).save(path)
        return path

    def oracle(self, kind: str) -> Path | None:
        """Return the checkpoint that the kind's option of this name takes, if it has one."""
        of = ROWS[kind].oracle
        return self.checkpoint_folder(of[0], **of[1]) if of else None

    def checkpoints(self, kind: str) -> dict[str, Checkpoint]:
        """Return what the kind's bundle is exported from, by the names of its rankers."""
        rankers = {"bm25": self.checkpoint("bm25")}
        for name, settings in ROWS[kind].rankers.items():
            rankers[name] = self.checkpoint(kind, **settings)
        return rankers

    def exported(self, kind: str) -> Path:
        """Return the kind's bundle without a collection; a test may not change it."""
        path = self._folder / f"{kind}.exported"
        with alone_at(path) as needed, usual_form():
            if needed:
                export_bundle(self.checkpoints(kind), path, ROWS[kind].options)
        return path

    def indexed(self, kind: str) -> Path:
        """Return the kind's bundle with the tiny collection; a test may not change it."""
        path = self._folder / f"{kind}.indexed"
        with alone_at(path) as needed:
            if needed:
                index_bundle(self.exported(kind), self.data.collection, path)
        return path

    def build(
        self, folder: Path, rankers: Mapping[str, Checkpoint], options: ExportOptions = FP32
    ) -> Path:
        """Return a bundle of these rankers and the tiny collection, in a folder of a test's own."""
        exported = Path(export_bundle(rankers, folder / "rankers", options))
        return Path(index_bundle(exported, self.data.collection, folder / "indexed"))

    def once(self, name: str, build: Callable[[Path], object]) -> Path:
        """Return a folder that the first of all processes fills; a test may not change it."""
        return once(self._folder / name, build)

    def bundle(self, kind: str) -> Bundle:
        """Return the kind's indexed bundle, loaded; immutable, so all tests may share it."""
        if kind not in self._bundles:
            self._bundles[kind] = Bundle(self.indexed(kind), device="cpu")
        return self._bundles[kind]
