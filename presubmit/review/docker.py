"""Reads a Dockerfile: stages, instructions, the commands of a RUN, and what pip is told to install."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Final

from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Instruction(Value, frozen=True, kw_only=True):
    """One instruction; a RUN's `value` holds the text of its heredoc, too."""

    word: str
    value: str
    line: int
    flags: tuple[str, ...] = ()


class Stage(Value, frozen=True, kw_only=True):
    """One build stage; `base` has its ARGs filled in where they have defaults."""

    name: str
    base: str
    line: int
    instructions: tuple[Instruction, ...] = ()

    def of(self, *words: str) -> tuple[Instruction, ...]:
        """Give the instructions of some kinds."""
        return tuple(one for one in self.instructions if one.word in words)

    def environment(self) -> dict[str, str]:
        """Give the variables that its ENV instructions (and ARG defaults) set."""
        found: dict[str, str] = {}
        for one in self.of("ENV", "ARG"):
            found |= {name: value for name, value in assignments(one) if value}
        return found


_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_INSTRUCTION: Final = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)
_FLAG: Final = re.compile(r"--[a-z][\w-]*(?:=\S+)?\s+")


def is_dockerfile(path: str) -> bool:
    """Tell a Dockerfile by its name."""
    name = posixpath.basename(path)
    return bool(re.fullmatch(r"(?:.+\.)?(?:Docker|Container)file(?:[._-].+)?", name)) and (
        not name.endswith((".dockerignore", ".md", ".rst", ".py"))
    )


def instructions(text: str) -> Iterator[Instruction]:  # noqa: C901 - one pass over the lines
    """Read a Dockerfile's instructions with the numbers of their first lines."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, whole = number + 1, ""
        while number < len(lines):
            piece = lines[number].rstrip()
            number += 1
            if piece.lstrip().startswith("#") or (whole and not piece.strip()):
                continue
            whole += piece.removesuffix("\\") + ("\n" if piece.endswith("\\") else "")
            if not piece.endswith("\\"):
                break
        found = _INSTRUCTION.fullmatch(whole)
        if found is None:
            continue
        word, value = found[1].upper(), found[2]
        for match in _HEREDOC.finditer(value) if word in {"RUN", "COPY", "ADD"} else ():
            while number < len(lines):
                number += 1
                if lines[number - 1].strip() == match[2]:
                    break
                if word == "RUN":
                    value += "\n" + lines[number - 1]
        flags = []
        while (flag := _FLAG.match(value)) is not None:
            flags.append(flag[0].strip())
            value = value[flag.end() :]
        yield Instruction(word=word, value=value.strip(), line=first, flags=tuple(flags))


def stages(text: str) -> tuple[Stage, ...]:
    """Read a Dockerfile's stages in their order."""
    arguments: dict[str, str] = {}
    found: list[Stage] = []
    for one in instructions(text):
        if one.word == "FROM":
            base, _, rest = one.value.partition(" ")
            name = re.sub(r"(?i)^\s*as\s+", "", rest).strip()
            filled = fill(base, arguments)
            found.append(Stage(name=name, base=filled, line=one.line))
        elif found:
            last = found[-1]
            found[-1] = Stage(
                name=last.name,
                base=last.base,
                line=last.line,
                instructions=(*last.instructions, one),
            )
        elif one.word == "ARG":
            arguments |= {name: value for name, value in assignments(one) if value}
    return tuple(found)


def assignments(one: Instruction) -> list[tuple[str, str]]:
    """Read what an ENV or ARG sets; a name without a value has an empty one."""
    words = words_of(one.value)
    if one.word == "ENV" and words and "=" not in words[0]:
        return [(words[0], " ".join(words[1:]))]
    return [(name, value) for name, _, value in (word.partition("=") for word in words)]


def fill(text: str, variables: Mapping[str, str]) -> str:
    """Put in the variables that are known; others stay as they are written."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[3]
        return variables.get(name) or found[2] or found[0]

    return re.sub(r"\$\{(\w+)(?::-([^}]*))?\}|\$(\w+)", value, text)


def words_of(text: str) -> list[str]:
    """Split as a shell does; by blanks, where quotes do not close."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def commands(one: Instruction) -> list[str]:
    """Give the single commands of a RUN, CMD or ENTRYPOINT; a pipe stays whole."""
    if one.value.startswith("["):
        return [" ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', one.value))]
    # Only in a heredoc does a line end a command.
    heredoc = "<<" in one.value.partition("\n")[0]
    joined = one.value if heredoc else one.value.replace("\n", " ")
    return [part.strip() for part in re.split(r"&&|\|\||;|\n", joined) if part.strip()]


class Install(Value, frozen=True, kw_only=True):
    """One `pip install`: what it names, from which index."""

    line: int
    requirements: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    index: str = ""
    extra: tuple[str, ...] = ()
    cached: bool = True
    """pip keeps its downloads in the layer."""


_PIP: Final = re.compile(
    r"(?:^|\s)(?:\S*/)?(?:uv\s+pip|pip3?(?:\.\d+)?|python[\d.]*\s+-m\s+pip)\s+(?:-\S+\s+)*install\s(.*)",
    re.DOTALL,
)
_WITH_VALUE: Final = frozenset(
    [
        "-r",
        "--requirement",
        "-c",
        "--constraint",
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "-t",
        "--target",
        "-e",
        "--editable",
        "--trusted-host",
        "--prefix",
        "--python",
        "--python-version",
        "--platform",
        "--root",
        "--timeout",
        "--retries",
        "--only-binary",
        "--no-binary",
        "--config-settings",
        "-C",
        "--progress-bar",
        "--index-strategy",
        "--torch-backend",
        "--index",
        "--default-index",
    ]
)
_INDEX: Final = frozenset(["-i", "--index-url", "--default-index"])
_EXTRA: Final = frozenset(["--extra-index-url", "--index", "-f", "--find-links"])


def installs(stage: Stage) -> list[Install]:
    """Give what a stage installs with pip, ARG and ENV filled in as far as they are known."""
    variables = stage.environment()
    found = []
    for one in stage.of("RUN"):
        mounted = any("type=cache" in flag for flag in one.flags)
        for command in commands(one):
            match = _PIP.search(command)
            if match is None:
                continue
            made = _install(words_of(fill(match[1], variables)), one.line, variables)
            kept = made.cached and not mounted and " uv " not in f" {command}"
            found.append(
                Install(
                    line=made.line,
                    requirements=made.requirements,
                    files=made.files,
                    index=made.index,
                    extra=made.extra,
                    cached=kept,
                )
            )
    return found


def _install(words: Iterable[str], line: int, variables: Mapping[str, str]) -> Install:
    requirements, files, extra = [], [], list(variables.get("PIP_EXTRA_INDEX_URL", "").split())
    index = variables.get("PIP_INDEX_URL", "")
    cached = variables.get("PIP_NO_CACHE_DIR", "0").lower() in {"0", "false", "off", "no"}
    waiting = iter(words)
    for word in waiting:
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option.startswith("-r") and not option.startswith("--") and len(option) > 2:  # noqa: PLR2004 - `-rfile`
            files.append(option[2:])
            continue
        if option in _WITH_VALUE and not equals:
            value = next(waiting, "")
        if option in _INDEX:
            index = value
        elif option in _EXTRA:
            extra.append(value)
        elif option in {"-r", "--requirement"}:
            files.append(value)
        elif option == "--no-cache-dir":
            cached = False
        elif word in {">", "2>", ">>", "|"} or word.startswith((">/", "2>")):
            break
        elif not word.startswith("-"):
            requirements.append(word)
    return Install(
        line=line,
        requirements=tuple(requirements),
        files=tuple(files),
        index=index,
        extra=tuple(extra),
        cached=cached,
    )
