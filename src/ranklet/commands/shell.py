"""Write the script by which a shell completes commands and their flags."""

from collections.abc import Iterable
from importlib import import_module

from ranklet.commands.parser import OptionParser

_BEFORE = {"bash": "", "zsh": "autoload -U +X bashcompinit && bashcompinit\n"}
_SCRIPT = """_ranklet() {{
  local now=${{COMP_WORDS[COMP_CWORD]}} flags=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands} --help --version" -- "$now"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{flags}
  esac
  case $now in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$now")) ;;
    *) COMPREPLY=($(compgen -f -- "$now")) ;;
  esac
}}
complete -o filenames -F _ranklet ranklet
"""


def completion_script(shell: str, commands: Iterable[str]) -> str:
    """Return the script for bash or zsh, which knows the flags of some commands."""
    names = list(commands)
    flags = "\n".join(f'    {name}) flags="{" ".join(_flags(name))}" ;;' for name in names)
    return _BEFORE[shell] + _SCRIPT.format(commands=" ".join(names), flags=flags)


def _flags(command: str) -> list[str]:
    parser = OptionParser(prog=command)
    import_module(f"ranklet.commands.{command}").add_arguments(parser)
    return [flag for action in parser._actions for flag in action.option_strings]
