"""The page of explanations shows what a server answers, which nothing in it can leave."""

import pytest

from ranklet.handlers.playground.explained_page import explained_page
from ranklet.runtime.bundle import Bundle

EVIL = "dough </script><script>document.title='taken'</script> <!-- <img src=x> \u2028"


def test_a_page_shows_hits_marks_and_reasons_without_a_script(bundle: Bundle) -> None:
    ranking = bundle.rank("rising dough", k=3, explain=True)
    html = explained_page(bundle, ranking.query, list(ranking))
    assert html.count('<li class="hit"') == len(ranking)
    assert "<script" not in html
    assert "default-src 'none'; style-src 'unsafe-inline'\"" in html
    assert "retrieve 1000 by" not in html
    for hit in ranking:
        assert hit.explanation is not None
        assert f'<span class="amount">{hit.explanation.value:.4f}</span>' in html
    assert '<mark class="m10"' in html
    assert "No hits" in explained_page(bundle, "dough", [])


@pytest.mark.parametrize("query", ["<b>dough</b>", 'dough" onload="x', "dough $hits \ud800"])
def test_no_text_can_leave_its_place(bundle: Bundle, query: str) -> None:
    hits = list(bundle.rank("dough", [{"title": EVIL, "text": EVIL}], explain=True))
    html = explained_page(bundle, query, hits)
    assert html.encode()
    assert html.count('<li class="hit"') == 1
    for markup in ("<script", "<img", "<b>", 'onload="'):
        assert markup not in html
