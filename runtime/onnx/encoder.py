"""Texts to vectors through an exported encoder."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.onnx.batches import length_batches
from ranklet.runtime.onnx.session import Runs, Session, run_each, will_run_on_gpu
from ranklet.runtime.text.analysis import encodable
from ranklet.runtime.text.limit import cut

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.runtime.storage.bundle_files import BundleFiles

# Files of an exported encoder, in rankers/NAME/.
VARIANTS = {"fp32": "model.onnx", "fp16": "model_fp16.onnx", "int8": "model_int8.onnx"}
TOKENIZER = "tokenizer.json"

TOKEN_BUDGET = 16_384  # padded tokens in one batch on a GPU


class Encoded(NamedTuple):
    """Vectors of some texts."""

    vectors: NDArray[np.float32]  # (texts, dimension)
    cut: list[int]  # places of the texts that were longer than the limit


def variant_file(bundle: "BundleFiles", folder: str) -> str:
    """Return the variant to run: fp16 on CUDA, int8 on a processor, else what is there.

    Raises:
        BundleError: there is no variant.
        InputError: the device is unknown, or cannot be had and the bundle was loaded strictly.
    """
    on_gpu = will_run_on_gpu(bundle.device, strict=bundle.strict)
    order = ("fp16", "fp32", "int8") if on_gpu else ("int8", "fp32", "fp16")
    found = [folder + VARIANTS[each] for each in order if bundle.has(folder + VARIANTS[each])]
    if not found:
        raise BundleError(f"the bundle has no model in {folder}; export it again")
    return found[0]


def open_session(bundle: "BundleFiles", folder: str, *, many: bool = False) -> Session:
    """Open an exported model of a bundle; see `variant_file` and, for `many`, `Session`."""
    name = variant_file(bundle, folder)
    return Session(bundle.file(name), name, device=bundle.device, strict=bundle.strict, many=many)


def open_encoder(
    bundle: "BundleFiles",
    folder: str,
    output: str,
    dimension: int,
    tokenizer: "Tokenizer | None" = None,
    *,
    many: bool = False,
) -> "Encoder":
    """Open an exported encoder of a bundle with its tokenizer; see `variant_file`.

    Args:
        bundle: with the encoder.
        folder: of its variants, and of its tokenizer where none is given.
        output: name of the graph's output.
        dimension: of the vectors.
        tokenizer: that it shares with others.
        many: it encodes many texts at a time, see `Session`.
    """
    digest = bundle.manifest.files[variant_file(bundle, folder)].sha256
    own = bundle.tokenizer(folder + TOKENIZER) if tokenizer is None else tokenizer
    return Encoder(open_session(bundle, folder, many=many), output, own, dimension, digest)


class TokenValues(NamedTuple):
    """A number for each token of some texts."""

    ids: list[list[int]]  # of each text
    values: list[NDArray[np.float32]]  # of each text, (its tokens,)
    cut: list[int]  # places of the texts that were longer than the limit


class Encoder:
    """An encoder: a session, its tokenizer and the limits.

    On a processor each text runs alone and unpadded: a quantised model's scales hang on the whole
    batch, so only then is a text's vector the same whatever runs beside it; and it costs no more
    (docs/LOG.md). On a GPU texts of like length run together.

    Args:
        session: a graph with the inputs input_ids, attention_mask, token_type_ids.
        output: name of the graph's output, (batch, dimension) float32.
        tokenizer: with the post-processing that adds [CLS] and [SEP]; its truncation is not used.
        dimension: of the vectors.
        digest: of the model's file, where it has one.
    """

    def __init__(
        self,
        session: Runs,
        output: str,
        tokenizer: "Tokenizer",
        dimension: int,
        digest: str = "",
    ) -> None:
        self.session, self._output, self.digest = session, output, digest
        self._tokenizer, self._dimension = tokenizer, dimension

    def encode(self, texts: Sequence[str], max_tokens: int, segment: int) -> Encoded:
        """Encode texts.

        Args:
            texts: any length; what is over the limit is cut at the end, [SEP] kept.
            max_tokens: [CLS] and [SEP] counted.
            segment: token_type_ids of every token.

        Raises:
            BundleError: the model gave a vector of another size, or one that is not finite.
        """
        ids, longer = self.token_ids(texts, max_tokens)
        vectors = np.empty((len(texts), self._dimension), np.float32)
        lengths = [len(each) for each in ids]
        batches = list(length_batches(lengths, rows_in_budget, together=self.session.on_gpu))
        inputs = (feeds([ids[at] for at in places], segment) for places in batches)
        results = run_each(self.session, self._output, inputs)
        for places, found in zip(batches, results, strict=True):
            if found.shape != (len(places), self._dimension) or not np.isfinite(found).all():
                raise BundleError(
                    f"the encoder gave {found.shape} {found.dtype}, finite wanted, of shape "
                    f"({len(places)}, {self._dimension}): the bundle is damaged"
                )
            vectors[places] = found
        return Encoded(vectors, longer)

    def encode_tokens(self, texts: Sequence[str], max_tokens: int, segment: int) -> TokenValues:
        """Return a number for each token, where the graph's output is (batch, tokens) float32.

        Each text runs alone: they are short, and few at a time. Arguments and errors as `encode`.
        """
        ids, longer = self.token_ids(texts, max_tokens)
        values = []
        for each in ids:
            found = self.session.run(self._output, feeds([each], segment))
            if found.shape != (1, len(each)) or not np.isfinite(found).all():
                raise BundleError(
                    f"the encoder gave {found.shape} {found.dtype}, finite wanted, of shape "
                    f"(1, {len(each)}): the bundle is damaged"
                )
            values.append(found[0])
        return TokenValues(ids, values, longer)

    def token_ids(self, texts: Sequence[str], max_tokens: int) -> tuple[list[list[int]], list[int]]:
        """Return each text's token ids, cut to the limit, and the places of those that were cut."""
        encoded = self._tokenizer.encode_batch([*map(encodable, texts)], add_special_tokens=True)
        longer = [at for at, each in enumerate(encoded) if len(each.ids) > max_tokens]
        return [cut(each.ids, max_tokens) for each in encoded], longer


def rows_in_budget(length: int) -> int:
    """Return how many rows of so many tokens are in one batch on a GPU."""
    return TOKEN_BUDGET // length


def feeds(ids: Sequence[list[int]], segment: int) -> dict[str, NDArray[np.int64]]:
    """Return input_ids, attention_mask and token_type_ids, (batch, tokens) int64, padded with 0."""
    longest = max(len(each) for each in ids)
    input_ids = np.zeros((len(ids), longest), np.int64)
    mask = np.zeros_like(input_ids)
    for row, each in enumerate(ids):
        input_ids[row, : len(each)] = each
        mask[row, : len(each)] = 1
    return {
        "input_ids": input_ids,
        "attention_mask": mask,
        "token_type_ids": np.full_like(input_ids, segment) * mask,
    }
