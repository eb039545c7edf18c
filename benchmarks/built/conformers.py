"""Conformer-Kernels, TK and TKL of a collection: trained alike, each kept."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.built.trained import (
    HELD_OUT,
    LEARN,
    LEARNING,
    TUNING_QUERIES,
    train_resumably,
    tuned_bm25,
    with_seed,
)
from benchmarks.harness.place import Place
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.runtime.rankers.tk import ARCHITECTURES as TK_FORMS
from ranklet.runtime.rankers.tk import TKSettings
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.conformer_kernel.options import AS_BM25, TermOptions
from ranklet.training.rankers.conformer_kernel.options import Options as ConformerKernelOptions
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.rankers.tk import training as tk
from ranklet.training.rankers.tk.options import Options as TKOptions
from ranklet.training.rankers.tk.sizes import TKNetwork

# By form: some 8, 1, 8 and 30 minutes, TKL's not yet measured. NDRM2 has four numbers to learn.
CONFORMER_STEPS = {"ndrm1": 700, "ndrm2": 10_000, "ndrm3": 700, "tk": 700, "tkl": 700}
CONFORMER_QUERIES = 10_000  # of train
EVALUATE_EVERY = 200  # steps of theirs
CONFORMER_SIZES = {"hidden": 128, "heads": 16, "groups": 16}  # half of the paper's: 3 × the steps
TK_TERMS = 500  # of a document; its attention makes matrices of n × n
CONFORMER = (*LEARNING, "training/rankers/conformer_kernel", "training/rankers/tk")


@dataclass(frozen=True)
class Conformers:
    """The Conformer-Kernels of a collection, TK and TKL: trained alike, each kept.

    All read the field of the BM25 that they are compared with.

    Attributes:
        place: where they are kept.
        collection: what they learn from.
        titles: whether titles are part of the text.
        steps: of training, by form.
        queries: of train, at most.
        tuning: held out, at most.
        hidden, heads, groups: sizes of the networks.
        batch: queries of a step.
        every: steps between evaluations.
        explicit_start: where exact matching begins, at BM25 or at ones.
        seed: of all draws.
    """

    place: Place
    collection: str
    titles: bool = False
    steps: tuple[tuple[str, int], ...] = tuple(CONFORMER_STEPS.items())
    queries: int = CONFORMER_QUERIES
    tuning: int = TUNING_QUERIES
    hidden: int = CONFORMER_SIZES["hidden"]
    heads: int = CONFORMER_SIZES["heads"]
    groups: int = CONFORMER_SIZES["groups"]
    batch: int = ConformerKernelOptions.batch
    every: int = EVALUATE_EVERY
    explicit_start: str = AS_BM25
    seed: int = 0

    @property
    def name(self) -> str:
        """What kept things of these trainings are called."""
        told = f"{self.queries}q.{self.hidden}-{self.heads}-{self.groups}.b{self.batch}"
        return f"{self.collection}{'' if self.titles else '.untitled'}.{told}"

    def checkpoint(self, form: str) -> Checkpoint:
        """Return the network of a form; one that was interrupted goes on."""
        steps = dict(self.steps)[form]
        own = "" if self.explicit_start == AS_BM25 else f".{self.explicit_start}"
        name = with_seed(f"{self.name}.{form}.{steps}{own}", self.seed)

        def build(path: Path) -> None:
            held_out = read_split(self._documents(), HELD_OUT, limit=self.tuning)
            options = replace(
                self._options(form),
                steps=steps,
                evaluate_every=self.every,
                batch=self.batch,
                vectors="word2vec",
                bm25=self.bm25(),
                titles=self.titles,
                seed=self.seed,
            )
            train: Any = tk.train if form in TK_FORMS else conformer_kernel.train
            state = self.place.state(name, CONFORMER)
            documents, learn = self._documents(), self._learn()
            train_resumably(train, documents, learn, held_out, options, path, state)

        return read_checkpoint(self.place.keep(name, build, CONFORMER))

    def bm25(self) -> BM25Settings:
        """Return the ranker that they are compared with, and that gives negatives."""
        return tuned_bm25(self.place, self.collection, titles=self.titles)

    def _options(self, form: str) -> TermOptions:
        field = self.bm25().field
        sizes: dict[str, Any] = {"hidden": self.hidden, "heads": self.heads}
        if form in TK_FORMS:
            terms = {"max_document_terms": TK_TERMS} if form == "tk" else {}
            return TKOptions(
                settings=TKSettings(field=field, architecture=form, **terms),
                network=TKNetwork(**sizes),
            )
        return ConformerKernelOptions(
            settings=ConformerKernelSettings(field=field, architecture=form, scorer="onnx"),
            network=Network(**sizes, groups=self.groups),
            explicit_start=self.explicit_start,
        )

    def _documents(self) -> Collection:
        return self.place.collection(self.collection)

    def _learn(self) -> list[JudgedQuery]:
        return read_split(self._documents(), LEARN, limit=self.queries)
