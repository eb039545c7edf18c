"""Masked language modelling on a collection's own texts, before a ranker is trained on it.

Source: Devlin et al. 2019 (BERT), §3.1; as target-corpus pretraining in paper 000, §4.1, there with
next-sentence prediction beside it, which is left out here: it was found not to help (Liu et al.
2019, RoBERTa, §4.2).
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
MASKED, AS_MASK, AS_OTHER = 0.15, 0.8, 0.1  # of all pieces; of those, by [MASK] and by any piece
HELD_OUT, HELD_OUT_TEXTS = 0.1, 200  # of the texts, but at most so many: the weights are chosen on
HELD_OUT_PASSES = 4  # each masked anew, so that few short texts are measured, too


@dataclass(frozen=True)
class MaskOptions:
    """What is masked.

    Attributes:
        batch: texts.
        max_tokens: longer documents are cut into several texts; [CLS] and [SEP] counted.
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

    input_ids: NDArray[np.int64]  # (texts, tokens), some replaced
    attention_mask: NDArray[np.int64]  # (texts, tokens)
    labels: NDArray[np.int64]  # what was there, where it is asked for; −100 elsewhere


class MaskedTexts:
    """A collection's texts, masked anew in each epoch.

    Args:
        texts: of documents.
        tokenizer: of the backbone.
        options: of the batches.
        seed: of all draws.

    Raises:
        InputError: there is no text, or the tokenizer has no [MASK].
    """

    def __init__(
        self, texts: Sequence[str], tokenizer: "Tokenizer", options: MaskOptions, seed: int
    ) -> None:
        mask = tokenizer.token_to_id("[MASK]")
        if mask is None:
            raise InputError("the tokenizer has no token '[MASK]'; take one made for BERT")
        self._mask, self._padding = mask, padding_token(tokenizer)
        self._special, self._size = special_tokens(tokenizer), tokenizer.get_vocab_size()
        self._options, self._seed = options, seed
        ends = tokenizer.encode("").ids  # [CLS] [SEP]
        rows = [
            np.array([ends[0], *ids[begin:end], ends[-1]], np.int64)
            for each in tokenizer.encode_batch(list(texts), add_special_tokens=False)
            if (ids := each.ids)
            for begin, end in piece_chunks(len(ids), options.max_tokens - 2, len(ids))
        ]
        if len(rows) < 2:
            raise InputError("there are no two texts to learn from")
        order = np.random.default_rng(seed).permutation(len(rows))
        held = min(HELD_OUT_TEXTS, max(1, round(HELD_OUT * len(rows))))
        self._held, self._learned = order[:held], order[held:]
        self._offsets, self._ids = packed(rows)

    def batches(self, epoch: int) -> list[tuple[int, Numbers]]:
        """Return the batches of an epoch: its number, and texts of like length."""
        lengths = np.diff(self._offsets)[self._learned]
        cut = batches(lengths, self._options.batch, self._seed, epoch)
        return [(epoch, self._learned[each]) for each in cut]

    def held_out(self) -> list[tuple[int, Numbers]]:
        """Return batches of the texts that nothing is learned from, masked alike each time."""
        size = self._options.batch
        cut = [self._held[at : at + size] for at in range(0, len(self._held), size)]
        return [(-each, rows) for each in range(1, HELD_OUT_PASSES + 1) for rows in cut]

    def masked(self, batch: tuple[int, Numbers]) -> Masked:
        """Return a batch with some pieces hidden; a function of seed, epoch and texts alone."""
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
    """Hide 15 % of the pieces: 80 % of those as [MASK], 10 % as any piece, 10 % as they are.

    Args:
        ids: (texts, tokens).
        present: False at padding, (texts, tokens).
        special: ids that are never hidden.
        mask: the id of [MASK].
        size: of the vocabulary.
        rng: of the draws.
    """
    chosen = (rng.random(ids.shape) < MASKED) & present & ~np.isin(ids, special)
    how = rng.random(ids.shape)
    shown = np.where(chosen & (how < AS_MASK), mask, ids)
    other = chosen & (how >= AS_MASK) & (how < AS_MASK + AS_OTHER)
    shown = np.where(other, rng.integers(0, size, ids.shape), shown)
    return Masked(shown, present.astype(np.int64), np.where(chosen, ids, -100))


class MaskedLM(nn.Module):
    """An encoder, and a head that tells the hidden pieces by their embeddings.

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
        """Return the mean cross-entropy of the hidden pieces, 0 where none is hidden.

        Args:
            input_ids: (texts, tokens) int64.
            attention_mask: (texts, tokens) int64.
            labels: (texts, tokens) int64, −100 where nothing is asked for.
        """
        found = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        hidden = labels != -100
        states = found.last_hidden_state[hidden]  # (hidden pieces, dimension)
        if not len(states):
            return found.last_hidden_state.sum() * 0.0  # type: ignore[no-any-return]
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
        texts: of documents.
        backbone: its encoder is changed.
        plan: how long and how fast.
        data: what is masked; None for the defaults.
        folder: where the state is kept meanwhile.
        resume: whether to go on from the state in `folder`.

    Returns:
        The course; its values are the held-out texts' cross-entropy, negated.

    Raises:
        InputError: there is too little text, or the encoder reads fewer tokens.
        TrainingError: see `fit`.
    """
    data = data or MaskOptions()
    if data.max_tokens > backbone.config.max_position_embeddings:
        raise InputError(
            f"texts of {data.max_tokens} tokens are too long for {backbone.source!r}, which reads "
            f"{backbone.config.max_position_embeddings}"
        )
    masked = MaskedTexts(texts, backbone.tokenizer, data, plan.seed)
    with seeded(plan.seed):
        model = MaskedLM(backbone.model)

    def loss(batch: tuple[int, Numbers]) -> Tensor:
        device = model.bias.device
        arrays = (torch.from_numpy(each).to(device) for each in masked.masked(batch))
        found: Tensor = model(*arrays)
        return found

    def evaluate() -> float:
        return -float(np.mean([loss(batch).item() for batch in masked.held_out()]))

    progress = fit(
        model, masked.batches, loss, plan, evaluate=evaluate, folder=folder, resume=resume,
        made_of={"backbone": backbone.source, "data": asdict(data)},
        label="pretraining",
    )  # fmt: skip
    model.cpu()
    return progress
