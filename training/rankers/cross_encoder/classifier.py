"""A trained cross-encoder of transformers, kept whole: encoder, pooler and classifier."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.text.pairing import INPUTS
from ranklet.training.imported.encoder import new_network

# Keys in config.json: the number of the label that is the score, the function of the logits, and
# whether the network reads token_type_ids.
LABEL, ACTIVATION, SEGMENTS = "ranklet_label", "ranklet_activation", "ranklet_segments"

# Functions of a row of logits, one per label.
ACTIVATIONS = {"identity": nn.Identity(), "sigmoid": nn.Sigmoid(), "softmax": nn.Softmax(-1)}


class PairClassifier(nn.Module):
    """Score pairs of a query and a document by one label of a classifier.

    The classifier is named ``encoder``, so its weights have transformers' names in a checkpoint.

    Args:
        classifier: a model of transformers for the classification of sequences.
        label: number of the label.
        activation: what is applied to the logits, one of `ACTIVATIONS`.
        segments: whether the classifier reads token_type_ids.
    """

    def __init__(self, classifier: nn.Module, label: int, activation: str, segments: bool) -> None:
        super().__init__()
        self.encoder = classifier
        self._label, self._segments = label, segments
        self._activation = ACTIVATIONS[activation]

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pairs: Tensor
    ) -> Tensor:
        """Return the scores, (pairs,) float32.

        Args:
            input_ids: one pair per row, (pairs, tokens) int64.
            attention_mask: (pairs, tokens) int64, 1 at tokens and 0 at padding.
            token_type_ids: (pairs, tokens) int64, 0 up to the document, then 1.
            pairs: (pairs, pairs) int64, 1 if a row belongs to a pair.
        """
        logits = self.logits(input_ids, attention_mask, token_type_ids)
        return pairs.float() @ self.scores(logits)

    def logits(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the logits of all labels, (pairs, labels) float32; see `forward`."""
        types = {"token_type_ids": token_type_ids} if self._segments else {}
        output = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **types)
        found: Tensor = output.logits.float()
        return found

    def scores(self, logits: Tensor) -> Tensor:
        """Return the scores of pairs by the logits of their labels, (pairs,) float32."""
        found: Tensor = self._activation(logits)[:, self._label]
        return found

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs that the classifier reads."""
        return INPUTS[:3] if self._segments else INPUTS[:2]


def new_classifier(config: Mapping[str, Any], attention: str) -> PairClassifier:
    """Return a classifier with random weights, as the content of a config.json describes it.

    Args:
        config: the content of config.json, with the keys of this module.
        attention: transformers' implementation of attention, sdpa or eager, which export needs.

    Raises:
        InputError: transformers does not know the network, or a key of this module is wrong.
    """
    try:
        network: Any = new_network("AutoModelForSequenceClassification", config, attention)
        label, labels = int(config[LABEL]), network.config.num_labels
        if not 0 <= label < labels or config[ACTIVATION] not in ACTIVATIONS:
            raise ValueError(f"label {label} of {labels}, activation {config[ACTIVATION]!r}")
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"config.json does not describe a known classifier: {error}") from error
    return PairClassifier(network, label, config[ACTIVATION], config.get(SEGMENTS) is True)


def is_classifier(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json belongs to a model with a trained classifier.

    >>> is_classifier({"architectures": ["BertForSequenceClassification"]}), is_classifier({})
    (True, False)
    """
    return str((config.get("architectures") or [""])[0]).endswith("ForSequenceClassification")
