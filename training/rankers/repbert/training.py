"""Train RepBERT, whose vector of a text is the mean of an encoder's last layer.

Source: Zhan et al. 2020 (paper 004).
"""

from functools import partial

import torch
from torch import Tensor, nn

from ranklet.runtime.rankers.repbert import DOCUMENT_SEGMENT, QUERY_SEGMENT, RepBERTSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQueries
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.pretrained.start import load_network
from ranklet.training.rankers.repbert.options import Options
from ranklet.training.sampling.encoder_texts import EncoderTexts
from ranklet.training.sampling.text_pairs import Batch


class RepBERT(nn.Module):
    """Encode texts as the mean of the last layer over all tokens (paper 004, eq. 2).

    [CLS] and [SEP] count like other tokens. Queries and documents share all weights; only their
    token_type_ids differ.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the vectors, (batch, dimension) float32.

        Args:
            input_ids: (batch, tokens) int64.
            attention_mask: (batch, tokens) int64, 1 at tokens and 0 at padding.
            token_type_ids: (batch, tokens) int64, 0 in queries and 1 in documents.
        """
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state  # (batch, tokens, dimension)
        return masked_mean(states.float(), attention_mask)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean over unmasked tokens, (batch, dimension) (paper 004, eq. 2).

    States are (batch, tokens, dimension) float32; the mask is 1 at tokens, (batch, tokens) int64.
    """
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def in_batch_loss(scores: Tensor, relevant: Tensor) -> Tensor:
    """Return the mean over queries of 1/n Σ_i Σ_j max(0, 1 − (s_i − s_j)) (paper 004, eq. 4).

    i runs over all documents of the batch that are relevant to the query, j over the others, and n
    is the number of documents in the batch. This is PyTorch's MultiLabelMarginLoss.

    Args:
        scores: inner products, (queries, documents) float32.
        relevant: (queries, documents) bool.
    """
    short = torch.relu(1 - scores.unsqueeze(2) + scores.unsqueeze(1))  # (queries, i, j)
    counted = relevant.unsqueeze(2) & ~relevant.unsqueeze(1)
    return (short * counted).sum((1, 2)).mean() / scores.shape[1]


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Fine-tune an encoder on queries and their relevant documents; see `EncoderTexts`.

    Raises:
        InputError: see `EncoderTexts`.
        TrainingError: see `fit`.
    """
    backbone = load_backbone(options.backbone)
    texts = EncoderTexts(collection, queries, dev, options, backbone)
    model = RepBERT(backbone.model)
    of_queries = partial(texts.encode, model, model.forward, QUERY_SEGMENT)
    of_documents = partial(texts.encode, model, model.forward, DOCUMENT_SEGMENT)

    def loss(batch: Batch) -> Tensor:
        query_vectors = of_queries(texts.pairs.queries, batch.queries)
        vectors = of_documents(texts.pairs.documents, batch.documents)
        return texts.in_batch(batch, in_batch_loss, query_vectors, vectors)

    settings = RepBERTSettings(*options.limits, backbone.config.hidden_size)
    evaluate = partial(texts.pool_mrr, of_queries, of_documents)
    return texts.learn("repbert", settings, model, loss, evaluate)


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> RepBERT:
    """Return the encoder of a checkpoint; see `load_network`."""
    return load_network(checkpoint, "repbert", RepBERT, attention)
