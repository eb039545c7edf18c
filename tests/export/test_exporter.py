from ranklet.export.exporter import exporter, list_export_settings
from ranklet.runtime.kinds import KINDS


def test_each_setting_that_an_export_may_change_is_an_option_of_its_kind() -> None:
    found = list_export_settings()
    for kind in KINDS:
        assert {name for name in found if kind in found[name]} == set(exporter(kind).settings)
