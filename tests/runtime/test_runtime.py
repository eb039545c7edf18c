import pytest

from ranklet import runtime
from ranklet.runtime.ground.errors import RankletError


def test_all_is_sorted() -> None:
    assert runtime.__all__ == sorted(runtime.__all__)


def test_all_is_every_public_name() -> None:
    assert set(runtime._MODULES) == set(runtime.__all__)
    assert set(dir(runtime)) >= set(runtime.__all__)
    with pytest.raises(AttributeError, match="no attribute 'search_all'"):
        runtime.search_all  # noqa: B018


def test_every_error_of_the_runtime_is_public_and_under_the_root() -> None:
    from ranklet.runtime.ground import errors

    own = [each for each in vars(errors).values() if isinstance(each, type)]
    kinds = {each.__name__ for each in own if each.__module__ == errors.__name__}
    assert len(kinds) > 5
    assert kinds <= set(runtime.__all__)
    assert all(issubclass(getattr(errors, name), RankletError) for name in kinds)


def test_every_public_name_is_explained() -> None:
    assert [name for name in runtime.__all__ if not getattr(runtime, name).__doc__] == []
