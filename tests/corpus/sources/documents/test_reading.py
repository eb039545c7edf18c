"""A file that cannot be read names itself, and leaves the others of its folder as they are."""

from pathlib import Path

import pytest
from tests.corpus.sources.documents.writing import lines, word, write_pdf, write_word
from tests.corpus.sources.reading import read, refused, write

from ranklet.corpus.sources.documents import reading
from ranklet.corpus.sources.documents.reading import READERS
from ranklet.runtime import load
from ranklet.workflows.build import build


@pytest.mark.parametrize("suffix", sorted({*READERS} - {".eml", ".mbox"}))
def test_a_file_of_a_folder_that_is_none_names_itself(tmp_path: Path, suffix: str) -> None:
    if suffix == ".pdf":
        pytest.importorskip("pypdf")
    write(tmp_path / f"a{suffix.upper()}", "nonsense")
    write(tmp_path / "b.txt", "Text")
    message = refused(tmp_path)
    assert message.startswith(f"1 of 2 documents of {tmp_path.name} cannot be used:\n")
    assert f"a{suffix.upper()} (is damaged (" in message
    assert [each.text for each in read(tmp_path, skip_bad=True)] == ["Text"]


def test_what_is_compressed_or_too_long_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.eml.gz", "Subject: x\n\nText")
    assert "a.eml.gz (is compressed; unpack it)" in refused(tmp_path)
    monkeypatch.setattr(reading, "LONGEST", 10)
    write(tmp_path / "a.eml", "Subject: x\n\nText of many words")
    assert "a.eml (has more than 10 characters in one part; divide it)" in refused(tmp_path)


def test_a_folder_of_all_kinds_becomes_a_search_that_names_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    folder = tmp_path / "all"
    write(folder / "a.html", "<nav>Menu of pumps</nav><main>Soil and water</main>")
    write(folder / "b.eml", "Subject: Pumps\nDate: Fri, 31 May 2024 12:00:00 +0200\n\nSold out.")
    write_word(folder / "c.docx", word("<w:p><w:r><w:t>Pumps in winter</w:t></w:r></w:p>"))
    write_pdf(folder / "d.pdf", [lines("Contents"), lines("How pumps work")])
    bundle = load(build(folder, tmp_path / "all.ranklet"))
    assert bundle.metadata == {"date": "datetime", "page": "number"}
    assert {hit.id for hit in bundle.rank("pumps")} == {"b.eml", "c.docx", "d.pdf#page=2"}
    (hit,) = bundle.rank("pumps", where={"page": 2})
    assert hit.metadata["page"] == 2
