"""The table of ranker kinds, and what their settings share.

A kind has a module of its name in four layers: runtime/rankers, corpus/rankers, training/rankers
and export/rankers. No code outside a kind's own modules names it. The properties that other code
needs are in the kind's row or in its settings.
"""

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, NamedTuple, Self

from ranklet.runtime.ground.errors import BundleError, InputError, UnknownRankerError
from ranklet.runtime.ground.options import Checked


class Kind(NamedTuple):
    """The properties of a kind that other code needs.

    Attributes:
        name: the name of the kind and of its modules.
        index: how it retrieves, by ``impacts``, which makes deep lists cheap, by dense
            ``vectors``, or by ``exhaustive`` scoring of all documents, which is for small
            collections; empty if it only rescores.
        own_tokenizer: whether its tokenizer may differ from the bundle's word-piece tokenizer.
        needs_collection: whether it needs statistics or words of a collection to rank texts.
        every_term: whether its index has every term of every document, of the field in its
            settings.
        lexical: whether it is trained and exported without PyTorch.
        only_tuned: whether a training learns nothing but what is tuned on judged queries.
        imported: whether models of other libraries are imported as it; it then has the modules
            `forms` and `importing` beside its training.
        of_papers: whether it is here to reproduce a paper. Where a user chooses, such kinds stand
            apart, after those to use.
    """

    name: str
    # The type of a tuple's method of that name, which this hides, is another.
    index: Literal["impacts", "vectors", "exhaustive", ""] = ""  # type: ignore[assignment]
    own_tokenizer: bool = False
    needs_collection: bool = True
    every_term: bool = False
    lexical: bool = False
    only_tuned: bool = False
    imported: bool = False
    of_papers: bool = False

    @property
    def retrieves(self) -> bool:
        """Whether it has an index; kinds without one only rescore."""
        return bool(self.index)

    @property
    def finds(self) -> bool:
        """Whether its index finds the best documents without a score of each."""
        return self.index in ("impacts", "vectors")

    @property
    def compares(self) -> Literal["words", "vectors", ""]:
        """What its scores compare, by which ranklet knows how likely a hit is; empty otherwise."""
        if self.every_term:
            return "words"
        return "vectors" if self.index == "vectors" else ""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("bm25", "impacts", every_term=True, lexical=True, only_tuned=True),
        Kind("model1", lexical=True),
        Kind("dense", "vectors", needs_collection=False, imported=True),
        Kind("epic", "impacts", own_tokenizer=True, needs_collection=False, imported=True),
        Kind("splade", "impacts", own_tokenizer=True, needs_collection=False, imported=True),
        Kind("colbert", "exhaustive", needs_collection=False, imported=True),
        Kind("cross_encoder", own_tokenizer=True, needs_collection=False, imported=True),
        Kind("neural_model1", of_papers=True),
        Kind("srm", "exhaustive", needs_collection=False, of_papers=True),
        Kind("conformer_kernel", "impacts", imported=True, of_papers=True),
        Kind("tk", of_papers=True),
    )
}


def ranker_module(kind: str) -> ModuleType:
    """Return the runtime module of a kind, imported on first use.

    The check against `KINDS` prevents a manifest from naming any other module.

    Raises:
        UnknownRankerError: there is no such kind.
    """
    if kind not in KINDS:
        raise UnknownRankerError(f"unknown ranker kind {kind!r}; known are {', '.join(KINDS)}")
    return import_module(f"ranklet.runtime.rankers.{kind}")


class Settings(Checked):
    """What the settings of every kind have; a kind's are a frozen dataclass over this class.

    Attributes:
        field: the form of the text that the ranker reads: lemmas, words or wordpieces; empty if it
            reads the text itself.
    """

    field: str = ""

    @property
    def given(self) -> bool:
        """Whether the vectors of documents come from outside."""
        return False

    @property
    def documents_apart(self) -> bool:
        """Whether the graphs in the ranker's folder encode documents alone."""
        return False

    @property
    def routed(self) -> bool:
        """Whether queries and documents have encoders that were made for each other."""
        return False

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], where: str) -> Self:
        """Read the settings of a manifest or a checkpoint.

        Raises:
            BundleError: a setting is unknown or its value is not allowed; it names `where`.
        """
        known = [each.name for each in fields(cls)]  # type: ignore[arg-type]
        unknown = [name for name in raw if name not in known]
        if unknown:
            raise BundleError(
                f"{where}: unknown setting {unknown[0]!r}; known are {', '.join(known)}"
            )
        try:
            return cls(**raw)
        except InputError as error:
            raise BundleError(f"{where}: {error}") from error

    @property
    def by_tokens(self) -> bool:
        """Whether a query is a sum over its tokens, so that a fusion weighs it as words."""
        return False

    @property
    def per_pair(self) -> bool:
        """Whether a network runs over each pair, so that the ranker is for few candidates."""
        return False
