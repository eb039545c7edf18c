"""Encoders of several kinds that learn from judgements."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.papers.plans import UNTITLED
from benchmarks.papers.searched import Asked, Data, Lists, Trained, again
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.encoder_texts import encoder_inputs
from ranklet.training.encoders.text_pairs import tokenise
from ranklet.training.learning.device import choose_device
from ranklet.training.rankers.colbert import training as colbert
from ranklet.training.rankers.colbert.network import max_sim

READ = 100  # documents of BM25 that a student ranks anew
DRAWN, SMALL = 300, (0.01, 0.1, 1.0)  # documents whose values are counted, and up to what
# Scores a query's text and documents' numbers.
Scorer = Callable[[str, Sequence[int]], Tensor]


def train(data: Data, options: dict[str, Any]) -> Trained:
    """Train a ranker of a kind."""
    kind = options.pop("kind")
    collection, learn, held_out = data
    module = import_module(f"ranklet.training.rankers.{kind}.training")
    chosen = import_module(f"ranklet.training.rankers.{kind}.options").Options
    checkpoint = module.train(collection, learn, held_out, chosen(**options))
    model = module.load(checkpoint).to(choose_device("auto")).eval()
    shares = small_values(model, checkpoint, data) if kind == "epic" else {}

    def rank(asked: Asked) -> Mapping[str, Lists]:
        score, ranked = _scorer(kind, model, checkpoint, asked), []
        with torch.inference_mode():
            for query, numbers in zip(asked.queries, asked.found, strict=True):
                first = numbers[:READ].tolist()
                scores = score(query.text, first) if first else torch.zeros(0)
                ranked.append(again(numbers, scores.float().cpu().numpy()))
        return {"": ranked}

    return Trained(checkpoint, rank, shares)


def small_values(model: Any, checkpoint: Checkpoint, data: Data) -> dict[str, float]:
    """Return the shares of small values in documents' vectors (MacAvaney et al., Figure 2)."""
    texts = [
        ranked_text(each.title, each.text, data[0].path.name not in UNTITLED)
        for each in islice(data[0].documents(), DRAWN * 10)
    ][::10]
    tokens = tokenise(checkpoint.need_tokenizer(), texts, checkpoint.settings.max_document_tokens)
    counts, limits = np.zeros(len(SMALL)), torch.tensor(SMALL)[:, None, None]
    device, terms = next(model.parameters()).device, model.head.is_term.cpu() > 0
    with torch.inference_mode():
        for rows in np.array_split(np.arange(len(texts)), max(1, len(texts) // 4)):
            inputs = encoder_inputs(tokens, rows, 0, 1, device)
            vectors = model.document(*inputs).float().cpu()[:, terms]
            counts += (vectors <= limits).sum((1, 2)).numpy()
    shares = counts / (len(texts) * int(terms.sum()))
    return {f"values of {least} or below": float(x) for least, x in zip(SMALL, shares, strict=True)}


def _scorer(kind: str, model: Any, checkpoint: Checkpoint, asked: Asked) -> Scorer:
    numbers = sorted({int(number) for found in asked.found for number in found[:READ]})
    place = {number: at for at, number in enumerate(numbers)}
    tokenizer, settings = checkpoint.need_tokenizer(), checkpoint.settings
    texts = [asked.text(number) for number in numbers]
    if kind == "colbert":
        layout = TokenLayout(settings, tokenizer)
        documents = tokenise(tokenizer, texts, layout.limit("document"))

        def late(text: str, few: Sequence[int]) -> Tensor:
            own = np.array([place[number] for number in few])
            asked_tokens = tokenise(tokenizer, [text], layout.limit("query"))
            query, kept = colbert.encode(model, layout, "query", asked_tokens, np.zeros(1, int))
            made, read = colbert.encode(model, layout, "document", documents, own)
            return max_sim(query.float(), made.float(), kept, read)[0]

        return late
    documents = tokenise(tokenizer, texts, settings.max_document_tokens)
    device = choose_device("auto")

    def sparse(text: str, few: Sequence[int]) -> Tensor:
        own = np.array([place[number] for number in few])
        tokens = tokenise(tokenizer, [text], settings.max_query_tokens)
        query = encoder_inputs(tokens, np.zeros(1, int), 0, 0, device)
        inputs = encoder_inputs(documents, own, 0, int(kind == "epic"), device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            if kind == "epic":
                read, asked = model.document(*inputs, query[0][0]), model.query(*query)
            else:
                read, asked = model(*inputs), model.queries(*query)
            scores: torch.Tensor = read.float() @ asked[0].float()
            return scores

    return sparse
