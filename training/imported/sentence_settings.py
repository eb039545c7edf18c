"""What a sentence-transformers model says of all its texts: prompts, similarity, dimension."""

from typing import NamedTuple

from ranklet.runtime.errors import InputError, ModelFolderError
from ranklet.training.imported.folder import ModelFolder

_SIMILARITIES = {"cosine": "cosine", "dot": "dot", "dot_product": "dot"}
_PROMPTS = (("query",), ("document", "passage", "corpus"))  # names of both roles


class Prompts(NamedTuple):
    """Texts that come before every query and every document; empty if there are none."""

    query: str
    document: str


def prompts_of(folder: ModelFolder) -> Prompts:
    """Return the prompts of a folder; a role without a prompt of its own has the default one.

    sentence-transformers writes an empty prompt "document" next to a prompt "passage".
    """
    prompts = folder.sentence.get("prompts") or {}
    default = prompts.get(folder.sentence.get("default_prompt_name"))

    def prompt(names: tuple[str, ...]) -> str:
        own = [prompts[name] for name in names if prompts.get(name) is not None]
        return next(filter(None, own), "" if own else default or "")

    return Prompts(*map(prompt, _PROMPTS))


def similarity_of(folder: ModelFolder) -> str:
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


def dimension_of(folder: ModelFolder, wanted: int | None, whole: int) -> int:
    """Return how many numbers of a vector are kept.

    Args:
        folder: a Matryoshka model names a number (truncate_dim).
        wanted: what the user chose; None for the folder's.
        whole: the length of the whole vectors.

    Raises:
        InputError: the vectors are shorter.
    """
    chosen = wanted if wanted is not None else folder.sentence.get("truncate_dim") or whole
    if type(chosen) is not int or not 1 <= chosen <= whole:
        raise InputError(f"dimension is {chosen}; this model allows 1 to {whole}")
    return chosen
