"""Turn texts into light vectors, by the static table or by a network."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.protocol import Role
from ranklet.runtime.dense.maxsim import Quantised, quantise_query
from ranklet.runtime.errors import BundleError, damaged
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder, StoredTokens, TokenEncoder
from ranklet.runtime.rankers.colbert.tokens import Row
from ranklet.runtime.rankers.srm.codes import (
    Codes,
    CodeStore,
    Decoder,
    SubEmbeddings,
    coded_weights,
)
from ranklet.runtime.rankers.srm.modules import LightVectors, Matrices, light_vectors, matrix_shapes
from ranklet.runtime.rankers.srm.settings import (
    CODES,
    IDF,
    MODULES,
    TABLE,
    TABLE_SCALES,
    WEIGHTS_OUTPUT,
    SRMSettings,
)
from ranklet.runtime.storage.arrays import id_type
from ranklet.runtime.text.tokenizing import special_ids

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer


class StaticVectors:
    """The light vectors of a text without a network; immutable and shared by all threads.

    Args:
        settings: the ranker's settings.
        tokenizer: the model's tokenizer; neighbours do not read its special tokens.
        table: the table of the sub-embeddings.
        matrices: see `matrix_shapes`.
    """

    def __init__(
        self,
        settings: SRMSettings,
        tokenizer: "Tokenizer",
        table: SubEmbeddings,
        matrices: Matrices,
    ) -> None:
        self.settings, self.table, self.matrices = settings, table, matrices
        self._special = special_ids(tokenizer)

    def of(self, row: Row) -> LightVectors:
        """Return the vectors of the tokens of a row that get one.

        Raises:
            BundleError: a token has no row in the table, or a vector is not finite.
        """
        ids = np.array(row.ids, np.int64)
        attended = ~np.isin(ids, self._special)
        with np.errstate(over="ignore", invalid="ignore"):  # of damaged numbers, see below
            rows = self.table.rows(ids)
            vectors, weights = light_vectors(rows, attended, self.matrices, self.settings)
        if not np.isfinite(vectors).all():
            raise damaged("a token's vector is not finite")
        return LightVectors(vectors[row.kept], None if weights is None else weights[row.kept])


class LightEncoder(TokenEncoder):
    """Encodes queries and documents by static vectors or by a network, as the settings say.

    Args:
        settings: the ranker's settings.
        tokenizer: the model's tokenizer.
        static: makes static vectors; None if nothing has any.
        open_network: opens the network, once and when it is first needed.
        digest: the digest of the static part's files.
        idf: the weight of each token, (vocabulary,) float32; None if all have 1.
    """

    settings: SRMSettings

    def __init__(
        self,
        settings: SRMSettings,
        tokenizer: "Tokenizer",
        static: StaticVectors | None = None,
        open_network: Callable[[], ColBERTEncoder] | None = None,
        digest: str = "",
        idf: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__(settings, tokenizer)
        self._static, self._digest, self.idf = static, digest, idf
        self._open_network, self._lock = open_network, Lock()
        self._network: ColBERTEncoder | None = None

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str, *, many: bool = False) -> "LightEncoder":
        """Open the encoder of a bundle's ranker; see `open_encoder` for `many`.

        Without a collection every token has the IDF 1.

        Raises:
            BundleError: a file is missing, or of another type or shape.
        """
        settings: SRMSettings = bundle.settings(name)
        folder = f"rankers/{name}/"
        tokenizer = bundle.tokenizer(folder + TOKENIZER)
        static, digest = None, ""
        if settings.has_table:
            table = SubEmbeddings.open(bundle, folder, settings)
            shapes = matrix_shapes(settings) if settings.static_queries else {}
            files = {each: f"{folder}{MODULES}{each}.npy" for each in shapes}
            matrices: Matrices = {
                each: bundle.array(files[each], np.float32, shape) for each, shape in shapes.items()
            }
            static = StaticVectors(settings, tokenizer, table, matrices)
            names = [folder + TABLE, folder + TABLE_SCALES, *files.values()]
            digest = " ".join(bundle.manifest.files[each].sha256 for each in names)
        idf = None
        if settings.idf and bundle.manifest.documents:
            idf = bundle.array(folder + IDF, np.float32, (None,))

        def open_network() -> ColBERTEncoder:
            return ColBERTEncoder.open(bundle, name, tokenizer, many=many)

        made = cls(settings, tokenizer, static, open_network, digest, idf)
        if not settings.static_queries:
            made.network  # noqa: B018, because the first query needs it
        return made

    @property
    def network(self) -> ColBERTEncoder:
        """The network, opened when it is first needed."""
        with self._lock:
            if self._network is None:
                if self._open_network is None:
                    raise BundleError("the ranker has no network; export it again")
                self._network = self._open_network()
            return self._network

    @property
    def static(self) -> StaticVectors:
        """The static part."""
        if self._static is None:
            raise BundleError("the ranker has no table of static vectors; export it again")
        return self._static

    @property
    def provider(self) -> str:
        """The provider that queries are encoded on; empty if they need no network."""
        return "" if self.settings.static_queries else self.network.provider

    @property
    def model_digest(self) -> str:
        """The sha256 of all files that vectors of documents are made by, and the settings."""
        network = "" if self.settings.static_documents else self.network.model_digest
        return f"{network} {self._digest} {self.settings}"

    def run(self, rows: Sequence[Row], role: Role) -> list[NDArray[np.float32]]:
        """Return the vectors of each row's tokens that get one; see `TokenEncoder.run`."""
        static = {"query": self.settings.static_queries, "document": self.settings.static_documents}
        if static[role]:
            return [self.static.of(row).vectors for row in rows]
        return self.network.run(rows, role)

    def encode_query(self, text: str) -> tuple[Quantised, bool]:
        """Return the vectors of a query, times the IDF of their tokens if the settings say so.

        Only the factors of the vectors change, so that products stay exact.

        Raises:
            BundleError: as `run`; or a token has no IDF.
        """
        rows, cut = self.layout.rows([text], "query")
        (vectors,) = self.run(rows, "query")
        query = quantise_query(vectors, self.settings.element)
        return Quantised(query.values, query.scales * self._weights_of(rows[0])), bool(cut)

    def token_weights(self, text: str) -> NDArray[np.float32]:
        """Return the IDF of the tokens of a query that get a vector, or ones, (tokens,) float32.

        Raises:
            BundleError: a token has no IDF.
        """
        (row,), _ = self.layout.rows([text], "query")
        return self._weights_of(row)

    def _weights_of(self, row: Row) -> NDArray[np.float32]:
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
        return Decoder(self.settings, self.static.table)

    def codes(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], Codes, list[int]]:
        """Return offsets and codes of documents, and which ones were truncated."""
        rows, cut = self.layout.rows(texts, "document")
        kept = [np.array(row.ids, np.int64)[row.kept] for row in rows]
        kind = id_type(len(self.static.table))
        ids = np.concatenate([np.empty(0, np.int64), *kept])
        self.static.table.check(ids)
        coded = [
            coded_weights(weights, len(own), self.settings)
            for weights, own in zip(self._weights(rows), kept, strict=True)
        ]
        whole = np.concatenate([np.empty((0, self.settings.code_width), np.uint8), *coded])
        offsets = np.cumsum([0, *map(len, kept)]).astype(np.int64)
        return offsets, Codes(ids.astype(kind), whole), cut

    def sub_embedding_weights(
        self, texts: Sequence[str]
    ) -> tuple[list[Row], Sequence[NDArray[np.float32]] | None]:
        """Return the rows of documents, and the weights of their tokens' sub-embeddings.

        The weights are (tokens that get a vector, K) float32 for each document. They are None if
        they do not depend on the context, or if the network does not return them because vectors
        are stored.
        """
        rows, _ = self.layout.rows(texts, "document")
        settings = self.settings
        known = settings.documents == "light" and (
            settings.static_documents or settings.stored == CODES
        )
        if not settings.mixes or not known:
            return rows, None
        return rows, [own for own in self._weights(rows) if own is not None]

    def _weights(self, rows: Sequence[Row]) -> Sequence[NDArray[np.float32] | None]:
        """Return the weights of sub-embeddings of each row's tokens that get a vector."""
        settings = self.settings
        if not settings.code_width:
            return [None] * len(rows)
        if settings.static_documents:
            return [self.static.of(row).weights for row in rows]
        return self.network.outputs(rows, WEIGHTS_OUTPUT, settings.sub_embeddings)
