"""Conformer-Kernel with query term independence: a score is a sum of impacts, computed beforehand.

Source: Mitra et al. 2020 (paper 002), §3. Query terms have plain embeddings, so that what a term
gives to a document hangs on no other term: `ranklet index` computes it, and retrieving runs no
network. Texts of the caller are scored by the network itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.explanation import Explanation, ReadSpans
from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES, ImpactIndex, Scored
from ranklet.runtime.onnx.encoder import open_session
from ranklet.runtime.pipeline.candidates import Candidates, numbers_of
from ranklet.runtime.pipeline.deadline import FIRST_SLICE
from ranklet.runtime.rankers.conformer_kernel.explicit_match import term_match
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import UNKNOWN, network_scores
from ranklet.runtime.rankers.protocol import AT_ONCE, QueryContext
from ranklet.runtime.storage.checks import check_integer, check_number, check_one_of, settings_from
from ranklet.runtime.text.strings import Strings

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles

MODELS = ("ndrm1", "ndrm2", "ndrm3", "tk")
FIELDS = ("words", "lemmas")
SCORERS = ("impacts", "onnx")

# The files of the kind, in rankers/NAME/, beside the network's variants and the impact index.
TOKENS = "tokens"  # spellings of the network's terms; term i has the row 2 + i
ROWS = "rows.npy"  # the network's row of each word form, 1 where it knows none, (terms,) int32
IDF = "idf.npy"  # of each word form, (terms,) float32
FLOORS = "floors.npy"  # what latent scores of each word form are counted from, (terms,) float32


@dataclass(frozen=True)
class ConformerKernelSettings:
    """What a Conformer-Kernel ranker is made of.

    Attributes:
        form: ndrm1, latent matching; ndrm2, explicit matching (paper 002, eq. 4); ndrm3, both
            (eq. 3); tk, a transformer that reads the query's terms together and so only rescores.
        field: words or lemmas.
        scorer: of stored documents: impacts, or onnx, the network itself.
        max_query_terms: longer queries are cut (paper 002: 20).
        max_document_terms: longer documents are cut (paper 002: 4,000).
        latent_weight: w1 of eq. 3 over the standard deviation of BatchNorm.
        explicit_weight: w2 likewise.
        tf_mean, length_mean: E of eq. 4's BatchScale.
        length_weight, length_bias: w and b of eq. 4.
        terms: impacts kept a document, its largest.
        candidates: terms a document that impacts are computed for: its own, then likely ones.
        floor: quantile of a term's latent scores that its impacts are counted from.
        impacts: how they are stored: uint8, float16 or float32.
        overlap: share of the network's 10 best that the impacts find, as measured at build.
        truncated: documents of the collection that were longer than the limit.
    """

    form: str = "ndrm3"
    field: str = "words"
    scorer: str = "impacts"
    max_query_terms: int = 20
    max_document_terms: int = 4000
    latent_weight: float = 1.0
    explicit_weight: float = 1.0
    tf_mean: float = 1.0
    length_mean: float = 1.0
    length_weight: float = 1.0
    length_bias: float = 1.0
    terms: int = 300
    candidates: int = 600
    floor: float = 0.25
    impacts: str = "uint8"
    overlap: float = 1.0
    truncated: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_one_of("form", self.form, MODELS)
        check_one_of("field", self.field, FIELDS)
        check_one_of("scorer", self.scorer, SCORERS)
        check_one_of("impacts", self.impacts, tuple(IMPACT_TYPES))
        check_integer("max_query_terms", self.max_query_terms, 1, 8192)
        check_integer("max_document_terms", self.max_document_terms, 1, 1 << 20)
        check_integer("terms", self.terms, 1, 1 << 24)
        check_integer("candidates", self.candidates, 1, 1 << 24)
        check_integer("truncated", self.truncated, 0, 1 << 32)
        for name in ("latent_weight", "explicit_weight", "length_weight", "length_bias"):
            check_number(name, getattr(self, name), -1e6, 1e6)
        for name in ("tf_mean", "length_mean"):
            check_number(name, getattr(self, name), 0, 1e9)
        check_number("floor", self.floor, 0, 1)
        check_number("overlap", self.overlap, 0, 1)
        if self.form == "tk" and self.scorer != "onnx":
            raise InputError("the form tk has no impacts; its scorer must be onnx")

    @property
    def latent(self) -> bool:
        """True if and only if there is a network."""
        return self.form != "ndrm2"

    @property
    def explicit(self) -> bool:
        """True if and only if there is explicit matching."""
        return self.form in ("ndrm2", "ndrm3")

    def matches(self, tf: Any, length: Any, idf_of: Any) -> NDArray[np.float32]:
        """Return w2 · eq. 4, of shapes that fit together."""
        found = term_match(
            tf,
            length,
            idf_of,
            tf_mean=self.tf_mean,
            length_mean=self.length_mean,
            weight=self.length_weight,
            bias=self.length_bias,
        )
        return np.asarray(found * np.float32(self.explicit_weight))

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], where: str) -> "ConformerKernelSettings":
        """Read settings; BundleError names `where`."""
        return settings_from(cls, raw, where)


class ConformerKernel:
    """Σ over query terms of what the term gives to a document, above the term's floor.

    Floors are the same for all documents, so no ranking by the model changes by them; impacts
    below are left out.

    Args:
        settings: of the model.
        matching: the model.
        index: the impacts; None for the form tk.
        bundle: that it is of, to be verified with it.
        name: of the ranker there.
    """

    def __init__(
        self,
        settings: ConformerKernelSettings,
        matching: TermMatching,
        index: ImpactIndex | None,
        bundle: "BundleFiles | None" = None,
        name: str = "",
    ) -> None:
        self.settings, self.matching, self.index = settings, matching, index
        self._bundle, self._name = bundle, name
        # A network over each pair takes its time, whether stored documents meet it or not.
        self.text_slice_size = FIRST_SLICE if settings.latent else AT_ONCE
        self.slice_size = self.text_slice_size if settings.scorer == "onnx" else AT_ONCE

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "ConformerKernel":
        """Open the ranker `name` of a bundle; no network is opened yet."""
        bundle.need_collection()
        settings = ConformerKernelSettings.from_json(
            bundle.manifest.rankers[name].settings, f"rankers.{name}"
        )
        folder, terms = f"rankers/{name}/", bundle.analyzer.size(settings.field)
        matching = TermMatching(
            settings,
            bundle.array(folder + ROWS, np.int32, (terms,)),
            bundle.array(folder + IDF, np.float32, (terms,)),
            bundle.array(folder + FLOORS, np.float32, (terms,)),
            lambda: open_session(bundle, folder, many=True),
            bundle.manifest.documents,
            name,
        )
        has_index = settings.form != "tk"
        index = ImpactIndex.open(bundle, folder, terms) if has_index else None
        return cls(settings, matching, index, bundle, name)

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on; numpy where none has run."""
        return self.matching.provider

    def retrieve(self, query: QueryContext, k: int) -> Scored:
        """Return the k best documents of the collection, by their impacts.

        Raises:
            InputError: the form is tk.
        """
        if self.index is None:
            raise InputError(
                "a ranker of the form tk rescores candidates and cannot retrieve; begin the "
                "pipeline with a ranker that does, such as BM25"
            )
        terms, counts = self._known(query)
        query.listed.add(self._name)
        return self.index.retrieve(terms, counts, k)

    def score(self, query: QueryContext, candidates: Candidates) -> NDArray[np.float32]:
        """Return the score of each candidate, (n,) float32."""
        query.listed.discard(self._name)
        if self.index is not None and self._by_impacts(query, candidates):
            terms, counts = self._known(query)
            impacts = self.index.matrix(terms, numbers_of(candidates))
            return np.asarray(counts.astype(np.float64) @ impacts, np.float32)
        if self.settings.form == "tk":
            self.matching.tell_cut(query, candidates)
            one: NDArray[np.float32] = self.matching.network(
                self.matching.asked(query), candidates
            )[0]
            return one
        terms, counts = self._terms(query)
        latent, explicit = self.matching.parts(query, terms, candidates)
        return np.asarray(counts.astype(np.float64) @ (latent + explicit), np.float32)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / the number of query terms."""
        return 1 / max(1, len(self.matching.asked(query)))

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by query term, its exact matches told apart from what lies near it."""
        label = f"{self.settings.form} over {self.settings.field}"
        if self.settings.form == "tk":
            return Explanation(label, float(self.score(query, candidate)[0]))
        terms, counts = self._terms(query)
        if self.index is not None and self._by_impacts(query, candidate):
            whole = self.index.matrix(terms, numbers_of(candidate))[:, 0]
            explicit = whole
            if self.settings.latent:
                exact_matches = self.matching.explicit(terms, candidate)[:, 0]
                explicit = np.where(whole > 0, exact_matches, np.float32(0))
            latent = whole - explicit
        else:
            latent, explicit = (each[:, 0] for each in self.matching.parts(query, terms, candidate))
        parts = []
        for term, count, near, exact in zip(terms.tolist(), counts, latent, explicit, strict=True):
            name = query.analysis.name(term, self.settings.field)
            token, inner = (self.settings.field, name), []
            if exact:
                value = float(count * exact)
                inner.append(Explanation(f"{name}, as it stands", value, source=token))
            if near:
                inner.append(Explanation(f"{name}, and what is near", float(count * near)))
            if inner:
                parts.append(replace(Explanation.total(name, inner), query_token=token))
        reading = ReadSpans(self.settings.field, ((0, self.settings.max_document_terms),))
        return replace(Explanation.total(label, parts), read=reading)

    def verify(self) -> None:
        """Check every number, and run the network once; BundleError names the first fault."""
        what, model = f"{self.settings.form} over {self.settings.field}", self.matching
        if self.index is not None:
            self.index.verify(what)
        for values, told in ((model.idf_of, IDF), (model.floors, FLOORS)):
            if not np.isfinite(values).all():
                raise BundleError(f"{what}: {told} holds what is no number")
        if (model.idf_of < 0).any() or (model.rows < UNKNOWN).any():
            raise BundleError(f"{what}: an idf is below 0, or a row below {UNKNOWN}")
        if self.settings.latent:
            last = int(model.rows.max(initial=UNKNOWN))  # one past the embeddings cannot run
            rows = np.array([UNKNOWN, last], np.int64)
            network_scores(model.session, rows, Gathered(rows, np.array([2])))

    def _by_impacts(self, query: QueryContext, candidates: Candidates) -> bool:
        """Tell whether the scores of these are sums of impacts, and not the network's."""
        listed = self.settings.scorer == "impacts" or self._name in query.listed
        return candidates.stored is not None and listed

    def _terms(self, query: QueryContext) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the query's different terms, and how often each stands in it."""
        terms, counts = np.unique(self.matching.asked(query), return_counts=True)
        return terms, counts.astype(np.float32)

    def _known(self, query: QueryContext) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        terms, counts = self._terms(query)
        known = terms < len(self.matching.rows)
        return terms[known], counts[known]


def spellings(bundle: "BundleFiles", name: str) -> list[str]:
    """Return the spellings of the terms that the network of a ranker knows."""
    return list(bundle.strings(f"rankers/{name}/{TOKENS}", Strings))


RANKER = ConformerKernel
SETTINGS = ConformerKernelSettings
