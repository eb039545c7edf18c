"""The page of explanations holds the answer of a server, which nothing in it can leave."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ranklet.handlers.api.answers import ANSWERS
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.playground.page import page
from ranklet.runtime.bundle import Bundle

ASKED = {"query": "rising dough", "k": 3, "explain": True, "highlight": True}
EVIL = "dough </script><script>document.title='taken'</script> <!-- <script> \u2028"


def answer_of(html: str) -> Any:
    """Return the JSON in a page."""
    (text,) = re.findall(r'<script id="answer" type="application/json">(.*?)</script>', html, re.S)
    return json.loads(text)


def script_of(html: str) -> str:
    (text,) = re.findall(r'<script type="module">(.*?)</script>', html, re.S)
    return str(text)


def test_a_page_holds_what_a_server_answers(bundle: Bundle) -> None:
    ranking = bundle.rank(ASKED["query"], k=3, explain=True)  # type: ignore[arg-type]
    html = page(bundle, ranking.query, list(ranking), "a recipe")
    answer: Any = ANSWERS["/rank"](bundle, ASKED, Limits(), None).body
    shown = json.loads(json.dumps(answer["hits"]))
    assert answer_of(html) == {"query": "rising dough", "pipeline": "a recipe", "hits": shown}
    assert html.count("<script") == 2


@pytest.mark.parametrize("query", ["<b>dough</b>", 'dough" onload="x', "dough $answer \ud800"])
def test_no_text_can_leave_its_place(bundle: Bundle, query: str) -> None:
    hits = list(bundle.rank("dough", [{"title": EVIL, "text": EVIL}], explain=True))
    html = page(bundle, query, hits, "<i>")
    assert html.encode()
    assert answer_of(html)["hits"][0]["text"] == EVIL
    assert answer_of(html)["query"] == query
    assert html.count("<script") == html.count("</script>") == 2
    assert "<b>" not in html
    assert "<i>" not in html


def test_only_the_pages_own_script_may_run(bundle: Bundle) -> None:
    html = page(bundle, "dough", [], "")
    digest = b64encode(sha256(script_of(html).encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in html
    assert answer_of(html)["hits"] == []


def test_the_joined_script_is_one_that_parses(bundle: Bundle, tmp_path: Path) -> None:
    script = script_of(page(bundle, "dough", [], ""))
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names))
    if node := shutil.which("node"):
        (tmp_path / "page.mjs").write_text(script, "utf-8")
        subprocess.run([node, "--check", tmp_path / "page.mjs"], check=True)
