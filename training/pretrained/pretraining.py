"""Pretrain an encoder by masked language modelling on a collection before training rankers.

Sources: Devlin et al. 2019 (BERT), §3.1, and target-corpus pretraining in paper 000, §4.1. The
latter adds next-sentence prediction, which is left out here because it was found not to help (Liu
et al. 2019, RoBERTa, §4.2).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu

from ranklet.runtime.errors import InputError
from ranklet.runtime.text.chunks import piece_chunks
from ranklet.training.indexing.wordpieces import padding_token, special_tokens
from ranklet.training.learning.batches import batches
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import Progress, fit
from ranklet.training.learning.negatives import Numbers
from ranklet.training.learning.plan import Plan
from ranklet.training.learning.ragged import packed, padded
from ranklet.training.pretrained.backbone import Backbone

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PLAN = Plan(learning_rate=5e-5, epochs=1, warmup=0.1, weight_decay=0.01, clip=1)
# Share of pieces that are hidden; shares of these that become [MASK] and a random piece.
MASKED, AS_MASK, AS_OTHER = 0.15, 0.8, 0.1
HELD_OUT, HELD_OUT_TEXTS = 0.1, 200  # share and maximum of the texts that the weights are chosen on
HELD_OUT_PASSES = 4  # masked differently each time, so that even few short texts can be measured


@dataclass(frozen=True)
class MaskOptions:
    """The batches of masked language modelling.

    Attributes:
        batch: texts per batch.
        max_tokens: tokens per text with [CLS] and [SEP]; longer documents become several texts.
    """

    batch: int = 16
    max_tokens: int = 128

    def __post_init__(self) -> None:
        """Check every value."""
        for name, least in (("batch", 1), ("max_tokens", 8)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InputError(f"{name} is {value!r}; it must be a whole number from {least}")


class Masked(NamedTuple):
    """A batch."""

    input_ids: NDArray[np.int64]  # (texts, tokens), some of them replaced
    attention_mask: NDArray[np.int64]  # (texts, tokens)
    labels: NDArray[np.int64]  # (texts, tokens), the original pieces, −100 where none is hidden


class MaskedTexts:
    """A collection's texts, masked differently in each epoch.

    Args:
        texts: the documents' texts.
        tokenizer: the backbone's tokenizer.
        options: size of the batches and texts.
        seed: random seed of all draws.

    Raises:
        InputError: there is no text, or the tokenizer has no [MASK].
    """

    def __init__(
        self, texts: Sequence[str], tokenizer: "Tokenizer", options: MaskOptions, seed: int
    ) -> None:
        mask = tokenizer.token_to_id("[MASK]")
        if mask is None:
            raise InputError("the tokenizer has no token '[MASK]'; use a tokenizer made for BERT")
        self._mask, self._padding = mask, padding_token(tokenizer)
        self._special, self._size = special_tokens(tokenizer), tokenizer.get_vocab_size()
        self._options, self._seed = options, seed
        ends = tokenizer.encode("").ids  # [CLS] [SEP]
        rows = [
            np.array([ends[0], *ids[begin:end], ends[-1]], np.int64)
            for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)
            if (ids := encoding.ids)
            for begin, end in piece_chunks(len(ids), options.max_tokens - 2, len(ids))
        ]
        if len(rows) < 2:
            raise InputError("pretraining needs at least two texts")
        order = np.random.default_rng(seed).permutation(len(rows))
        count = min(HELD_OUT_TEXTS, max(1, round(HELD_OUT * len(rows))))
        self._held_out, self._learned = order[:count], order[count:]
        self._offsets, self._ids = packed(rows)

    def batches(self, epoch: int) -> list[tuple[int, Numbers]]:
        """Return the batches of an epoch, each with the epoch and texts of similar length."""
        lengths = np.diff(self._offsets)[self._learned]
        cut = batches(lengths, self._options.batch, self._seed, epoch)
        return [(epoch, self._learned[each]) for each in cut]

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
        rng = np.random.default_rng((self._seed, int(epoch < 0), abs(epoch), int(rows[0])))
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
    """An encoder and a head that predicts the hidden pieces from their embeddings.

    Args:
        encoder: a BERT-like model of transformers.
    """

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder
        table = encoder.get_input_embeddings()
        self.dense = nn.Linear(encoder.config.hidden_size, table.embedding_dim)
        self.norm = nn.LayerNorm(table.embedding_dim)
        self.bias = nn.Parameter(torch.zeros(table.num_embeddings))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of the hidden pieces, or 0 if none is hidden.

        Args:
            input_ids: (texts, tokens) int64.
            attention_mask: (texts, tokens) int64.
            labels: (texts, tokens) int64, −100 where no piece is hidden.
        """
        output = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        hidden = labels != -100
        states = output.last_hidden_state[hidden]  # (hidden pieces, dimension)
        if not len(states):
            return output.last_hidden_state.sum() * 0.0  # type: ignore[no-any-return]
        vectors = self.norm(gelu(self.dense(states)))
        logits = vectors @ self.encoder.get_input_embeddings().weight.T + self.bias
        return cross_entropy(logits.float(), labels[hidden])


def pretrain(
    texts: Sequence[str],
    backbone: Backbone,
    *,
    plan: Plan = PLAN,
    data: MaskOptions | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> Progress:
    """Train a backbone in place on a collection's texts.

    Args:
        texts: the documents' texts.
        backbone: the encoder, which is changed.
        plan: duration and learning rate.
        data: size of the batches and texts; None for the defaults.
        folder: where the training state is saved.
        resume: whether to continue from the state in `folder`.

    Returns:
        The progress, whose values are the negated cross-entropy of the held-out texts.

    Raises:
        InputError: there is too little text, or the encoder reads fewer tokens.
        TrainingError: see `fit`.
    """
    data = data or MaskOptions()
    backbone.check_length(data.max_tokens)
    masked = MaskedTexts(texts, backbone.tokenizer, data, plan.seed)
    with seeded(plan.seed):
        model = MaskedLM(backbone.model)

    def loss(batch: tuple[int, Numbers]) -> Tensor:
        device = model.bias.device
        arrays = (torch.from_numpy(array).to(device) for array in masked.masked(batch))
        cross_entropies: Tensor = model(*arrays)
        return cross_entropies

    def evaluate() -> float:
        return -float(np.mean([loss(batch).item() for batch in masked.held_out()]))

    progress = fit(
        model, masked.batches, loss, plan, evaluate=evaluate, folder=folder, resume=resume,
        made_of={"backbone": backbone.source, "data": asdict(data)},
        label="pretraining",
    )  # fmt: skip
    model.cpu()
    return progress
