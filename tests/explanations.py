"""What tests look for in explanations."""

import pytest

from ranklet.runtime.answers.explanation import Explanation


def check_sums(explanation: Explanation) -> None:
    """Check that every amount is the sum of its parts, also in the reasons of a rank."""
    if explanation.parts:
        total = sum(part.value for part in explanation.parts)
        assert total == pytest.approx(explanation.value, abs=1e-5)
    for part in explanation.parts:
        check_sums(part)
    if explanation.reasons is not None:
        check_sums(explanation.reasons)


def leaves(explanation: Explanation) -> list[Explanation]:
    """Return the parts that have no parts."""
    parts = [leaf for part in explanation.parts for leaf in leaves(part)]
    return parts or [explanation]
