"""Cut the vocabulary of a checkpoint, whose network or table then has fewer rows.

A model of many languages spends most of its bytes on words of languages that a collection does not
have: of multilingual-e5-small's 470 MB, 384 MB are vectors of its 250,000 tokens.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.updating.update import VOCABULARY
from ranklet.export.errors import ExportError
from ranklet.export.exporter import exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.whole import Whole
from ranklet.export.proof.parity import parity_texts
from ranklet.export.vocabulary.tokens import check_same, cut_tokenizer, find_used_tokens
from ranklet.runtime.ground.errors import InputError
from ranklet.training.checkpoint import Checkpoint

LARGE = 100_000  # tokens from which on a network is proven with those of its probes only
SIZE, TABLE = "vocab_size", "table"  # in config.json, and the array of static embeddings
BY_TOKEN = {"query_rows", "query_scales"}  # arrays of a table of queries, a row per token

_log = logging.getLogger(__name__)

J = TypeVar("J", bound=ExportJob)
Texts = Callable[[], Iterable[str]]


class Cut(NamedTuple):
    """A checkpoint with fewer tokens."""

    checkpoint: Checkpoint
    former: NDArray[np.int64]  # the former row of each row of its table, ascending


def can_cut(checkpoint: Checkpoint) -> bool:
    """Return whether a ranker splits texts by a tokenizer of its own and has no value by token."""
    alone = not checkpoint.settings.field and checkpoint.queries is None
    return exporter(checkpoint.kind).cuts and alone


def texts_read(checkpoint: Checkpoint, texts: Iterable[str]) -> Iterator[str]:
    """Yield what a ranker reads as a query and as a document, for each of some texts."""
    settings = asdict(checkpoint.settings)
    prompts = {str(settings.get(f"{role}_prompt", "")) for role in ("query", "document")}
    yield from prompts
    yield from (prompt + text for text in texts for prompt in prompts)


def cut_all(checkpoints: Mapping[str, Checkpoint], texts: Texts) -> dict[str, Checkpoint]:
    """Return models with the tokens of a collection's texts, where that is possible.

    Raises:
        InputError: it is possible for none of them.
        ExportError: see `cut_to_collection`.
    """
    able = [name for name, each in checkpoints.items() if can_cut(each)]
    if not able:
        raise InputError(
            "--vocabulary collection is for dense encoders, static embeddings, late-interaction "
            "encoders and cross-encoders that split texts themselves; leave it out"
        )
    for name in checkpoints.keys() - {*able}:
        _log.warning("%s keeps its whole vocabulary, because its kind needs all tokens", name)
    return {
        name: cut_to_collection(each, texts) if name in able else each
        for name, each in checkpoints.items()
    }


def cut_to_collection(checkpoint: Checkpoint, texts: Texts) -> Checkpoint:
    """Return a checkpoint with the tokens of a collection's texts, which it encodes as before.

    Args:
        checkpoint: one that can be cut.
        texts: returns the texts, which are read twice.

    Raises:
        ExportError: the tokenizer cannot be cut, or would read a text in another way.
    """
    whole = checkpoint.need_tokenizer()
    small, former = cut(checkpoint, texts())
    check_same(whole, small.need_tokenizer(), former, lambda: texts_read(checkpoint, texts()))
    of_queries = {name: checkpoint.arrays[name][former] for name in BY_TOKEN & {*checkpoint.arrays}}
    small = replace(small, arrays={**small.arrays, **of_queries})
    some, every = small.need_tokenizer().get_vocab_size(), whole.get_vocab_size()
    kept = f"{some:,} of {every:,} tokens, those of the collection"
    return replace(small, training={**checkpoint.training, VOCABULARY: kept})


def cut(checkpoint: Checkpoint, texts: Iterable[str], *, singles: bool = True) -> Cut:
    """Return a checkpoint with the tokens of some texts; see `cut_tokenizer`.

    Raises:
        ExportError: the tokenizer cannot be cut, or the network has no table of its tokens.
    """
    whole, network = checkpoint.need_tokenizer(), dict(checkpoint.network)
    special = special_tokens(network)
    known = {id_ for id_ in special.values() if whole.id_to_token(id_) is not None}
    settings = [str(value) for value in asdict(checkpoint.settings).values()]
    spellings = {word for value in settings for word in value.split()}  # such as markers
    used = find_used_tokens(whole, texts_read(checkpoint, texts)) | known
    tokenizer, former = cut_tokenizer(whole, used, spellings, singles=singles)
    arrays, weights = dict(checkpoint.arrays), dict(checkpoint.weights)
    tables = weights if network else arrays
    names = table_names(checkpoint) if network else [TABLE]
    # What follows the tokens stays, such as the markers of a cross-encoder.
    beyond = np.arange(max(whole.get_vocab().values()) + 1, len(tables[names[0]]))
    former = np.concatenate([former, beyond])
    for name in names:
        tables[name] = tables[name][former]
    if network:
        number = {id_: at for at, id_ in enumerate(former.tolist())}
        network |= {key: number.get(id_) for key, id_ in special.items()}
        network[SIZE] = len(former)
    return Cut(
        replace(checkpoint, arrays=arrays, weights=weights, network=network, tokenizer=tokenizer),
        former,
    )


def set_aside(checkpoint: Checkpoint, texts: Iterable[str]) -> tuple[Checkpoint, Whole | None]:
    """Return a checkpoint with the tokens of some texts, and what it lacks of the whole one.

    It is the same checkpoint if it has few tokens, or if it cannot be cut without another id of a
    special token, which a graph may contain.
    """
    tokenizer = checkpoint.tokenizer
    few = tokenizer is None or tokenizer.get_vocab_size() < LARGE or not checkpoint.network
    if few or not can_cut(checkpoint):
        return checkpoint, None
    try:
        small, former = cut(checkpoint, texts, singles=False)
    except ExportError:
        return checkpoint, None
    special = special_tokens(checkpoint.network)
    if special_tokens(small.network) != special:
        return checkpoint, None
    table = checkpoint.weights[table_names(checkpoint)[0]]
    return small, Whole(checkpoint.need_tokenizer(), table, former)


def lighten(job: J) -> J:
    """Let a network of many tokens be proven with those of its probes; OpenVINO needs them all."""
    given = job.checkpoint.settings.given  # nothing is encoded
    if given or not exporter(job.checkpoint.kind).cuts or "openvino" in job.options.variants:
        return job
    probes, fixed = job.probes(), parity_texts()
    texts = (*probes.queries, *probes.documents, *fixed.queries, *fixed.documents)
    small, whole = set_aside(job.checkpoint, texts)
    return replace(job, checkpoint=small, whole=whole)


def table_names(checkpoint: Checkpoint) -> list[str]:
    """Return the names of the weights that hold a network's vectors of tokens, equal ones.

    Raises:
        ExportError: there are none.
    """
    import torch

    from ranklet.training.imported.encoder import new_network

    with torch.device("meta"):
        network: Any = new_network("AutoModel", checkpoint.network, "eager")
    table = network.get_input_embeddings().weight
    own = [
        name for name, values in network.named_parameters(remove_duplicate=False) if values is table
    ]
    rows = checkpoint.network.get(SIZE)
    found = [
        name
        for name, values in checkpoint.weights.items()
        if np.shape(values)[:1] == (rows,) and any(f".{name}".endswith(f".{each}") for each in own)
    ]
    if not found:
        raise ExportError(
            "the vocabulary cannot be cut, because no table of the network has a row per token; "
            "leave out --vocabulary"
        )
    return found


def special_tokens(network: Mapping[str, Any]) -> dict[str, int]:
    """Return the ids of tokens that the content of a config.json names, by its keys."""
    return {
        key: value
        for key, value in network.items()
        if key.endswith("_token_id") and type(value) is int and value >= 0
    }
