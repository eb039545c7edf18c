"""Cut a tokenizer to some tokens, so that it reads some texts as it did before.

Kept are the tokens of the texts, all tokens of a single character or byte, and all special tokens.
So every other text can be read, too: a word whose token is gone is split into smaller ones.

That nothing changes for the texts follows from how the models work. Unigram takes the best of all
ways to divide a word, and BERT's WordPiece the longest token at each place; fewer tokens leave that
choice as it was. BPE merges neighbours in a fixed order, and what leads to a kept token is kept.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.runtime.text.tokenizing import encode_batch

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.runtime.text.tokenizing import Encoding

AT_A_TIME = 1000  # texts
_AFFIXES = re.compile(r"^(##|[▁Ġ])|</w>$")  # of word pieces, SentencePiece, bytes and older BPE
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def find_used_tokens(tokenizer: "Tokenizer", texts: Iterable[str]) -> set[int]:
    """Return the ids of all tokens of some texts, with special tokens."""
    used = set[int]()
    for encoded in _encode(tokenizer, texts):
        used.update(encoded.ids)
    return used


def cut_tokenizer(
    tokenizer: "Tokenizer",
    used: Collection[int],
    spellings: Collection[str] = (),
    *,
    singles: bool = True,
) -> "tuple[Tokenizer, NDArray[np.int64]]":
    """Return a tokenizer with fewer tokens, and the former id of each of them, ascending.

    Args:
        tokenizer: one whose model is Unigram, WordPiece, WordLevel or BPE.
        used: ids of tokens to keep.
        spellings: further tokens to keep, if there are such.
        singles: whether tokens of a single character are kept, so that other texts can be read.

    Raises:
        ExportError: the tokenizer is of another kind, or its tokens have no numbers of their own.
    """
    described = json.loads(tokenizer.to_str())
    model, added = described["model"], described["added_tokens"]
    ids = _ids_of(model)
    every = {**ids, **{each["content"]: each["id"] for each in added}}
    names = {id_: name for name, id_ in every.items()}
    kept = {id_ for name, id_ in ids.items() if name in spellings or (singles and _is_single(name))}
    kept |= {*used} | {each["id"] for each in added}
    kept |= {ids[name] for name in (model.get("unk_token"),) if name in ids}
    kept |= _needed_ids(model, names, kept)
    former = np.array(sorted(kept), np.int64)
    number = {id_: at for at, id_ in enumerate(former.tolist())}
    _renumber(model, number, names)
    for each in added:
        each["id"] = number[each["id"]]
    own = {name: number[id_] for name, id_ in every.items() if id_ in number}
    described["post_processor"] = _renumbered(described["post_processor"], own)
    described["padding"] = None
    cut: Tokenizer = type(tokenizer).from_str(json.dumps(described))
    wrong = [name for name, id_ in own.items() if cut.token_to_id(name) != id_]
    if wrong or cut.get_vocab_size() != len(former):
        raise ExportError(
            f"the vocabulary cannot be cut, because the tokenizer numbers {wrong[:1]} in a way of "
            "its own; leave out --vocabulary"
        )
    return cut, former


def check_same(
    whole: "Tokenizer",
    cut: "Tokenizer",
    former: NDArray[np.int64],
    texts: Callable[[], Iterable[str]],
) -> None:
    """Check that two tokenizers read texts alike.

    Raises:
        ExportError: a text has other tokens.
    """
    for ours, theirs in zip(_encode(cut, texts()), _encode(whole, texts()), strict=True):
        if former[ours.ids].tolist() != theirs.ids:
            raise ExportError(
                "the vocabulary cannot be cut, because a text would be read in another way; leave "
                "out --vocabulary"
            )


def _encode(tokenizer: "Tokenizer", texts: Iterable[str]) -> "Iterator[Encoding]":
    block: list[str] = []
    for text in texts:
        block.append(text)
        if len(block) == AT_A_TIME:
            yield from encode_batch(tokenizer, block, special=True)
            block = []
    if block:
        yield from encode_batch(tokenizer, block, special=True)


def _ids_of(model: Mapping[str, Any]) -> dict[str, int]:
    """Return the ids of a model's tokens; the model is one of tokenizer.json."""
    if model.get("type") == "Unigram":
        return {name: at for at, (name, _) in enumerate(model["vocab"])}
    if isinstance(model.get("vocab"), dict):
        return dict(model["vocab"])
    raise ExportError(
        f"the vocabulary cannot be cut, because the tokenizer is a {model.get('type')}; leave out "
        "--vocabulary"
    )


def _is_single(name: str) -> bool:
    return len(_AFFIXES.sub("", name)) <= 1 or bool(_BYTE.fullmatch(name))


def _needed_ids(
    model: Mapping[str, Any], names: Mapping[int, str], kept: Collection[int]
) -> set[int]:
    """Return the ids of tokens without which the kept ones would not be found as before."""
    if model["type"] == "Unigram":
        # The least score of all is also that of an unknown character.
        scores = [score for _, score in model["vocab"]]
        return {int(np.argmin(scores)), *([model["unk_id"]] if model["unk_id"] is not None else [])}
    if model["type"] != "BPE":
        return set()
    parts: dict[str, list[tuple[str, str]]] = {}
    for first, second in map(_pair, model["merges"]):
        parts.setdefault(_merge(model, first, second), []).append((first, second))
    todo, found = [names[id_] for id_ in kept], set[str]()
    while todo:
        for pair in parts.get(todo.pop(), ()):
            todo += {*pair} - found
            found |= {*pair}
    return {model["vocab"][name] for name in found}


def _pair(merge: str | list[str]) -> tuple[str, str]:
    """Return the parts of a merge, which older files write as one text."""
    first, second = merge.split(" ") if isinstance(merge, str) else merge
    return first, second


def _merge(model: Mapping[str, Any], first: str, second: str) -> str:
    return first + second.removeprefix(model.get("continuing_subword_prefix") or "")


def _renumber(model: dict[str, Any], number: Mapping[int, int], names: Mapping[int, str]) -> None:
    """Leave only the tokens that have a new number in a model, in place."""
    if model["type"] == "Unigram":
        model["vocab"] = [each for at, each in enumerate(model["vocab"]) if at in number]
        model["unk_id"] = None if model["unk_id"] is None else number[model["unk_id"]]
        return
    model["vocab"] = {name: number[id_] for name, id_ in model["vocab"].items() if id_ in number}
    if model["type"] == "BPE":
        known = {names[id_] for id_ in number}
        pairs = map(_pair, model["merges"])
        model["merges"] = [[*pair] for pair in pairs if {*pair, _merge(model, *pair)} <= known]


def _renumbered(part: Any, own: Mapping[str, int]) -> Any:
    """Return a post-processor with new numbers; it names each token next to its number."""
    if isinstance(part, dict):
        if isinstance(part.get("tokens"), list) and "ids" in part:
            return {**part, "ids": [own[name] for name in part["tokens"]]}
        return {key: _renumbered(value, own) for key, value in part.items()}
    if isinstance(part, list):
        if len(part) == 2 and isinstance(part[0], str) and type(part[1]) is int:
            return [part[0], own[part[0]]]
        return [_renumbered(each, own) for each in part]
    return part
