"""A page shows what a cross-encoder read, and what it made of it."""

import re
from pathlib import Path

import pytest
from tests.kinds import TinyRankers, reranked_by

from ranklet.export.bundles import index_bundle
from ranklet.handlers.page.page import page
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.text.ranked import ranked_text

RERANK = reranked_by("cross")


def test_a_page_shows_pairs_of_pieces_and_the_words_that_were_marked(cross_bundle: Bundle) -> None:
    hit = cross_bundle.explained("red fruit", "apple-red", pipeline=RERANK)
    assert hit.explanation is not None
    found = [part for asked in hit.explanation.parts for part in asked.parts]
    gained = sum(part.value for part in found if part.label != "of any document")
    assert sum(span.value for span in cross_bundle.highlight(hit)) == pytest.approx(gained)
    text = page(cross_bundle, "red fruit", [hit], "rerank")
    assert '<th scope="row">fruit</th>' in text
    exact = re.findall(r'<span class="exact"[^>]*>(?:<mark[^>]*>)?([^<]*)', text)
    assert {each.lower() for each in exact} == {"red"}
    assert 'class="unread"' not in text
    whole = ranked_text(hit.title, hit.text + " here" * 60)
    long = cross_bundle.rank("red fruit", [whole], pipeline=RERANK, explain=True)
    assert 'class="unread"' in page(cross_bundle, "red fruit", list(long), "rerank")


def test_without_titles_what_is_shown_is_what_was_read(
    tiny: TinyRankers, cross_path: Path, tmp_path: Path
) -> None:
    target = index_bundle(
        cross_path, tiny.data.collection, tmp_path / "untitled", titles=False, overwrite=True
    )
    untitled = load(target, device="cpu")
    hit = untitled.explained("red fruit", "apple-red", pipeline=RERANK)
    spans = untitled.highlight(hit)
    assert spans
    assert all(span.begin > len(hit.title) for span in spans)
    whole = f"{hit.title}\n{hit.text}"
    for span in spans:
        assert whole[span.begin : span.end].strip() == whole[span.begin : span.end] != ""
    shown = page(untitled, "red fruit", [hit], "rerank")
    assert 'class="unread"' not in shown
    exact = re.findall(r'<span class="exact"[^>]*>(?:<mark[^>]*>)?([^<]*)', shown)
    assert len(exact) == hit.text.lower().split().count("red") > 0
    # The caller's own texts are ranked as the collection's.
    (own,) = untitled.rank("red fruit", [{"id": "x", "title": hit.title, "text": hit.text}],
                           pipeline=RERANK)  # fmt: skip
    assert own.score == pytest.approx(hit.score)
    assert not untitled.manifest.titles
