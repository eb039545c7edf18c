"""A table and a folder of documents become one search, which people use as they expect."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.corpus.sources.documents.writing import lines, word, write_pdf, write_word

from ranklet.commands import main
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.playground.form import Form
from ranklet.handlers.playground.search_page import search_page
from ranklet.runtime import load

ROWS = """
    CREATE TABLE books (id, title TEXT, text TEXT, author TEXT, kind TEXT, year INTEGER, day TEXT);
    INSERT INTO books VALUES
        ('b1', 'Bread', 'Knead the dough by hand.', 'Mary Shelley', 'book', 2009, '2009-05-01'),
        ('b2', 'Rolls', 'Shelley bakes: roll the dough.', 'Ada Byron', 'book', 2021, '2021-05-01'),
        ('n1', 'A note', 'Buy flour, knead the dough.', 'Ada Byron', 'note', 2024, '2024-05-01');
"""
MILLS = "<w:p><w:r><w:t>A mill grinds rye for the dough.</w:t></w:r></w:p>"


@pytest.fixture
def library(tmp_path: Path) -> tuple[Path, Path]:
    """Return a bundle of a table's rows, and a folder that was brought into it."""
    pytest.importorskip("pypdf")
    folder, path = tmp_path / "texts", tmp_path / "library.ranklet"
    folder.mkdir()
    with closing(sqlite3.connect(tmp_path / "library.db")) as database:
        database.executescript(ROWS)
    write_pdf(folder / "ovens.pdf", [lines("Ovens are hot."), lines("Bake the dough on a stone.")])
    write_word(folder / "mills.docx", word(MILLS))
    (folder / "site.html").write_text(
        "<nav>Menu of dough</nav><main><p>Starters are fed.</p></main>"
    )
    source = f"sqlite:///{tmp_path / 'library.db'}?table=books"
    build = ["build", source, "-o", str(path), "--field", "author", "--types", "day=date"]
    assert main(build) == 0
    assert main(["sync", str(folder), str(path)]) == 0
    return path, folder


@pytest.mark.slow
def test_a_folder_and_a_table_are_searched_as_one(library: tuple[Path, Path]) -> None:
    path, folder = library
    bundle = load(path)

    def found(query: str, **options: object) -> list[str]:
        return [hit.id for hit in bundle.rank(query, **options)]  # type: ignore[arg-type]

    # All of it is found, a page of a PDF by its number, and no menu of a site.
    assert set(found("dough")) == {"b1", "b2", "n1", "ovens.pdf#page=2", "mills.docx"}
    assert found("menu") == []
    # By field, ...
    assert found("author:shelley", syntax=True) == ["b1"]
    assert set(found("shelley")) == {"b1", "b2"}
    # ... counted, ...
    ranking = bundle.rank("dough", k=0, facets=["kind"])
    assert (ranking.total, dict(ranking.facets["kind"])) == (5, {"book": 2, "note": 1})
    assert found("dough", where={"kind": "note"}) == ["n1"]
    # ... in an order, where those without a day come last, ...
    assert found("dough", sort=["-day"])[:3] == ["n1", "b2", "b1"]
    # ... and the newest ones first if they are about as good.
    boost = {"day": {"half_life": "1y", "weight": 9.0, "now": "2024-05-02"}}
    assert found("dough", boost=boost)[0] == "n1"
    # A synonym counts at once, and nothing is built.
    assert found("loaf") == []
    words = folder.parent / "words.txt"
    words.write_text("loaf => bread\n")
    assert main(["synonyms", str(path), str(words)]) == 0
    assert [hit.id for hit in load(path).rank("loaf")] == ["b1"]
    # What changes is found, and what is gone is not.
    (folder / "site.html").write_text("<main><p>A zebra eats the dough.</p></main>")
    (folder / "mills.docx").unlink()
    assert main(["sync", str(folder), str(path)]) == 0
    bundle = load(path)
    assert found("zebra") == ["site.html"]
    assert "mills.docx" not in found("dough")
    assert found("author:shelley", syntax=True) == ["b1"]
    # The page shows the same.
    form = Form([("q", "dough"), ("is.kind", "book"), ("sort", "-day")])
    html = search_page(bundle, form, Limits(), 1e4).html
    assert html.index("Rolls") < html.index(">Bread<")
    assert "<small>2</small>" in html
    assert bundle.complete("rol")[0].text == "Rolls"


def test_every_feature_beside_other_engines_has_a_test() -> None:
    root = Path(__file__).parents[2]
    table = (root / "docs" / "searching.md").read_text("utf-8").split("## Beside other engines")[1]
    named = re.findall(r"`(tests/\S+)` \|\n", table)
    assert len(named) == table.count("\n|") - 2 > 10
    assert [each for each in named if not (root / each).is_file()] == []
