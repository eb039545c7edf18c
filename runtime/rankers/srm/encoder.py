"""Turn texts into light vectors, by a graph over the static vectors of their tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.dense.maxsim import Quantised, quantise_query
from ranklet.runtime.ground.errors import damaged
from ranklet.runtime.onnx.encoder import Encoder, open_encoder
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder, StoredTokens
from ranklet.runtime.rankers.colbert.settings import OUTPUT
from ranklet.runtime.rankers.colbert.tokens import Row
from ranklet.runtime.rankers.srm.codes import Codes, CodeStore, Decoder, SubEmbeddings, code_weights
from ranklet.runtime.rankers.srm.settings import (
    CODES,
    IDF,
    STATIC,
    TABLE,
    TABLE_SCALES,
    WEIGHTS_OUTPUT,
    SRMSettings,
)
from ranklet.runtime.storage.arrays import id_type

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer


class LightEncoder(ColBERTEncoder):
    """Encodes queries and documents by a graph that reads rows of the table of static vectors.

    Args:
        settings: the ranker's settings.
        encoder: the session with its tokenizer.
        table: the table of the sub-embeddings.
        digest: the digest of the table's files.
        idf: the weight of each token, (vocabulary,) float32; None if all have 1.
    """

    settings: SRMSettings

    def __init__(
        self,
        settings: SRMSettings,
        encoder: Encoder,
        table: SubEmbeddings,
        digest: str = "",
        idf: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(settings, encoder)
        self.table, self._digest, self.idf = table, digest, idf

    @classmethod
    def open(
        cls,
        bundle: "BundleFiles",
        name: str,
        tokenizer: "Tokenizer | None" = None,
        *,
        many: bool = False,
    ) -> "LightEncoder":
        """Open the encoder of a bundle's ranker; see `open_encoder`.

        Without a collection every token has the IDF 1.

        Raises:
            BundleError: a file is missing, or of another type or shape.
        """
        settings: SRMSettings = bundle.settings(name)
        folder, idf = f"rankers/{name}/", None
        encoder = open_encoder(bundle, folder, OUTPUT, settings.dimension, tokenizer, many=many)
        table = SubEmbeddings.open(bundle, folder, settings)
        files = (bundle.manifest.files[folder + each] for each in (TABLE, TABLE_SCALES))
        digest = " ".join(each.sha256 for each in files)
        if settings.idf and bundle.manifest.documents:
            idf = bundle.array(folder + IDF, np.float32, (None,))
        return cls(settings, encoder, table, digest, idf)

    @property
    def provider(self) -> str:
        """The provider that an oracle runs on; empty without one, because then no network runs."""
        return "" if self.settings.static else super().provider

    @property
    def model_digest(self) -> str:
        """The sha256 of all files that vectors of documents are made by, and the settings."""
        return f"{super().model_digest} {self._digest} {self.settings}"

    def feeds(self, rows: Sequence[Row]) -> dict[str, NDArray[Any]]:
        """Return the static vectors of the tokens, and the inputs of a ColBERT.

        Raises:
            BundleError: a token has no row in the table.
        """
        inputs = super().feeds(rows)
        return {STATIC: self.table.rows(inputs["input_ids"]), **inputs}

    def encode_query(self, text: str) -> tuple[Quantised, bool]:
        """Return the vectors of a query, times the IDF of their tokens if the settings say so.

        Only the factors of the vectors change, so that products stay exact.

        Raises:
            BundleError: as `run`; or a token has no IDF.
        """
        rows, cut = self.layout.rows([text], "query")
        (vectors,) = self.run(rows, "query")
        query = quantise_query(vectors, self.settings.element)
        return Quantised(query.values, query.scales * self._idf_of(rows[0])), bool(cut)

    def token_weights(self, text: str) -> NDArray[np.float32]:
        """Return the IDF of the tokens of a query that get a vector, or ones, (tokens,) float32.

        Raises:
            BundleError: a token has no IDF.
        """
        (row,), _ = self.layout.rows([text], "query")
        return self._idf_of(row)

    def _idf_of(self, row: Row) -> NDArray[np.float32]:
        if self.idf is None:
            return np.ones(len(row.kept), np.float32)
        ids = np.array(row.ids, np.int64)[row.kept]
        if len(ids) and ids.max() >= len(self.idf):
            raise damaged(f"{IDF} has {len(self.idf):,} tokens, but there is a {ids.max()}")
        return self.idf[ids]

    def encode_documents(self, texts: Sequence[str]) -> StoredTokens:
        """Return documents as they are stored."""
        if self.settings.stored != CODES:
            return super().encode_documents(texts)
        offsets, codes, cut = self.codes(texts)
        return StoredTokens(CodeStore(offsets, codes, self.decoder), cut)

    @property
    def decoder(self) -> Decoder:
        """Makes vectors of codes."""
        return Decoder(self.settings, self.table)

    def codes(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], Codes, list[int]]:
        """Return offsets and codes of documents, and which ones were truncated."""
        rows, cut = self.layout.rows(texts, "document")
        kept = [np.array(row.ids, np.int64)[row.kept] for row in rows]
        ids = np.concatenate([np.empty(0, np.int64), *kept])
        self.table.check(ids)
        weights = self.sub_embedding_weights(rows)
        coded = code_weights(np.concatenate(weights) if weights else None, len(ids), self.settings)
        offsets = np.cumsum([0, *map(len, kept)]).astype(np.int64)
        return offsets, Codes(ids.astype(id_type(len(self.table))), coded), cut

    def sub_embedding_weights(self, rows: Sequence[Row]) -> list[NDArray[np.float32]]:
        """Return the weights of the sub-embeddings of each row's tokens that get a vector.

        They are (tokens, K) float32 each; there are none if they do not depend on the context.
        """
        if not self.settings.mixes:
            return []
        return self.outputs(rows, WEIGHTS_OUTPUT, self.settings.sub_embeddings)
