"""The page of explanations shows what a server answers, which nothing in it can leave."""

import pytest

from ranklet.handlers.playground.explained_page import explained_page
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve

EVIL = "dough </script><script>document.title='taken'</script> <!-- <img src=x> \u2028"


def test_a_page_shows_hits_marks_and_reasons_without_a_script(bundle: Bundle) -> None:
    ranking = bundle.rank("rising dough", k=3, explain=True)
    html = explained_page(bundle, ranking.query, list(ranking), bundle.manifest.pipeline(None))
    assert html.count('<li class="hit"') == len(ranking)
    assert "<script" not in html
    assert "default-src 'none'; style-src 'unsafe-inline'\"" in html
    assert "finds up to 1,000 documents." in html
    assert "retrieve 1000 by" not in html
    for hit in ranking:
        assert hit.explanation is not None
        assert f'<span class="amount">{hit.explanation.value:.4f}</span>' in html
    assert '<mark class="m10"' in html
    assert "No hits" in explained_page(bundle, "dough", [], Pipeline(()))


@pytest.mark.parametrize("query", ["<b>dough</b>", 'dough" onload="x', "dough $hits \ud800"])
def test_no_text_can_leave_its_place(bundle: Bundle, query: str) -> None:
    hits = list(bundle.rank("dough", [{"title": EVIL, "text": EVIL}], explain=True))
    html = explained_page(bundle, query, hits, Pipeline((Retrieve("<i>", 1),)))
    assert html.encode()
    assert html.count('<li class="hit"') == 1
    for markup in ("<script", "<img", "<b>", "<i>", 'onload="'):
        assert markup not in html
