"""Pretrain an encoder by masked language modelling on a collection before training rankers.

Sources: Devlin et al. 2019 (BERT), §3.1, and target-corpus pretraining in Boytsov & Kolter, §4.1.
The latter adds next-sentence prediction, which is left out here because it was found not to help
(Liu et al. 2019, RoBERTa, §4.2).
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.ragged import packed, padded
from ranklet.corpus.indexing.wordpieces import padding_token, special_tokens
from ranklet.runtime.errors import InputError
from ranklet.runtime.text.chunks import piece_chunks
from ranklet.runtime.text.pairing import MASKS
from ranklet.runtime.text.ranked import ranked_text
from ranklet.runtime.text.tokenizing import encode, encode_batch
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import fit
from ranklet.training.learning.record import Progress
from ranklet.training.pretrained.backbone import Backbone, load_backbone
from ranklet.training.pretrained.options import PretrainingOptions
from ranklet.training.sampling.batches import batches
from ranklet.training.sampling.negatives import Numbers

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Share of pieces that are hidden; shares of these that become [MASK] and a random piece.
MASKED, AS_MASK, AS_OTHER = 0.15, 0.8, 0.1
HELD_OUT, HELD_OUT_TEXTS = 0.1, 200  # share and maximum of the texts that the weights are chosen on
HELD_OUT_PASSES = 4  # masked differently each time, so that even few short texts can be measured


class Masked(NamedTuple):
    """A batch."""

    input_ids: NDArray[np.int64]  # (texts, tokens), some of them replaced
    attention_mask: NDArray[np.int64]  # (texts, tokens)
    labels: NDArray[np.int64]  # (texts, tokens), the original pieces, −100 where none is hidden


class MaskedTexts:
    """A collection's texts, masked differently in each epoch.

    Raises:
        InputError: there is no text, or the tokenizer has no mask.
    """

    def __init__(
        self, texts: Sequence[str], tokenizer: "Tokenizer", options: PretrainingOptions
    ) -> None:
        masks = [tokenizer.token_to_id(name) for name in MASKS]
        mask = next((each for each in masks if each is not None), None)
        if mask is None:
            raise InputError(
                "the tokenizer has no token [MASK] or <mask>; give a masked language model"
            )
        self._mask, self._padding = mask, padding_token(tokenizer)
        self._special, self._size = special_tokens(tokenizer), tokenizer.get_vocab_size()
        self._options = options
        ends = encode(tokenizer, "", special=True).ids  # [CLS] [SEP]; some tokenizers have none
        half = (len(ends) + 1) // 2
        rows = [
            np.array([*ends[:half], *ids[begin:end], *ends[half:]], np.int64)
            for encoding in encode_batch(tokenizer, texts)
            if (ids := encoding.ids)
            for begin, end in piece_chunks(len(ids), options.max_tokens - 2, len(ids))
        ]
        if len(rows) < 2:
            raise InputError("pretraining needs at least two texts")
        order = np.random.default_rng(options.seed).permutation(len(rows))
        count = min(HELD_OUT_TEXTS, max(1, round(HELD_OUT * len(rows))))
        self._held_out, self._learned = order[:count], order[count:]
        self._offsets, self._ids = packed(rows)

    def batches(self, epoch: int) -> list[tuple[int, Numbers]]:
        """Return the batches of an epoch, each with the epoch and texts of similar length."""
        lengths = np.diff(self._offsets)[self._learned]
        cut = batches(lengths, self._options.batch, self._options.seed, epoch)
        return [(epoch, self._learned[rows]) for rows in cut]

    def held_out(self) -> list[tuple[int, Numbers]]:
        """Return batches of the held-out texts, which are masked identically every time."""
        size = self._options.batch
        held_out = self._held_out
        cut = [held_out[begin : begin + size] for begin in range(0, len(held_out), size)]
        return [(-number, rows) for number in range(1, HELD_OUT_PASSES + 1) for rows in cut]

    def masked(self, batch: tuple[int, Numbers]) -> Masked:
        """Return a batch with some pieces hidden, depending only on seed, epoch and texts."""
        epoch, rows = batch
        ids = padded(self._offsets, self._ids, rows, self._padding)
        present = np.arange(ids.shape[1]) < np.diff(self._offsets)[rows][:, None]
        rng = np.random.default_rng((self._options.seed, int(epoch < 0), abs(epoch), int(rows[0])))
        return mask_pieces(ids, present, self._special, self._mask, self._size, rng)


def mask_pieces(
    ids: NDArray[np.int64],
    present: NDArray[np.bool_],
    special: Sequence[int],
    mask: int,
    size: int,
    rng: np.random.Generator,
) -> Masked:
    """Hide 15 % of the pieces; 80 % of them become [MASK], 10 % a random piece, 10 % stay.

    Args:
        ids: piece ids, (texts, tokens).
        present: False at padding, (texts, tokens).
        special: ids that are never hidden.
        mask: the id of [MASK].
        size: size of the vocabulary.
        rng: the random generator.
    """
    chosen = (rng.random(ids.shape) < MASKED) & present & ~np.isin(ids, special)
    how = rng.random(ids.shape)
    shown = np.where(chosen & (how < AS_MASK), mask, ids)
    other = chosen & (how >= AS_MASK) & (how < AS_MASK + AS_OTHER)
    shown = np.where(other, rng.integers(0, size, ids.shape), shown)
    return Masked(shown, present.astype(np.int64), np.where(chosen, ids, -100))


class MaskedLM(nn.Module):
    """A BERT-like encoder and a head that predicts the hidden pieces from their embeddings."""

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        table = encoder.get_input_embeddings()
        self.dense = nn.Linear(encoder.config.hidden_size, table.embedding_dim)
        self.norm = nn.LayerNorm(table.embedding_dim)
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of the hidden pieces, or 0; arguments as in `Masked`."""
        output = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        hidden = labels != -100
        states = output.last_hidden_state[hidden]  # (hidden pieces, dimension)
        if not len(states):
            return output.last_hidden_state.sum() * 0.0  # type: ignore[no-any-return]
        vectors = self.norm(gelu(self.dense(states)))
        logits = vectors @ self.encoder.get_input_embeddings().weight.T + self.bias
        return cross_entropy(logits.float(), labels[hidden])


def pretrain(
    documents: Iterable[Document], options: PretrainingOptions
) -> tuple[Backbone, Progress]:
    """Train a backbone on documents, which are read once.

    The values of the progress are the negated cross-entropy of the held-out texts.

    Raises:
        InputError: there is too little text, or the encoder reads fewer tokens.
        TrainingError: see `fit`.
    """
    backbone = load_backbone(options.backbone, segments=False)
    backbone.check_length(options.max_tokens)
    texts = [ranked_text(document.title, document.text, options.titles) for document in documents]
    masked = MaskedTexts(texts, backbone.tokenizer, options)
    with seeded(options.seed):
        model = MaskedLM(backbone.model)

    def loss(batch: tuple[int, Numbers]) -> Tensor:
        device = model.bias.device
        arrays = (torch.from_numpy(array).to(device) for array in masked.masked(batch))
        cross_entropies: Tensor = model(*arrays)
        return cross_entropies

    def evaluate() -> float:
        return -float(np.mean([loss(batch).item() for batch in masked.held_out()]))

    progress = fit(
        model, masked.batches, loss, options, evaluate=evaluate,
        made_of={"backbone": backbone.source}, label="pretraining",
    )  # fmt: skip
    model.cpu()
    return backbone, progress
