"""Says how a `run:` block is started: GitHub's shells with their exact flags, and any other command line; pure.

The rules are those of actions/runner (src/Runner.Worker/Handlers/ScriptHandler.cs and ScriptHandlerHelpers.cs).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

_ARGUMENTS: Final = {
    "bash": "--noprofile --norc -e -o pipefail {0}",
    "sh": "-e {0}",
    "python": "{0}",
    "pwsh": "-command \". '{0}'\"",
    "powershell": "-command \". '{0}'\"",
    "cmd": '/D /E:ON /V:OFF /S /C "CALL "{0}""',
}
_EXTENSIONS: Final = {
    "bash": ".sh",
    "sh": ".sh",
    "python": ".py",
    "pwsh": ".ps1",
    "powershell": ".ps1",
    "cmd": ".cmd",
}
_BRACES: Final = re.compile(r"\{\{|\}\}|\{0\}|[{}]")


class ShellError(Exception):
    """The step fails before anything of it runs; the message is GitHub's own."""


class Shell(Value, frozen=True, kw_only=True):
    """How one script is run."""

    program: str
    arguments: str
    """As written, with `{0}` for the script's path."""
    extension: str
    """Of the script's file: `.sh`, `.py`, `.ps1`, `.cmd` or none."""
    contents: str
    """What the file holds."""

    def __str__(self) -> str:
        """Give the line that the log shows: `bash -e {0}`."""
        return f"{self.program} {self.arguments}"

    def command(self, path: str) -> tuple[str, ...]:
        """Give the command for a script's path; raises ShellError where the braces make no sense."""

        def put(match: re.Match[str]) -> str:
            match match.group():
                case "{0}":
                    return path.replace('"', '\\"')
                case "{{" | "}}" as pair:
                    return pair[0]
                case _:
                    raise ShellError(f"Input string was not in a correct format: `{self}`")

        return (self.program, *split_arguments(_BRACES.sub(put, self.arguments)))


def shell_command(
    shell: str | None, *, has: Callable[[str], bool], in_container: bool, script: str
) -> Shell:
    """Give the shell for a script; raises ShellError where it is not here, or no shell at all.

    `has` says whether a program is found; `in_container`: the job names its own `container:`, where the runner does
    not look for bash.
    """
    if not shell:
        program = "bash" if not in_container and has("bash") else "sh"
        return Shell(program=program, arguments=_ARGUMENTS["sh"], extension=".sh", contents=script)
    # One space, and only that, ends the program's name.
    program, _, rest = shell.partition(" ")
    kind = program.lower()
    if not has(program):
        raise ShellError(f"{program}: command not found")
    arguments = rest.lstrip() or _ARGUMENTS.get(kind, "")
    if "{0}" not in arguments:
        raise ShellError(
            "Invalid shell option. Shell must be a valid built-in (bash, sh, cmd, powershell, pwsh) "
            "or a format string containing '{0}'"
        )
    return Shell(
        program=program,
        arguments=arguments,
        extension=_EXTENSIONS.get(kind, ""),
        contents=_contents(program, script),
    )


def _contents(program: str, script: str) -> str:
    match program:
        case "pwsh" | "powershell":
            end = r"if ((Test-Path -LiteralPath variable:\LASTEXITCODE)) { exit $LASTEXITCODE }"
            return f"$ErrorActionPreference = 'stop'\n{script}\n{end}"
        case "cmd":
            return f"@echo off\n{script}"
        case _:
            return script


def split_arguments(text: str) -> tuple[str, ...]:
    r"""Split a command line as .NET does for a process on Linux (ProcessStartInfo.Arguments).

    Only double quotes quote; a backslash is itself unless it stands before a double quote.
    """
    words: list[str] = []
    position = 0
    while True:
        while position < len(text) and text[position] in " \t":
            position += 1
        if position == len(text):
            return tuple(words)
        word, position = _next_word(text, position)
        words.append(word)


def _next_word(text: str, position: int) -> tuple[str, int]:
    word: list[str] = []
    quoted = False
    while position < len(text):
        backslashes = len(text) - position - len(text[position:].lstrip("\\"))
        position += backslashes
        if text[position : position + 1] == '"':
            word.append("\\" * (backslashes // 2))
            if backslashes % 2:
                word.append('"')
            elif quoted and text[position + 1 : position + 2] == '"':
                word.append('"')
                position += 1
            else:
                quoted = not quoted
            position += 1
            continue
        word.append("\\" * backslashes)
        if position == len(text) or (not quoted and text[position] in " \t"):
            break
        word.append(text[position])
        position += 1
    return "".join(word), position
