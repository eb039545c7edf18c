import pytest
from benchmarks.footprint.wheels import PLATFORMS, PYTHONS, extras, refusal
from benchmarks.harness.place import MissingDataError

USUAL = ("", "onnx", "http", "s3")


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_usual_extras_need_no_source_package(platform: str) -> None:
    assert set(USUAL) <= set(extras())
    for python in (PYTHONS[0], PYTHONS[-1]):
        try:
            assert refusal(USUAL, platform, python) == ""
        except MissingDataError as reason:
            pytest.skip(str(reason))


@pytest.mark.slow
def test_a_source_package_would_be_noticed() -> None:
    try:
        assert "hnswlib" in refusal(["hnsw"], "Linux x86-64", "3.12")
    except MissingDataError as reason:
        pytest.skip(str(reason))
