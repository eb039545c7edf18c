import json

from ranklet.runtime.explanation import Explanation

TREE = Explanation.total(
    "sum", [Explanation("small", -1.0), Explanation("large", 3.0, (Explanation("part", 3.0),))]
)


def test_a_total_is_the_sum_of_its_parts_largest_first() -> None:
    assert TREE.value == 2
    assert [part.label for part in TREE.parts] == ["large", "small"]


def test_the_total_of_no_parts_is_a_float() -> None:
    nothing = Explanation.total("nothing", [])
    assert repr(nothing.value) == "0.0"


def test_scaling_reaches_every_amount_and_no_label_but_the_first() -> None:
    scaled = TREE.scaled(0.5, "half")
    assert (scaled.label, scaled.value) == ("half", 1.0)
    assert [(part.label, part.value) for part in scaled.parts] == [("large", 1.5), ("small", -0.5)]
    assert scaled.parts[0].parts[0].value == 1.5


def test_json_holds_the_whole_tree() -> None:
    raw = json.loads(json.dumps(TREE.to_json()))
    assert raw["parts"][0]["parts"] == [{"label": "part", "value": 3.0, "parts": []}]


def test_the_text_form_shows_one_amount_per_line() -> None:
    lines = str(TREE).splitlines()
    assert [line.split() for line in lines] == [
        ["2.0000", "sum"],
        ["3.0000", "large"],
        ["3.0000", "part"],
        ["-1.0000", "small"],
    ]
