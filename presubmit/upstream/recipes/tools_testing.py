"""Recognises what calls tests: pytest, unittest, Django's runner, tox, nox, spin."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.upstream.recipes import toxfile
from presubmit.upstream.recipes.installs import Install
from presubmit.upstream.recipes.kinds import Kind, kind_of_name, strongest
from presubmit.upstream.recipes.options import parse
from presubmit.upstream.recipes.pytest_call import read_pytest
from presubmit.upstream.recipes.seen import of_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.upstream.recipes.recognised import Recognised
    from presubmit.upstream.recipes.seen import Seen
    from presubmit.upstream.recipes.shell_words import Word


def _pytest(seen: Seen) -> Recognised:
    def exists(path: str) -> bool:
        return seen.read(posixpath.normpath(posixpath.join(seen.cwd, path))) is not None

    call = read_pytest(
        seen.words,
        python_options=seen.peeled.python_options,
        module="python -m" in seen.peeled.via,
        exists=exists,
    )
    benches = call.has("--benchmark-only", "--codspeed") or "--benchmark-only" in call.options
    kind = Kind.BENCH if benches else Kind.TEST
    if call.has("--version", "--help", "-h", "--collect-only", "--co", "--fixtures", "--markers"):
        kind = Kind.SILENT
    return seen.made(kind, "pytest", pytest=call)


def _unittest(seen: Seen) -> Recognised:
    if not _is_module(seen) or {"-h", "--help"} & set(seen.texts):
        return seen.made(Kind.TEST if _is_module(seen) else Kind.OTHER, "unittest")
    program = ("python", *seen.peeled.python_options, "-m", "unittest", *seen.texts)
    return seen.made(Kind.TEST, "unittest", program=_literal(seen, program))


def _django(seen: Seen) -> Recognised:
    """Read `django-admin test`, `python -m django test` and `./manage.py test`; `python manage.py` is a script."""
    if seen.texts[:1] != ("test",):
        return seen.made(Kind.OTHER, seen.tool, targets=seen.texts[:1])
    if _is_module(seen):
        started: tuple[str, ...] = ("python", *seen.peeled.python_options, "-m", "django")
    else:
        started = (seen.tool,) if seen.tool == "django-admin" else ("python", seen.program)
    program = _literal(seen, (*started, *seen.texts))
    return seen.made(Kind.TEST, seen.tool, targets=("test",), program=program)


def _is_module(seen: Seen) -> bool:
    return "python -m" in seen.peeled.via


def _literal(seen: Seen, program: tuple[str, ...]) -> tuple[str, ...]:
    """Give a program, unless one of its words is not known."""
    return program if all(word.literal for word in seen.words) else ()


_TOX_VALUED: Final = (
    *(
        "-e",
        "-c",
        "-f",
        "-m",
        "-x",
        "-o",
        "-r",
        "--conf",
        "--workdir",
        "--work-dir",
        "--root",
        "--override",
    ),
    *(
        "--result-json",
        "--installpkg",
        "--install-pkg",
        "--discover",
        "--hashseed",
        "--runner",
        "--exit-and-dump-after",
    ),
    *(
        "--force-dep",
        "--sitepackages",
        "--skip-env",
        "--colored",
        "--stderr-color",
        "--parallel-cli",
    ),
)


def _tox(seen: Seen) -> Recognised:
    words = seen.words
    valued = frozenset(_TOX_VALUED) - {"-r", "-o"}
    if any(word.text == "--skip-missing-interpreters" for word in words):
        valued |= (
            {"--skip-missing-interpreters"}
            if _follows(words, {"true", "false", "config"})
            else set()
        )
    parsed = parse(words, valued)
    subcommand = parsed.words[0].text if parsed.words else "run"
    asked = [o.value for o in parsed.options if o.name == "-e" and o.value is not None]
    named = ",".join(word.text for word in asked) or seen.setting("TOX_ENV", "TOXENV")
    labels = parsed.values("-m") + parsed.values("-f")
    if all(word.literal for word in asked):
        targets = tuple(name for name in re.split(r"[,\s]+", named) if name) or labels
    else:
        targets = (named,)
    if subcommand not in {"run", "r", "run-parallel", "p", "exec", "legacy", "le", "l"}:
        return seen.made(Kind.SETUP if subcommand in {"devenv", "d"} else Kind.SILENT, "tox")
    posargs = tuple(word.text for word in parsed.rest)
    kinds: list[Kind] = []
    lines: list[str] = []
    origin = ""
    environ: tuple[tuple[str, str], ...] = ()
    folder = None
    for name in (
        *targets,
        *(() if targets else toxfile.tox_default_environments(seen.read)[:1]),
    ):
        found = toxfile.tox_environment(name, seen.read, posargs=posargs)
        if found is not None and found.commands and not labels:
            lines += found.commands
            origin, environ, folder = found.origin, found.env, found.cwd
        kinds.append(kind_of_name(name) or Kind.TEST)
    if parsed.has("--notest", "--no-test", "-n"):
        return seen.made(Kind.SETUP, "tox", targets=targets)
    made = seen.made(
        Kind.OTHER,
        "tox",
        lines=lines,
        origin=origin,
        environ=environ,
        folder=folder,
        targets=targets,
    )
    return of_kind(made, strongest(kinds or [Kind.TEST]))


def _follows(words: Sequence[Word], values: set[str]) -> bool:
    texts = [word.text for word in words]
    at = texts.index("--skip-missing-interpreters")
    return at + 1 < len(texts) and texts[at + 1] in values


def _nox(seen: Seen) -> Recognised:
    targets: list[str] = []
    taking = False
    for word in seen.words:
        if word.text == "--":
            break
        if word.text in {"-s", "-e", "--session", "--sessions"}:
            taking = True
        elif word.text.startswith(("--session=", "--sessions=")):
            targets.append(word.text.partition("=")[2])
        elif word.text.startswith("-s") and not word.text.startswith("--"):
            targets.append(word.text[2:])
        elif word.text.startswith("-"):
            taking = False
        elif taking:
            targets.append(word.text)
    parsed = seen.parsed(
        "-t", "--tags", "-k", "--keywords", "-p", "--pythons", "--python", "-P", "--force-python"
    )
    named = (
        tuple(targets) or tuple(re.split(r"[,\s]+", seen.setting("NOXSESSION")))
        if seen.setting("NOXSESSION")
        else tuple(targets)
    )
    labels = parsed.values("-t", "--tags", "-k", "--keywords")
    if parsed.has("-l", "--list", "--list-sessions", "--version", "--install-only"):
        return seen.made(Kind.SILENT, "nox", targets=named)
    kinds = [kind_of_name(re.sub(r"\(.*", "", name)) or Kind.TEST for name in named or labels]
    return seen.made(strongest(kinds or [Kind.TEST]), "nox", targets=named or labels)


def _spin(seen: Seen) -> Recognised:
    if not seen.texts:
        return seen.made(Kind.SILENT, "spin")
    name = seen.texts[0]
    parsed = parse(
        seen.words[1:],
        {"-j", "-t", "-s", "-m", "-p", "-b", "--build-dir", "--mode", "--n-jobs", "--tests"},
    )
    if name in {"run", "python", "ipython", "shell"} and (parsed.rest or parsed.words):
        return seen.made(kind_of_name(name) or Kind.OTHER, "spin", targets=(name,))
    kinds = {
        "test": Kind.TEST,
        "bench": Kind.BENCH,
        "asv": Kind.BENCH,
        "docs": Kind.DOCS,
        "install": Kind.INSTALL,
    }
    kind = kinds.get(name) or kind_of_name(name) or Kind.OTHER
    if name == "install":
        return seen.made(
            kind, "spin", targets=(name,), install=Install(project=True, editable=True)
        )
    if kind is Kind.TEST and parsed.has("--doctest", "--doctest-only-doctests"):
        kind = Kind.DOCS
    call = read_pytest(parsed.rest) if kind is Kind.TEST else None
    return seen.made(kind, "spin", targets=(name,), pytest=call)


HANDLERS: Final[Mapping[str, Callable[[Seen], Recognised]]] = {
    "pytest": _pytest,
    "py.test": _pytest,
    "unittest": _unittest,
    "django-admin": _django,
    "django": _django,
    "manage.py": _django,
    "tox": _tox,
    "nox": _nox,
    "spin": _spin,
}
