import json

from ranklet.runtime.answers.explanation import Explanation

TREE = Explanation.total(
    "sum", [Explanation("small", -1.0), Explanation("large", 3.0, (Explanation("part", 3.0),))]
)


def test_a_total_is_the_sum_of_its_parts_largest_first() -> None:
    assert TREE.value == 2
    assert [part.label for part in TREE.parts] == ["large", "small"]


def test_scaling_reaches_every_amount_and_no_label_but_the_first() -> None:
    scaled = TREE.scaled(0.5, "half")
    assert (scaled.label, scaled.value) == ("half", 1.0)
    assert [(part.label, part.value) for part in scaled.parts] == [("large", 1.5), ("small", -0.5)]
    assert scaled.parts[0].parts[0].value == 1.5


def test_json_holds_the_whole_tree() -> None:
    raw = json.loads(json.dumps(TREE.to_dict()))
    assert raw["parts"][0]["parts"] == [{"label": "part", "value": 3.0, "parts": []}]


def test_the_text_form_shows_one_amount_per_line() -> None:
    lines = str(TREE).splitlines()
    assert [line.split() for line in lines] == [
        ["2.0000", "sum"],
        ["3.0000", "large"],
        ["3.0000", "part"],
        ["-1.0000", "small"],
    ]


def words(count: int) -> list[Explanation]:
    return [Explanation(f"word {at}", 1.0 / at) for at in range(1, count + 1)]


def test_the_strongest_rows_stand_below_what_they_belong_to() -> None:
    weak = Explanation.total("weak", [Explanation("a", 0.02), Explanation("b", 0.01)])
    strong = Explanation.total("strong", words(6))
    lines = Explanation.total("sum", [weak, strong]).text(5).splitlines()
    labels = [line.split(maxsplit=1)[1] for line in lines]
    assert labels == ["sum", "strong", "word 1", "word 2", "word 3", "6 more rows"]
    assert lines[0].startswith("   2.4800  sum")
    assert lines[2].startswith("   1.0000      word 1")


def test_reasons_have_a_column_of_their_own() -> None:
    own = Explanation("because a scores 3 (BM25)", 3.0, (Explanation("dough", 3.0),))
    tree = Explanation.total("fuse", [Explanation("a: rank 2", 1 / 62, reasons=own)])
    assert str(tree).splitlines() == [
        "   0.0161  fuse",
        "   0.0161    a: rank 2",
        "               because a scores 3 (BM25)",
        "                  3.0000  dough",
    ]


def test_reasons_weigh_as_much_as_their_rank() -> None:
    own = Explanation.total("because a scores 9 (BM25)", words(5))
    other = Explanation("b: rank 1", 0.001)
    tree = Explanation.total("fuse", [Explanation("a: rank 1", 0.02, reasons=own), other])
    shown = tree.text(4)
    assert "because a" in shown
    assert "word 1" in shown
    assert "b: rank 1" not in shown
