"""What a project's files say that tox does: tox.ini, setup.cfg, tox.toml, pyproject.toml.

Source: tox's configuration reference.
"""

from __future__ import annotations

import configparser
import itertools
import re
from typing import TYPE_CHECKING, Any, Final

from presubmit.upstream.recipes.tables import quoted, read_toml, strings, table
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Read = Callable[[str], str | None]


class ToxEnvironment(Value, frozen=True, kw_only=True):
    """What the files say of one tox environment; `{…}` that is not known stays as it is written."""

    name: str
    origin: str
    commands: tuple[str, ...] = ()
    deps: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    pass_env: tuple[str, ...] = ()
    """Names and patterns (`CI_*`) of variables that come in from outside; no others do."""
    cwd: str = ""
    python: str = ""
    """`3.12`, from `py312` in the name or `base_python`."""
    installs_project: bool = True
    editable: bool = False


def tox_environment(
    name: str, read: Read, *, posargs: Sequence[str] = ()
) -> ToxEnvironment | None:
    """Read one environment; None where no file of tox is there."""
    for path in ("tox.ini", "setup.cfg"):
        text = read(path)
        if text and (path == "tox.ini" or "[tox:tox]" in text):
            return _from_ini(name, text, path, posargs)
    pyproject = read_toml(read("pyproject.toml"))
    found = table(pyproject, "tool", "tox")
    if isinstance(found.get("legacy_tox_ini"), str):
        return _from_ini(name, found["legacy_tox_ini"], "pyproject.toml", posargs)
    tox = read_toml(read("tox.toml"))
    if tox or found:
        return _from_toml(name, tox or found, "tox.toml" if tox else "pyproject.toml", posargs)
    return None


def tox_source(name: str, key: str, read: Read) -> tuple[str, bool]:
    """Say which file holds tox's configuration, and whether the environment's own table there sets `key`."""
    spellings = {key, key.replace("_", "")}
    for path in ("tox.ini", "setup.cfg"):
        text = read(path)
        if text and (path == "tox.ini" or "[tox:tox]" in text):
            return path, _own_option(_ini(text), name, spellings)
    found = table(read_toml(read("pyproject.toml")), "tool", "tox")
    if isinstance(found.get("legacy_tox_ini"), str):
        return "tox.ini", _own_option(_ini(found["legacy_tox_ini"]), name, spellings)
    tox = read_toml(read("tox.toml"))
    if tox or found:
        own = table(tox or found, "env", name)
        return ("tox.toml" if tox else "pyproject.toml"), bool(spellings & set(own))
    return "", False


def _own_option(parser: configparser.ConfigParser, name: str, keys: Iterable[str]) -> bool:
    own = next((s for s in parser.sections() if _names_environment(s, name)), "")
    return bool(own) and any(parser.has_option(own, key) for key in keys)


def tox_default_environments(read: Read) -> tuple[str, ...]:
    """Give `env_list`: what tox runs where no environment is named."""
    for path in ("tox.ini", "setup.cfg"):
        text = read(path)
        if text:
            parser = _ini(text)
            section = "tox" if path == "tox.ini" else "tox:tox"
            found = _raw(parser, section, "env_list", "envlist")
            if found:
                return tuple(_expanded_list(found))
    known = read_toml(read("tox.toml")) or table(read_toml(read("pyproject.toml")), "tool", "tox")
    listed = known.get("env_list", ())
    return tuple(str(item) for item in listed) if isinstance(listed, list) else ()


def python_of(name: str) -> str:
    """Give the Python that a tox environment's name asks for: `py312-test` -> `3.12`, `pypy3` -> `pypy3`."""
    for factor in name.split("-"):
        found = re.fullmatch(r"(py|pypy|cpython|graalpy)?(\d)\.?(\d+)?(t?)", factor)
        if found and (found.group(1) or found.group(3)):
            kind, major, minor, free = found.groups()
            version = f"{major}.{minor}{free}" if minor else major
            return version if kind in {None, "py", "cpython"} else f"{kind}{version}"
        if re.fullmatch(r"(?:pypy|graalpy)\d*(?:\.\d+)?", factor):
            return factor
    return ""


# --- tox.ini --------------------------------------------------------------------------------------------------------


def _ini(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    try:
        parser.read_string(text)
    except configparser.Error:
        return configparser.ConfigParser()
    return parser


def _raw(parser: configparser.ConfigParser, section: str, *keys: str) -> str:
    for key in keys:
        if parser.has_option(section, key):
            return parser.get(section, key)
    return ""


def _from_ini(name: str, text: str, path: str, posargs: Sequence[str]) -> ToxEnvironment:
    parser = _ini(text)
    factors = frozenset(name.split("-"))
    own = next((s for s in parser.sections() if _names_environment(s, name)), "")

    def get(*keys: str) -> str:
        for section in filter(None, (own, "testenv")):
            found = _raw(parser, section, *keys)
            if found:
                return found
        return ""

    def lines(*keys: str) -> tuple[str, ...]:
        return tuple(_lines(parser, get(*keys), factors, posargs))

    base = _first(lines("base_python", "basepython"))
    env = [line.partition("=") for line in lines("set_env", "setenv") if "=" in line]
    return ToxEnvironment(
        name=name,
        origin=f"{path} [{own or 'testenv'}]",
        commands=tuple(_joined(lines("commands"))),
        deps=lines("deps"),
        extras=tuple(_split(lines("extras"))),
        groups=tuple(_split(lines("dependency_groups"))),
        env=tuple((key.strip(), value.strip()) for key, _, value in env),
        pass_env=tuple(_split(lines("pass_env", "passenv"))),
        cwd=_first(lines("change_dir", "changedir")).strip("/") or "",
        python=python_of(name) or base.removeprefix("python").removeprefix("py"),
        installs_project=_raw(parser, "tox", "skipsdist", "no_package").lower() != "true"
        and _first(lines("skip_install")).lower() != "true"
        and _first(lines("package")) != "skip",
        editable=_first(lines("usedevelop", "use_develop")).lower() == "true"
        or _first(lines("package")).startswith("editable"),
    )


def _names_environment(section: str, name: str) -> bool:
    """Whether a section is the environment's own; `[testenv:py{310,311}-x, docs]` names several."""
    kind, _, names = section.partition(":")
    return kind.strip() == "testenv" and bool(names) and name in _expanded_list(names)


def _expanded_list(text: str) -> Iterator[str]:
    """Expand `py{39,310}-{a,b}, docs` (tox: generative environments); ranges `py3{9-11}` as well."""
    depth = 0
    item = ""
    for letter in text + ",":
        depth += (letter == "{") - (letter == "}")
        if depth == 0 and letter in ",\n":
            if item.strip():
                yield from _generated(re.sub(r"\s+#.*$", "", item.strip()))
            item = ""
        else:
            item += letter


def _generated(item: str) -> Iterator[str]:
    pieces = re.split(r"\{([^{}]*)\}", item)
    choices: list[list[str]] = []
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            choices.append([piece])
            continue
        options: list[str] = []
        for option in piece.split(","):
            span = re.fullmatch(r"\s*(\d+)-(\d+)\s*", option)
            if span and int(span[2]) - int(span[1]) < 100:  # noqa: PLR2004 - a range of minor versions
                options += [str(n) for n in range(int(span[1]), int(span[2]) + 1)]
            else:
                options.append(option.strip())
        choices.append(options)
    yield from ("".join(parts) for parts in itertools.product(*choices))


_CONDITION: Final = re.compile(r"((?:!?[\w.{},-]+)(?:\s*,\s*!?[\w.{},-]+)*)\s*:(?:\s+|$)")


def _lines(
    parser: configparser.ConfigParser,
    text: str,
    factors: frozenset[str],
    posargs: Sequence[str],
    depth: int = 0,
) -> Iterator[str]:
    """Give the lines of a setting that hold for these factors, substitutions done."""
    for line in text.splitlines():
        bare = re.sub(r"(?:^|\s+)#.*$", "", line).strip()
        if not bare:
            continue
        condition = _CONDITION.match(bare)
        if condition is not None and not bare.startswith(("http:", "https:")):
            if not any(
                _holds(part.strip(), factors) for part in _expanded_list(condition.group(1))
            ):
                continue
            bare = bare[condition.end() :].strip()
        whole = re.fullmatch(r"\{\[([^\]]+)\](\w+)\}", bare)
        if whole and depth < 5:  # noqa: PLR2004 - deeper only where it goes in circles
            inner = _raw(parser, whole[1], whole[2])
            yield from _lines(parser, inner, factors, posargs, depth + 1)
        elif bare:
            yield _substituted(bare, posargs, lambda section, key: _raw(parser, section, key))


def _holds(condition: str, factors: frozenset[str]) -> bool:
    return all(
        (f[1:] not in factors) if f.startswith("!") else (f in factors)
        for f in condition.split("-")
        if f
    )


def _substituted(text: str, posargs: Sequence[str], lookup: Callable[[str, str], str]) -> str:
    """Fill in `{…}`; what is not known becomes a shell variable without a value."""
    known = {
        **dict.fromkeys(("envpython", "env_python"), "python"),
        **dict.fromkeys(("toxinidir", "tox_root", "/"), "."),
        "posargs": " ".join(posargs),
    }

    def replace(found: re.Match[str]) -> str:
        name, colon, default = found.group(1).partition(":")
        if name == "posargs" and colon:
            return " ".join(posargs) or default
        if name in known:
            return known[name]
        if name == "env" and ":" in default:
            return default.partition(":")[2]
        section = re.fullmatch(r"\[([^\]]+)\](\w+)", found.group(1))
        if section:
            return " ".join(lookup(section[1], section[2]).split())
        return "\0" + re.sub(r"\W", "_", found.group(1)) + "\1"

    for _ in range(4):
        replaced = re.sub(r"\{([^{}]*)\}", replace, text)
        if replaced == text:
            break
        text = replaced
    return text.replace("\0", "${").replace("\1", "}")


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Join lines that end in a backslash; drop the `-` and `!` that say which exit codes count."""
    waiting = ""
    for line in lines:
        if line.endswith("\\"):
            waiting += line[:-1] + " "
            continue
        yield re.sub(r"^[-!]\s*", "", waiting + line)
        waiting = ""


def _split(lines: Iterable[str]) -> Iterator[str]:
    return (name for line in lines for name in re.split(r"[,\s]+", line) if name)


def _first(lines: Sequence[str]) -> str:
    return lines[0] if lines else ""


def _from_toml(
    name: str, data: dict[str, Any], path: str, posargs: Sequence[str]
) -> ToxEnvironment:
    base = table(data, "env_run_base")
    own = table(data, "env", name)
    settings = {**base, **own}
    commands = settings.get("commands", ())
    lines = [_command_line(c, posargs) for c in commands] if isinstance(commands, list) else []
    env = table(settings, "set_env")
    return ToxEnvironment(
        name=name,
        origin=f"{path} [env.{name}]" if own else f"{path} [env_run_base]",
        commands=tuple(line for line in lines if line),
        deps=strings(settings.get("deps")),
        extras=strings(settings.get("extras")),
        groups=strings(settings.get("dependency_groups")),
        env=tuple((k, v) for k, v in env.items() if isinstance(v, str)),
        pass_env=strings(settings.get("pass_env")),
        cwd=str(settings.get("change_dir", "")),
        python=python_of(name),
        installs_project=not settings.get("skip_install") and settings.get("package") != "skip",
        editable=str(settings.get("package", "")).startswith("editable"),
    )


def _command_line(words: Any, posargs: Sequence[str]) -> str:  # noqa: ANN401 - parsed TOML
    found: list[str] = []
    for word in words if isinstance(words, list) else ():
        if isinstance(word, str):
            found.append(word)
        elif isinstance(word, dict) and word.get("replace") == "posargs":
            found += posargs or strings(word.get("default"))
    return _substituted(" ".join(quoted(word) for word in found), posargs, lambda *_: "")
