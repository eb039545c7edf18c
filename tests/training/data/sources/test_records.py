import pytest

from ranklet.training.data.sources.records import Bad, is_decoded, not_decoded


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("caf\udce9", "byte 0xe9 after 'caf'"),
        ("\udcff", "byte 0xff at its beginning"),
        ("a\ud83d", "half a character after 'a'"),
    ],
)
def test_a_text_that_is_not_decoded_is_described(text: str, found: str) -> None:
    assert not is_decoded(text)
    assert not_decoded("a.csv:2", text) == Bad("a.csv:2", "encoding", found)
    assert not_decoded("a.csv:2", text, "title").found == f"title: {found}"


def test_any_character_is_decoded() -> None:
    assert is_decoded("é\0\U0001f408")
