"""A trained cross-encoder of another library, kept whole: encoder and what follows it."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from ranklet.runtime.ground.errors import InputError
from ranklet.training.imported.chain import INPUTS, MODULES, SCORES, Chain, make_activation
from ranklet.training.imported.encoder import new_network

# Keys in config.json: the number of the label that is the score, the function of the logits, and
# whether the network reads token_type_ids.
LABEL, ACTIVATION, SEGMENTS = "ranklet_label", "ranklet_activation", "ranklet_segments"


class PairClassifier(Chain):
    """Score pairs of a query and a document by one label.

    Args:
        network: a model of transformers that classifies sequences, or one whose states the modules
            read; it is named ``encoder``, so its weights have transformers' names in a checkpoint.
        config: the content of config.json, with the keys of this module.

    Raises:
        InputError: the config describes no function, or no module.
    """

    def __init__(self, network: nn.Module, config: Mapping[str, Any]) -> None:
        super().__init__(network, config.get(MODULES, ()))
        self._label, self._activation = int(config[LABEL]), make_activation(config[ACTIVATION])
        self.inputs = INPUTS if config.get(SEGMENTS) is True else INPUTS[:2]

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
        features = self.read(input_ids, attention_mask, token_type_ids)
        return pairs.float() @ self.scores(self.logits(features))

    def logits(self, features: dict[str, Any]) -> Tensor:
        """Return the logits of all labels, (pairs, labels) float32, by what `read` returns."""
        found: Tensor = self.follow(features)[SCORES] if self.after else features["logits"]
        return found.float()

    def scores(self, logits: Tensor) -> Tensor:
        """Return the scores of pairs by the logits of their labels, (pairs,) float32."""
        found: Tensor = self._activation(logits)[:, self._label]
        return found


def new_classifier(config: Mapping[str, Any], attention: str) -> PairClassifier:
    """Return a classifier with random weights, as the content of a config.json describes it.

    Args:
        config: the content of config.json, with the keys of this module.
        attention: transformers' implementation of attention, sdpa or eager, which export needs.

    Raises:
        InputError: transformers does not know the network, or a key of this module is wrong.
    """
    loader = "AutoModel" if config.get(MODULES) else "AutoModelForSequenceClassification"
    try:
        return PairClassifier(new_network(loader, config, attention), config)
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"config.json does not describe a known classifier: {error}") from error


def is_classifier(config: Mapping[str, Any]) -> bool:
    """Return whether a config.json belongs to a model with a trained classifier.

    >>> is_classifier({"architectures": ["BertForSequenceClassification"]}), is_classifier({})
    (True, False)
    """
    return str((config.get("architectures") or [""])[0]).endswith("ForSequenceClassification")
