import subprocess

import pytest

from ranklet.commands import COMMANDS, main


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("ranklet bu", {"build"}),
        ("ranklet rank b.ranklet q --no-", {"--no-rules", "--no-synonyms"}),
        ("ranklet build --rec", {"--recipe"}),
    ],
)
def test_bash_completes_commands_and_flags(
    capsys: pytest.CaptureFixture[str], words: str, wanted: set[str]
) -> None:
    assert main(["--print-completion", "bash"]) == 0
    script = capsys.readouterr().out
    asked = f"COMP_WORDS=({words}); COMP_CWORD={words.count(' ')}; _ranklet"
    code = f'{script}\n{asked}; echo "${{COMPREPLY[@]}}"'
    run = ["/usr/bin/env", "bash", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == wanted
    assert all(f"    {command}) flags=" in script for command in COMMANDS)


def test_zsh_has_the_same_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-completion", "zsh"]) == 0
    zsh = capsys.readouterr().out
    assert zsh.startswith("autoload -U +X bashcompinit && bashcompinit\n_ranklet() {")
