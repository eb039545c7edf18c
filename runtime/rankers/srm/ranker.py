"""Light contextualisation: MaxSim over vectors that are made of static ones.

Source: Boualili 2022, "Deep learning for information retrieval", chapter 8. Weighting the tokens of
a query by their IDF is not part of the thesis. The weights come with the index, so in a bundle
without a collection every token has the IDF 1.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranklet.runtime.call.deadline import FIRST_SLICE
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.dense.maxsim import MaxSimStore
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.colbert.ranker import ColBERT
from ranklet.runtime.rankers.srm.codes import Codes, CodeStore
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.settings import (
    CODE_OFFSETS,
    CODE_TOKENS,
    CODE_WEIGHTS,
    CODES,
    IDF,
    SRMSettings,
)
from ranklet.runtime.storage.arrays import id_type

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles

_CHECKED = 1 << 20  # codes that are checked at a time


class LightRanker(ColBERT):
    """A ColBERT of light vectors.

    Args:
        encoder: encodes queries, and the caller's texts.
        bundle: holds the documents' vectors or codes.
        name: name of the ranker in the bundle.
    """

    encoder: LightEncoder
    settings: SRMSettings

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "LightRanker":
        """Open the ranker `name` of a bundle; arrays are mapped."""
        return cls(LightEncoder.open(bundle, name), bundle, name)

    def first_slice(self, *, texts: bool) -> int:
        """Return fewer candidates if each of their tokens has a vector of its own to decode."""
        decodes = self.settings.stored == CODES and self.settings.code_width > 1
        return FIRST_SLICE if decodes else super().first_slice(texts=texts)

    @property
    def store(self) -> MaxSimStore:
        """The documents."""
        return self.code_store if self.settings.stored == CODES else self.token_store

    @cached_property
    def code_store(self) -> CodeStore:
        """The mapped codes of the documents."""
        bundle, folder, width = self._bundle, self._folder, self.settings.code_width
        bundle.need_collection()
        decoder = self.encoder.decoder
        offsets = bundle.offsets(folder + CODE_OFFSETS, bundle.manifest.documents)
        count = int(offsets[-1])
        tokens = bundle.array(folder + CODE_TOKENS, id_type(len(decoder.table)), (count,))
        weights = np.empty((count, 0), np.uint8)
        if width:
            weights = bundle.array(folder + CODE_WEIGHTS, np.uint8, (count, width))
        return CodeStore(offsets, Codes(tokens, weights), decoder)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / sum of the tokens' weights, so that longer queries have no larger scores."""
        if self.encoder.idf is None:
            return super().scale(query)
        total = float(self.encoder.token_weights(query.text).sum())
        return 1 / total if total else 1.0

    def notes(self, text: str) -> Mapping[int, str]:
        """Return which sub-embedding weighs most in each token's vector, and its share."""
        rows, _ = self.encoder.layout.rows([text], "document")
        weights = self.encoder.sub_embedding_weights(rows)
        if not weights:
            return {}
        count = self.settings.sub_embeddings
        chosen = {
            place: (f"sub-embedding {own.argmax() + 1} of {count}", own.max() / own.sum())
            for place, own in zip(rows[0].kept, weights[0], strict=True)
        }
        if self.settings.mixing == "top1":
            return {place: which for place, (which, _) in chosen.items()}
        return {place: f"{which}, {share:.0%}" for place, (which, share) in chosen.items()}

    def verify(self) -> None:
        """Check every number and run the encoder; raise BundleError at a fault."""
        encoder, settings = self.encoder, self.settings
        vocabulary = 1 + max(encoder.tokenizer.get_vocab().values(), default=-1)
        encoder.table.verify(self._name, vocabulary)
        if encoder.idf is not None:
            if len(encoder.idf) < vocabulary:
                raise BundleError(
                    f"{self._name}: {IDF} has {len(encoder.idf):,} tokens, but the tokenizer has "
                    f"{vocabulary:,}"
                )
            if not (np.isfinite(encoder.idf) & (encoder.idf > 0)).all():
                raise BundleError(f"{self._name}: a number in {IDF} is not finite and above 0")
        if settings.stored == CODES:
            self._verify_codes()
        else:
            self.verify_vectors()
        encoder.encode_query("a")
        encoder.encode_documents(["a"])

    def _verify_codes(self) -> None:
        store = self.code_store
        for begin in range(0, len(store.codes.tokens), _CHECKED):
            codes = store.codes.at([(begin, begin + _CHECKED)])
            if codes.tokens.max() >= len(store.decoder.table):
                raise BundleError(f"{self._name}: a token in {CODE_TOKENS} is past the table")
            if self.settings.code_width == 1:
                store.decoder.check_chosen(codes.weights)


RANKER = LightRanker
SETTINGS = SRMSettings
