import json
import logging

import pytest

from ranklet.handlers.server.json_lines import JSONLines


def test_warnings_of_libraries_go_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.Logger("a.library")
    logger.addHandler(JSONLines(logging.WARNING))
    logger.info("no")
    try:
        raise OSError("gone")
    except OSError:
        logger.exception("it %s", "failed")
    (written,) = capsys.readouterr().out.splitlines()
    line = json.loads(written)
    assert (line["severity"], line["message"], line["logger"]) == (
        "ERROR",
        "it failed",
        "a.library",
    )
    assert "OSError: gone" in line["exception"]
