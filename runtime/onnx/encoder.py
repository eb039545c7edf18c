"""Turn texts into vectors by an exported encoder."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.onnx.batches import length_batches, rows_in_budget
from ranklet.runtime.onnx.session import Runs, Session, run_each, will_run_on_gpu
from ranklet.runtime.text.tokenizing import TextToken, text_tokens, token_ids

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.text.tokenizing import Tokenizer

# Files of an exported encoder, in rankers/NAME/.
VARIANTS = {
    "fp32": "model.onnx",
    "fp16": "model_fp16.onnx",
    "int8": "model_int8.onnx",
    "openvino": "model_openvino.xml",  # and its weights, see `variant_files`
}
WEIGHTS = ".bin"  # replaces .xml in the name of the weights of an OpenVINO model
TOKENIZER = "tokenizer.json"

# An output that some graphs have for explanations, the states of the last layer before pooling,
# (batch, tokens, hidden) float32. Layers after the pooling are already applied to them.
TOKEN_STATES = "token_states"  # noqa: S105


class Encoded(NamedTuple):
    """Vectors of some texts."""

    vectors: NDArray[np.float32]  # (texts, dimension)
    cut: list[int]  # indices of the texts that were truncated


def variant_file(bundle: "BundleFiles", folder: str) -> str:
    """Return the file of the variant to run.

    This is fp16 on CUDA if the bundle has it. On a CPU it is OpenVINO's if the package openvino is
    installed, and int8 otherwise.

    Raises:
        BundleError: there is no variant.
        InputError: the device is unknown, or not available while the bundle was loaded strictly.
    """
    if will_run_on_gpu(bundle.device, strict=bundle.strict):
        order = ["fp16", "fp32", "int8", "openvino"]
    elif find_spec("openvino"):
        order = ["openvino", "int8", "fp32", "fp16"]
    else:
        order = ["int8", "fp32", "fp16", "openvino"]
    files = [folder + VARIANTS[name] for name in order if bundle.has(folder + VARIANTS[name])]
    if not files:
        raise BundleError(f"the bundle has no model in {folder}; export it again")
    return files[0]


def variant_files(file: str) -> tuple[str, ...]:
    """Return all files of a variant by the one in `VARIANTS`.

    >>> variant_files("model_openvino.xml")
    ('model_openvino.xml', 'model_openvino.bin')
    >>> variant_files("model.onnx")
    ('model.onnx',)
    """
    stem, suffix = os.path.splitext(file)  # noqa: PTH122, because it is a name in a bundle
    return (file, stem + WEIGHTS) if suffix == ".xml" else (file,)


def open_session(bundle: "BundleFiles", folder: str, *, many: bool = False) -> Runs:
    """Open an exported model of a bundle; see `variant_file` and, for `many`, `Session`."""
    name, *weights = variant_files(variant_file(bundle, folder))

    def opened() -> Runs:
        if weights:
            from ranklet.runtime.onnx.openvino_session import OpenVINOSession

            return OpenVINOSession(bundle.file(name), bundle.file(weights[0]), name, many=many)
        model, device = bundle.file(name), bundle.device
        return Session(model, name, device=device, strict=bundle.strict, many=many)

    return bundle.kept((name, many), opened)


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
        bundle: the bundle with the encoder.
        folder: the folder of its variants, and of its tokenizer if none is passed.
        output: name of the graph's output.
        dimension: dimension of the vectors.
        tokenizer: a tokenizer that it shares with other rankers.
        many: whether it encodes many texts at a time, see `Session`.
    """
    files = variant_files(variant_file(bundle, folder))
    digest = "".join(bundle.manifest.files[file].sha256 for file in files if bundle.has(file))
    own = bundle.tokenizer(folder + TOKENIZER) if tokenizer is None else tokenizer
    return Encoder(open_session(bundle, folder, many=many), output, own, dimension, digest)


class TokenValues(NamedTuple):
    """One number per token of some texts."""

    ids: list[list[int]]  # token ids of each text
    values: list[NDArray[np.float32]]  # values of each text, (its tokens,)
    cut: list[int]  # indices of the texts that were truncated


class Encoder:
    """An encoder, which is a session with its tokenizer.

    On a CPU each text runs alone and unpadded, because the scales of a quantised model depend on
    the whole batch. Only so a text's vector is independent of other texts. This is not slower
    (docs/maintainers/log). On a GPU texts of similar length run together.

    Args:
        session: a graph with the inputs input_ids, attention_mask and token_type_ids.
        output: name of the graph's output, (batch, dimension) float32.
        tokenizer: adds [CLS] and [SEP] by post-processing; its truncation is not used.
        dimension: dimension of the vectors.
        digest: sha256 of the model's file, or of both of its files, if there are any.
    """

    def __init__(
        self, session: Runs, output: str, tokenizer: "Tokenizer", dimension: int, digest: str = ""
    ) -> None:
        self.session, self._output, self.digest = session, output, digest
        self.tokenizer, self._dimension = tokenizer, dimension

    @property
    def provider(self) -> str:
        """What the encoder runs on, a provider of onnxruntime or OpenVINO."""
        return self.session.provider

    def encode(self, texts: Sequence[str], max_tokens: int, segment: int) -> Encoded:
        """Encode texts.

        Args:
            texts: texts of any length.
            max_tokens: longer texts are truncated to this many tokens, with [CLS] and [SEP].
            segment: token_type_ids of every token.

        Raises:
            BundleError: the model returned a vector of another size or one that is not finite.
        """
        ids, longer = self.token_ids(texts, max_tokens)
        vectors = np.empty((len(texts), self._dimension), np.float32)
        lengths = [len(row) for row in ids]
        batches = list(length_batches(lengths, rows_in_budget, together=self.session.on_gpu))
        inputs = (feeds([ids[index] for index in batch], segment) for batch in batches)
        outputs = run_each(self.session, self._output, inputs)
        for batch, output in zip(batches, outputs, strict=True):
            _check_output(output, (len(batch), self._dimension))
            vectors[batch] = output
        return Encoded(vectors, longer)

    def encode_tokens(self, texts: Sequence[str], max_tokens: int, segment: int) -> TokenValues:
        """Return one number per token, from a graph whose output is (batch, tokens) float32.

        Each text runs alone, because such texts are short and few. Arguments and errors are those
        of `encode`.
        """
        ids, longer = self.token_ids(texts, max_tokens)
        values = []
        for row in ids:
            output = self.session.run(self._output, feeds([row], segment))
            _check_output(output, (1, len(row)))
            values.append(output[0])
        return TokenValues(ids, values, longer)

    def states(
        self, text: str, max_tokens: int, segment: int
    ) -> tuple[list[TextToken], NDArray[np.float32]]:
        """Return the tokens that are read of a text and their states, (tokens, hidden) float32.

        The text runs alone, as in `encode` on a CPU. Arguments and errors are those of `encode`.

        Raises:
            BundleError: also if the graph has no such output, see `has_states`.
        """
        tokens = text_tokens(self.tokenizer, text, max_tokens)
        output = self.session.run(TOKEN_STATES, feeds([[token.id for token in tokens]], segment))
        states = output[0, : len(tokens)] if output.ndim == 3 else output  # without padding
        _check_output(states, (len(tokens), max(self._dimension, states.shape[-1])))
        return tokens, states

    @property
    def has_states(self) -> bool:
        """Whether the graph returns the tokens' states, too."""
        return TOKEN_STATES in self.session.outputs

    def token_ids(self, texts: Sequence[str], max_tokens: int) -> tuple[list[list[int]], list[int]]:
        """Return what `token_ids` does with the tokenizer of this encoder."""
        return token_ids(self.tokenizer, texts, max_tokens)


def _check_output(output: NDArray[np.float32], shape: tuple[int, ...]) -> None:
    if output.shape != shape or not np.isfinite(output).all():
        raise damaged(
            f"the encoder returned shape {output.shape}; expected finite values of shape {shape}"
        )


def feeds(ids: Sequence[list[int]], segment: int) -> dict[str, NDArray[np.int64]]:
    """Return input_ids, attention_mask and token_type_ids, (batch, tokens) int64, padded with 0."""
    longest = max(len(row) for row in ids)
    input_ids = np.zeros((len(ids), longest), np.int64)
    mask = np.zeros_like(input_ids)
    for i, row in enumerate(ids):
        input_ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return {
        "input_ids": input_ids,
        "attention_mask": mask,
        "token_type_ids": np.full_like(input_ids, segment) * mask,
    }
