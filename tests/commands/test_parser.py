"""Mistakes on a command line."""

import pytest
from tests.commands.running import Capture

from ranklet.commands import main


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("build", "x.csv", "-o", "x", "--modle", "m"), "did you mean '--model'?"),
        (("rank", "x", "knead", "dough"), "put a query of several words in quotes"),
        (("update", "x", "y.csv"), "ranklet update has --help, --add"),
        (("train", "bm25", "x", "-o", "y", "--langage=de"), "did you mean '--language'?"),
        (("rank", "x"), "required: query"),
        (("eval", "x", "y", "--baseline", ""), "--baseline is blank"),
        (("serve", "x", "--host", ""), "--host is blank"),  # which would listen on every address
        (("train", "bm25", "x", "-o= "), "-o is blank"),
        (("explain", "x"), "required: query\n"),
        (("biuld",), "there is no command 'biuld' (did you mean 'build'?"),
    ],
)
def test_a_mistake_is_answered_with_what_may_be_meant(
    capsys: Capture, arguments: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert expected in message
    assert "usage" not in message
