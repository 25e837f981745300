"""Reads docker option strings (config, workflows, devcontainer runArgs) by an allow list; pure.

What is not on the list is refused by name: a project's file must not widen what a box may do.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final, TypeVar

from presubmit.container.model import Limits
from presubmit.errors import ConfigError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

T = TypeVar("T")

_UNITS: Final = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[bkmgt]?)i?b?", re.IGNORECASE)
_ULIMIT: Final = re.compile(r"[a-z]+=-?\d+(:-?\d+)?")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_PREFIX: Final = "PRESUBMIT_"
_USER: Final = re.compile(r"(?P<uid>\d+)(?::(?P<gid>\d+))?")
_GPUS: Final = re.compile(r"(?:device=)?(?P<ids>[A-Za-z0-9-]+(?:,[A-Za-z0-9-]+)*)")
_MOST_GPUS: Final = 64
_LONG: Final = {
    "--shm-size": "shm-size",
    "--memory": "memory",
    "--cpus": "cpus",
    "--ulimit": "ulimit",
    "--gpus": "gpus",
    "--user": "user",
    "--env": "env",
}
_SHORT: Final = {"-m": "memory", "-u": "user", "-e": "env"}
_ALLOWED: Final = ", ".join(_LONG)


class Options(Value, frozen=True):
    """What allowed options ask for; None or empty where they say nothing."""

    shm: int | None = None
    memory: int | None = None
    cpus: float | None = None
    ulimits: tuple[str, ...] = ()
    gpus: str = ""
    user: str = ""
    env: dict[str, str] = {}

    def limits_over(self, limits: Limits) -> Limits:
        """Give `limits` with what these options ask for."""
        return Limits(
            memory=limits.memory if self.memory is None else self.memory,
            cpus=limits.cpus if self.cpus is None else self.cpus,
            pids=limits.pids,
            shm=limits.shm if self.shm is None else self.shm,
            ulimits=(*limits.ulimits, *self.ulimits),
        )


def parse_options(options: str | Sequence[str], *, origin: str) -> Options:
    """Read options as `docker run` takes them; ConfigError names the first one that is refused and where it stands."""
    found, refused = split_options(options, origin=origin)
    if refused:
        raise ConfigError(refused[0], hint=f"Allowed are {_ALLOWED}.")
    return found


def split_options(options: str | Sequence[str], *, origin: str) -> tuple[Options, tuple[str, ...]]:
    """Read what is allowed, and say in a sentence each what is refused (and is then not applied).

    For upstream's own files, which are written for another runner; for config use `parse_options`.
    """
    try:
        words = shlex.split(options) if isinstance(options, str) else list(options)
    except ValueError as error:
        raise ConfigError(
            f"{origin}: container options {options!r} cannot be read: {error}"
        ) from error
    found: dict[str, list[str]] = {}
    refused: list[str] = []
    for name, value in _pairs(words):
        if value is None:
            refused.append(
                f"{origin}: container option {name!r} is refused: it could widen what the box may do"
            )
        elif name not in _READERS:
            raise ConfigError(f"{origin}: container option {name} needs a value")
        elif problem := _problem(name, value):
            refused.append(f"{origin}: container option --{name} {value!r} is refused: {problem}")
        else:
            found.setdefault(name, []).append(value)
    options_found = Options(
        shm=_last(found, "shm-size", size),
        memory=_last(found, "memory", size),
        cpus=_last(found, "cpus", _cpus),
        ulimits=tuple(found.get("ulimit", ())),
        gpus=_last(found, "gpus", _gpus) or "",
        user=_last(found, "user", _user) or "",
        env=dict(_variable(value) for value in found.get("env", ())),
    )
    return options_found, tuple(refused)


def _last(found: Mapping[str, Sequence[str]], name: str, read: Callable[[str], T]) -> T | None:
    return read(found[name][-1]) if name in found else None


def _problem(name: str, value: str) -> str:
    """Why a value cannot be used; empty if it can."""
    try:
        _READERS[name](value)
    except ValueError as error:
        return str(error)
    return ""


def size(text: str) -> int:
    """Read `512m`, `1.5g` or `1024` as bytes; raises ValueError."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a size such as 512m or 2g")
    return int(float(match["number"]) * _UNITS[match["unit"].lower()])


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Give (option, value) for each allowed option, and (what was written, None) for everything else.

    A word without a dash after a refused option is taken for its value: no option here takes none.
    """
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        option, value = _split(word)
        if option is None:
            yield word.partition("=")[0] if word.startswith("-") else word, None
            while waiting and not waiting[-1].startswith("-"):
                waiting.pop()
        elif value is not None:
            yield option, value
        elif waiting:
            yield option, waiting.pop()
        else:
            yield word, ""


def _split(word: str) -> tuple[str | None, str | None]:
    """Give the allowed option that a word names, and the value it holds; a cluster of short options is none."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return _LONG.get(name), value if equals else None
    # docker takes `-m1g` and `-m=1g`.
    return _SHORT.get(word[:2]), word[2:].removeprefix("=") if word[2:] else None


def _cpus(text: str) -> float:
    number = float(text)
    if not 0 < number < 10_000:  # noqa: PLR2004 - rules out nan and inf as well
        raise ValueError("not a number of CPUs")
    return number


def _ulimit(text: str) -> str:
    if not _ULIMIT.fullmatch(text):
        raise ValueError("not name=soft[:hard]")
    return text


def _gpus(text: str) -> str:
    """Read docker's three forms: `all`, a count, `device=ids`; and our own, `0,1`."""
    plain = text.strip("\"'")
    match = _GPUS.fullmatch(plain)
    if match is None:
        raise ValueError("not `all`, a count or device ids")
    if plain.isdecimal():
        if not 0 < int(plain) <= _MOST_GPUS:
            raise ValueError("not a number of GPUs")
        return ",".join(map(str, range(int(plain))))
    return match["ids"]


def _user(text: str) -> str:
    """Only numbers: a name would have to be looked up in an image that is not chosen yet. Root is refused."""
    match = _USER.fullmatch(text)
    if text in {"root", "root:root"} or (match is not None and int(match["uid"]) == 0):
        raise ValueError("root is refused; a box runs as the caller")
    if match is None:
        raise ValueError("not uid:gid, both as numbers")
    return f"{int(match['uid'])}:{int(match['gid'] or match['uid'])}"


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(
            "takes its value from the host's environment, which is refused; write NAME=value"
        )
    if not _VARIABLE.fullmatch(name):
        raise ValueError("not NAME=value")
    if name.startswith(_OWN_PREFIX):
        raise ValueError("is presubmit's own variable")
    return name, value


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "shm-size": size,
    "memory": size,
    "cpus": _cpus,
    "ulimit": _ulimit,
    "gpus": _gpus,
    "user": _user,
    "env": _variable,
}
