from pathlib import Path

import pytest

from ranklet.commands import main
from ranklet.commands.pages import check_page, write_page
from ranklet.runtime.errors import InputError
from ranklet.training.report.page import document


def test_only_pages_of_ranklet_are_replaced(tmp_path: Path) -> None:
    page = tmp_path / "site.html"
    check_page(page)
    write_page(page, document("What was learned"))
    check_page(page)
    page.write_text("my home page", "utf-8")
    with pytest.raises(InputError, match=r"no page that ranklet has written; .*--force"):
        check_page(page)
    check_page(page, force=True)


@pytest.mark.parametrize("name", ["site", "site/", "site.zip"])
def test_learn_looks_at_the_pages_place_before_it_begins(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / f"{name.rstrip('/')}.html"
    page.write_text("my home page", "utf-8")
    arguments = ["learn", str(tmp_path / "no-bundle"), str(tmp_path), "-o", f"{tmp_path}/{name}"]
    assert main(arguments) == 1
    assert "no page that ranklet has written" in capsys.readouterr().err
    page.unlink()
    page.mkdir()
    assert main([*arguments, "--force"]) == 1
    assert "cannot write a page" in capsys.readouterr().err
