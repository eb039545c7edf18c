"""Turn queries and documents into one vector per token."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.protocol import Role
from ranklet.runtime.dense.maxsim import MaxSimStore, Quantised, TokenStore, quantise_query
from ranklet.runtime.ground.errors import damaged
from ranklet.runtime.onnx.batches import length_batches, rows_in_budget
from ranklet.runtime.onnx.encoder import Encoder, feeds, open_encoder
from ranklet.runtime.onnx.session import run_each
from ranklet.runtime.rankers.colbert.settings import OUTPUT, ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import Row, TokenLayout

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer


class TokenVectors(NamedTuple):
    """The vectors of some texts."""

    vectors: list[NDArray[np.float32]]  # of each text, (its tokens that get a vector, dimension)
    cut: list[int]  # indices of the texts that were truncated


class StoredTokens(NamedTuple):
    """Some documents as they are stored."""

    store: MaxSimStore
    cut: list[int]  # indices of the documents that were truncated


class TokenEncoder(ABC):
    """Encodes queries and documents as one vector per token.

    Args:
        settings: limits, markers, and how vectors are stored.
        tokenizer: the model's tokenizer.
    """

    def __init__(self, settings: ColBERTSettings, tokenizer: "Tokenizer") -> None:
        self.settings, self.tokenizer = settings, tokenizer
        self.layout = TokenLayout(settings, tokenizer)

    @property
    @abstractmethod
    def provider(self) -> str:
        """What the encoder of queries runs on; empty if it is not a network."""

    @property
    @abstractmethod
    def model_digest(self) -> str:
        """A text that changes whenever the files do that vectors of documents are made by."""

    @abstractmethod
    def run(self, rows: Sequence[Row], role: Role) -> list[NDArray[np.float32]]:
        """Return the vectors of each row's tokens that get one, (tokens, dimension) float32.

        Raises:
            BundleError: the model returned vectors of another size or one that is not finite.
        """

    def encode(self, texts: Sequence[str], role: Role) -> TokenVectors:
        """Return the vectors of texts in 32 bits; raises BundleError as `run`."""
        rows, cut = self.layout.rows(texts, role)
        return TokenVectors(self.run(rows, role), cut)

    def encode_query(self, text: str) -> tuple[Quantised, bool]:
        """Return the vectors of a query, and whether it was truncated."""
        (vectors,), cut = self.encode([text], "query")
        return quantise_query(vectors, self.settings.element), bool(cut)

    def encode_documents(self, texts: Sequence[str]) -> StoredTokens:
        """Return documents as they are stored."""
        return StoredTokens(*self.encode_stored(texts))

    def encode_stored(self, texts: Sequence[str]) -> tuple[TokenStore, list[int]]:
        """Return the vectors of documents as they are stored, and which ones were truncated."""
        rows, cut = self.layout.rows(texts, "document")
        vectors = self.run(rows, "document")
        return TokenStore.of(vectors, self.settings.element, self.settings.dimension), cut

    @property
    def digest(self) -> str:
        """A text that changes whenever the stored vectors of documents would."""
        settings = self.settings
        return " ".join(
            (
                self.model_digest, str(settings.max_document_tokens), settings.stored,
                repr(settings.document_prompt), repr(settings.document_marker), settings.skipped,
                str(settings.special_tokens),
            )
        )  # fmt: skip


class ColBERTEncoder(TokenEncoder):
    """Encodes queries and documents with one network.

    On a CPU each text runs alone and unpadded; see `Encoder`.

    Args:
        settings: limits, markers, and how vectors are stored.
        encoder: the session with its tokenizer.
    """

    def __init__(self, settings: ColBERTSettings, encoder: Encoder) -> None:
        super().__init__(settings, encoder.tokenizer)
        self.encoder = encoder

    @classmethod
    def open(
        cls,
        bundle: "BundleFiles",
        name: str,
        tokenizer: "Tokenizer | None" = None,
        *,
        many: bool = False,
    ) -> "ColBERTEncoder":
        """Open the encoder of a bundle's ranker; see `open_encoder`."""
        settings: ColBERTSettings = bundle.settings(name)
        folder, dimension = f"rankers/{name}/", settings.dimension
        return cls(settings, open_encoder(bundle, folder, OUTPUT, dimension, tokenizer, many=many))

    @property
    def provider(self) -> str:
        """The provider that the encoder runs on."""
        return self.encoder.provider

    @property
    def model_digest(self) -> str:
        """The sha256 of the model's files."""
        return self.encoder.digest

    def run(self, rows: Sequence[Row], role: Role) -> list[NDArray[np.float32]]:  # noqa: ARG002
        """Return the vectors of each row's tokens; queries and documents have the same network."""
        return self.outputs(rows, OUTPUT, self.settings.dimension)

    def feeds(self, rows: Sequence[Row]) -> dict[str, NDArray[Any]]:
        """Return the network's inputs for some rows."""
        return row_feeds(rows)

    def outputs(self, rows: Sequence[Row], name: str, size: int) -> list[NDArray[np.float32]]:
        """Return an output of the network for each row's tokens that get a vector.

        Args:
            rows: the rows of the texts.
            name: the output's name.
            size: how many numbers it has for a token.
        """
        session = self.encoder.session
        lengths = [len(row.ids) for row in rows]
        batches = list(length_batches(lengths, rows_in_budget, together=session.on_gpu))
        inputs = (self.feeds([rows[index] for index in batch]) for batch in batches)
        found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(rows)
        for batch, output in zip(batches, run_each(session, name, inputs), strict=True):
            longest = max(lengths[index] for index in batch)
            expected = (len(batch), longest, size)
            # An engine may pad texts; tokens after a text's own are not read.
            if output.ndim != 3 or output[:, :longest].shape != expected:
                raise damaged(
                    f"the encoder returned shape {output.shape}; expected {expected} values"
                )
            for own, index in zip(output, batch, strict=True):
                found[index] = own[rows[index].kept]
                if not np.isfinite(found[index]).all():
                    raise damaged("the encoder returned a vector that is not finite")
        return found


def row_feeds(rows: Sequence[Row]) -> dict[str, NDArray[Any]]:
    """Return input_ids, attention_mask and token_type_ids, (rows, tokens) int64, padded with 0."""
    made = feeds([row.ids for row in rows], 0)
    for mask, row in zip(made["attention_mask"], rows, strict=True):
        mask[row.attended :] = 0
    return made
