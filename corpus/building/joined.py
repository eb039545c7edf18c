"""Analyse a collection that is partly in bundles already, for the rankers of a bundle."""

import dataclasses
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from ranklet.corpus.building.writing import Needs
from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.indexing.metadata import Field
from ranklet.corpus.indexing.origins import Origins
from ranklet.corpus.indexing.reuse import Contents, analyse_again
from ranklet.corpus.languages.detection import shares_of
from ranklet.corpus.languages.names import AUTO
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.bundles.files import COUNTS, BundleFiles
from ranklet.runtime.text.ranked import RankedTexts
from ranklet.version import __version__

_log = logging.getLogger(__name__)


def analyse_joined(
    contents: Contents,
    origins: Origins,
    needs: Needs,
    *,
    titles: bool,
    words: TextOptions,
    metadata: Mapping[str, Field] | None = None,
) -> AnalysedCollection:
    """Analyse documents, reusing the analysis of existing bundles where possible.

    Texts are read again if they are in several languages or in one without spaces, where the
    collection decides what is a word, and if another version wrote a bundle, because text analysis
    may have changed since.

    Args:
        contents: the documents.
        origins: where their ranked texts were indexed before.
        needs: what the rankers need.
        titles: whether titles are ranked.
        words: the language, and what the forms of a word have in common.
        metadata: the other fields of the documents; None for those of `contents`.
    """
    texts = RankedTexts(contents.titles, contents.texts, titles)
    shares = shares_of(texts) if words.language == AUTO else {}
    if len(shares) == 1:
        words = dataclasses.replace(words, language=next(iter(shares)))
    before = ((words.language,), words.method, __version__)
    if all(_analysis(each) == before and not each.has(COUNTS) for each in origins.bundles):
        again = analyse_again(
            contents, origins, titles=titles, words=words, metadata=metadata, **needs
        )
        return dataclasses.replace(again, shares=shares)
    _log.info("the words of all documents are analysed again")
    again = analyse(
        _passages(contents), titles=titles, keep_metadata=True, options=words, metadata=metadata,
        **needs,
    )  # fmt: skip
    return dataclasses.replace(again, before=origins, shares=shares)


def _analysis(bundle: BundleFiles) -> tuple[tuple[str, ...], str, str]:
    manifest = bundle.manifest
    return manifest.languages, manifest.normaliser, manifest.ranklet_version


def _passages(contents: Contents) -> Iterator[Document]:
    """Yield each passage of a collection, with the metadata of its document."""
    metadata, own = iter(contents.metadata), dict[str, Any]()
    for number, first in enumerate(contents.first.tolist()):
        if first == number:
            own = dict(next(metadata, {}))
        texts = contents.titles[number], contents.texts[number]
        location = contents.locations[number]
        yield Document(contents.ids[number], *texts, own, location=location)
