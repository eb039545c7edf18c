"""What a request writes is found, and nobody writes what their filter hides."""

from pathlib import Path
from typing import Any

import pytest

from ranklet.handlers.api.additions import Writer
from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.limits import Limits
from ranklet.runtime import InputError, load
from ranklet.runtime.answers.plain import plain
from ranklet.workflows.build import build

LIMITS = Limits()
ROWS = [
    {"id": f"{tenant}-{at}", "text": f"A plan of {tenant}, part {at}.", "tenant": tenant}
    for tenant in ("us", "them")
    for at in range(3)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(build(ROWS, tmp_path / "b.ranklet"))


def texts(path: Path, query: str = "plan") -> dict[str, str]:
    return {hit.id: hit.text for hit in load(path).rank(query, k=50)}


def document(**fields: Any) -> dict[str, Any]:
    return {"documents": [{"id": "new", "text": "A new plan.", **fields}]}


def test_documents_are_added_replaced_and_deleted(path: Path) -> None:
    writer = Writer(str(path))
    added = {"added": 1, "replaced": 0, "documents": 7}
    assert writer.add(document(), LIMITS) == added
    assert writer.add(document(), LIMITS) == {**added, "added": 0}  # the same once more
    assert texts(path)["new"] == "A new plan."
    assert writer.add(document(text="Another plan."), LIMITS)["replaced"] == 1
    assert texts(path)["new"] == "Another plan."
    gone = {"deleted": 1, "missing": 1, "documents": 6}
    assert writer.delete({"ids": ["new", "none"]}, LIMITS) == gone
    assert "new" not in texts(path)
    assert writer.delete({"where": {"tenant": "them"}}, LIMITS)["deleted"] == 3
    assert texts(path).keys() == {"us-0", "us-1", "us-2"}
    with pytest.raises(RequestError, match="unknown document id 'them-0'"):
        writer.delete_one("them-0")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"documents": ["A plan."]}, r"documents\[0\]' must be an object with an id"),
        ({"documents": [{"text": "A plan."}]}, "must be an object with an id"),
        ({"documents": []}, "not an empty list"),
        ({"documents": [*document()["documents"], {"id": "b", "text": ""}]}, "no text"),
        ({**document(), "other": 1}, "unknown field 'other'"),
    ],
)
def test_what_cannot_be_used_is_refused_whole(
    path: Path, body: dict[str, Any], message: str
) -> None:
    with pytest.raises((InputError, RequestError), match=message):
        Writer(str(path)).add(body, LIMITS)
    assert texts(path).keys() == {each["id"] for each in ROWS}


def test_bad_documents_are_left_out_on_request(path: Path) -> None:
    body = {"documents": [{"id": "a", "text": "A plan."}, {"id": "b", "text": " "}]}
    answer = Writer(str(path)).add({**body, "skip_bad": True}, LIMITS)
    assert answer["added"] == 1
    assert "documents[1]" in " ".join(answer["skipped"]) or "no text" in str(answer["skipped"])


def test_documents_outside_of_a_filter_are_bad_ones(path: Path) -> None:
    ours = Writer(str(path), within={"tenant": "us"})
    given = [
        {"id": each, "text": "A plan.", "tenant": tenant}
        for each, tenant in {"in": "us", "out": "them", "more": "us"}.items()
    ]
    answer = ours.add({"documents": given, "skip_bad": True}, LIMITS)
    assert (answer["added"], len(answer["skipped"])) == (2, 1)
    assert "documents[1]: the document 'out'" in answer["skipped"][0]
    assert {"in", "more"} < texts(path).keys()
    answer = ours.add({"documents": given[1:2], "skip_bad": True}, LIMITS)
    assert (answer["added"], "out" in texts(path)) == (0, False)


def test_keys_remember_the_same_text_by_themselves(path: Path) -> None:
    answers = [
        Writer(str(path), within=within).remember({"text": "The merger."}, LIMITS)
        for within in ({"tenant": "us"}, {"tenant": "them"}, None)
    ]
    assert [each["added"] for each in answers] == [1, 1, 1]
    assert len({each["id"] for each in answers}) == 3
    for tenant in ("us", "them"):
        assert len(load(path).only({"tenant": tenant}).rank("merger")) == 1


def test_a_filter_holds_for_what_is_written(path: Path) -> None:
    ours = Writer(str(path), within={"tenant": "us"})
    before = texts(path)
    for body in (document(), document(tenant="them")):
        with pytest.raises(InputError, match="'new' has not the fields"):
            ours.add(body, LIMITS)
    with pytest.raises(InputError, match="'them-1' is taken"):
        ours.add(document(id="them-1", tenant="us"), LIMITS)
    assert ours.delete({"ids": ["them-1", "none"]}, LIMITS)["missing"] == 2
    with pytest.raises(RequestError, match="unknown"):
        ours.delete_one("them-1")
    assert texts(path) == before
    assert ours.add(document(tenant="us"), LIMITS) == {"added": 1, "replaced": 0, "documents": 4}
    assert ours.delete({"where": {}}, LIMITS) == {"deleted": 4, "missing": 0, "documents": 0}
    assert texts(path).keys() == {"them-0", "them-1", "them-2"}


def test_memories_have_ids_and_the_fields_of_their_filter(path: Path) -> None:
    ours = Writer(str(path), within={"tenant": "us"})
    answer = ours.remember({"text": "The plan begins on Monday.", "title": "plan"}, LIMITS)
    assert answer["id"].startswith("memory-")
    assert (
        ours.remember({"text": "The plan begins on Monday.", "title": "plan"}, LIMITS)["id"]
        == (answer["id"])
    )
    hit = load(path).rank("Monday")[0]
    assert (hit.id, hit.title, plain(hit.metadata)) == (answer["id"], "plan", {"tenant": "us"})
    assert ours.forget({"id": answer["id"]}, LIMITS)["deleted"] == 1
    assert not load(path).rank("Monday").hits
