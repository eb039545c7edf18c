"""What a newcomer does: a table of texts, a search, a server; every process is cut off."""

import json
import re
import urllib.request
from typing import Any

import pytest
from tests.newcomer import Newcomer


def answer(address: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(  # noqa: S310  # an address of this machine
        f"{address}/rank", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
        return json.load(reply)


@pytest.mark.slow
def test_a_table_becomes_a_search_by_words(newcomer: Newcomer) -> None:
    pytest.importorskip("uvicorn")
    text = newcomer.output("build", "texts.csv", "-o", "search.ranklet", "--skip-bad")
    said, built, languages, fields, hint = text.splitlines()
    assert languages == "English 100%"
    assert said == "texts.csv: the text is 'body', the title is 'headline', ids are numbered"
    assert built == "41 documents → search.ranklet"
    assert fields.startswith("metadata: ")
    command = re.fullmatch(r"try: ranklet rank search\.ranklet '(.+)'", hint)
    assert command is not None
    assert command[1] in newcomer.output("rank", "search.ranklet", command[1])
    assert "Baking bread" in newcomer.output(
        "rank", "search.ranklet", "how to knead dough", "-k", 1
    )
    with newcomer.serving("search.ranklet") as address:
        assert answer(address, {"query": "how to knead dough", "k": 1})["hits"][0]["title"]


@pytest.mark.slow
def test_faults_are_said_before_anything_is_written(newcomer: Newcomer) -> None:
    done = newcomer.run("build", "texts.csv", "-o", "search.ranklet")
    assert done.returncode == 1
    assert "1 of 42 documents of texts.csv cannot be used:" in done.stderr
    assert "1 document has no text: texts.csv:" in done.stderr
    assert "pass --skip-bad" in done.stderr
    assert not (newcomer.folder / "search.ranklet").exists()
