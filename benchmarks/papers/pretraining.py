"""Pretrain an encoder on a collection's documents as a masked language model.

Source: Devlin et al. 2019, §3.1, without the prediction of next sentences.
"""

from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import OneCycleLR

from benchmarks.papers.searched import Data, Trained
from ranklet.corpus.indexing.wordpieces import special_tokens
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.learning.device import choose_device, seeded
from ranklet.training.pretrained.backbone import load_backbone

Tokens = NDArray[np.int64]
PREDICTED = 0.15  # share of the pieces
MASKED, OTHERS = 0.8, 0.1  # shares of these that are read as [MASK] and as any piece
WARMUP, DECAY = 0.1, 0.01  # share of the steps, and AdamW's weight decay


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

    In the end all predictions are `lowered` by a number, which changes no probability.
    """
    begin, steps, random = monotonic(), options["steps"], options["seed"]
    backbone = load_backbone(options["backbone"], masked=True)
    tokenizer, device = backbone.tokenizer, choose_device("auto")
    model: Any = backbone.model.to(device).train()
    texts = [ranked_text(e.title, e.text, options["titles"]) for e in data[0].documents()]
    rows, draws = _rows(tokenizer, texts, options["tokens"]), np.random.default_rng(random)
    optimizer = torch.optim.AdamW(model.parameters(), options["learning_rate"], weight_decay=DECAY)
    rate = OneCycleLR(
        optimizer, options["learning_rate"], max(1, steps),
        pct_start=WARMUP, anneal_strategy="linear", cycle_momentum=False,
    )  # fmt: skip
    with seeded(random):
        for _ in range(steps):
            ids = draws.choice(rows, options["batch"])
            read, predicted = masked(ids, tokenizer, draws)
            states = model.base_model(torch.from_numpy(read).to(device)).last_hidden_state
            predictions = model.cls(states[torch.from_numpy(predicted)])
            loss = cross_entropy(predictions, torch.from_numpy(ids[predicted]).to(device))
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            rate.step()
            optimizer.zero_grad()
    with torch.no_grad():
        model.cls.predictions.bias -= options.get("lowered", 0)
    report = {"steps": steps, "seconds": monotonic() - begin}
    return Trained(Pretrained(model.cpu(), tokenizer, report), lambda _: {}, {})


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
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    joined = np.concatenate([[*each.ids, end] for each in encoded]).astype(np.int64)
    rows = joined[: len(joined) // (length - 1) * (length - 1)].reshape(-1, length - 1)
    return np.insert(rows, 0, begin, axis=1)
