"""A terminal in a box: the caller's keys go in, what the shell prints comes out, until it ends."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import sys
import termios
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING

from presubmit.container.scripts import MARKER
from presubmit.process import call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from docker.api.client import APIClient

    from presubmit.container.engine import Engine

_CHUNK = 1 << 16


def interact(
    engine: Engine, box_id: str, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]
) -> int:
    """Run `argv` in a container on the caller's terminal (which must be one); gives its exit code."""
    api = engine.api
    made = api.exec_create(
        box_id.removeprefix("docker:"),
        list(argv),
        stdin=True,
        tty=True,
        # The marker, so that a step's end beside it does not take the shell for that step's stray.
        environment={
            **env,
            "TERM": os.environ.get("TERM", "xterm"),
            MARKER: secrets.token_hex(16),
        },
        workdir=cwd,
    )
    stream = api.exec_start(made["Id"], tty=True, socket=True)
    connection = getattr(stream, "_sock", stream)
    try:
        with _raw_terminal(), _following_size(api, made["Id"]):
            _pump(connection)
    finally:
        stream.close()
    return int(api.exec_inspect(made["Id"])["ExitCode"] or 0)


def interact_on_host(argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> int:
    """Run `argv` on the caller's terminal, on the host."""
    assignments = tuple(f"{name}={value}" for name, value in env.items())
    return call(("env", "-C", cwd, *assignments, *argv))


def _pump(connection: object) -> None:
    keys, screen = sys.stdin.fileno(), sys.stdout.fileno()
    descriptor = connection.fileno()  # type: ignore[attr-defined]
    watched = [descriptor, keys]
    while True:
        ready, _, _ = select.select(watched, [], [])
        if descriptor in ready:
            data = os.read(descriptor, _CHUNK)
            if not data:
                return
            os.write(screen, data)
        if keys in ready:
            data = os.read(keys, _CHUNK)
            if not data:
                watched.remove(keys)
                continue
            os.write(descriptor, data)


@contextmanager
def _raw_terminal() -> Iterator[None]:
    keys = sys.stdin.fileno()
    before = termios.tcgetattr(keys)
    tty.setraw(keys)
    try:
        yield
    finally:
        termios.tcsetattr(keys, termios.TCSADRAIN, before)


@contextmanager
def _following_size(api: APIClient, exec_id: str) -> Iterator[None]:
    def resize(*_: object) -> None:
        columns, lines = shutil.get_terminal_size()
        api.exec_resize(exec_id, height=lines, width=columns)

    before = signal.signal(signal.SIGWINCH, resize)
    try:
        resize()
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
