"""What a sentence-transformers model says of all its texts, such as its prompts and similarity."""

import logging
import re
from collections.abc import Mapping
from typing import NamedTuple

from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.training.imported.folder import ModelFolder

_log = logging.getLogger(__name__)

_SIMILARITIES = {"cosine": "cosine", "dot": "dot", "dot_product": "dot"}
_PROMPTS = (("query",), ("document", "passage", "corpus"))  # names of both roles


class Prompts(NamedTuple):
    """Texts that come before every query and every document; empty if there are none."""

    query: str
    document: str


# The prompts of families whose folders often lack them. BGE-M3 has none.
_FAMILY = re.compile(r"(?:^|[-_.])(e5|bge)(?=[-_.]|$)(?!-m3)")
_USUAL = {
    "e5": Prompts("query: ", "passage: "),
    "bge": Prompts("Represent this sentence for searching relevant passages: ", ""),
}


def choose_prompts(prompts: Mapping[str, str | None]) -> Prompts:
    """Return the prompts of queries and documents among those of a model, by their names.

    The default prompt is for neither role: sentence-transformers' encode_query and encode_document
    do not use it.
    """
    return Prompts(*(prompts.get(name) or "" for name in prompt_names(prompts)))


def prompt_names(prompts: Mapping[str, str | None]) -> tuple[str, str]:
    """Return the names of the prompts of queries and documents, which may be empty or lacking.

    sentence-transformers writes an empty prompt "document" next to a prompt "passage".
    """
    query, document = (
        next((name for name in names if prompts.get(name)), names[0]) for names in _PROMPTS
    )
    return query, document


def pick_prompts(folder: ModelFolder, query: str | None, document: str | None) -> Prompts:
    """Return the prompts of a folder, or those that are given in their place.

    A warning says that a model has only prompts of other names, or that one of a family that needs
    prompts has none.
    """
    own = choose_prompts(folder.prompts)
    prompts = Prompts(
        own.query if query is None else query, own.document if document is None else document
    )
    if any(prompts) or query is not None or document is not None:
        return prompts
    others = [name for name, text in folder.prompts.items() if text]
    family = _FAMILY.search(folder.name.lower())
    if others:
        _log.warning(
            "%s has prompts (%s), but none of a name that is used for queries or documents, so "
            "that it gets none; give --query-prompt and --document-prompt",
            folder.name,
            ", ".join(others),
        )
    elif family:
        usual = _USUAL[family[1]]
        _log.warning(
            "%s looks like %s, whose texts begin with prompts, but its folder names none; give "
            "--query-prompt %r%s",
            folder.name,
            family[1].upper(),
            usual.query,
            f" --document-prompt {usual.document!r}" if usual.document else "",
        )
    return prompts


def read_similarity(folder: ModelFolder) -> str:
    """Return how a folder compares vectors, cosine or dot.

    Raises:
        ModelFolderError: it compares them in another way.
    """
    name = folder.sentence.get("similarity_fn_name") or "cosine"
    if name not in _SIMILARITIES:
        raise ModelFolderError(
            f"{str(folder.path)!r} compares vectors by {name!r}; supported are cosine and dot"
        )
    return _SIMILARITIES[name]


def read_dimension(folder: ModelFolder, wanted: int | None, whole: int) -> int:
    """Return how many numbers of a vector are kept.

    Args:
        folder: a Matryoshka model names a number (truncate_dim).
        wanted: what the user chose; None for the folder's.
        whole: the length of the whole vectors.

    Raises:
        InputError: the vectors are shorter.
    """
    own = folder.sentence.get("truncate_dim") or whole
    chosen = wanted if wanted is not None else min(int(own), whole)
    if type(chosen) is not int or not 1 <= chosen <= whole:
        raise InputError(f"dimension is {chosen}; this model allows 1 to {whole}")
    return chosen
