"""What a server writes, and how it fails, is the same in a process of its own."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ranklet.export.build import build
from ranklet.handlers.api.errors import RequestError, failure
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.api.writing import Writer
from ranklet.handlers.server.writing_process import WritingProcess
from ranklet.runtime import BundleError, load

LIMITS = Limits()


@pytest.fixture
def process() -> Iterator[WritingProcess]:
    with closing(WritingProcess()) as process:
        yield process


def test_what_another_process_writes_is_found_and_its_refusals_are_the_callers(
    tmp_path: Path, process: WritingProcess
) -> None:
    path = Path(build([{"id": "a", "text": "a plan", "tenant": "us"}], tmp_path / "b.ranklet"))
    writer = Writer(str(path), within={"tenant": "us"}, elsewhere=process.write)
    body = {"documents": [{"id": "b", "text": "another plan\n“new”", "tenant": "us"}]}
    assert writer.add(body, LIMITS) == {"added": 1, "replaced": 0, "documents": 2}
    assert {hit.text for hit in load(path).rank("plan")} == {"a plan", "another plan\n“new”"}
    alone = Writer(str(path), within={"tenant": "us"})
    for wrong in ({"id": "c", "text": "", "tenant": "us"}, {"id": "c", "text": "x", "tenant": "x"}):
        failures = []
        for each in (alone, writer):
            with pytest.raises(Exception) as raised:  # noqa: PT011 (whatever the writer raises)
                each.add({"documents": [wrong]}, LIMITS)
            failures.append(failure(raised.value))
        assert failures[0] == failures[1]
    with pytest.raises(RequestError, match="unknown document id 'none'"):
        writer.delete_one("none")
    assert writer.delete_one("b")["deleted"] == 1


def test_a_process_that_ends_is_reported_and_another_one_follows(
    tmp_path: Path, process: WritingProcess
) -> None:
    nowhere = Writer(str(tmp_path / "none.ranklet"), elsewhere=process.write)
    with pytest.raises(BundleError, match="none"):
        nowhere.delete({"ids": ["a"]}, LIMITS)
    assert process._process is not None
    process._process.kill()
    process._process.wait()
    with pytest.raises(BundleError, match="has ended with -9"):
        nowhere.delete({"ids": ["a"]}, LIMITS)
    with pytest.raises(BundleError, match="none"):
        nowhere.delete({"ids": ["a"]}, LIMITS)
