"""Texts and slides of Office are read as their readers see them, also those of other programs."""

from pathlib import Path

import pytest
from tests.corpus.sources.documents.writing import relations, word, write_word, write_zip
from tests.corpus.sources.reading import read

from ranklet.corpus.collections.collection import Document


def test_a_text_of_python_docx_is_read(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Annual report", 0)
    document.sections[0].header.paragraphs[0].text = "no header"
    paragraph = document.add_paragraph("We sold ")
    paragraph.add_run("pu").bold = True
    paragraph.add_run("mps.")
    document.add_heading("Outlook", 1)
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Widget", "5"
    document.save(tmp_path / "a.docx")
    text = "We sold pumps.\n\nOutlook\n\nWidget\n\n5"
    assert read(tmp_path) == [Document("a.docx", "Annual report", text)]


def test_runs_of_all_kinds_are_read_once(tmp_path: Path) -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    body = (
        '<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>'
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t xml:space='preserve'>c </w:t></w:r>"
        f"<w:ins>{run.format('new')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run.format('moved')}</w:moveFrom>"
        "<w:r><w:fldChar/><w:instrText>PAGE</w:instrText></w:r></w:p><w:p/>"
        '<w:p><mc:AlternateContent xmlns:mc="urn:mc"><mc:Choice><w:p>' + run.format("box") +
        "</w:p></mc:Choice><mc:Fallback><w:p>" + run.format("box") + "</w:p></mc:Fallback>"
        "</mc:AlternateContent></w:p>"
    )  # fmt: skip
    write_word(tmp_path / "a.docx", word(body))
    assert read(tmp_path) == [Document("a.docx", "a", "a\tb\nc new\n\nbox")]


def test_slides_of_python_pptx_are_read_in_their_order(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Goals", "Grow\nSell"
    slide.notes_slide.notes_text_frame.text = "Speak slowly"
    slide = show.slides.add_slide(show.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Free text"
    order = show.slides._sldIdLst
    order.append(order[0])
    show.save(tmp_path / "a.pptx")
    assert read(tmp_path, metadata="page") == [
        Document("a.pptx#page=1", "a", "Free text", {"page": 1}),
        Document("a.pptx#page=2", "Goals", "Grow\n\nSell\n\nSpeak slowly", {"page": 2}),
    ]


def test_what_every_slide_repeats_is_not_read(tmp_path: Path) -> None:
    shape = '<p:sp><p:ph type="{}"/><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sp>'
    body = shape.format("ftr", "no") + shape.format("sldNum", "3") + shape.format("body", "yes")
    names = 'xmlns:p="urn:p" xmlns:a="urn:a" xmlns:r="urn:x/relationships"'
    write_zip(tmp_path / "a.pptx", {
        "_rels/.rels": relations(("a", "officeDocument", "/ppt/p.xml")),
        "ppt/p.xml": f'<p:x {names}><p:sldId id="256" r:id="s"/></p:x>',
        "ppt/_rels/p.xml.rels": relations(("s", "slide", "slides/s.xml")),
        "ppt/slides/s.xml": f"<p:sld {names}>{body}</p:sld>",
    })  # fmt: skip
    assert [each.text for each in read(tmp_path)] == ["yes"]
