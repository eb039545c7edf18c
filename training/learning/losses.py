"""Losses over the scores of relevant and other documents."""

import torch
from torch import Tensor
from torch.nn.functional import kl_div, softplus

SHARPNESS = 5.0  # default factor in the softmax of scores that are means over query tokens, in nats


def margin_loss(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Return Σ max(0, margin − (positive − negative)), a pairwise loss (Boytsov & Kolter, §4.1).

    The scores of relevant and of other documents broadcast, float32.
    """
    return torch.relu(margin - (positive - negative)).sum()


def listwise_loss(scores: Tensor, sharpness: float = SHARPNESS) -> Tensor:
    """Return the mean of −log softmax(sharpness · scores) at the relevant documents.

    Scores are (batch, documents) float32, the relevant document first. The paper learns from one
    negative at a time. With seven negatives this loss reaches in two epochs more than `margin_loss`
    in four (docs/maintainers/log).
    """
    return -torch.log_softmax(sharpness * scores, dim=1)[:, 0].mean()


def in_batch_softmax(scores: Tensor, relevant: Tensor) -> Tensor:
    """Return the mean of −log softmax at each query's own document, over the whole batch.

    Other documents that are known to be relevant to a query are left out of its sum.

    Args:
        scores: (queries, documents) float32; the first documents are the queries' own, in order.
        relevant: (queries, documents) bool.
    """
    own = scores.diagonal().unsqueeze(1)
    return listwise_loss(torch.cat([own, scores.masked_fill(relevant, -torch.inf)], dim=1), 1.0)


def pointwise_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Return the mean −log R of relevant and −log (1 − R) of other documents (Boualili, eq. 4.4).

    R is σ(score), because a softmax over two classes is the sigmoid of the difference of logits.
    The scores of relevant and of other documents are float32.
    """
    return torch.cat([softplus(-positive).flatten(), softplus(negative).flatten()]).mean()


def ranknet_loss(better: Tensor, worse: Tensor) -> Tensor:
    """Return the mean of −log σ(s_better − s_worse) (Burges et al. 2005; Mitra et al., §4)."""
    return softplus(worse - better).mean()


def softmax_kl(scores: Tensor, of_teacher: Tensor) -> Tensor:
    """Return the mean of KL(teacher ‖ student) of softmaxes over each query's documents.

    Both are (queries, documents) float32 (Lassance et al. 2024, SPLADE-v3, arXiv 2403.06789, §2).
    """
    wanted = torch.log_softmax(of_teacher, 1)
    return kl_div(torch.log_softmax(scores, 1), wanted, reduction="batchmean", log_target=True)


def margin_mse(margins: Tensor, of_teacher: Tensor) -> Tensor:
    """Return the mean squared difference of score margins from a teacher's.

    A margin is the score of a query's relevant document minus that of another document, (queries,)
    float32 (Hofstätter et al. 2020, "Improving Efficient Neural Ranking Models with Cross-
    Architecture Knowledge Distillation", arXiv 2010.02666, eq. 1).
    """
    return (margins - of_teacher).square().mean()
