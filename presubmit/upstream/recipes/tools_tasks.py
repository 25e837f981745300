"""Recognises what runs something that stands elsewhere: make, scripts, the tasks of hatch, pdm, pixi and others."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.upstream.recipes import taskfile
from presubmit.upstream.recipes.installs import manager_install
from presubmit.upstream.recipes.kinds import Kind, kind_of_name, kind_of_tool, strongest
from presubmit.upstream.recipes.options import parse, parse_wrapper
from presubmit.upstream.recipes.pytest_call import read_pytest
from presubmit.upstream.recipes.seen import as_line, of_kind
from presubmit.upstream.recipes.shell_words import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.upstream.recipes.recognised import Recognised
    from presubmit.upstream.recipes.seen import Seen


def _make(seen: Seen) -> Recognised:
    parsed = seen.parsed(
        "-C", "--directory", "-f", "--file", "--makefile", "-j", "--jobs", "-l", "-o", "-W"
    )
    # `-j` may stand alone before a target.
    lost = tuple(v for v in parsed.values("-j", "--jobs") if not v.isdigit())
    targets = (*lost, *(w.text for w in parsed.words if "=" not in w.text))
    folder = posixpath.normpath(posixpath.join(seen.cwd, *parsed.values("-C", "--directory")))
    folder = "" if folder == "." else folder
    given = dict(w.text.partition("=")[::2] for w in parsed.words if "=" in w.text and w.literal)
    lines = [
        line
        for name in targets or ("",)
        for line in taskfile.make_recipe(name, folder, seen.read, given)
    ]
    kinds = [
        Kind.TEST if name == "check" else kind_of_name(name) or Kind.OTHER for name in targets
    ]
    by_name = strongest(kinds or [Kind.BUILD])
    if re.search(r"(^|/)docs?(/|$)", folder):
        by_name = Kind.DOCS
    made = seen.made(
        Kind.OTHER,
        "make",
        lines=lines,
        origin="Makefile" if lines else "",
        folder=folder,
        targets=targets,
    )
    return of_kind(made, by_name)


def script(seen: Seen) -> Recognised:
    """Read a shell script of the tree."""
    text = seen.text()
    name = posixpath.basename(seen.program)
    if text is None:
        by_name = kind_of_name(posixpath.splitext(name)[0]) or Kind.OTHER
        return seen.made(by_name, name)
    # The script's own arguments are not followed: what depends on them is not literal.
    made = seen.made(
        Kind.OTHER,
        name,
        lines=(text,),
        origin=posixpath.normpath(posixpath.join(seen.cwd, seen.program)),
    )
    return of_kind(made, kind_of_name(posixpath.splitext(name)[0]) or Kind.OTHER)


def _poetry(seen: Seen) -> Recognised:
    parsed = parse_wrapper(seen.words, {"-C", "--directory", "-p", "--project"})
    name = parsed.rest[0].text if parsed.rest else ""
    if name in {"install", "sync", "develop"} or (not name and seen.tool == "pdm"):
        return seen.made(
            Kind.INSTALL, seen.tool, install=manager_install(seen.tool, parsed.rest[1:])
        )
    if name == "build":
        return seen.made(Kind.BUILD, seen.tool)
    if name == "publish":
        return seen.made(Kind.RELEASE, seen.tool)
    if seen.tool == "pdm" and taskfile.task("pdm", name, seen.read):
        return _task(seen, parsed.rest)
    if seen.tool == "flit" or name in {
        "check",
        "lock",
        "config",
        "env",
        "add",
        "self",
        "info",
        "show",
        "list",
        "use",
        "cache",
        "export",
    }:
        return seen.made(Kind.SETUP, seen.tool)
    # `pdm test`: a script of the project's own.
    return _task(seen, parsed.rest)


def _hatch(seen: Seen) -> Recognised:
    parsed = parse_wrapper(
        seen.words, {"-e", "--env", "-p", "--project", "--data-dir", "--cache-dir", "--config"}
    )
    name = parsed.rest[0].text if parsed.rest else ""
    environment = "".join(parsed.values("-e", "--env"))
    rest = list(parsed.rest[1:])
    match name:
        case "test":
            told = parse(rest, {"-py", "--python", "-i", "--include", "-x", "--exclude"})
            call = read_pytest((*told.words, *told.rest))
            return seen.made(Kind.TEST, "hatch", targets=("test",), pytest=call)
        case "fmt":
            return seen.made(Kind.LINT, "hatch", targets=("fmt",))
        case "build":
            return seen.made(Kind.BUILD, "hatch", targets=("build",))
        case "publish":
            return seen.made(Kind.RELEASE, "hatch")
        case "env" if rest and rest[0].text == "run":
            told = parse_wrapper(
                rest[1:], {"-e", "--env", "-i", "--include", "-x", "--exclude", "-f", "--filter"}
            )
            environment = "".join(told.values("-e", "--env")) or environment
            rest = list(told.rest)
        case "run":
            rest = [word for word in rest if not re.match(r"[+-][\w.]+=", word.text)]
        case _:
            return seen.made(Kind.SETUP, "hatch")
    if rest and environment and ":" not in rest[0].text:
        rest[0] = Word(text=f"{environment}:{rest[0].text}", literal=rest[0].literal)
    return _task(seen, rest)


def _task(seen: Seen, words: Sequence[Word]) -> Recognised:
    """Read a manager's `run NAME …`: a script of its table, else a program."""
    if not words:
        return seen.made(Kind.SETUP, seen.tool)
    name = words[0].text
    lines = list(taskfile.task(seen.tool, name, seen.read))
    if not lines:
        program = name.rpartition(":")[2]
        if kind_of_tool(program) or seen.known(program) or program.startswith(("python", "./")):
            lines = [as_line((Word(text=program), *words[1:]))]
        by_name = kind_of_name(name) or Kind.OTHER
        made = seen.made(Kind.OTHER, seen.tool, lines=lines, targets=(name,))
        return of_kind(made, by_name)
    if len(words) > 1:
        given = as_line(words[1:])
        lines = (
            [re.sub(r"\{args(?::[^}]*)?\}", lambda _: given, line) for line in lines]
            if any("{args" in line for line in lines)
            else [*lines[:-1], f"{lines[-1]} {given}"]
        )
    lines = [re.sub(r"\{args:?([^}]*)\}", r"\1", line) for line in lines]
    made = seen.made(
        Kind.OTHER, seen.tool, lines=lines, origin=f"{seen.tool} script {name}", targets=(name,)
    )
    return of_kind(made, kind_of_name(name) or Kind.OTHER)


def _runs_task(seen: Seen) -> Recognised:
    """`poe test`, `task test`, `just test`, `invoke test`, `rye test`: a task by its name."""
    parsed = parse_wrapper(seen.words, {"-C", "--root", "-f", "--justfile", "-c", "--collection"})
    return _task(seen, parsed.rest)


def managed(seen: Seen) -> Recognised | None:
    """`pixi run test`, `pdm run lint`: a task of that name, where the manager's table has it."""
    last = seen.peeled.via[-1] if seen.peeled.via else ""
    manager = last.removesuffix(" run")
    if manager not in {"pixi", "pdm", "poetry"} or not last.endswith(" run"):
        return None
    lines = list(taskfile.task(manager, seen.program, seen.read))
    if lines and seen.words:
        lines[-1] += " " + as_line(seen.words)
    if lines:
        origin = f"{manager} task {seen.program}"
        made = seen.made(Kind.OTHER, manager, lines=lines, origin=origin, targets=(seen.program,))
    elif (seen.known(seen.tool) and seen.tool != "test") or (
        kind_of_tool(seen.tool) and seen.tool not in {"test", "build"}
    ):
        return None
    else:
        made = seen.made(Kind.OTHER, manager, targets=(seen.program,))
    return of_kind(made, kind_of_name(seen.program) or Kind.OTHER)


HANDLERS: Final[Mapping[str, Callable[[Seen], Recognised]]] = {
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("poetry", "pdm", "flit"), _poetry),
    "hatch": _hatch,
    **dict.fromkeys(("poe", "task", "just", "invoke", "inv", "rye"), _runs_task),
}
