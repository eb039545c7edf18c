from dataclasses import dataclass, field
from typing import Any

import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Checked,
    integer,
    list_allowed,
    list_options,
    number,
    one_of,
    place,
    read_from,
    switch,
    text,
)


@dataclass(frozen=True)
class Base(Checked):
    count: int = integer(3, "how many", 1, 9)
    rate: float | None = number(None, "how fast", 0)
    word: str = one_of("a", ("a", "b"), "which")
    name: str = text("x", "any")
    short: str = text("", "at most three letters", 3)
    loud: bool = switch(False, "aloud")
    folder: str | None = place("where")
    made: Any = read_from(0, "from a file", len)
    plain: int = 7


@dataclass(frozen=True)
class Changed(Base):
    count: int = 5
    word: str = one_of("c", ("c", "d"), "which of others")
    inner: Base = field(default_factory=Base)


@pytest.mark.parametrize(
    ("name", "wrong", "allowed"),
    [
        ("count", 0, "a whole number from 1 to 9"),
        ("count", 2.0, "a whole number from 1 to 9"),
        ("count", None, "a whole number"),
        ("count", True, "a whole number"),
        ("rate", -1, "a number from 0"),
        ("rate", float("inf"), "a number from 0"),
        ("rate", float("nan"), "a number from 0"),
        ("rate", "1", "a number from 0"),
        ("word", "c", "allowed are a, b"),
        ("loud", 1, "True or False"),
        ("short", 3, "a string"),
        ("short", None, "a string"),
    ],
)
def test_values_that_are_not_allowed_are_refused_with_what_is(
    name: str, wrong: object, allowed: str
) -> None:
    given: dict[str, Any] = {name: wrong}
    with pytest.raises(InputError, match=rf"{name} is .*{allowed}"):
        Base(**given)


def test_allowed_values_are_accepted() -> None:
    assert Base(
        count=9,
        rate=0,
        word="b",
        name="",
        loud=True,
        folder="f",
        made=object(),
        plain=-1,
        short="abc",
    )
    assert Base(rate=10**400).rate == 10**400


def test_allowed_texts_are_listed_by_name() -> None:
    assert list_allowed(Changed()) == {"word": ("c", "d")}


def test_a_subclass_gives_other_defaults_or_another_meaning() -> None:
    found = {".".join(each.path): each for each in list_options(Changed())}
    assert (found["count"].default, found["count"].group) == (5, Base)
    assert found["count"].option.about == "how many"
    assert (found["word"].default, found["word"].group) == ("c", Changed)
    assert found["inner.count"].default == 3
    assert "plain" not in found
    with pytest.raises(InputError, match="count is 10"):
        Changed(count=10)
    with pytest.raises(InputError, match="allowed are c, d"):
        Changed(word="a")
