"""Peels off what stands in front of a command: `sudo`, `env`, `xvfb-run`, `python -m`, `uv run`, `coverage run`, …."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.upstream.recipes.installs import Install, named_install, pip_install, uv_sync
from presubmit.upstream.recipes.options import parse_wrapper
from presubmit.upstream.recipes.shell_words import Word
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Peeled(Value, frozen=True, kw_only=True):
    """A command without its wrappers."""

    words: tuple[Word, ...]
    via: tuple[str, ...] = ()
    """The wrappers, outermost first: `uv run`, `coverage run`, `python -m`."""
    env: tuple[tuple[str, Word], ...] = ()
    python_options: tuple[str, ...] = ()
    python: str = ""
    """The interpreter that it names: a program (`python3.12`) or a version (`3.12`)."""
    install: Install | None = None
    """What the wrapper itself installs first: `uv run --with x`."""
    script: str = ""
    """The text after `bash -c`: a script of its own."""
    environment: str = ""
    """The environment that a manager is told to run in: `pixi run -e test`."""


# Wrappers that change nothing of the command, with their options that take a value.
_PLAIN: Final[Mapping[str, frozenset[str]]] = {
    "sudo": frozenset({"-u", "--user", "-g", "--group", "-C", "-p", "-h"}),
    "time": frozenset({"-f", "-o", "--format", "--output"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n"}),
    "nohup": frozenset(),
    "command": frozenset(),
    "exec": frozenset({"-a"}),
    "builtin": frozenset(),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "unbuffer": frozenset(),
    "catchsegv": frozenset(),
    "sde": frozenset(),
    "xvfb-run": frozenset({"-s", "--server-args", "-n", "--server-num", "-e", "--error-file", "-f", "-w", "-p"}),
    "dbus-run-session": frozenset({"--config-file"}),
    "linux32": frozenset(),
    "setarch": frozenset(),
    "ccache": frozenset(),
    "coverage": frozenset({"--source", "--rcfile", "--include", "--omit", "--data-file", "--concurrency", "--context", "--source-pkgs", "--save-signal"}),
    "kernprof": frozenset(),
    "poetry": frozenset({"-C", "--directory", "-P", "--project"}),
    "pdm": frozenset({"-p", "--project", "-e", "--env-file"}),
    "rye": frozenset({"--pyproject"}),
    "pipenv": frozenset(),
    "conda": frozenset({"-n", "--name", "-p", "--prefix", "--cwd"}),
    "mamba": frozenset({"-n", "--name", "-p", "--prefix", "--cwd"}),
    "micromamba": frozenset({"-n", "--name", "-p", "--prefix", "-r", "--root-prefix", "--cwd"}),
    "pixi": frozenset({"-e", "--environment", "--manifest-path", "-m", "--feature", "--color", "--pinning-strategy", "-x"}),
    "docker-compose": frozenset(),
}  # fmt: skip
# These wrap only with this subcommand.
_SUBCOMMANDS: Final[Mapping[str, frozenset[str]]] = {
    "coverage": frozenset({"run"}),
    **{
        name: frozenset({"run", "r"})
        for name in ("poetry", "pdm", "rye", "pipenv", "conda", "mamba")
    },
    "micromamba": frozenset({"run"}),
    "pixi": frozenset({"run", "r"}),
}
_LEADING_WORDS: Final[Mapping[str, int]] = {"setarch": 1, "timeout": 1, "taskset": 1, "chroot": 1}
_PYTHON: Final = re.compile(
    r"(?:.*/)?(?:python|pypy|graalpy)[\d.]*t?(?:-dbg)?(?:\.exe)?|py(?:\.exe)?|\$\{?PYTHON\w*\}?"
)
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh"})
_PYTHON_VALUED: Final = frozenset({"X", "W"})
_UV_VALUED: Final = frozenset({
    *("--with", "--with-requirements", "--with-editable", "--extra", "--group", "--only-group", "--no-group"),
    *("--no-extra", "-p", "--python", "--env-file", "--directory", "--project", "--index-url", "--index", "-i"),
    *("--extra-index-url", "--default-index", "-f", "--find-links", "--package", "--config-file", "-C"),
    *("--config-setting", "-P", "--upgrade-package", "--reinstall-package", "--refresh-package", "--resolution"),
    *("--prerelease", "--exclude-newer", "--link-mode", "--index-strategy", "--keyring-provider", "--from", "-w"),
    *("--no-build-isolation-package", "--no-build-package", "--no-binary-package", "--allow-insecure-host"),
    *("--color", "--python-preference", "--python-platform", "--no-editable-package", "-c", "--constraints"),
    *("--overrides", "--build-constraints", "--cache-dir", "-b"),
})  # fmt: skip


def peel(words: Sequence[Word], cwd: str) -> Peeled:
    """Take the wrappers off, one by one, until a tool stands first."""
    peeled = Peeled(words=tuple(words))
    for _ in range(12):
        inner = _peel_one(peeled, cwd)
        if inner is None:
            break
        peeled = inner
    return peeled


def _peel_one(peeled: Peeled, cwd: str) -> Peeled | None:  # noqa: C901, PLR0911 - one kind of wrapper a line
    words = peeled.words
    if len(words) < 2:  # noqa: PLR2004 - a wrapper and what it wraps
        return None
    name = words[0].text.rpartition("/")[2]
    if _PYTHON.fullmatch(words[0].text):
        return _python(peeled)
    if name in _SHELLS:
        return _shell(peeled)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(peeled, cwd)
    if name in _LEADING_WORDS:
        parsed = parse_wrapper(words[1:], {"-s", "-k", "--signal", "--kill-after", "-c", "-p"})
        return _inner(peeled, name, parsed.rest[_LEADING_WORDS[name] :])
    if name not in _PLAIN:
        return None
    parsed = parse_wrapper(words[1:], _PLAIN[name])
    wanted = _SUBCOMMANDS.get(name)
    if wanted is None:
        rest, env = _assignments(parsed.rest) if name == "sudo" else (parsed.rest, ())
        return _inner(peeled, name, rest, env=(*peeled.env, *env))
    if not parsed.rest or parsed.rest[0].text not in wanted:
        return None
    told = parse_wrapper(parsed.rest[1:], _PLAIN[name])
    environment = "".join(told.values("-e", "--environment", "-n", "--name")[-1:])
    rest = told.rest
    if name == "coverage" and told.has("-m", "--module"):
        rest = (Word(text="-m"), *rest)
    if name == "coverage" and rest:
        # `coverage run -m pytest`, `coverage run script.py`: what python itself would be given.
        rest = (Word(text="python"), *rest)
    return _inner(peeled, f"{name} run", rest, environment=environment)


def _inner(peeled: Peeled, via: str, words: Sequence[Word], **changes: object) -> Peeled | None:
    if not words:
        return None
    given = {name: value for name, value in changes.items() if value}
    return msgspec.structs.replace(peeled, words=tuple(words), via=(*peeled.via, via), **given)


def _python(peeled: Peeled) -> Peeled | None:
    """Read Python's own options (docs.python.org, using/cmdline): `-X dev`, `-Im pytest`, `-mpip`."""
    program = peeled.words[0].text
    options: list[str] = []
    rest = list(peeled.words[1:])
    version = ""
    if program in {"py", "py.exe"} and rest and re.fullmatch(r"-\d[\w.]*", rest[0].text):
        version = rest.pop(0).text[1:]
    while rest and rest[0].text.startswith("-") and len(rest[0].text) > 1:
        word = rest.pop(0)
        for at, letter in enumerate(word.text[1:], start=1):
            attached = word.text[at + 1 :]
            if letter == "m":
                module = [Word(text=attached, literal=word.literal)] if attached else []
                python = version or program
                return _inner(
                    peeled,
                    "python -m",
                    [*module, *rest],
                    python=python,
                    python_options=(*peeled.python_options, *options),
                )
            if letter in {"c", "-", "V"}:
                return None
            if letter in _PYTHON_VALUED:
                value = attached or (rest.pop(0).text if rest else "")
                options += [f"-{letter}", value]
                break
            options.append(f"-{letter}")
    return None


def _shell(peeled: Peeled) -> Peeled | None:
    parsed = parse_wrapper(peeled.words[1:], {"-o", "-c", "-O", "--rcfile", "--init-file"})
    scripts = [o.value for o in parsed.options if o.name == "-c" and o.value is not None]
    if scripts:
        text = scripts[0].text if scripts[0].literal else ""
        return _inner(
            peeled, "bash -c", [Word(text="-c", literal=scripts[0].literal)], script=text
        )
    return _inner(peeled, "bash", parsed.rest)


def _env(peeled: Peeled, _cwd: str) -> Peeled | None:
    parsed = parse_wrapper(peeled.words[1:], {"-u", "--unset", "-C", "--chdir", "-S"})
    rest, env = _assignments(parsed.rest)
    return _inner(peeled, "env", rest, env=(*peeled.env, *env))


def _assignments(words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[tuple[str, Word], ...]]:
    """Take `NAME=value` off the front."""
    env: list[tuple[str, Word]] = []
    for number, word in enumerate(words):
        if not re.match(r"[A-Za-z_]\w*=", word.text):
            return tuple(words[number:]), tuple(env)
        name, _, value = word.text.partition("=")
        env.append((name, Word(text=value, literal=word.literal)))
    return (), tuple(env)


def _uv(peeled: Peeled, cwd: str) -> Peeled | None:
    words = peeled.words[1:]
    first = parse_wrapper(words, _UV_VALUED)
    if not first.rest:
        return None
    if [w.text for w in first.rest[:2]] == ["tool", "run"]:
        return _uvx(peeled, cwd, first.rest[2:])
    if first.rest[0].text != "run":
        return None
    told = parse_wrapper(first.rest[1:], _UV_VALUED)
    given = first.rest[1 : len(first.rest) - len(told.rest)]
    rest = list(told.rest)
    if told.has("-m", "--module"):
        rest = [Word(text="python"), Word(text="-m"), *rest]
    if told.has("--no-project", "--no-sync", "--isolated") and not told.has(
        "--with", "--extra", "--group"
    ):
        install = (
            _with_files(told.values("--with-requirements"), cwd)
            if told.has("--with-requirements")
            else None
        )
    elif told.has("--no-project", "--no-sync"):
        install = named_install(told.values("--with", "-w"))
    else:
        install = uv_sync(given, cwd)
    version = "".join(told.values("-p", "--python")[-1:])
    return _inner(peeled, "uv run", rest, install=install, python=version)


def _with_files(files: Sequence[str], cwd: str) -> Install:
    return pip_install([Word(text=t) for f in files for t in ("-r", f)], cwd)


def _uvx(peeled: Peeled, _cwd: str, words: Sequence[Word] | None = None) -> Peeled | None:
    parsed = parse_wrapper(peeled.words[1:] if words is None else words, _UV_VALUED)
    return _ephemeral(peeled, "uvx", parsed.rest, (*parsed.values("--from"), *parsed.values("--with", "-w")),
                      named=parsed.has("--from"), python="".join(parsed.values("-p", "--python")[-1:]))  # fmt: skip


def _pipx(peeled: Peeled, _cwd: str) -> Peeled | None:
    words = peeled.words[1:]
    if not words or words[0].text != "run":
        return None
    valued = {"--spec", "--python", "--pip-args", "-i", "--index-url", "--with", "--fetch-python"}
    parsed = parse_wrapper(words[1:], valued)
    return _ephemeral(peeled, "pipx run", parsed.rest, parsed.values("--spec", "--with"),
                      named=parsed.has("--spec"), python="".join(parsed.values("--python")))  # fmt: skip


def _ephemeral(
    peeled: Peeled,
    via: str,
    words: Sequence[Word],
    requirements: Sequence[str],
    *,
    named: bool,
    python: str,
) -> Peeled | None:
    """Run a tool in an environment of its own: `uvx --with tox-uv tox@4.30`, `pipx run nox==2025.5.1`."""
    if not words:
        return None
    tool, at, version = words[0].text.partition("@")
    if not at:
        tool = re.split(r"[=<>~!]", words[0].text)[0]
        version = words[0].text[len(tool) :]
    elif version:
        version = "" if version == "latest" else f"=={version}"
    own = () if named else (f"{tool}{version}",)
    first = Word(text=re.sub(r"\[.*", "", tool), literal=words[0].literal)
    return _inner(
        peeled,
        via,
        [first, *words[1:]],
        install=named_install((*own, *requirements)),
        python=python,
    )


_SPECIAL: Final[Mapping[str, Callable[[Peeled, str], Peeled | None]]] = {
    "env": _env,
    "uv": _uv,
    "uvx": _uvx,
    "pipx": _pipx,
}
