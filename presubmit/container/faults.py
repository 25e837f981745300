"""What goes wrong between presubmit and the engine, in words."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from presubmit.container.supervise import LostError
from presubmit.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

START_HINT: Final = (
    "Start an engine (`systemctl start docker`, and be in its group: `sudo usermod -aG docker $USER`; "
    "or set DOCKER_HOST), or run `presubmit run --no-container`."
)
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


def engine_faults() -> tuple[type[Exception], ...]:
    """Everything that docker-py raises when a call fails; for `except`."""
    from docker.errors import DockerException  # noqa: PLC0415 - docker costs 0.3 s
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - comes with docker

    return (DockerException, HTTPError, OSError)


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Turn the engine's refusals into EngineError: `what` was to be done, and why it was not."""
    try:
        yield
    except engine_faults() as error:
        raise EngineError(f"{what}: {explain(error)}", hint=hint_for(error)) from error


def explain(error: BaseException) -> str:
    """Give the engine's own words, in one line."""
    text = getattr(error, "explanation", None) or str(error) or type(error).__name__
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return " ".join(text.split())


def hint_for(error: BaseException) -> str:
    """Give the next command, where a well-known cause shows."""
    text = explain(error).lower()
    if "could not select device driver" in text or "unknown or invalid runtime name" in text:
        return "Install the NVIDIA container toolkit, or leave out the GPUs."
    if "bind source path does not exist" in text:
        return (
            "The engine sees another file system than this process: a remote DOCKER_HOST cannot mount local folders, "
            "and Docker Desktop only those that its file sharing lists."
        )
    if "no space left on device" in text:
        return "Free space where the engine keeps its data (`docker system df`)."
    return ""


def lost(error: BaseException) -> LostError:
    """Give the error that says that the box or the engine is gone."""
    if is_gone(error):
        return LostError("the box is gone: it was stopped or removed from outside")
    return LostError(f"the engine does not answer: {explain(error)}")


def is_gone(error: BaseException) -> bool:
    """Whether the engine says that the container does not run any more."""
    return getattr(error, "status_code", None) in {_NOT_FOUND, _CONFLICT}


def why_no_engine(error: BaseException, *, address: str) -> str:
    """Say in one line why no engine answers at `address`."""
    found = os_error_in(error)
    number = found.errno if found is not None else None
    if number == errno.ENOENT:
        return f"no container engine: there is no socket at {address}"
    if number in {errno.EACCES, errno.EPERM}:
        return f"no container engine: this user may not use the socket at {address}"
    if number in {errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EHOSTUNREACH}:
        return f"no container engine: nothing answers at {address} (is the daemon running?)"
    return f"no container engine at {address}: {explain(error)}"


def os_error_in(error: BaseException) -> OSError | None:
    """Find the operating system's error among causes, contexts and arguments."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, OSError) and one.errno is not None:
            return one
        waiting += [one.__context__, one.__cause__, getattr(one, "reason", None), *one.args]
    return None
