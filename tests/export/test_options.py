import pytest

from ranklet.export.options import ExportOptions
from ranklet.runtime.ground.errors import InputError


@pytest.mark.parametrize("variants", [(), ("int4",), ("fp32", "bf16"), ("int8", "int8")])
def test_unknown_variants_are_refused(variants: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="allowed are fp32, fp16, int8"):
        ExportOptions(variants=variants)
