"""Import cross-encoders of sentence-transformers and transformers with their trained heads."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ranklet.corpus.faults import one_line
from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.runtime.rankers.cross_encoder.ranker import IMPORTED, CrossEncoderSettings
from ranklet.runtime.text.marking import TERMS, added_tokens
from ranklet.runtime.text.pairing import (
    BERT_SEGMENTS,
    DOCUMENT,
    MOST_TOKENS,
    QUERY,
    Pairing,
    PairLayout,
    pair_inputs,
    pair_layout,
)
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.chain import (
    MODULES,
    SCORES,
    WITHOUT_EFFECT,
    Chain,
    describe_modules,
    name_activation,
    take_modules,
    try_modules,
)
from ranklet.training.imported.encoder import takes_token_types
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.original import ReadTransformer, load_original, shortened
from ranklet.training.learning.weights import load_weights, take_weights
from ranklet.training.rankers.cross_encoder.classifier import (
    ACTIVATION,
    LABEL,
    SEGMENTS,
    PairClassifier,
    new_classifier,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

IDENTITY, SOFTMAX = "torch.nn.Identity", "torch.nn.Softmax"  # functions of logits
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
    prompt = model.prompts.get(model.default_prompt_name)
    read = ReadTransformer.of(model[0], folder.path, MOST_TOKENS)
    tokenizer, marks, template = read.tokenizer, marking or "none", ""
    if "message" in model[0].modality_config:
        template = read_template(model[0], prompt, folder.path)
    elif prompt:
        raise ModelFolderError(
            f"{str(folder.path)!r} has the prompt {prompt!r:.60}, which is supported for a "
            "cross-encoder with a chat template only"
        )
    network, modules = _logit_head(model, folder)
    keys = {MODULES: describe_modules(modules, folder.path)} if modules else {}
    labels = {int(number): str(name) for number, name in read.config["id2label"].items()}
    activation = name_activation(model.activation_fn)
    if modules:
        chain = Chain(network, keys[MODULES])
        take_modules(chain, modules)
        scores = try_modules(chain, folder.path, SCORES)[1]
        labels = labels if len(labels) == scores else {at: str(at) for at in range(scores)}
    number = choose_label(folder, labels, label)
    if len(labels) == 2 and activation == IDENTITY:  # one logit of two says nothing alone
        activation = SOFTMAX
    if added_tokens(marks):
        tokenizer = _without_markers(tokenizer)
    try:
        layout = PairLayout([], [], [], ()) if template else pair_layout(tokenizer)
        longest = read.longest
        most = longest if marks == "none" else longest // 2  # the other half is for marks
        settings = CrossEncoderSettings(
            max_query_tokens=max(1, (most - layout.around) // 2),
            max_tokens=most,
            marking=marks,
            mark_tokens=longest - most,
            head=IMPORTED,
            field="",
            template=template,
        )
    except ModelFolderError:
        raise
    except InputError as error:
        raise ModelFolderError(f"{str(folder.path)!r} cannot read pairs: {error}") from None
    segments = not template and _reads_segments(folder, model[0], layout)
    config = {**read.config, **keys, LABEL: number, ACTIVATION: activation, SEGMENTS: segments}
    whole = PairClassifier(network, config)
    take_modules(whole, modules)
    return Checkpoint(
        "cross_encoder",
        settings,
        tokenizer=tokenizer,
        training={
            "imported": folder.name,
            "label": labels[number],
            "activation": activation.rpartition(".")[2].lower(),
        },
        network=config,
        weights=take_weights(whole),
    )


def _logit_head(model: Any, folder: ModelFolder) -> tuple[Any, list[Any]]:
    """Return the network and the modules after it.

    Of a language model that says yes or no (LogitScore), only its states are needed, and the
    difference of the two rows of its head.

    Raises:
        ModelFolderError: its logits are changed before they are compared.
    """
    first, *modules = model
    names = [type(each).__name__ for each in modules]
    if names != ["LogitScore"]:
        return first.model, [each for each in modules if type(each).__name__ != WITHOUT_EFFECT]
    from sentence_transformers.base.modules import Dense
    from sentence_transformers.sentence_transformer.modules import Pooling

    network, (score,) = first.model, modules
    if getattr(network.config, "final_logit_softcapping", None):
        raise ModelFolderError(
            f"{str(folder.path)!r} has a LogitScore of logits that are capped "
            "(final_logit_softcapping), which is not supported"
        )
    head, rows = network.get_output_embeddings(), [score.true_token_id, score.false_token_id]
    kept = [head.weight[row] for row in rows if row is not None]
    biases = [head.bias[row] for row in rows if row is not None and head.bias is not None]
    size = len(kept[0])
    dense = Dense(
        size, 1, bias=bool(biases), activation_function=None, module_output_name=SCORES,
        init_weight=(kept[0] - sum(kept[1:])).detach()[None],
        init_bias=(biases[0] - sum(biases[1:])).detach()[None] if biases else None,
    )  # fmt: skip
    return network.base_model, [Pooling(size, "lasttoken"), dense]


def read_template(module: Any, prompt: str | None, path: Path) -> str:
    """Return the text of a pair as a chat template writes it, with places for both texts.

    Raises:
        ModelFolderError: the template does not write both, once each.
    """
    form, wanted = module.input_formatter, (QUERY, DOCUMENT)
    modality, inputs, _ = form.parse_inputs([wanted])
    if modality != "message":
        _, inputs = form.batch_to_message(modality, inputs)
    messages = inputs["message"]
    if prompt:
        messages = form.prepend_prompt_to_messages(messages, prompt)
    options = dict(module.processing_kwargs.get("chat_template") or {})
    options.pop("restore_suffix", None)
    with one_line(f"the chat template of {str(path)!r} fails"):
        text = module.tokenizer.apply_chat_template(messages[0], tokenize=False, **options)
    if [text.count(each) for each in wanted] != [1, 1] or text.find(QUERY) > text.find(DOCUMENT):
        raise ModelFolderError(
            f"the chat template of {str(path)!r} does not write the query and then the document"
        )
    return str(text)


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
    if checkpoint.network[ACTIVATION] == SOFTMAX:
        options |= {"activation_fn": torch.nn.Softmax(-1)}
    expected = np.asarray(theirs.predict(pairs, **options), np.float32)
    expected = expected.reshape(len(pairs), -1)[:, checkpoint.network[LABEL]]
    del theirs  # two networks need not be in memory
    network = new_classifier(checkpoint.network, attention="eager")
    load_weights(network.eval(), checkpoint.weights)
    pairing = Pairing(settings, checkpoint.need_tokenizer())
    ours = [_score(network, pairing, *pair) for pair in pairs]
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


def _score(network: PairClassifier, pairing: Pairing, query: str, document: str) -> float:
    """Return the score of a pair, as the runtime makes its input."""
    inputs = pair_inputs([pairing.pair_texts(query, document).rows])
    with torch.inference_mode():
        return float(network(*(torch.from_numpy(values) for values in inputs.values()))[0])
