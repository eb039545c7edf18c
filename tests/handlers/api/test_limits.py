import pytest

from ranklet.handlers.api.limits import Limits
from ranklet.runtime.errors import InputError


def test_limits_are_read_from_variables() -> None:
    found = Limits.from_variables({"RANKLET_MAX_DOCUMENTS": "5", "HOME": " "})
    assert found == Limits(documents=5)
    for wrong in ("0", "-1", "5.0", "many", "9" * 5000, "٣"):
        with pytest.raises(InputError, match="RANKLET_MAX_K is"):
            Limits.from_variables({"RANKLET_MAX_K": wrong})
