"""Texts and slides of Office are read as their readers see them, also those of other programs."""

from pathlib import Path

import pytest
from tests.corpus.sources.documents.writing import WORD, relations, word, write_word, write_zip
from tests.corpus.sources.reading import read, refused

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.collections.headings import Heading
from ranklet.corpus.sources.documents.office import read_word


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


def style(key: str, name: str, level: str = "", base: str = "") -> str:
    """Return a style of paragraphs."""
    outline = f'<w:pPr><w:outlineLvl w:val="{level}"/></w:pPr>' if level else ""
    return (
        f'<w:style w:styleId="{key}"><w:name w:val="{name}"/>'
        + (f'<w:basedOn w:val="{base}"/>' if base else "")
        + f"{outline}</w:style>"
    )


@pytest.mark.parametrize(
    ("properties", "styles"),
    [
        ("pStyle/N{}", style("N1", "Nadpis [1]", "0") + style("N2", "Nadpis [2]", "1")),
        ("pStyle/K{}", style("K1", "Kapitel", base="H1") + style("K2", "Absatz", base="K3")
         + style("K3", "x", base="H2") + style("H1", "heading 1") + style("H2", "heading 2")),
        ("pStyle/Heading{}", None),
        ("pStyle/Heading{}", style("N1", "Nadpis")),
        ("outlineLvl/{}", style("N1", "Nadpis")),
    ],
)  # fmt: skip
def test_headings_are_told_by_their_levels(
    tmp_path: Path, properties: str, styles: str | None
) -> None:
    name, _, value = properties.partition("/")

    def paragraph(text: str, level: int = 0) -> str:
        number = level - 1 if name == "outlineLvl" else level
        own = f'<w:pPr><w:{name} w:val="{value.format(number)}"/></w:pPr>' if level else ""
        return f"<w:p>{own}<w:r><w:t>{text}</w:t></w:r></w:p>"

    main = [("a", "styles", "s.xml")] if styles is not None else []
    body = [paragraph("Over", 1), paragraph("a"), paragraph("Beta", 2), paragraph("Over", 1)]
    write_zip(tmp_path / "a.docx", {
        "_rels/.rels": relations(("a", "officeDocument", "word/d.xml")),
        "word/d.xml": word("".join([*body, paragraph("b")])),
        "word/_rels/d.xml.rels": relations(*main),
        "word/s.xml": f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>',
    })  # fmt: skip
    (part,) = read_word(tmp_path / "a.docx")
    assert (part.title, part.text) == ("Over", "a\n\nBeta\n\nOver\n\nb")
    assert part.headings == [Heading(3, 2, "Beta"), Heading(9, 1, "Over")]


def test_what_readers_do_not_see_is_left_out(tmp_path: Path) -> None:
    run = "<w:r><w:rPr>{}</w:rPr><w:t>{}</w:t></w:r>"
    old = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
    body = (
        "<w:p><w:r><w:ruby><w:rt><w:r><w:t>\u3068\u3046</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>\u6771"
        "</w:t></w:r></w:rubyBase></w:ruby></w:r><w:r><w:t>\u4eac</w:t><w:ptab/><w:t>x</w:t></w:r>"
        + run.format("<w:vanish/>", "no") + run.format('<w:vanish w:val="0"/>', "yes") + "</w:p>"
        f"<w:p><w:pPr><w:rPr><w:vanish/></w:rPr><w:pPrChange>{old}</w:pPrChange></w:pPr>"
        + run.format("<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>", "seen") + "</w:p>"
    )  # fmt: skip
    write_word(tmp_path / "a.docx", word(body))
    assert read(tmp_path) == [Document("a.docx", "a", "\u6771\u4eac\txyes\n\nseen")]


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


def test_a_slide_has_its_diagrams_and_leaves_the_others_when_it_is_damaged(tmp_path: Path) -> None:
    names = 'xmlns:p="urn:p" xmlns:a="urn:a" xmlns:r="urn:x/relationships"'
    text = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"
    title = f'<p:sp><p:ph type="title"/>{text.format("Plan")}</p:sp>'
    ids = "".join(f'<p:sldId r:id="{each}"/>' for each in "stu")
    write_zip(tmp_path / "a.pptx", {
        "_rels/.rels": relations(("a", "officeDocument", "/ppt/p.xml")),
        "ppt/p.xml": f"<p:x {names}>{ids}</p:x>",
        "ppt/_rels/p.xml.rels": relations(*((each, "slide", f"{each}.xml") for each in "stu")),
        "ppt/s.xml": f"<p:sld {names}>{title}<p:sp>{text.format('Plan')}</p:sp></p:sld>",
        "ppt/_rels/s.xml.rels": relations(("d", "diagramData", "d.xml")),
        "ppt/d.xml": f"<x {names}>{text.format('step')}</x>",
        "ppt/t.xml": "<x>", "ppt/u.xml": f"<p:sld {names}>{text.format('end')}</p:sld>",
    })  # fmt: skip
    assert "a.pptx#page=2 (cannot be read, because its ppt/t.xml is no XML" in refused(tmp_path)
    first, last = read(tmp_path, skip_bad=True)
    assert (first.title, first.text, last.text) == ("Plan", "Plan\n\nstep", "end")
