"""Train one encoder that reads queries and documents separately."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.probes import draw_probes
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.indexing.ragged import by_length
from ranklet.corpus.indexing.wordpieces import padding_token
from ranklet.corpus.progress import EVALUATING
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.distilling.margins import read_margins
from ranklet.training.distilling.taught import read_taught
from ranklet.training.encoders.text_pairs import Batch, Pool, TextPairs, Tokens, bm25_mrr
from ranklet.training.learning.device import full_precision
from ranklet.training.learning.loop import Evaluate, learn
from ranklet.training.learning.options import TextPairOptions, plain_options
from ranklet.training.learning.record import planned
from ranklet.training.learning.weights import take_weights
from ranklet.training.outcome import Lists, counts, describe_comparison
from ranklet.training.pretrained.backbone import Backbone

# Returns the vectors of some rows of texts, (rows, dimension) float32.
Encode = Callable[[Tokens, NDArray[np.integer]], Tensor]

ENCODED = 32  # texts per batch outside of training
SAMPLED = 256  # documents of a sample, at least, if the pool has as many


class EncoderTexts:
    """The texts that an encoder is trained on, and those that it is measured on.

    The best weights are those with which some queries of `dev` rank a pool of documents best.
    Prompts are texts before each query and before each document. Limits are tokens of a query and
    of a document; None for those of the options.

    Attributes:
        pairs: the batches.
        pool: what is ranked for the measure.
        margins: the teacher's margins, if the options name one.

    Raises:
        InputError: no query has a relevant document here, the encoder reads fewer tokens, or the
            teacher cannot teach.
    """

    def __init__(
        self,
        collection: Collection,
        queries: Sequence[JudgedQuery],
        dev: Sequence[JudgedQuery],
        options: TextPairOptions,
        backbone: Backbone,
        prompts: tuple[str, str] = ("", ""),
        limits: tuple[int, int] | None = None,
    ) -> None:
        backbone.check_length(max(options.limits))
        self._options, self._backbone, self._dev = options, backbone, dev
        taught_queries = read_taught(options, collection, queries)
        self.padding = padding_token(backbone.tokenizer)
        self._documents = list(collection.documents())
        self.pairs = TextPairs(
            self._documents, queries, backbone.tokenizer, options, prompts, limits, taught_queries
        )
        self.pool = Pool(self.pairs, dev, options)
        self._measured = Lists(
            f"MRR@10 in a pool of {len(self.pool):,} documents",
            len(self.pool.texts),
            bm25_mrr(self.pool, self._documents, backbone.tokenizer, options),
        )
        self._counts = counts(len(self._documents), queries, dev)
        self.margins = read_margins(taught_queries, options)

    def drawn(self, options: TextPairOptions) -> list[Batch]:
        """Return the batches of a training of this length, if nothing ends it earlier."""
        length = planned(options, len(self.pairs.batches(0)))
        found: list[Batch] = []
        for epoch in range(math.ceil(length.epochs)):
            left = length.steps - epoch * length.per_epoch
            found += self.pairs.batches(epoch)[: left * options.accumulation]
        return found

    def inputs(
        self, model: nn.Module, segment: int, tokens: Tokens, rows: NDArray[np.integer]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return input_ids, attention_mask and token_type_ids, (rows, tokens) int64 each."""
        return encoder_inputs(tokens, rows, self.padding, segment, next(model.parameters()).device)

    def encode(
        self,
        model: nn.Module,
        run: Callable[[Tensor, Tensor, Tensor], Tensor],
        segment: int,
        tokens: Tokens,
        rows: NDArray[np.integer],
    ) -> Tensor:
        """Return the vectors that a method of the model makes of some rows of texts."""
        return run(*self.inputs(model, segment, tokens, rows))

    def pool_ranks(self, queries: Encode, documents: Encode) -> NDArray[np.float64]:
        """Return each query's 1 / rank in the pool by the vectors that two functions return."""

        def vectors(texts: Tokens, encode: Encode) -> NDArray[np.float32]:
            def run(rows: NDArray[np.integer]) -> NDArray[np.float32]:
                return np.asarray(encode(texts, rows).float().cpu().numpy())

            return by_length(texts.lengths, ENCODED, run, EVALUATING)

        pool = self.pool
        asked, found = vectors(pool.queries, queries), vectors(pool.documents, documents)
        return pool.reciprocal_ranks(asked @ found.T)

    def in_batch(
        self,
        batch: Batch,
        loss: Callable[[Tensor, Tensor], Tensor],
        queries: Tensor,
        documents: Tensor,
    ) -> Tensor:
        """Return a loss of the inner products of a batch's vectors, (texts, dimension) each.

        The loss takes the products and which documents are relevant, (queries, documents) each.
        """
        with full_precision(documents.device):  # bfloat16 has 3 digits, which lose the margin
            return self.loss(batch, loss, queries.float() @ documents.float().T)

    def loss(
        self, batch: Batch, loss: Callable[[Tensor, Tensor], Tensor], scores: Tensor
    ) -> Tensor:
        """Return a loss of a batch's scores, (queries, documents) float32; see `in_batch`.

        With a teacher it is the error of its margins, for which each query needs only the scores of
        its own documents; or the error of its softmax and the loss.
        """
        relevant = torch.from_numpy(self.pairs.relevant(batch)).to(scores.device)
        if self.margins is None:
            return loss(scores, relevant)
        taught = self.margins.loss(batch.queries, batch.own, own_scores(scores))
        return taught + loss(scores, relevant) if self.margins.by_softmax else taught

    def sample(self, encode: Encode) -> Tensor:
        """Return the vectors of documents at even distances in the pool, without gradients."""
        rows = np.arange(len(self.pool))[:: max(1, len(self.pool) // SAMPLED)]
        blocks = np.array_split(rows, math.ceil(len(rows) / ENCODED))
        with torch.no_grad():
            return torch.cat([encode(self.pool.documents, block) for block in blocks])

    def learn(
        self,
        kind: str,
        settings: Any,
        model: nn.Module,
        loss: Callable[[Any], Tensor],
        evaluate: Evaluate,
        *,
        batches: Callable[[int], Sequence[Any]] | None = None,
        label: str = "training",
        options: TextPairOptions | None = None,
        **facts: str,
    ) -> Checkpoint:
        """Train a model and return its checkpoint; `facts` are added to the report.

        Options that are given replace the length, the rate and the seed of the texts' own.
        """
        options = options or self._options
        made_of: dict[str, Any] = {"backbone": self._backbone.source}
        if self.margins is not None:
            made_of |= self.margins.made_of
        learned = learn(
            model, batches or self.pairs.batches, loss, options, evaluate, self._measured,
            made_of=made_of, label=label,
        )  # fmt: skip
        found = self._checkpoint(kind, settings, model, {**learned.report, **facts})
        return replace(found, curve=learned.curve)

    def unchanged(
        self, kind: str, settings: Any, model: nn.Module, measure: float, options: TextPairOptions
    ) -> Checkpoint:
        """Return the checkpoint of a model that has nothing to learn from judged queries.

        The measure is what it has on the pool.
        """
        report = {
            "measure": self._measured.measure,
            "best": measure,
            "comparison": describe_comparison(self._measured, None, measure),
            "warning": "",
            "options": plain_options(options),
        }
        return self._checkpoint(kind, settings, model, report)

    def _checkpoint(
        self, kind: str, settings: Any, model: nn.Module, report: dict[str, Any]
    ) -> Checkpoint:
        return Checkpoint(
            kind,
            settings,
            tokenizer=self._backbone.tokenizer,
            training={**self._counts, **report},
            network=self._backbone.config_json(),
            weights=take_weights(model),
            probes=draw_probes(self._documents, self._dev, titles=self._options.titles),
        )


def own_scores(scores: Tensor) -> Tensor:
    """Return the scores of each query's own documents, as in `Batch.own`, of a batch's scores."""
    count = len(scores)
    return scores.reshape(count, -1, count).diagonal(dim1=0, dim2=2).T


def encoder_inputs(
    tokens: Tokens,
    rows: NDArray[np.integer],
    padding: int,
    segment: int,
    device: torch.device | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return input_ids, attention_mask and token_type_ids, (rows, tokens) int64 each."""
    ids, mask = (torch.from_numpy(array).to(device) for array in tokens.padded(rows, padding))
    return ids, mask, mask * segment
