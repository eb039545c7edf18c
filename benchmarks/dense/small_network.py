"""Let a network of a few layers of an encoder learn what the encoder says of texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.rnn import pad_sequence

EPOCHS, BATCH = 2, 128
RATE, ROWS_RATE = 3e-4, 1e-3  # of the layers, and of the vectors of words
LONGEST = 64  # tokens


def learn(
    model: Any, layers: Sequence[int], texts: Sequence[str], vectors: NDArray[np.float16]
) -> float:
    """Cut a sentence encoder to some of its layers, and teach it; return its last cosine.

    Args:
        model: of sentence-transformers, a transformer and the mean of its states; it is changed.
        layers: of the transformer, that are kept.
        texts: short ones.
        vectors: of each, which are learned by their cosines, (texts, dimension).
    """
    torch.manual_seed(0)
    network, tokenizer = model[0].model, model[0].tokenizer
    network.encoder.layer = nn.ModuleList(network.encoder.layer[at] for at in layers)
    network.config.num_hidden_layers = len(layers)
    words = network.embeddings.word_embeddings
    words.sparse = True  # a step changes the rows of its own words alone
    rest = [each for each in network.parameters() if each is not words.weight]
    optimisers = [torch.optim.AdamW(rest, RATE), torch.optim.SparseAdam([words.weight], ROWS_RATE)]
    count = EPOCHS * -(-len(texts) // BATCH)
    schedules = [
        torch.optim.lr_scheduler.OneCycleLR(
            each, each.param_groups[0]["lr"], total_steps=count, cycle_momentum=False
        )
        for each in optimisers
    ]
    tokens = tokenizer([*texts], truncation=True, max_length=LONGEST)["input_ids"]
    lengths, draw, cosines = np.array([*map(len, tokens)]), np.random.default_rng(0), list[float]()
    network.train()
    for _ in range(EPOCHS):
        order = np.argsort(lengths + draw.uniform(0, 2, len(texts)), kind="stable")
        batches = np.array_split(order, count // EPOCHS)
        for at in draw.permutation(len(batches)).tolist():
            rows = batches[at]
            with torch.autocast("cpu", torch.bfloat16):  # half the time where processors have AMX
                made = _mean(network, [torch.tensor(tokens[row]) for row in rows])
            wanted = torch.from_numpy(vectors[rows].astype(np.float32))
            cosine = nn.functional.cosine_similarity(made.float(), wanted).mean()
            network.zero_grad()
            (1 - cosine).backward()  # type: ignore[no-untyped-call]
            for optimiser, schedule in zip(optimisers, schedules, strict=True):
                optimiser.step()
                schedule.step()
            cosines.append(cosine.item())
    network.eval()
    return float(np.mean(cosines[-100:]))


def _mean(network: Any, tokens: list[torch.Tensor]) -> torch.Tensor:
    """Return the mean of the states of each text, (texts, dimension)."""
    ids = pad_sequence(tokens, batch_first=True)
    there = pad_sequence([torch.ones_like(each) for each in tokens], batch_first=True)
    states = network(input_ids=ids, attention_mask=there).last_hidden_state
    made: torch.Tensor = (states * there[..., None]).sum(1) / there.sum(1, keepdim=True)
    return made
