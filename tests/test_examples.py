"""The examples in docstrings give what they say."""

import doctest
from importlib import import_module

import pytest
from tests.product_imports import PRODUCT, modules

WITH = [name for name, path in modules(PRODUCT).items() if ">>> " in path.read_text("utf-8")]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH)
def test_the_examples_of_a_module(name: str) -> None:
    options = doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(import_module(name), optionflags=options).failed == 0
