"""Import cross-encoders of sentence-transformers and transformers with their trained heads."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.runtime.rankers.cross_encoder.ranker import IMPORTED, CrossEncoderSettings
from ranklet.runtime.text.marking import TERMS, added_tokens
from ranklet.runtime.text.pairing import (
    BERT_SEGMENTS,
    MOST_TOKENS,
    Pairing,
    PairLayout,
    pair_inputs,
    pair_layout,
)
from ranklet.runtime.text.tokenizing import encode
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.layers import name_activation
from ranklet.training.imported.original import (
    ReadTransformer,
    class_names,
    load_original,
    shortened,
)
from ranklet.training.learning.weights import load_weights
from ranklet.training.pretrained.backbone import takes_token_types
from ranklet.training.rankers.cross_encoder.classifier import (
    ACTIVATION,
    LABEL,
    SEGMENTS,
    PairClassifier,
    new_classifier,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FUNCTIONS = ("identity", "sigmoid", "softmax")  # of logits
SHOWN = 20  # labels in a message
# The names of the second of two labels that means relevant, and of the first that means the
# opposite. Without names it is the second one since monoBERT (Nogueira & Cho 2019, §2).
RELEVANT = ("label_1", "relevant", "positive", "true", "yes", "1")
OTHER = (
    "label_0", "irrelevant", "not_relevant", "not relevant", "non_relevant", "non-relevant",
    "negative", "false", "no", "0",
)  # fmt: skip


def import_model(
    folder: ModelFolder, *, label: str | None = None, marking: str | None = None
) -> Checkpoint:
    """Return a cross-encoder as a checkpoint that keeps its whole network.

    A query has at most half of the tokens that the network reads, and a document the rest. The
    original truncates the longer text first, so both read the same unless the query alone has more
    than half of the tokens.

    Args:
        folder: the model's folder.
        label: name or number of the label that means relevant; needed if there are several.
        marking: the exact matches that the published checkpoint was trained with (Boualili 2022);
            its folder does not say which.

    Raises:
        ModelFolderError: the folder cannot be used, or it has several labels and none is chosen.
        InputError: there is no such label.
    """
    model = load_original("CrossEncoder", folder.path)
    names, prompt = class_names(model), model.prompts.get(model.default_prompt_name)
    if names != ["Transformer"] or prompt:
        raise ModelFolderError(
            f"{str(folder.path)!r} has the modules {', '.join(names)} and the prompt {prompt!r:.60}"
            "; supported for a cross-encoder is Transformer alone, without a prompt"
        )
    read = ReadTransformer.of(model[0], folder.path, MOST_TOKENS)
    network, tokenizer, marks = read.network, read.tokenizer, marking or "none"
    labels = {int(number): str(name) for number, name in read.config["id2label"].items()}
    number = choose_label(folder, labels, label)
    activation = name_activation(model.activation_fn, folder.path, FUNCTIONS)
    if len(labels) == 2 and activation == "identity":  # one logit of two says nothing alone
        activation = "softmax"
    if added_tokens(marks):
        tokenizer = _without_markers(tokenizer)
    try:
        layout = pair_layout(tokenizer)
        longest = read.longest
        most = longest if marks == "none" else longest // 2  # the other half is for marks
        settings = CrossEncoderSettings(
            max_query_tokens=max(1, (most - layout.around) // 2),
            max_tokens=most,
            marking=marks,
            mark_tokens=longest - most,
            head=IMPORTED,
            field="",
        )
    except ModelFolderError:
        raise
    except InputError as error:
        raise ModelFolderError(f"{str(folder.path)!r} cannot read pairs: {error}") from None
    keys = {
        LABEL: number,
        ACTIVATION: activation,
        SEGMENTS: _reads_segments(folder, model[0], layout),
    }
    return Checkpoint(
        "cross_encoder",
        settings,
        tokenizer=tokenizer,
        training={"imported": folder.name, "label": labels[number], "activation": activation},
        network={**read.config, **keys},
        weights={name: values.numpy() for name, values in network.state_dict().items()},
    )


def difference(folder: ModelFolder, checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """Return the largest difference of a pair's score from sentence-transformers' own.

    The pairs are made of the texts, first with last. The first of a pair is shortened until it is
    shorter than half of what the network reads, because the two truncate longer queries
    differently.
    """
    settings: CrossEncoderSettings = replace(checkpoint.settings, marking="none")
    theirs = load_original("CrossEncoder", folder.path)
    firsts = (shortened(text, settings) for text in texts)
    pairs = list(zip(firsts, texts[::-1], strict=True))
    options: dict[str, Any] = {"show_progress_bar": False, "batch_size": 1}
    if checkpoint.network[ACTIVATION] == "softmax":
        options |= {"activation_fn": torch.nn.Softmax(-1)}
    expected = np.asarray(theirs.predict(pairs, **options), np.float32)
    expected = expected.reshape(len(pairs), -1)[:, checkpoint.network[LABEL]]
    del theirs  # two networks need not be in memory
    network = new_classifier(checkpoint.network, attention="eager")
    load_weights(network.eval(), checkpoint.weights)
    tokenizer = checkpoint.need_tokenizer()
    pairing = Pairing(settings, tokenizer)
    ours = [_score(network, pairing, tokenizer, *pair) for pair in pairs]
    return float(np.abs(np.array(ours, np.float32) - expected).max())


def _without_markers(tokenizer: "Tokenizer") -> "Tokenizer":
    """Return a tokenizer without the markers that the published checkpoints append to it.

    Their ids are then those of our markers, which no text can spell.

    Raises:
        InputError: it does not end with these tokens.
    """
    from tokenizers import Tokenizer

    names = [f"[{chr(92) if at % 2 else ''}e{at // 2}]" for at in range(2 * TERMS)]
    first = tokenizer.get_vocab_size() - len(names)
    if [tokenizer.token_to_id(name) for name in names] != list(range(first, first + len(names))):
        raise InputError(
            f"a precise marking needs a tokenizer whose last tokens are {names[0]} to {names[-1]}; "
            "give --marking sim_doc or sim_pair, or no --marking"
        )
    described = json.loads(tokenizer.to_str())
    kept = [each for each in described["added_tokens"] if each["content"] not in names]
    return Tokenizer.from_str(json.dumps({**described, "added_tokens": kept}))


def choose_label(folder: ModelFolder, labels: Mapping[int, str], label: str | None) -> int:
    """Return the number of a label.

    Args:
        folder: the model's folder, for messages.
        labels: names of the labels by their numbers.
        label: a name or a number; a name comes first.

    Raises:
        ModelFolderError: there are several labels, and none is chosen.
        InputError: there is no such label.
    """
    listed = ", ".join(f"{number} {name!r}" for number, name in sorted(labels.items())[:SHOWN])
    listed += f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    if label is None:
        if len(labels) == 1:
            return next(iter(labels))
        first, *rest = (str(name).lower() for _, name in sorted(labels.items()))
        if first in OTHER and len(rest) == 1 and rest[0] in RELEVANT:
            return max(labels)
        raise ModelFolderError(
            f"{str(folder.path)!r} has {len(labels)} labels ({listed}); pass --label with the name "
            "or the number of the one that means relevant"
        )
    for number, name in labels.items():
        if name == label:
            return number
    if label.isdecimal() and int(label) in labels:
        return int(label)
    raise InputError(f"{folder.name} has no label {label!r}; its labels are {listed}")


def _reads_segments(folder: ModelFolder, module: Any, layout: PairLayout) -> bool:
    """Return whether a network gets token_type_ids that tell the document from the query."""
    named = "token_type_ids" in module.tokenizer.model_input_names
    if not (named and takes_token_types(module.model) and any(layout.segments)):
        return False
    if layout.segments != BERT_SEGMENTS:
        raise ModelFolderError(
            f"the tokenizer of {str(folder.path)!r} numbers the segments of a pair "
            f"{layout.segments}; supported are {BERT_SEGMENTS}, as BERT does, and zeros"
        )
    return True


def _score(
    network: PairClassifier, pairing: Pairing, tokenizer: "Tokenizer", query: str, document: str
) -> float:
    """Return the score of a pair, as the runtime makes its input."""
    ids = [encode(tokenizer, text).ids for text in (query, document)]
    inputs = pair_inputs([pairing.pair(pairing.query(ids[0]), ids[1]).rows])
    with torch.inference_mode():
        return float(network(*(torch.from_numpy(values) for values in inputs.values()))[0])
