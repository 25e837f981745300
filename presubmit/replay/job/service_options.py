"""Reads `container:` and `services:` of a job, evaluated, into what may be started here; pure.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idservices. A key that would
widen what a container may do, or that names the host's files, makes the whole cell one that is not replayed.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from presubmit.container.companions import Health, nanoseconds
from presubmit.container.options import Options, split_options
from presubmit.errors import ConfigError
from presubmit.replay.job.action import LackingError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PORT: Final = re.compile(
    r"(?:(?P<address>[^:/]*|\[[^\]]*\]):)??(?:(?P<host>\d*):)?(?P<container>\d+)(?:/(?P<protocol>tcp|udp|sctp))?"
)
# They change nothing that a job could see, or are done anyway.
_IDLE: Final = frozenset(
    {"--init", "--rm", "-i", "-t", "-it", "-ti", "--interactive", "--tty", "-d", "--detach"}
)
_IDLE_WITH_VALUE: Final = frozenset(
    {"--label", "-l", "--restart", "--platform", "--pull", "--log-driver", "--log-opt"}
)
_ROOT: Final = frozenset({"root", "0", "0:0", "root:root"})
_OWN: Final = {
    "--health-cmd": "command",
    "--health-interval": "interval",
    "--health-timeout": "timeout",
    "--health-retries": "retries",
    "--health-start-period": "start_period",
    "--health-start-interval": "start_interval",
    "--entrypoint": "entrypoint",
    "--hostname": "hostname",
    "-h": "hostname",
    "--name": "alias",
    "--network-alias": "alias",
    "--tmpfs": "tmpfs",
    "--publish": "port",
    "-p": "port",
}


class Port(Value, frozen=True, kw_only=True):
    """A port of a service, and the one by which the runner reaches it; None: any that is free."""

    container: int
    host: int | None = None
    protocol: str = "tcp"


class ContainerWish(Value, frozen=True, kw_only=True):
    """What a job asks of its own container, or of a service."""

    image: str
    env: dict[str, str] = {}
    options: Options = Options()
    user: str = ""
    """`0:0` where root is asked for; the rest stands in `options.user`."""
    ports: tuple[Port, ...] = ()
    health: Health = Health()
    hostname: str = ""
    aliases: tuple[str, ...] = ()
    tmpfs: dict[str, str] = {}
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    """What is ignored."""


def read_container(value: object, *, origin: str) -> ContainerWish | None:
    """Read `container:`; None where there is none, or its image is empty. `origin`: `ci.yml:12`. Raises LackingError."""
    return _read(value, origin=origin, what="the job's container")


def read_services(value: object, *, origin: str) -> dict[str, ContainerWish]:
    """Read `services:`; one whose image is empty is not started. Raises LackingError."""
    if not isinstance(value, dict):
        return {}
    read = (
        (name, _read(one, origin=origin, what=f"service {name}")) for name, one in value.items()
    )
    return {str(name): one for name, one in read if one is not None}


def _read(value: object, *, origin: str, what: str) -> ContainerWish | None:
    given: Mapping[str, Any] = value if isinstance(value, dict) else {"image": value}
    image = _text(given.get("image")).removeprefix("docker://")
    if not image:
        return None
    if volumes := given.get("volumes"):
        raise LackingError(f"volumes of {what} ({_text(volumes[0])})")
    words = _words(_text(given.get("options")), origin=origin, what=what)
    own, rest = _split(words)
    if own.get("user"):
        own["user"] = ["0:0"]
    options = _options(rest, origin=origin)
    return ContainerWish(
        image=image,
        env={**options.env, **{str(k): _text(v) for k, v in (given.get("env") or {}).items()}},
        options=options,
        user=own.get("user", [""])[-1],
        ports=tuple(_ports([*(given.get("ports") or ()), *own.get("port", ())], what=what)),
        health=_health(own, what=what),
        hostname=own.get("hostname", [""])[-1],
        aliases=tuple(own.get("alias", ())),
        tmpfs=dict(_tmpfs(text) for text in own.get("tmpfs", ())),
        entrypoint=_command(
            given.get("entrypoint") or own.get("entrypoint", [None])[-1], origin, what
        ),
        command=_command(given.get("command"), origin, what),
        notes=(f"credentials of {what} are not used",) if given.get("credentials") else (),
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _words(options: str, *, origin: str, what: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError as error:
        raise LackingError(f"{origin}: options of {what} that can be read ({error})") from error


def _split(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Take out what only services have or what has no effect; the rest goes to the allow list."""
    own: dict[str, list[str]] = {}
    rest: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        name, equals, value = word.partition("=")
        if name == "--no-healthcheck":
            own["off"] = ["yes"]
        elif name in _OWN or name in _IDLE_WITH_VALUE or name in {"--user", "-u"}:
            value = value if equals else (waiting.pop() if waiting else "")
            if name in _OWN:
                own.setdefault(_OWN[name], []).append(value)
            elif name in {"--user", "-u"} and value in _ROOT:
                own["user"] = [value]
            elif name in {"--user", "-u"}:
                rest += ["--user", value]
        elif word not in _IDLE:
            rest.append(word)
    return own, rest


def _options(rest: list[str], *, origin: str) -> Options:
    try:
        options, refused = split_options(rest, origin=origin)
    except ConfigError as error:
        raise LackingError(str(error)) from error
    if refused:
        raise LackingError(refused[0].removeprefix(f"{origin}: "))
    return options


def _health(own: Mapping[str, list[str]], *, what: str) -> Health:
    def last(name: str) -> str:
        return own.get(name, [""])[-1]

    health = Health(
        command=last("command"),
        interval=last("interval"),
        timeout=last("timeout"),
        retries=last("retries"),
        start_period=last("start_period"),
        off="off" in own,
    )
    try:
        health.for_engine()
        if last("start_interval"):
            nanoseconds(last("start_interval"))
    except ValueError as error:
        raise LackingError(f"a health check of {what} that can be read ({error})") from error
    return health


def _ports(values: Iterable[object], *, what: str) -> Iterable[Port]:
    for value in values:
        match = _PORT.fullmatch(_text(value).strip())
        if match is None:
            raise LackingError(f"ports of {what} that can be read ({_text(value)!r})")
        host = match["host"]
        yield Port(
            container=int(match["container"]),
            host=int(host) if host and int(host) else None,
            protocol=match["protocol"] or "tcp",
        )


def _tmpfs(text: str) -> tuple[str, str]:
    folder, _, options = text.partition(":")
    return folder, options


def _command(value: object, origin: str, what: str) -> tuple[str, ...] | None:
    text = _text(value)
    return tuple(_words(text, origin=origin, what=what)) if text else None
