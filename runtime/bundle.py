"""A loaded bundle, which `runtime.load` returns and which ranks, scores and explains."""

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Self, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.asks import (
    MILVUS,
    OWN,
    Ask,
    BoostLike,
    ContextAsk,
    Document,
    Where,
    asking,
    check_query,
    check_text,
    is_blank,
    own_documents,
)
from ranklet.runtime.bundles.files import BundleFiles, Check, locate_additions, stamp_additions
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.ground.options import as_list, check_whole
from ranklet.runtime.ground.short_tracebacks import short_tracebacks
from ranklet.runtime.ground.tracing import record
from ranklet.runtime.storage.address import Address, BundleLike, shown

if TYPE_CHECKING:
    from ranklet.runtime.answers.context import Context
    from ranklet.runtime.answers.explanation import Explanation
    from ranklet.runtime.answers.highlight import Span
    from ranklet.runtime.bundles.additions import Additions
    from ranklet.runtime.bundles.documents import Documents
    from ranklet.runtime.bundles.manifest import Manifest
    from ranklet.runtime.bundles.versions import Version
    from ranklet.runtime.call.protocol import Role, Vectors
    from ranklet.runtime.call.query import QueryContext
    from ranklet.runtime.hits import Completion, Hit, MissingWord, Ranking
    from ranklet.runtime.keywords import ContextOptions, RankOptions
    from ranklet.runtime.metadata.where import Condition
    from ranklet.runtime.pipelines.pipeline import Pipeline, PipelineLike
    from ranklet.runtime.search.local import LocalSearch
    from ranklet.runtime.search.port import Search
    from ranklet.runtime.search.texts import TextRun
    from ranklet.runtime.search.whole_document import WholeDocument
    from ranklet.runtime.syntax.query_syntax import Query
    from ranklet.runtime.text.analysis import Analysis
    from ranklet.runtime.text.common_words import CommonWords, Places

# What to type for names that people know from other packages.
_INSTEAD = {
    "add": "ranklet.open(path, writable=True).add(documents)",
    "delete": "ranklet.open(path, writable=True).delete(ids)",
    "encode": "encode_query(texts) or encode_document(texts), which an encoder may tell apart",
    "get": "document(id)",
    "query": "rank(query)",
    "search": "rank(query)",
}

P = ParamSpec("P")
R = TypeVar("R")


def in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that does the same in a thread, so that the event loop is free.

    The thread sees the caller's context variables. If the awaiting task is cancelled, the thread
    ends its work and its result is dropped, since a thread cannot be stopped.
    """

    @wraps(function)
    async def run(*args: P.args, **options: P.kwargs) -> R:
        import asyncio  # slow to import, and needed only where somebody has it already

        return await asyncio.to_thread(function, *args, **options)

    return run


class Bundle(os.PathLike[str]):
    """A bundle that is ready to rank; immutable and shared by all threads.

    It stands for its path wherever a path may stand, as in ``Path(bundle)`` or ``update(bundle)``.

    Args:
        path: a folder or an uncompressed .zip, or the address of a .zip on object storage.
        check: ``fast`` or ``full``; see `load`.
        device: where models run; see `load`.
        strict: whether a missing device is an error; see `load`.
        cache: the folder for blocks of an address; see `load`.
        collection: the address of a collection in Milvus to rank in place of the bundle's own; see
            `load`.

    Raises:
        InputError: the collection's address is invalid, or it does not belong to the bundle.
        BundleError: the bundle is missing, damaged, hostile or of another version.
        RemoteError: the address cannot be read, or Milvus does not answer.
    """

    def __init__(
        self,
        path: BundleLike,
        check: Check = "fast",
        *,
        device: str = "auto",
        strict: bool = False,
        cache: str | Path | None = None,
        collection: str | None = None,
    ) -> None:
        self._search: Search
        while True:
            files = BundleFiles(path, check, device=device, strict=strict, cache=cache)
            if collection is not None:
                from ranklet.runtime.milvus.search import MilvusSearch

                self._search = MilvusSearch(files, collection)
                return
            self._search = open_search(files)
            if not files.is_replaced:  # by one that has what was added, before the list was read
                return

    def current(self) -> "Bundle":
        """Return the bundle with all that was added to it and deleted of it until now.

        What is open is used again. A bundle from `only` or `at` stays as it is, and so does a
        collection in Milvus.
        """
        from ranklet.runtime.search.local import LocalSearch

        search = self._search
        if not isinstance(search, LocalSearch) or search.only or search.at:
            return self
        files = self.files
        opened = open_search(files, search)
        if files.is_replaced:  # so the list may have been another bundle's
            return Bundle(self.path, device=files.device, strict=files.strict, cache=files.cache)
        return Bundle.over(opened)

    @short_tracebacks
    def at(self, version: int) -> "Bundle":
        """Return the bundle as it was after a write to it; `log` lists its versions.

        Args:
            version: the number of the version; 0 is before the first write.

        Raises:
            InputError: there is no such version, or the collection is in Milvus.
            BundleError: the version cannot be read, or a bundle from `only` had other fields.
        """
        opened = Bundle.over(open_version(self._newest(), version))
        only = self.restriction
        return opened if only is None else opened.under(only, self.metadata)

    @short_tracebacks
    def log(self) -> "list[Version]":
        """Return the versions of the bundle that can be read by `at`, the newest first.

        Raises:
            InputError: the collection is in Milvus.
            BundleError: a version cannot be read.
        """
        from ranklet.runtime.bundles.versions import versions

        return versions(self._newest().files)

    def _newest(self) -> "LocalSearch":
        """Return the search of the bundle that is at the path now."""
        from ranklet.runtime.search.local import LocalSearch

        search, files = self._search, self.files
        if search.at or files.is_replaced:
            again = Bundle(self.path, device=files.device, strict=files.strict, cache=files.cache)
            search = again._search
        if not isinstance(search, LocalSearch):
            raise InputError("a collection in Milvus has no versions; open the bundle by its path")
        return search

    @classmethod
    def over(cls, search: "Search") -> Self:
        """Return a bundle that ranks the documents of a search."""
        bundle = object.__new__(cls)  # a copy would open the path again, as pickle does
        bundle._search = search
        return bundle

    @short_tracebacks
    def only(self, where: Where) -> "Bundle":
        """Return the bundle as if it had only the documents that a filter allows.

        No call on it reveals another document. Ids of others are unknown, filters of `rank` apply
        in addition, and ``len`` counts what is left. Statistics that scores are made of, such as
        how many documents contain a word, are those of the whole collection.

        Args:
            where: a filter by metadata; see `rank`.

        Raises:
            InputError: the filter cannot be used.
        """
        return Bundle.over(self._search.narrowed(where))

    def under(self, condition: "Condition", types: Mapping[str, str]) -> "Bundle":
        """Return the bundle as `only` does, by a condition that was already read from a filter.

        Args:
            condition: the `restriction` of a bundle.
            types: the `metadata` of that bundle.

        Raises:
            BundleError, RemoteError: the fields are others here.
        """
        return Bundle.over(self._search.restricted(condition, types))

    @property
    def restriction(self) -> "Condition | None":
        """The condition that documents must fulfil to be seen; None unless `only` was called."""
        return self._search.only

    @property
    def additions(self) -> "Additions | None":
        """What was added and deleted since the bundle was built; None if nothing was."""
        return self._search.additions

    @property
    def collection(self) -> str | None:
        """The address of the collection in Milvus that is ranked; None for the bundle's own."""
        return self._search.address

    def forget(self) -> None:
        """Close models and indexes; what is needed again is opened again."""
        self._search.forget()

    def close(self) -> None:
        """End the connection to Milvus, if there is one; nothing can be ranked there afterwards."""
        self._search.close()

    @property
    def closed(self) -> bool:
        """Whether a connection that the bundle needs was ended."""
        return self._search.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.collection is not None:  # which would have to be asked for its size
            return f"<ranklet bundle {str(self.path)!r}, which ranks {shown(self.collection)!r}>"
        rankers = ", ".join(self.manifest.rankers) or "none"
        return f"<ranklet bundle {str(self.path)!r}: {self.size}, rankers {rankers}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: documents, rankers, pipelines and fields."""
        from ranklet.runtime.answers.html import (
            element,  # its table of entities is for notebooks only
        )
        from ranklet.runtime.bundles.manifest import in_words

        rows = {
            "documents": self.size,
            "rankers": ", ".join(f"{k} ({e.kind})" for k, e in self.manifest.rankers.items()),
            **{f"pipeline {name}": str(each) for name, each in self.manifest.pipelines.items()},
            "metadata": in_words(self.metadata),
        }
        left = partial(element, "td", style="text-align:left")
        lines = [element("tr", left(element("b", k)), left(v)) for k, v in rows.items() if v]
        return element("table", element("caption", str(self.path)), *lines)

    def __str__(self) -> str:
        """Return the path, or the address as messages show it."""
        return str(self.path)

    def __fspath__(self) -> str:
        """Return the path, by which other functions and programs open the bundle.

        Raises:
            InputError: whoever opens it would see other documents, or it is at an address.
        """
        if self.restriction or self._search.at or self.collection is not None:
            raise InputError(
                f"this bundle ranks other documents than {str(self.path)!r} has, because `only`, "
                "`at` or a collection in Milvus decides which; give that path if you mean all"
            )
        if isinstance(self.path, Address):
            raise InputError(f"the bundle is at {str(self.path)!r}, which is no path; download it")
        return str(self.path)

    if not TYPE_CHECKING:  # so that names which do not exist stay errors of types

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, which says what to type for names that other packages have."""
            instead = f"; call {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise AttributeError(f"a bundle has no attribute {name!r}{instead}")

    def __len__(self) -> int:
        """Return the number of documents in the collection; passages of one count once."""
        return self._search.count()

    @property
    def passages(self) -> int:
        """The number of passages that are ranked; 0 if all documents are whole."""
        return self._search.count(passages=True)

    @property
    def size(self) -> str:
        """How many documents there are, in words, and how many passages if they are split."""
        count, passages = len(self), self.passages
        split = f" in {passages:,} passages" if passages else ""
        return f"{count:,} document{'' if count == 1 else 's'}{split}"

    @property
    def path(self) -> Path | Address:
        """The bundle's folder or .zip, or its address on object storage."""
        return self._search.at.path if self._search.at else self.files.path

    @property
    def version(self) -> int | None:
        """The version that `at` has chosen; None for the newest."""
        return self._search.at.version if self._search.at else None

    @property
    def files(self) -> BundleFiles:
        """The bundle's files."""
        return self._search.files

    @property
    def device(self) -> str:
        """Where models run; see `load`."""
        return self.files.device

    @property
    def strict(self) -> bool:
        """Whether a missing device is an error; see `load`."""
        return self.files.strict

    @property
    def manifest(self) -> "Manifest":
        """The description of the bundle."""
        return self.files.manifest

    @property
    def metadata(self) -> Mapping[str, str]:
        """The type of each field of the documents besides id, title and text, sorted by name."""
        return self._search.metadata

    @property
    def documents(self) -> "Documents":
        """The documents that the bundle has, those that were added included.

        Raises:
            BundleError: it has none.
        """
        return self._search.documents

    @property
    def has_current_synonyms(self) -> bool:
        """Whether the synonyms beside the bundle are those that were read, if any were."""
        from ranklet.runtime.search.local import LocalSearch

        return not isinstance(self._search, LocalSearch) or self._search.has_current_synonyms

    @property
    def has_collection(self) -> bool:
        """Whether there are documents to rank; otherwise a caller must pass some."""
        return self._search.exists

    @property
    def countable(self) -> bool:
        """Whether `facets` and `sort` work here: another system, such as Milvus, has neither."""
        return self._search.countable

    @property
    def titles(self) -> bool:
        """Whether a document's title is part of its ranked text."""
        return self._search.titles

    def sample_texts(self, count: int) -> list[str]:
        """Return titles of evenly spaced documents, or beginnings of texts, as sample queries."""
        return self._search.samples(count)

    @short_tracebacks
    @asking(Ask)
    def rank(
        self,
        query: "str | Query",
        documents: Sequence[Document] | None = None,
        **named: "Unpack[RankOptions]",
    ) -> "Ranking":
        """Rank the collection, or the caller's own documents, for a query.

        Args:
            query: the query's text; or a `Query` with phrases, excluded words, prefixes. An empty
                one returns all documents that the options allow, in the collection's order.
            documents: the caller's own texts, which are ranked instead of the collection. All of
                them are returned, up to k. Lexical rankers give texts without a match the score 0.
            **named: the options of a search; docs/options.md has them with examples.

        Returns:
            The hits, best first; empty if the collection has no word of the query.

        Raises:
            InputError: the query is not a string, or empty beside documents or in Milvus; a
                document is not a text, or an option
                has a value that cannot be used, for these documents or beside another option.
            OutOfTimeError: the budget was spent before the filter was evaluated, or while a text
                of very many words was read.
            UnknownRankerError: the pipeline is unknown, or uses a ranker that is not in the bundle.
            BundleError: the bundle is damaged, or has no collection and no documents are passed.
        """
        ask = Ask.named(named)
        if documents is not None or self.collection is not None:
            ask.refuse(MILVUS if documents is None else OWN)
        query = _typed(query, ask)
        if documents is None:
            self._check_fields(ask)
            ranking = self._search.rank(query, self._stages_of(ask), ask)
        else:
            from ranklet.runtime.search.reading import read_query

            deadline = Deadline(ask.budget_ms)
            asked = read_query(query, self.files, own=True, deadline=deadline)
            asked.synonyms = self._search.synonyms(asked.text) if ask.synonyms else ()
            run = self._run_on(own_documents(documents), asked, ask.pipeline, deadline)
            ranking = run.ranking(ask)
        record("ranklet.rank", ranking.timings, k=ask.k, hits=len(ranking))
        own, synonyms = documents is not None, ask.synonyms
        places = self._common_words(ranking.query, stored=not own, synonyms=synonyms)
        for hit in ranking.hits:
            hit.matching(places)
        marks = partial(self.marks, ranking.query, pipeline=ask.pipeline, synonyms=synonyms)
        return ranking.marking(marks)

    @short_tracebacks
    @asking(ContextAsk)
    def context(
        self,
        query: "str | Query",
        tokens: int = ContextAsk.tokens,
        **named: "Unpack[ContextOptions]",
    ) -> "Context":
        """Return the parts of documents that answer a query best, as many as fit into a prompt.

        The best passages are taken in turn. Those of a document that overlap or touch become one
        span, and stand in its order, so no character comes twice. Of the first passage that does
        not fit, the sentences with the most words of the query are taken.

        Args:
            query: the query's text, or a `Query`, as in `rank`.
            tokens: the most that `Context.text` has, counted by the bundle's tokenizer without
                special tokens. A bundle without one counts words, as ``--passage-words`` does.
            **named: options as in `rank`.

        Returns:
            The spans. There are none if nothing was found, or if not even a sentence fits, which
            `Context.left_out` says.

        Raises:
            InputError, OutOfTimeError, UnknownRankerError, BundleError: as `rank`; or Milvus has
                the documents.
        """
        ask = ContextAsk.named({**named, "tokens": tokens})
        check_query(getattr(query, "text", query))
        query = _typed(query, ask)
        text = query if isinstance(query, str) else query.text
        places = self._common_words(text, stored=True, synonyms=ask.synonyms)
        found = self._search.context(query, self._stages_of(ask), ask, places)
        record("ranklet.context", found.timings, tokens=found.tokens, spans=len(found))
        return found

    def _check_fields(self, ask: Ask) -> None:
        """Raise InputError if an option names a field of the metadata that does not fit."""
        if (ask.group_by, ask.facets, ask.sort) != (None, None, None):
            from ranklet.runtime.search.reading import check_metadata  # few calls need it

            check_metadata(ask, self.metadata, self.manifest.remarks)

    def _stages_of(self, ask: Ask) -> "Pipeline":
        stages = self._stages(ask.pipeline, ask.boost)
        if ask.fields is not None:
            from ranklet.runtime.search.reading import check_weighing  # few calls weigh fields

            check_weighing(self.files, stages)
        return stages

    def _stages(self, pipeline: "PipelineLike", boost: BoostLike | None = None) -> "Pipeline":
        """Return a pipeline, perhaps boosted by other signals than its own."""
        stages = self.manifest.pipeline(pipeline)
        if boost is None and (stages.boost is None or not pipeline or isinstance(pipeline, str)):
            return stages
        from ranklet.runtime.search.boosting import check_boost  # few calls boost

        own = () if stages.boost is None else stages.boost.signals
        if boost is not None:
            from ranklet.runtime.pipelines.signals import read_signals

            own = read_signals(boost)
        check_boost(own, self.metadata, self.manifest.remarks)
        return stages.boosted(own)

    def _common_words(
        self, query: str, *, stored: bool = False, synonyms: bool = True
    ) -> "Callable[[str], Places]":
        """Return what finds the words of a query and their synonyms in texts, once it is asked.

        Args:
            query: the query.
            stored: whether the texts are the collection's.
            synonyms: whether synonyms count.
        """
        made: CommonWords | None = None

        def places(text: str) -> "Places":
            nonlocal made
            if made is None:
                from ranklet.runtime.text.common_words import CommonWords

                analysis = self.files.analyzer.begin() if self.manifest.documents else None
                found = self._search.synonyms(query) if synonyms else []
                found += self._search.ends(query)
                asked = [query, *(each.text for match in found for each in match.synonyms)]
                vocabularies = self._search.vocabularies if stored else ()
                made = CommonWords("\n".join(asked), analysis, vocabularies)
            return made(text)

        return places

    def _run_on(
        self,
        documents: Sequence[tuple[str, str, str]],
        query: "QueryContext",
        pipeline: "PipelineLike",
        deadline: Deadline | None = None,
    ) -> "TextRun":
        """Run a pipeline on the caller's own texts, all of which it returns."""
        from ranklet.runtime.search.texts import TextRun, own_passages

        stages = self.manifest.pipeline(pipeline).without_cuts()
        if pipeline is None or isinstance(pipeline, str):  # texts have no metadata that could add
            stages = stages.boosted(())
        passages = own_passages(documents)
        return TextRun(self.files, query, stages, passages, deadline, titles=self.titles)

    @short_tracebacks
    def complete(
        self, prefix: str, k: int = 5, *, where: Where | None = None
    ) -> "list[Completion]":
        """Return what a person may go on to type: titles, values of fields, and frequent words.

        They begin with what was typed, case and accents aside. If nothing does, and it has four
        letters or more, they begin with what differs from it in one letter. The best of each kind
        come in turn: titles and values that most documents have, and the most frequent words. All
        come from documents that may be seen.

        The first call reads all titles, and keeps them in memory.

        Args:
            prefix: what was typed so far; its last word is completed.
            k: the most completions that come back.
            where: a filter by metadata; see `rank`.

        Raises:
            InputError: the prefix is not a string, k is not a whole number ≥ 0, the filter cannot
                be used, or Milvus has the documents.
            BundleError: the bundle is damaged, or has no collection.
        """
        if not isinstance(prefix, str):
            raise InputError(f"prefix must be a string, not {type(prefix).__name__}")
        check_whole("k", k, 0)
        return self._search.complete(prefix, int(k), where)

    @short_tracebacks
    def rank_ids(
        self,
        query: "str | Query",
        *,
        k: int = 1000,
        where: Where | None = None,
        pipeline: "PipelineLike" = None,
    ) -> list[tuple[str, float]]:
        """Rank the collection and return only (id, score), without reading any text.

        Raises:
            InputError, UnknownRankerError, BundleError: as `rank`.
        """
        stages = self.manifest.pipeline(pipeline)
        return self._search.rank_ids(query, stages, Ask(k=k, where=where))

    @short_tracebacks
    @asking(Ask)
    def rank_batch(
        self, queries: "Sequence[str | Query]", **named: "Unpack[RankOptions]"
    ) -> "list[Ranking]":
        """Rank the collection for several queries as `rank` does for each.

        They share `budget_ms`. Once it is spent, the remaining queries run only their first stage.

        Raises:
            InputError: as `rank`; the message contains the query's index.
        """
        texts = as_list(queries, "queries", "call rank for one")
        for index, query in enumerate(texts):
            check_text(getattr(query, "text", query), f"queries[{index}]")
        ask = Ask.named(named)
        if ask.vector is not None:
            raise InputError("vector is that of one query; call rank for each of them")
        deadline, rankings = Deadline(ask.budget_ms), []
        for text in texts:
            named["budget_ms"] = deadline.left_ms()
            rankings.append(self.rank(text, **named))
        return rankings

    rank_async = in_thread(rank)
    """Rank as `rank` does, in a thread, so that an event loop stays free while it is awaited."""
    rank_batch_async = in_thread(rank_batch)
    """Rank as `rank_batch` does, in a thread; see `rank_async`."""

    @short_tracebacks
    def score(
        self,
        query: str,
        documents: Sequence[Document] | None = None,
        *,
        ids: Sequence[str] | None = None,
        pipeline: "PipelineLike" = None,
    ) -> NDArray[np.float32]:
        """Score documents for a query, in their order.

        Args:
            query: the query's text, not empty.
            documents: the caller's own texts, unless `ids` is passed.
            ids: ids of documents in the collection. They are scored whatever their metadata; only
                a bundle from `only` refuses those that its filter does not allow.
            pipeline: a pipeline as in `rank`; each of its rankers scores every document.

        Returns:
            One score per document, (documents,) float32.

        Raises:
            InputError: as `rank`, or both or none of `documents` and `ids` are passed, or an id is
                unknown.
        """
        check_query(query)
        if documents is not None and ids is None:
            from ranklet.runtime.call.query import QueryContext

            context = QueryContext(query, self.files.analyzer.begin())
            context.synonyms = self._search.synonyms(query)
            return self._run_on(own_documents(documents), context, pipeline).execution.final()
        if ids is None or documents is not None:
            raise InputError("pass either documents (texts) or ids (of the collection)")
        wanted = as_list(ids, "ids", "put the one id in a list")
        return self._search.score(query, wanted, self.manifest.pipeline(pipeline))

    @short_tracebacks
    def encode_query(self, texts: str | Sequence[str], *, ranker: str | None = None) -> Any:
        """Return the vectors of queries, as sentence-transformers does by the original model.

        Args:
            texts: one text or several; the prompt of queries is put before each.
            ranker: name of a ranker of vectors; None for the bundle's first.

        Returns:
            (texts, dimension) float32 of a dense encoder; a list with the terms and weights of each
            text of a sparse one; a list with (tokens, dimension) float32 of each text of a
            late-interaction one. Of one text that is not in a list, its own.

        Raises:
            InputError: no ranker encodes, this one does not, or a text is none.
            UnknownRankerError: there is no such ranker.
        """
        return self._encoded(texts, "query", ranker)

    @short_tracebacks
    def encode_document(self, texts: str | Sequence[str], *, ranker: str | None = None) -> Any:
        """Return the vectors of documents as `encode_query` does those of queries.

        They are in 32 bits, and those of a sparse encoder have all terms, however the bundle stores
        its documents.
        """
        return self._encoded(texts, "document", ranker)

    def _encoded(self, texts: str | Sequence[str], role: "Role", ranker: str | None) -> Any:
        from ranklet.runtime.rankers.encoding import encode

        given = [texts] if isinstance(texts, str) else as_list(texts, "texts", "or a single string")
        vectors = encode(self.files, given, role, ranker).vectors
        return vectors[0] if isinstance(texts, str) else vectors

    @staticmethod
    def similarity(queries: "Vectors", documents: "Vectors") -> NDArray[np.float32]:
        """Return the score of each query and document, (queries, documents) float32.

        It is the inner product, which is the cosine if the ranker compares by that, because its
        vectors have the length 1. Of vectors of tokens it is the sum of the best matches (MaxSim).
        What one text was encoded to counts as a list of it, but for vectors of tokens on both
        sides.

        Raises:
            InputError: the vectors are of different rankers.
        """
        from ranklet.runtime.rankers.encoding import similarity

        return similarity(queries, documents)

    @short_tracebacks
    def explain(
        self,
        query: str,
        document_id: str,
        *,
        pipeline: "PipelineLike" = None,
        boost: BoostLike | None = None,
    ) -> "Explanation":
        """Explain the score of one document of the collection, ranked high or not.

        A document that the pipeline does not return is added to its candidates and explained there,
        because a rank fusion depends on the other candidates. There is no filter, because the id
        says which document is meant; a bundle from `only` refuses those that its filter does not
        allow.

        Raises:
            InputError: as `rank`, or the id is unknown.
        """
        hit = self.explained(query, document_id, pipeline=pipeline, boost=boost)
        return cast("Explanation", hit.explanation)

    @short_tracebacks
    def explained(
        self,
        query: str,
        document_id: str,
        *,
        pipeline: "PipelineLike" = None,
        budget_ms: float | None = None,
        boost: BoostLike | None = None,
    ) -> "Hit":
        """Return a document of the collection as a hit with its explanation; see `explain`.

        Args:
            query: the query's text, not empty.
            document_id: the document's id.
            pipeline: a pipeline as in `rank`.
            budget_ms: milliseconds after which no further stage begins; None for no limit.
            boost: what metadata add to the score, as in `rank`.

        Raises:
            InputError: as `rank`, or the id is unknown.
            OutOfTimeError: the budget was too short for all stages. Without one of them the score
                would be another.
        """
        check_query(query)
        deadline = Deadline(Ask(budget_ms=budget_ms).budget_ms)
        stages = self._stages(pipeline, boost)
        hit = self._search.explained(query, document_id, stages, deadline)
        return hit.matching(self._common_words(query, stored=True))

    @short_tracebacks
    def document(self, document_id: str) -> "WholeDocument":
        """Return a document of the collection: its title, its whole text and its metadata.

        Raises:
            InputError: the id is not a string.
            UnknownDocumentError: no document that `only` allows has the id.
        """
        from ranklet.runtime.search.whole_document import WholeDocument

        passages = self._search.passages(document_id)
        return WholeDocument.of(passages, self.manifest.splitting)

    @short_tracebacks
    def highlight(self, hit: "Hit", most: int | None = None) -> "list[Span]":
        """Return the spans of ``title + newline + text`` that an explained score comes from.

        Raises:
            InputError: the hit has no explanation.
            TooManySpansError: its words stand at more than `most` places.
        """
        from ranklet.runtime.answers.highlight import spans
        from ranklet.runtime.text.ranked import cut_ranked_part

        if hit.explanation is None:
            raise InputError("this hit has no explanation; rank with explain=True")
        text, offset = cut_ranked_part(hit.title, hit.text, self.titles)
        return [span.shifted(offset) for span in spans(hit.explanation, text, self.analysis, most)]

    def marks(
        self, query: str, hit: "Hit", pipeline: "PipelineLike" = None, *, synonyms: bool = True
    ) -> list[tuple[int, int]]:
        """Return the characters of ``title + newline + text`` to mark in a hit.

        They are those that raise an explained score most, or else the words that the query has,
        too. If there are none, the hit is explained on its own.
        """
        from ranklet.runtime.answers.display import strongest

        if hit.explanation is not None:
            return strongest(self.highlight(hit))
        if is_blank(query):
            return []
        places = self._common_words(query, synonyms=synonyms)
        if common := places(f"{hit.title}\n{hit.text}"):
            return common
        own = [{"title": hit.title, "text": hit.text}]
        return strongest(self.highlight(self.rank(query, own, pipeline=pipeline, explain=True)[0]))

    @short_tracebacks
    def missing_words(self, query: str, hits: "Sequence[Hit]") -> "list[MissingWord]":
        """Return the words of a query, stop words aside, that none of some hits has in any form.

        A hit has the words of its title, text and metadata, and those that it has a synonym of.
        """
        from ranklet.runtime.hits import MissingWord
        from ranklet.runtime.text.words import placed_words

        check_query(query)
        analysis = self.files.analyzer.begin() if self.manifest.documents else None
        plain = ((query[begin:end], word, word) for begin, end, word in placed_words(query))
        texts, missing = [each.whole for each in hits], dict[str, MissingWord]()
        for typed, word, lemma in plain if analysis is None else analysis.read_query_words(query):
            places = self._common_words(typed, stored=True)
            if lemma not in missing and not any(map(places, texts)):
                missing[lemma] = MissingWord(typed, lemma, self._search.frequency(word))
        return list(missing.values())

    def analysis(self, field: str) -> "Analysis":
        """Return an analysis for a field of an explanation."""
        from ranklet.runtime.rankers.opening import make_field_analysis

        return make_field_analysis(self.files, field)

    @short_tracebacks
    def features(
        self, query: str, *, pipeline: "PipelineLike" = None, vector: Sequence[float] | None = None
    ) -> tuple[list[str], dict[str, NDArray[np.float32]]]:
        """Return the candidates' ids and their scores by ranker, each multiplied by its scale.

        Fusion weights are learned on these scores, because serving adds up the same numbers. They
        are in the collection's order, which decides between equal sums. A document that is split
        has those of the passage that the pipeline ranks highest. The query may have a vector.
        """
        check_query(query)
        stages = self.manifest.pipeline(pipeline)
        return self._search.features(query, stages, Ask(vector=vector))

    def rates(self, pipeline: "PipelineLike" = None) -> bool:
        """Return whether it is known how likely hits of a pipeline answer a query."""
        names = self.manifest.pipeline(pipeline).rankers
        return self.manifest.calibration(names) is not None

    @short_tracebacks
    def evidence(
        self, query: str, k: int, pipeline: "PipelineLike" = None, *, hide: Sequence[str] = ()
    ) -> tuple[list[str], NDArray[np.float32], NDArray[np.float64]]:
        """Return the ids and scores of the k best documents, and what says how likely they answer.

        The numbers are `length`, `share` and, by ranker, `evidence` of
        runtime/pipelines/relevance.py, (documents, 2 + 3 · rankers).
        Documents to `hide` count as absent, so that a query may be asked without its answers.
        """
        check_query(query)
        return self._search.evidence(query, k, self.manifest.pipeline(pipeline), hide)


def _typed(query: "str | Query", ask: Ask) -> "str | Query":
    """Return what a person typed as a query; a plain text needs no reading."""
    plain = not ask.syntax and not ask.typos and ask.fields is None
    if isinstance(query, str) and (plain or is_blank(query)):
        return query
    from ranklet.runtime.syntax.query_syntax import read_typed_query

    return read_typed_query(query, syntax=ask.syntax, typos=ask.typos, fields=ask.fields)


def open_search(files: BundleFiles, before: "LocalSearch | None" = None) -> "LocalSearch":
    """Return the search of a bundle with all that was added to it.

    Args:
        files: the bundle.
        before: an earlier search of the same bundle, whose parts are used again.

    Raises:
        BundleError: the list of additions, or one of them, is damaged.
        RemoteError: they cannot be read.
    """
    from ranklet.runtime.search.local import LocalSearch  # one in Milvus needs another

    folder = locate_additions(files.path)
    while True:
        if not files.is_remote and not stamp_additions(folder):
            return LocalSearch(files)
        from ranklet.runtime.bundles.additions import read_additions  # few bundles have any
        from ranklet.runtime.search.segments import SegmentedSearch

        additions = read_additions(files)
        if additions.is_empty:
            return LocalSearch(files)
        try:
            return SegmentedSearch(files, additions, before)
        except BundleError:  # perhaps the additions were joined after the list was read
            if read_additions(files) == additions:
                raise


def open_version(search: "LocalSearch", version: int) -> "LocalSearch":
    """Return the search of a version of a bundle; see `Bundle.at`.

    Args:
        search: the bundle's, whose parts are used again.
        version: the number of the version.
    """
    from ranklet.runtime.bundles.additions import open_earlier
    from ranklet.runtime.search.local import LocalSearch
    from ranklet.runtime.search.port import Earlier
    from ranklet.runtime.search.segments import SegmentedSearch

    files, additions = open_earlier(search.files, version)
    is_base = additions.is_empty
    opened = LocalSearch(files) if is_base else SegmentedSearch(files, additions, search)
    opened.at = Earlier(search.files.path, version)
    return opened
