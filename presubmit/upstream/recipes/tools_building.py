"""Recognises installs and builds: pip, uv, pipx, setup.py, cmake, maturin, cargo, and other tools by their first word."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from presubmit.runners import script as run_script
from presubmit.upstream.recipes.installs import (
    Install,
    manager_install,
    named_install,
    pip_install,
    setup_py,
    uv_sync,
)
from presubmit.upstream.recipes.kinds import Kind, kind_of_name, kind_of_tool, strongest
from presubmit.upstream.recipes.options import parse, parse_wrapper
from presubmit.upstream.recipes.shell_words import Word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from presubmit.upstream.recipes.recognised import Recognised
    from presubmit.upstream.recipes.seen import Seen


def _pip(seen: Seen, words: Sequence[Word] | None = None) -> Recognised:
    rest = seen.words if words is None else words
    parsed = parse_wrapper(
        rest, {"--python", "--cache-dir", "--log", "--timeout", "--retries", "--proxy", "-p"}
    )
    subcommand = parsed.rest[0].text if parsed.rest else ""
    if subcommand in {"install", "sync"}:
        words = parsed.rest[1:]
        if subcommand == "sync":
            words = [
                w
                for word in words
                for w in ((word,) if word.text.startswith("-") else (Word(text="-r"), word))
            ]
        return seen.made(Kind.INSTALL, "pip", install=pip_install(words, seen.cwd))
    if subcommand == "wheel":
        return seen.made(Kind.BUILD, "pip wheel")
    return seen.made(Kind.SETUP if subcommand == "uninstall" else Kind.SILENT, "pip")


def _uv(seen: Seen) -> Recognised:  # noqa: PLR0911 - one subcommand a line
    parsed = parse_wrapper(
        seen.words, {"--directory", "--project", "--config-file", "--color", "--cache-dir"}
    )
    name = parsed.rest[0].text if parsed.rest else ""
    rest = parsed.rest[1:]
    match name:
        case "pip":
            return _pip(seen, rest)
        case "sync":
            return seen.made(Kind.INSTALL, "uv sync", install=uv_sync(rest, seen.cwd))
        case "tool" if rest and rest[0].text == "install":
            return seen.made(Kind.INSTALL, "uv tool", install=_tool_install(rest[1:]))
        case "build":
            return seen.made(Kind.BUILD, "uv build")
        case "publish":
            return seen.made(Kind.RELEASE, "uv publish")
        case "format":
            return seen.made(Kind.LINT, "uv format")
        case "run":
            return seen.made(Kind.OTHER, "uv run")
        case "lock":
            return seen.made(Kind.LINT if "--check" in seen.texts else Kind.SETUP, "uv lock")
        case _:
            return seen.made(Kind.SETUP, "uv")


def _tool_install(words: Sequence[Word]) -> Install | None:
    parsed = parse(
        words,
        {"--with", "--python", "-p", "--python-preference", "--index-url", "--from", "--spec"},
    )
    named = [re.sub(r"@(?=\d)", "==", w.text) for w in parsed.words if w.literal]
    return named_install((*named, *parsed.values("--with")))


def _pipx(seen: Seen) -> Recognised:
    if seen.texts[:1] == ("install",):
        return seen.made(Kind.INSTALL, "pipx", install=_tool_install(seen.words[1:]))
    return seen.made(Kind.SETUP, "pipx")


def _python(seen: Seen) -> Recognised:
    texts = [text for text in seen.texts if not text.startswith("-") or text in {"-c", "-"}]
    if not texts or texts[0] in {"-c", "-"} or "-c" in seen.texts[:3]:
        kind = (
            Kind.SILENT
            if {"-V", "--version", "-VV"} & set(seen.texts) or not seen.texts
            else Kind.OTHER
        )
        return seen.made(kind, "python -c" if texts[:1] == ["-c"] else "python")
    at = seen.texts.index(texts[0])
    script = posixpath.basename(texts[0])
    rest = seen.words[at + 1 :]
    program = ("python", *seen.texts)
    known = all(word.literal for word in seen.words)
    if script == "setup.py":
        install = setup_py(rest)
        if install is not None:
            return seen.made(Kind.INSTALL, "setup.py", install=install)
        names = {word.text for word in rest}
        kind = (
            Kind.TEST
            if names & {"test", "pytest"}
            else Kind.LINT
            if names & {"check", "flake8"}
            else Kind.BUILD
        )
        return seen.made(
            kind, "setup.py", targets=tuple(w.text for w in rest if not w.text.startswith("-"))[:1]
        )
    if script == "manage.py":
        kind = Kind.TEST if rest and rest[0].text == "test" else Kind.OTHER
        return seen.made(
            *(kind, "manage.py"),
            targets=tuple(w.text for w in rest[:1]),
            program=program if kind is Kind.TEST and known else (),
        )
    if run_script.takes(program):
        return seen.made(Kind.TEST, f"python {texts[0]}", program=program if known else ())
    stem = posixpath.splitext(script)[0]
    by_name = (
        Kind.TEST
        if re.match(r"(?:run_?)?tests?\b|runtests|run_tests|test_|selftest", stem)
        else kind_of_name(stem)
    )
    return seen.made(by_name or Kind.OTHER, f"python {texts[0]}")


def _cmake(seen: Seen) -> Recognised:
    parsed = seen.parsed(
        "--target",
        "-t",
        "--build",
        "-B",
        "-S",
        "-G",
        "--preset",
        "-j",
        "--parallel",
        "--config",
        "-D",
        "-U",
        "-W",
        "-C",
    )
    named = parsed.values("--target", "-t")
    kinds = [Kind.TEST if name == "check" else kind_of_name(name) or Kind.BUILD for name in named]
    return seen.made(strongest(kinds) if named else Kind.BUILD, "cmake", targets=named)


def _by_word(seen: Seen) -> Recognised:
    """Tools whose first word says what they do."""
    name = next((text for text in seen.texts if not text.startswith(("-", "+"))), "")
    kind = _WORDS[seen.tool].get(name) or kind_of_tool(seen.tool) or Kind.OTHER
    if seen.tool == "maturin" and name in {"develop", "dev"}:
        return seen.made(kind, "maturin", install=manager_install("maturin", seen.words))
    return seen.made(kind, seen.tool, targets=(name,) if name else ())


_WORDS: Final[Mapping[str, Mapping[str, Kind]]] = {
    "meson": {"test": Kind.TEST},
    "cargo": {
        **dict.fromkeys(("test", "nextest", "llvm-cov", "miri"), Kind.TEST),
        **dict.fromkeys(("clippy", "fmt", "deny", "audit", "check"), Kind.LINT),
        **dict.fromkeys(("fetch", "vendor", "update", "generate-lockfile"), Kind.SETUP),
        "bench": Kind.BENCH,
        "doc": Kind.DOCS,
        "publish": Kind.RELEASE,
        "install": Kind.SETUP,
    },
    "maturin": {
        "publish": Kind.RELEASE,
        "upload": Kind.RELEASE,
        "develop": Kind.INSTALL,
        "dev": Kind.INSTALL,
    },
    "twine": {"upload": Kind.RELEASE},
    "npm": {"test": Kind.TEST},
    "yarn": {"test": Kind.TEST},
    "docker": {"run": Kind.OTHER},
    "asv": {"check": Kind.BENCH, "machine": Kind.BENCH},
    "ninja": {"test": Kind.TEST},
    "towncrier": {"check": Kind.LINT, "build": Kind.DOCS},
}


def _module(kind: Kind, tool: str) -> Callable[[Seen], Recognised]:
    return lambda seen: seen.made(kind, tool)


HANDLERS: Final[Mapping[str, Callable[[Seen], Recognised]]] = {
    "pip": _pip,
    "uv": _uv,
    "pipx": _pipx,
    "python": _python,
    "py": _python,
    "cmake": _cmake,
    **dict.fromkeys(_WORDS, _by_word),
    "mypy.stubtest": _module(Kind.LINT, "stubtest"),
    "test": _module(Kind.SILENT, "test"),
    "compileall": _module(Kind.LINT, "compileall"),
}
