"""Watches one running command: hands on its output, and ends its whole tree at the deadline or on ^C."""

from __future__ import annotations

import threading
import time
from typing import Final, Protocol

_POLL_SECONDS: Final = 0.2
_DRAIN_SECONDS: Final = 3.0


class LostError(Exception):
    """The engine or the box went away under the command; the message says which."""


class Running(Protocol):
    """A command that was started, in a container or on the host."""

    def read(self, wait: float) -> tuple[tuple[int, bytes], ...] | None:
        """Give what came within `wait` seconds as (stream, bytes); None when both streams have ended."""

    def exit_code(self) -> int | None:
        """Give the exit code; None while it runs. Raises LostError."""

    def kill_tree(self, grace: float) -> None:
        """End it and everything it started: TERM, after `grace` seconds KILL."""


class Sink(Protocol):
    """What takes a command's output: `Output`, or a caller's own."""

    def feed(self, stream: int, data: bytes) -> None:
        """Take the next bytes of a stream."""

    def mute(self) -> None:
        """Hand on nothing more: the caller is about to hear of an exception."""


def watch(running: Running, output: Sink, *, timeout: float, grace: float) -> int | None:
    """Follow a command to its end and give its exit code; None when it was ended at the deadline.

    Any exception (^C, a failing `on_output`) ends the tree as well and is raised again.
    """
    deadline = time.monotonic() + timeout
    try:
        code = _follow(running, output, deadline)
    except LostError:
        raise
    except BaseException:
        output.mute()
        _end(running, output, grace)
        raise
    if code is None:
        _end(running, output, grace)
    return code


def _follow(running: Running, output: Sink, deadline: float) -> int | None:
    """Hand on output until it ends and the exit code is there; None at the deadline."""
    while (left := deadline - time.monotonic()) > 0:
        chunks = running.read(min(_POLL_SECONDS, left))
        if chunks is None:
            return _await_exit(running, deadline)
        for stream, data in chunks:
            output.feed(stream, data)
    return None


def _await_exit(running: Running, deadline: float) -> int | None:
    """Wait for the exit code: a process may close its streams long before it ends."""
    pause = 0.0005
    while (code := running.exit_code()) is None:
        if time.monotonic() >= deadline:
            return None
        time.sleep(pause)
        pause = min(pause * 2, _POLL_SECONDS)
    return code


def _end(running: Running, output: Sink, grace: float) -> None:
    """Kill the tree while its output is still read, or a full pipe would keep it from ending by itself."""
    killer = threading.Thread(target=_kill_quietly, args=(running, grace), daemon=True)
    killer.start()
    open_streams = True
    while killer.is_alive():
        if open_streams:
            open_streams = _drain(running, output)
        else:
            killer.join(_POLL_SECONDS)
    until = time.monotonic() + _DRAIN_SECONDS
    while open_streams and time.monotonic() < until:
        open_streams = _drain(running, output)


def _drain(running: Running, output: Sink) -> bool:
    """Hand on what is there; False when the streams have ended."""
    try:
        chunks = running.read(0.05)
    except LostError:
        return False
    if chunks is None:
        return False
    for stream, data in chunks:
        output.feed(stream, data)
    return True


def _kill_quietly(running: Running, grace: float) -> None:
    try:
        running.kill_tree(grace)
    except LostError:
        return  # gone already; the exec that asked reports it
