import pytest

from ranklet.handlers.api.limits import Limits
from ranklet.runtime.ground.errors import InputError


def test_limits_are_read_from_variables() -> None:
    found = Limits.from_variables({"RANKLET_MAX_DOCUMENTS": "5", "HOME": " "})
    assert found == Limits(documents=5)
    for wrong in ("0", "-1", "5.0", "many", "9" * 5000, "٣"):
        with pytest.raises(InputError, match="RANKLET_MAX_K is"):
            Limits.from_variables({"RANKLET_MAX_K": wrong})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("MAX_BODY", "RANKLET_MAX_BODY_BYTES"),
        ("MAX_QUERY", "RANKLET_MAX_QUERY_CHARACTERS"),
        ("HOST", "HOST"),
        ("KEYS", "RANKLET_API_KEY"),
        ("pool", "RANKLET_POOL"),
    ],
)
def test_a_name_that_is_nearly_right_is_refused(name: str, meant: str) -> None:
    with pytest.raises(
        InputError, match=rf"RANKLET_{name} is no setting \(did you mean '{meant}'\?"
    ):
        Limits.from_variables({f"RANKLET_{name}": "1"})


def test_other_programs_may_have_variables() -> None:
    Limits.from_variables({"RANKLET_PY": "python", "RANKLET_TRACES": "1"})


def test_variables_of_a_service_in_kubernetes_are_no_settings() -> None:
    address = "tcp://10.0.0.1:80"
    others = {"RANKLET_PORT": address, "RANKLET_SERVICE_HOST": "10.0.0.1"}
    Limits.from_variables(others | {"RANKLET_SERVICE_PORT": "80", "RANKLET_PORT_80_TCP": address})
