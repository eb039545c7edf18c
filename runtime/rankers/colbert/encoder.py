"""Turn queries and documents into one vector per token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.dense.maxsim import Quantised, TokenStore, pooled, quantise_query
from ranklet.runtime.errors import damaged
from ranklet.runtime.onnx.batches import length_batches
from ranklet.runtime.onnx.encoder import Encoder, feeds, open_encoder, rows_in_budget
from ranklet.runtime.onnx.session import run_each
from ranklet.runtime.rankers.colbert.settings import OUTPUT, ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import Role, Row, TokenLayout

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles


class TokenVectors(NamedTuple):
    """The vectors of some texts."""

    vectors: list[NDArray[np.float32]]  # of each text, (its tokens that get a vector, dimension)
    cut: list[int]  # indices of the texts that were truncated


class StoredTokens(NamedTuple):
    """The vectors of some documents as they are stored."""

    store: TokenStore
    cut: list[int]  # indices of the documents that were truncated


class ColBERTEncoder:
    """Encodes queries and documents with one network.

    On a CPU each text runs alone and unpadded; see `Encoder`.

    Args:
        settings: limits, markers, and how vectors are stored.
        encoder: the session with its tokenizer.
    """

    def __init__(self, settings: ColBERTSettings, encoder: Encoder) -> None:
        self.settings, self.encoder = settings, encoder
        self.layout = TokenLayout(settings, encoder.tokenizer)

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str, *, many: bool = False) -> "ColBERTEncoder":
        """Open the encoder of a bundle's ranker; see `Session` for `many`."""
        settings: ColBERTSettings = bundle.settings(name)
        folder, dimension = f"rankers/{name}/", settings.dimension
        return cls(settings, open_encoder(bundle, folder, OUTPUT, dimension, many=many))

    def encode(self, texts: Sequence[str], role: Role) -> TokenVectors:
        """Return the vectors of texts in 32 bits.

        Raises:
            BundleError: the model returned vectors of another size or one that is not finite.
        """
        rows, cut = self.layout.rows(texts, role)
        return TokenVectors(self._run(rows), cut)

    def encode_query(self, text: str) -> tuple[Quantised, bool]:
        """Return the vectors of a query, and whether it was truncated."""
        (vectors,), cut = self.encode([text], "query")
        return quantise_query(vectors, self.settings.element), bool(cut)

    def encode_documents(self, texts: Sequence[str]) -> StoredTokens:
        """Return the vectors of documents as they are stored."""
        rows, cut = self.layout.rows(texts, "document")
        vectors = self._run(rows)
        if self.settings.is_pooled:
            groups = map(self.layout.groups, rows)
            vectors = [pooled(own, group) for own, group in zip(vectors, groups, strict=True)]
        store = TokenStore.of(vectors, self.settings.element, self.settings.dimension)
        return StoredTokens(store, cut)

    def _run(self, rows: Sequence[Row]) -> list[NDArray[np.float32]]:
        session = self.encoder.session
        lengths = [len(row.ids) for row in rows]
        batches = list(length_batches(lengths, rows_in_budget, together=session.on_gpu))
        inputs = (row_feeds([rows[index] for index in batch]) for batch in batches)
        vectors: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(rows)
        for batch, output in zip(batches, run_each(session, OUTPUT, inputs), strict=True):
            longest = max(lengths[index] for index in batch)
            expected = (len(batch), longest, self.settings.dimension)
            # An engine may pad texts; tokens after a text's own are not read.
            if output.ndim != 3 or output[:, :longest].shape != expected:
                raise damaged(
                    f"the encoder returned shape {output.shape}; expected {expected} values"
                )
            for own, index in zip(output, batch, strict=True):
                vectors[index] = own[rows[index].kept]
                if not np.isfinite(vectors[index]).all():
                    raise damaged("the encoder returned a vector that is not finite")
        return vectors

    @property
    def digest(self) -> str:
        """A text that changes whenever the stored vectors of documents would."""
        settings = self.settings
        return " ".join(
            (
                self.encoder.digest, str(settings.max_document_tokens), settings.stored,
                repr(settings.document_prompt), repr(settings.document_marker), settings.skipped,
                str(settings.special_tokens),
            )
        )  # fmt: skip


def row_feeds(rows: Sequence[Row]) -> dict[str, NDArray[np.int64]]:
    """Return input_ids, attention_mask and token_type_ids, (rows, tokens) int64, padded with 0."""
    made = feeds([row.ids for row in rows], 0)
    for mask, row in zip(made["attention_mask"], rows, strict=True):
        mask[row.attended :] = 0
    return made
