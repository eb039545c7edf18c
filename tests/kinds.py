"""A tiny ranker of every kind: trained, exported and indexed once per test run.

`ROWS` has a row per kind. A new kind adds its own, and the tests in
tests/runtime/rankers/test_rankers.py, which hold for every kind, run for it.
"""

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ranklet.export.bundles import export_bundle, index_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundle import Bundle
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.indexing.analysed import AnalysedCollection

VARIANTS = ("fp32", "fp16", "int8")
FP32 = ExportOptions(variants=("fp32",), max_ndcg_loss=1.0)  # where variants are not the subject
SIZES: dict[str, Any] = {
    "hidden": 16,
    "heads": 4,
    "layers": 1,
    "kernels": 6,
    "dropout": 0.0,
}  # TK's
CONFORMER_SIZES: dict[str, Any] = {**SIZES, "groups": 4, "width": 3, "window": 6, "stride": 3}


@dataclass(frozen=True)
class TinyData:
    """What rankers are trained on.

    Attributes:
        collection: 48 documents; splits train and dev.
        analysed: the same in lemmas, words and word pieces; the words of its queries are known.
        bert: a backbone of 2 layers and 32 dimensions.
    """

    collection: Collection
    analysed: AnalysedCollection
    bert: Path

    @cached_property
    def train(self) -> Sequence[JudgedQuery]:
        return read_split(self.collection, "train")

    @cached_property
    def dev(self) -> Sequence[JudgedQuery]:
        return read_split(self.collection, "dev")


@dataclass(frozen=True)
class Row:
    """How the tests make rankers of a kind.

    Attributes:
        train: trains one in a second or two, with settings that differ from the kind's.
        rankers: those in the kind's bundle, which has a BM25, too: name → such settings.
        options: how they are exported.
    """

    train: Callable[..., Checkpoint]
    rankers: Mapping[str, Mapping[str, Any]]
    options: ExportOptions = field(
        default=ExportOptions(variants=VARIANTS, max_ndcg_loss=1.0, prune=40)
    )


def bm25(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.training.rankers import bm25

    trained = bm25.train(data.analysed, data.train)
    return replace(trained, settings=replace(trained.settings, **settings))


def model1(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.training.rankers.model1 import training as model1

    trained = model1.train(data.analysed, data.train, data.dev)
    return replace(trained, settings=replace(trained.settings, **settings))


def neural_model1(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.training.rankers.neural_model1 import training as neural_model1
    from ranklet.training.rankers.neural_model1.pairs import PairOptions

    plan = replace(neural_model1.PLAN, epochs=4, device="cpu")
    trained = neural_model1.train(
        data.analysed, data.train, data.dev, plan=plan, data=PairOptions(batch=4), vector=8,
        hidden=(8, 4),
    )  # fmt: skip
    return replace(trained, settings=replace(trained.settings, **settings))


def repbert(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.training.learning.text_pairs import BatchOptions
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.rankers import repbert

    trained = repbert.train(
        data.collection, data.train, data.dev, backbone=load_backbone(data.bert),
        plan=replace(repbert.PLAN, learning_rate=1e-3, epochs=3, device="cpu"),
        data=BatchOptions(batch=8, max_query_tokens=12, max_document_tokens=16),
    )  # fmt: skip
    return replace(trained, settings=replace(trained.settings, **settings))


def epic(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.training.learning.text_pairs import BatchOptions
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.rankers.epic import training as epic

    short = BatchOptions(batch=8, negatives="bm25", max_query_tokens=12, max_document_tokens=16)
    trained = epic.train(
        data.collection, data.train, data.dev, backbone=load_backbone(data.bert), data=short,
        plan=replace(epic.PLAN, learning_rate=1e-3, epochs=10, device="cpu"),
    )  # fmt: skip
    return replace(trained, settings=replace(trained.settings, **settings))


def cross_encoder(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
    from ranklet.training.pretrained.backbone import load_backbone
    from ranklet.training.rankers.cross_encoder import training as cross_encoder
    from ranklet.training.rankers.cross_encoder.pairs import CrossOptions

    plan = replace(
        cross_encoder.PLAN, learning_rate=1e-3, epochs=2, accumulation=1, device="cpu",
        evaluate_every=1000,
    )  # fmt: skip
    trained = cross_encoder.train(
        data.analysed, data.train, data.dev, backbone=load_backbone(data.bert), plan=plan,
        settings=CrossEncoderSettings(**{"max_query_tokens": 8, "max_tokens": 32, **settings}),
        data=CrossOptions(batch=4, negatives_each=3),
    )  # fmt: skip
    assert trained.probes is not None
    return replace(trained, probes=trained.probes.first(6, 12))


def conformer_kernel(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
    from ranklet.training.rankers.conformer_kernel.pairs import PairOptions

    trained = conformer_kernel.train(
        data.analysed, data.train, data.dev, network=CONFORMER_SIZES, least=1,
        plan=replace(conformer_kernel.PLAN, learning_rate=0.01, epochs=4, device="cpu"),
        settings=replace(conformer_kernel.SETTINGS, **settings),
        data=PairOptions(batch=8, depth=20, pool=10),
    )  # fmt: skip
    assert trained.probes is not None
    return replace(trained, probes=trained.probes.nearest(5, 16))


def tk(data: TinyData, **settings: Any) -> Checkpoint:
    from ranklet.training.rankers.conformer_kernel.pairs import PairOptions
    from ranklet.training.rankers.tk import training as tk

    trained = tk.train(
        data.analysed, data.train, data.dev, network=SIZES, least=1,
        plan=replace(tk.PLAN, learning_rate=0.01, epochs=4, device="cpu"),
        settings=replace(tk.SETTINGS, **settings), data=PairOptions(batch=8, depth=20, pool=10),
    )  # fmt: skip
    assert trained.probes is not None
    return replace(trained, probes=trained.probes.nearest(5, 16))


ROWS: dict[str, Row] = {
    "bm25": Row(bm25, {"bm25": {}}),
    "model1": Row(model1, {"model1": {}}),
    "neural_model1": Row(neural_model1, {"neural": {}}),
    "repbert": Row(repbert, {"dense": {}}),
    "epic": Row(epic, {"epic": {}}),
    "cross_encoder": Row(cross_encoder, {"cross": {"head": "model1", "marking": "pre_doc"}}),
    "conformer_kernel": Row(
        conformer_kernel,
        {
            "ndrm1": {"architecture": "ndrm1"},
            "ndrm2": {"architecture": "ndrm2"},
            "ndrm3": {"architecture": "ndrm3"},
        },
    ),
    "tk": Row(tk, {"tk": {}}),
}


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
        chosen = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
        path = self._folder / f"{kind}-{chosen}.checkpoint"
        if path not in self._checkpoints:
            with self._alone_at(path) as needed:
                if needed:
                    ROWS[kind].train(self.data, **settings).save(path)
            self._checkpoints[path] = read_checkpoint(path)
        return self._checkpoints[path]

    def checkpoints(self, kind: str) -> dict[str, Checkpoint]:
        """Return what the kind's bundle is exported from, by the names of its rankers."""
        rankers = {"bm25": self.checkpoint("bm25")}
        for name, settings in ROWS[kind].rankers.items():
            rankers[name] = self.checkpoint(kind, **settings)
        return rankers

    def exported(self, kind: str) -> Path:
        """Return the kind's bundle without a collection; a test may not change it."""
        path = self._folder / f"{kind}.exported"
        with self._alone_at(path) as needed:
            if needed:
                export_bundle(self.checkpoints(kind), path, ROWS[kind].options)
        return path

    def indexed(self, kind: str) -> Path:
        """Return the kind's bundle with the tiny collection; a test may not change it."""
        path = self._folder / f"{kind}.indexed"
        with self._alone_at(path) as needed:
            if needed:
                index_bundle(self.exported(kind), self.data.collection, path)
        return path

    def build(
        self, folder: Path, rankers: Mapping[str, Checkpoint], options: ExportOptions = FP32
    ) -> Path:
        """Return a bundle of these rankers and the tiny collection, in a folder of a test's own."""
        exported = export_bundle(rankers, folder / "rankers", options)
        return index_bundle(exported, self.data.collection, folder / "indexed")

    def bundle(self, kind: str) -> Bundle:
        """Return the kind's indexed bundle, loaded; immutable, so all tests may share it."""
        if kind not in self._bundles:
            self._bundles[kind] = Bundle(self.indexed(kind), device="cpu")
        return self._bundles[kind]

    @contextmanager
    def _alone_at(self, path: Path) -> Iterator[bool]:
        """Tell whether nobody has made a path yet; nobody else makes it meanwhile."""
        if path.exists():  # it was written whole: what writes it renames it into place
            yield False
            return
        with path.with_name(f"{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield not path.exists()
