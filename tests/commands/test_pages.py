from pathlib import Path

import pytest

from ranklet.commands.pages import check_page, write_page
from ranklet.runtime.answers.html import GENERATOR
from ranklet.runtime.ground.errors import InputError


def test_only_pages_of_ranklet_are_replaced(tmp_path: Path) -> None:
    page = tmp_path / "site.html"
    check_page(page)
    write_page(page, f"<html><head>{GENERATOR}</head></html>")
    check_page(page)
    page.write_text("my home page", "utf-8")
    with pytest.raises(InputError, match=r"no page that ranklet has written; .*--force"):
        check_page(page)
    check_page(page, force=True)
