"""Options of `build`, from which its keywords, the flags of `ranklet build` and checks are made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from ranklet.corpus.building.default_fusion import FUSION, FusionOptions
from ranklet.corpus.building.indexer import SIDES
from ranklet.corpus.distributed.options import LOCAL, EngineOptions
from ranklet.corpus.languages.names import AUTO
from ranklet.corpus.languages.options import TextOptions
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating.update import NO_CLUSTER
from ranklet.export.options import ExportOptions
from ranklet.runtime.dense.stored import SIMILARITIES
from ranklet.runtime.ground.errors import InputError, suggest
from ranklet.runtime.ground.options import (
    Checked,
    as_list,
    check_type,
    number,
    one_of,
    read_each,
    read_from,
    switch,
    text,
)
from ranklet.runtime.lexical.field_index import TITLE
from ranklet.runtime.lexical.impact_index import IMPACT_TYPES
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.workflows.tables.options import QUERIES, QueryOptions

P = ParamSpec("P")
R = TypeVar("R")

VOCABULARIES = ("model", "collection")  # tokens that a model keeps
TITLE_BOOST = 2.0  # better than 1 on all collections with titles (`bm25_defaults`)


def read_fields(typed: Sequence[str]) -> dict[str, float]:
    """Return the weights of fields that were typed on a command line.

    >>> read_fields(["author", "section:2"])
    {'author': 1.0, 'section': 2.0}

    Raises:
        InputError: a weight is no number, or a field stands there twice.
    """
    weights = dict[str, float]()
    for each in typed:
        name, _, weight = each.rpartition(":") if ":" in each else (each, "", "")
        try:
            number = float(weight or 1)
        except ValueError:
            raise InputError(
                f"--field is {each!r:.80}; give NAME or NAME:WEIGHT, such as section:2"
            ) from None
        if name in weights:
            raise InputError(f"--field {name!r:.60} is given twice; give it once")
        weights[name] = number
    return weights


SIMILARITY = "cosine"  # of vectors from outside, unless another is chosen
SOURCE, WORDS = SourceOptions(), TextOptions(language=AUTO)


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Checked):
    """How a search is built.

    Attributes:
        models: folders of models, of sentence-transformers, transformers or ranklet; or names of
            models in the Hugging Face hub's cache on this machine. One may stand without a list.
        label: the label of a cross-encoder that means relevant, if it has several.
        query_prompt: the text before every query of an encoder; None for what its folder says.
        document_prompt: the text before every document of an encoder, likewise.
        vocabulary: ``model`` for all tokens of the models, or ``collection`` for those of the
            documents only, of which the models make the same vectors and scores. Other words of
            queries, and of documents that are added later, are split into smaller tokens.
        vectors: those of the documents, which somebody else has computed: the name of a column, a
            file of .npy, an array, vectors by id, or a function of a list of texts.
        vector_model: the name of the model that made them.
        similarity: of these vectors, ``cosine`` or ``dot``.
        titles: whether titles are part of the text that is ranked.
        fields: weights of columns that are searched as fields of their own, and perhaps of the
            title, which is a part of the text otherwise; the text counts 1.
        title_boost: how often BM25 counts each word of a title; None for `TITLE_BOOST`, or 1 if
            titles are not ranked.
        impacts: how BM25's impacts are stored.
        source: how the documents are read and split into passages.
        words: the language of the texts, and what counts as forms of one word.
        fusion: how the lists of several rankers become one.
        engine: where documents are analysed and encoded, on this machine or on several by Ray.
        query: what encodes queries, the models' network or a table.
        sides: ``query`` to leave out what encodes documents alone, so that none can be added;
            ``both`` to keep it; None for ``query`` of a router of two encoders, and ``both`` of
            other models.
        export: how models are exported. They are verified on ranklet's own texts, so that the same
            model is exported once on a machine, and kept in the user's folder for caches.
        recipe: what names the recipe by which it is built, for its provenance; None for none.
    """

    GROUP = "the bundle"
    models: Sequence[str | Path] = ()
    label: str | None = text(
        None, "label of a cross-encoder that means relevant, a name or a number; by default the "
        "only one"
    )  # fmt: skip
    query_prompt: str | None = text(
        None, "text before every query of an encoder; by default what its folder says"
    )
    document_prompt: str | None = text(
        None, "text before every document of an encoder; by default what its folder says"
    )
    vocabulary: str = one_of(
        VOCABULARIES[0],
        VOCABULARIES,
        "tokens that models keep: all of the model's, or those of the collection, so that a "
        "multilingual model takes a third of its memory and other words of queries are split",
    )
    titles: bool = switch(True, "do not rank the titles of documents", flag="--no-titles")
    title_boost: float | None = number(
        None, "how often BM25 counts each word of a title; by default 2", 1, 100
    )
    fields: Mapping[str, float] | None = read_each(
        None, "column to search as a field of its own, NAME or NAME:WEIGHT; may be repeated, and "
        "title is one (the text counts 1)", read_fields, flag="--field",
    )  # fmt: skip
    vectors: Any = read_from(
        None, "vectors of the documents, which somebody else has computed: a column, or a file of "
        "vectors (docs/own-vectors.md)", str
    )  # fmt: skip
    vector_model: str = text("", "name of the model that made the vectors, for the record")
    similarity: str = one_of(SIMILARITY, SIMILARITIES, "score of two vectors from outside")
    impacts: str = one_of(
        BM25Settings.impacts, tuple(IMPACT_TYPES), "how BM25's impacts are stored"
    )
    sides: str | None = one_of(
        None, SIDES, "encoders to keep: both, or that of queries alone, so that no documents can "
        "be added (by default query of a router, and both of others)"
    )  # fmt: skip
    source: SourceOptions = SOURCE
    words: TextOptions = WORDS
    fusion: FusionOptions = FUSION
    engine: EngineOptions = LOCAL
    query: QueryOptions = QUERIES
    export: ExportOptions | None = None
    recipe: str | None = None

    def __post_init__(self) -> None:
        """Check every value, and what has no effect without models."""
        models = self.models
        if isinstance(models, str | Path):
            models = [models]
        object.__setattr__(self, "models", tuple(as_list(models, "models", "give their folders")))
        super().__post_init__()
        if self.export is not None:
            check_type("export", self.export, ExportOptions)
        if not self.models and self.vectors is None and self.query.table:
            raise InputError("a table of queries learns from a model; give models, or leave it out")
        encoded = bool(self.models) or self.vectors is not None
        if not encoded and (self.export is not None or self.fusion.fusion != FUSION.fusion):
            raise InputError(
                f"{'fusion' if self.export is None else 'export'} has no effect without models; "
                "leave it out, or give models"
            )
        if self.vectors is None and (self.vector_model or self.similarity != SIMILARITY):
            name = "vector_model" if self.vector_model else "similarity"
            raise InputError(f"{name} has no effect without vectors; leave it out, or give these")
        if self.query.table and self.query.texts and not self.models:
            raise InputError("texts have no vectors; give pairs, or leave texts out")
        if self.query.pairs is not None and self.vectors is None:
            raise InputError("pairs are for vectors from outside; give these, or leave pairs out")
        if self.vectors is not None and self.engine != LOCAL:
            raise InputError(NO_CLUSTER)
        self.bm25.check_titles(self.titles)

    @property
    def bm25(self) -> BM25Settings:
        """The settings of BM25."""
        usual = TITLE_BOOST if self.titles and TITLE not in (self.fields or ()) else 1.0
        boost = usual if self.title_boost is None else self.title_boost
        return BM25Settings(title_boost=boost, impacts=self.impacts, fields=self.fields)

    def changed(self, given: Mapping[str, Any]) -> Self:
        """Return the options with some that were given by name, such as ``language`` of `words`.

        Raises:
            InputError: one is unknown, or its value is not allowed.
        """
        own = {each.name for each in fields(self)}
        inner = dict.fromkeys((each.name for each in fields(TextOptions)), "words")
        inner |= dict.fromkeys((each.name for each in fields(QueryOptions)), "query")
        inner |= {"types": "source", "boost": "fusion"}
        for name in given:
            if name not in own | inner.keys():
                meant = suggest(name, sorted(own | inner.keys()))
                raise InputError(f"build has no option {name!r}{meant}")
        changes = {name: value for name, value in given.items() if name in own}
        for own_name in dict.fromkeys(inner[name] for name in given if name in inner):
            values = {name: each for name, each in given.items() if inner.get(name) == own_name}
            changes[own_name] = replace(changes.get(own_name, getattr(self, own_name)), **values)
        return replace(self, **changes)


BUILD = BuildOptions()


def accept_options(function: Callable[P, R]) -> Callable[P, R]:
    """Let the signature of a function that takes options by name show all of them."""
    own = signature(function)
    named = [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in fields(BuildOptions)
    ]
    kept = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    vars(function)["__signature__"] = own.replace(parameters=[*kept, *named])
    return function
