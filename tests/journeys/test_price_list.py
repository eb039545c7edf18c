"""Price lists as shops export them: a cell is compared as what it is, and an update is undone."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ranklet.commands import main
from ranklet.corpus.sources.guessed_types import Guesses
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating.update import update
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import CollectionError, load
from ranklet.workflows.build import build

ROWS = """id,text,price,sold,day
1,a dog,1.50,TRUE,2024-01-02
2,a cat,1.55,false,2024-01-03
3,a cow,2,TRUE,
"""


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_same_file_replaces_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"table.{kind}"
    text = ROWS if kind == "csv" else "".join(
        json.dumps({"id": str(n), "text": "a dog", "price": price, "sold": n > 1}) + "\n"
        for n, price in enumerate((1.5, 2, 3.0))
    )  # fmt: skip
    path.write_text(text, "utf-8")
    bundle = build(path, tmp_path / "b")
    report = update(bundle, path).manifest.provenance["update"]
    assert (report["replaced"], report["unchanged"]) == (0, 3)
    live = WritableBundle(tmp_path / "b").add(path)
    assert (live.counts.replaced, live.counts.unchanged) == (0, 3)


def test_a_changed_cell_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(ROWS, "utf-8")
    bundle = build(path, tmp_path / "b")
    path.write_text(ROWS.replace("1.50", "1.51").replace("TRUE,\n", "N/A,\n"), "utf-8")
    assert update(bundle, path).manifest.provenance["update"]["replaced"] == 2


def test_a_number_in_quotes_is_told_as_one(tmp_path: Path) -> None:
    build([{"id": "1", "text": "a", "preis": 1.5}], tmp_path / "b")
    with pytest.raises(CollectionError, match=r"give 19\.9$"):
        WritableBundle(tmp_path / "b").add([{"id": "2", "text": "b", "preis": "19.90"}])


GERMAN = "Artikelnr;Bezeichnung;Beschreibung;Marke;Preis;Lagernd;Seit"
PRICES = ("1.299,00 €", "ab 19,95 €", "19,90", "EUR 5,50", "auf Anfrage", "1 049,50 €", "12,–")
HTML = "<p><b>Hövel</b> %d&nbsp;l</p>"
READ = (1299.0, 19.95, 19.9, 5.5, None, 1049.5, 12.0)


def german(path: Path, *numbers: int, extra: str = "") -> Path:
    """Write rows as a shop in Germany exports them: cp1252, HTML, and texts that are missing."""
    rows = [
        f'A-{n};Gießkanne {n};"{HTML % n * (n % 9 > 0)}";WMF;'
        f"{PRICES[n % 7]};{('ja', 'nein')[n % 2]};{n % 28 + 1:02}.{n % 12 + 1:02}.2024"
        for n in numbers
    ]
    path.write_text("\n".join([GERMAN, *rows, extra]), "cp1252")
    return path


def say(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> str:
    assert main(list(map(str, words))) == status
    said = capsys.readouterr()
    return said.out + said.err


@pytest.mark.slow
def test_a_german_price_list_is_built_filtered_synced_and_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, table = tmp_path / "shop.ranklet", german(tmp_path / "day.csv", *range(60))
    assert "--encoding cp1252" in say(capsys, "build", table, "-o", shop, status=1)
    read = ("--encoding", "cp1252")
    said = say(capsys, "sync", table, shop, *read)
    assert "the title is 'Bezeichnung', the id is 'Artikelnr'" in said
    assert "HTML is read in 'Beschreibung'; --no-html keeps its tags" in said
    assert "'Preis' is comma (as '1.299,00 €'), 'Lagernd' is flag (as 'ja'), 'Seit' is dmy" in said
    assert "60 added: 60 documents" in said
    bundle = load(str(shop))
    assert not bundle.rank("nbsp").hits
    prices = {hit.id: hit.metadata.get("Preis") for hit in bundle.rank("gießkanne", k=100)}
    assert prices == {f"A-{n}": READ[n % 7] for n in range(60)}
    dear = bundle.rank("gießkanne", k=9, where={"Preis": {">": 1000}}, sort=["Preis"])
    assert [hit.metadata["Preis"] for hit in dear.hits] == [1049.5] * 8 + [1299.0]
    for _ in range(2):
        assert "0 replaced, 0 deleted, 60 unch" in say(
            capsys, "update", shop, "--add", table, *read
        )
    german(table, *range(5, 62))
    assert "2 added, 0 replaced, 5 deleted" in say(capsys, "sync", table, shop, *read)
    german(table, *range(9))
    why = "57 documents would be deleted ('A-9', 'A-10', 'A-11' and 50 more), more than 20%"
    assert why in say(capsys, "sync", table, shop, *read, status=1)
    say(capsys, "update", shop, "--delete", *(f"A-{n}" for n in range(10, 50)))
    before = [line.split()[0] for line in say(capsys, "log", shop).splitlines()][1]
    assert "57 documents" in say(capsys, "restore", shop, before)


@pytest.mark.slow
def test_a_price_list_is_browsed_by_typed_conditions_ranges_and_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, table = tmp_path / "shop.ranklet", german(tmp_path / "day.csv", *range(14))
    (words := tmp_path / "regeln.txt").write_text("pin: gießkanne => A-4\nhide: gießkannen => A-0")
    build(table, shop, source=SourceOptions(encoding="cp1252", id_column="Artikelnr"))
    assert "queries with rules: 1" in say(capsys, "synonyms", shop, words)
    search = ("rank", shop, "", "--json", "--where", "marke=WMF")
    for more, wanted in (
        (("preis<50",), {1, 2, 3, 6, 8, 9, 10, 13}),
        (("preis<50", "Lagernd=nein"), {1, 3, 9, 13}),
        (("preis in 12,5.5",), {3, 6, 10, 13}),
        (("preis missing",), {4, 11}),
        (("marke starts with W", "marke contains MF", "seit>=2024-12-01"), {11}),
        (('{"Preis": {">": 1100}}',), {0, 7}),
    ):
        hits = json.loads(say(capsys, *search, *more, "-k", 20))["hits"]
        assert {hit["id"] for hit in hits} == {f"A-{n}" for n in wanted}, more
    for wrong, message in (
        ("preis<50 Euro", "'Preis' holds numbers, so it cannot be compared with the string '50 E"),
        ("preiss<50", "unknown field 'preiss' (did you mean 'Preis'?); the fields are"),
        ("preis=19,9", "'19,9' may be one number or two; write '19.9'"),
    ):
        assert message in say(capsys, "context", shop, "kanne", "--where", wrong, status=1)
    prices: Any = {
        "Preis": {"ranges": [0, 50, 1200, None], "missing": True},
        "Seit": {"range": True},
    }
    found = load(shop).rank("", facets=prices)
    assert [each.count for each in found.facets["Preis"]] == [8, 2, 2, 2]
    assert [each.value for each in found.facets["Seit"]] == [date(2024, 1, 1), date(2024, 12, 12)]
    hits = load(shop).rank("Gießkanne", k=20).hits
    assert (hits[0].id, hits[0].pinned, len(hits)) == ("A-4", True, 13)


def test_all_faults_of_a_first_run_are_named_at_once(tmp_path: Path) -> None:
    table = german(tmp_path / "a.csv", *range(30), extra="A-1;;;;;;\nA-2;Topf;;;;;\n;Topf;Text;;;;")
    with pytest.raises(CollectionError) as caught:
        build(table, tmp_path / "b", source=SourceOptions(encoding="cp1252", id_column="Artikelnr"))
    assert "1 document has no text" in str(caught.value)
    assert "1 id occurs twice" in str(caught.value)
    assert "1 document has no id" in str(caught.value)


OTHERS = {
    "fr": ("référence;désignation;description;prix;en stock;depuis\n"
           "R1;Casserole;Une casserole;à partir de 1 299,00 €;oui;31/12/2024\n"
           "R2;Arrosoir;Un arrosoir;sur demande;non;01/02/2024\n", "prix", "en stock", "depuis"),
    "es": ("Referencia;Producto;Descripción;Precio;Disponible;Fecha\n"
           "R1;Olla;Una olla;desde 1.299,00 EUR;sí;31/12/2024\n"
           "R2;Cubo;Un cubo;a consultar;no;01/02/2024\n", "Precio", "Disponible", "Fecha"),
    "pl": ("Kod produktu;Nazwa produktu;Opis;Cena;Dostępny;Od\n"
           "R1;Garnek;Duży garnek;od 1 299,00 zł;tak;31.12.2024\n"
           "R2;Konewka;Mała konewka;na zapytanie;nie;01.02.2024\n", "Cena", "Dostępny", "Od"),
    "ch": ("Artikelnummer;Artikelname;Beschreibung;Preis;Aktiv;Datum\n"
           "R1;Topf;Ein Topf;CHF 1'299.00;wahr;31.12.2024\n"
           "R2;Kanne;Eine Kanne;Preis auf Anfrage;falsch;1.2.2024\n", "Preis", "Aktiv", "Datum"),
    "us": ("SKU,Product Name,Description,Price,Sold,Since\n"
           'R1,Pot,A pot,"from $1,299.00",Yes,12/31/2024\n'
           "R2,Can,A can,on request,No,2/1/2024\n", "Price", "Sold", "Since"),
}  # fmt: skip


@pytest.mark.parametrize("country", OTHERS)
def test_price_lists_of_other_countries(tmp_path: Path, country: str) -> None:
    text, price, flag, day = OTHERS[country]
    (table := tmp_path / "a.csv").write_text(text, "utf-8")
    bundle = build(table, tmp_path / "b")
    first, second = map(bundle.document, ("R1", "R2"))
    assert first.metadata == {price: 1299.0, flag: True, day: date(2024, 12, 31)}
    assert second.metadata == {flag: False, day: date(2024, 2, 1)}
    assert first.title


@pytest.mark.parametrize(
    ("cells", "type_"),
    [
        ("1.299 €|2.500 €", "number,comma"), ("01/02/2024|03/04/2024", "mdy,dmy"),
        ("1.299 €|19,9 €", "comma"), ("5 €|7 €", "number"), ("12 kr|1 299,50 kr", "comma"),
        ("01234|99999", ""), ("TRUE|false", ""), ("1.50|2", ""), ("DE|NO", ""), ("S|M|L", ""),
        ("+49 170 123|+49 170 124", ""), ("J|N", "flag"), ("1|0", ""), ("2024-01-02", ""),
    ],
)  # fmt: skip
def test_what_is_guessed_of_cells_and_what_is_not(cells: str, type_: str) -> None:
    guesses = Guesses()
    for cell in cells.split("|"):
        guesses.add(cell)
    assert guesses.guess()[0] == type_


def test_what_reads_in_two_ways_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (table := tmp_path / "a.csv").write_text("nr,text,p\nX-1,a dog,1.299 €\nX-2,a cat,2.500 €\n")
    said = say(capsys, "build", table, "-o", tmp_path / "b")
    assert "because 'p' has '2.500 €', which reads as number and as comma; say which" in said
    assert "pass --id-column nr if that is the id" in said
    typed = ("--force", "--types", "p=flag")
    assert "of the type that --types p=flag says" in say(
        capsys, "build", table, "-o", tmp_path / "b", *typed, status=1
    )


@pytest.mark.parametrize(("html", "text"), [(None, "a dog"), (True, "a dog"), (False, "<b>a</b>")])
def test_html_in_cells_is_read_unless_told(tmp_path: Path, html: bool | None, text: str) -> None:
    rows = [{"id": "1", "text": "<b>a</b> dog"}, {"id": "2", "text": "a &lt; b"}]
    built = build(rows, tmp_path / "b", source=SourceOptions(html=html))
    assert built.document("1").text.startswith(text)
