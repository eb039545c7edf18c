"""Somebody's papers answer questions, with page and heading, and say so when nothing fits."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands.running import Capture, succeeds
from tests.corpus.sources.documents.writing import lines, write_pdf
from tests.range_server import RangeServer

from ranklet.commands import main
from ranklet.corpus.sources.options import SourceOptions
from ranklet.handlers.api.answers import ANSWERS
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.mcp.protocol import Protocol
from ranklet.handlers.mcp.tools import NOTHING
from ranklet.runtime import Bundle, load
from ranklet.workflows.build import build

HANDBOOK = """# Handbook of the bakery

This handbook is for all who work here. Read it once and keep it.

## Ovens

The stone oven is heated before dawn. Nobody opens its door in the first ten minutes, because steam
makes the crust. The electric oven is for cakes.

### Cleaning

The ovens are cleaned on Mondays. Sweep the ash out with the long brush. Never use water on the hot
stone, because it cracks.

## Deliveries

The van leaves at six. Rye goes to the market, and rolls go to the school. Crates come back empty.
"""
PAGES = (
    "The lease of the bakery began in spring. The rent is paid every month.",
    "The owner repairs the roof and the chimney. The tenant sweeps the chimney twice a year.",
)
SPLIT = SourceOptions(passage_words=30, overlap_words=0)
ASKED = "why never use water on the stone"
ELSEWHERE = "which football players won the cup"


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    pytest.importorskip("pypdf")
    folder = tmp_path_factory.mktemp("papers")
    (folder / "texts").mkdir()
    (folder / "texts" / "handbook.md").write_text(HANDBOOK)
    write_pdf(folder / "texts" / "lease.pdf", [lines(each) for each in PAGES])
    for day in range(30):
        note = f"Day {day}. We sold {day} rolls at the market. Football players came by."
        (folder / "texts" / f"day{day}.txt").write_text(note)
    path = str(folder / "papers.ranklet")
    options = ["--passage-words", "30", "--overlap-words", "0"]
    assert main(["build", str(folder / "texts"), "-o", path, *options]) == 0
    return load(path)


def asked(bundle: Bundle, **arguments: Any) -> dict[str, Any]:
    """Return what an assistant gets of the tool ``search``."""
    protocol = Protocol(lambda: bundle, Limits())
    params = {"name": "search", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = protocol.answer(message)
    assert answer is not None
    found: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])
    return found


@pytest.mark.slow
def test_an_assistant_cites_page_and_heading(papers: Bundle) -> None:
    found = asked(papers, query=ASKED, tokens=60)
    best = found["parts"][0]
    assert best["source"] == "Handbook of the bakery › Ovens › Cleaning"
    whole = papers.document("handbook.md").text
    assert whole[best["start"] : best["end"]] == best["text"]
    assert "it cracks" in best["text"]
    assert found["tokens"] <= 60
    of_page = asked(papers, query="who sweeps the chimney", tokens=60)["parts"][0]
    assert (of_page["source"], of_page["page"]) == ("lease, page 2", 2)
    assert NOTHING not in found["notice"]


@pytest.mark.slow
def test_an_assistant_learns_that_nothing_fits(papers: Bundle) -> None:
    assert NOTHING in asked(papers, query=ELSEWHERE, tokens=60)["notice"]
    assert asked(papers, query=ELSEWHERE, tokens=60, min_relevance=0.5)["parts"] == []
    small = asked(papers, query=ASKED, tokens=4)
    assert small["parts"] == []
    assert small["left_out"] == ["no sentence of the best passage fits into 4 tokens; allow more"]


@pytest.mark.slow
def test_a_chain_cites_page_and_heading_or_says_that_nothing_fits(papers: Bundle) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    from ranklet.integrations.langchain import RankletRetriever

    def answer(found: list[Document]) -> str:
        if not found:
            return "The papers say nothing about that."
        said = found[0].page_content.splitlines()[-1]
        place = found[0].metadata
        where = [place["title"], *place.get("heading", ())]
        where += [f"page {place['page']}"] if "page" in place else []
        return f"{said} ({', '.join(where)})"

    retriever = RankletRetriever(bundle=papers, k=3, tokens=80, min_relevance=0.2)
    chain = retriever | RunnableLambda(answer)
    assert chain.invoke(ASKED).endswith("(Handbook of the bakery, Ovens, Cleaning)")
    assert chain.invoke("who sweeps the chimney").endswith("(lease, page 2)")
    assert chain.invoke(ELSEWHERE) == "The papers say nothing about that."


@pytest.mark.slow
@pytest.mark.parametrize("around", [None, "neighbours", "section"])
def test_all_fronts_and_object_storage_agree(
    papers: Bundle, tmp_path: Path, capsys: Capture, around: str | None
) -> None:
    path = tmp_path / "papers.zip"
    build(Path(str(papers.path)).parent / "texts", path, source=SPLIT)
    wanted = load(path).context(ASKED, 70, context=around)
    assert wanted.spans
    body = {"query": ASKED, "tokens": 70, "context": around}
    answer = ANSWERS["/context"](load(path), body, Limits(), None).body
    assert isinstance(answer, dict)
    assert answer["spans"] == wanted.to_dict()["spans"]
    command = ["context", path, ASKED, "--tokens", "70", "--json"]
    printed = succeeds(capsys, *command, *(["--context", around] if around else []))
    assert json.loads(printed)["text"] == answer["text"] == wanted.text
    with RangeServer({"/papers.zip": path.read_bytes()}) as server:
        far = Bundle(server.address("/papers.zip"), cache=tmp_path / "cache")
        assert far.context(ASKED, 70, context=around).spans == wanted.spans
        hits = far.rank(ASKED, passages=2, context=around)
        assert [hit.spans for hit in hits] == [
            hit.spans for hit in load(path).rank(ASKED, passages=2, context=around)
        ]
