"""Hands bytes over between this process and a step's box, by files in the cell's temporary folder.

What runs in the box may have put anything there: names are not to be guessed, and no link is followed.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.replay.job.action import LackingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from presubmit.replay.job.action import ActionStep

LIMIT: Final = 256 << 20


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """One file in the cell's temporary folder: its path inside the box, and on the host."""

    inside: str
    host: str

    def read(self) -> bytes:
        """Read what the box wrote; empty where it wrote nothing."""
        try:
            descriptor = os.open(self.host, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return b""
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b""
            data = stream.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise LackingError(f"an answer from the box of less than {LIMIT >> 20} MB")
        return data


@contextmanager
def answer(step: ActionStep) -> Iterator[Shared]:
    """Give a name for a file that a command in the box will write; it is removed at the end."""
    name = f".presubmit-{secrets.token_hex(12)}"
    shared = Shared(
        inside=f"{step.cell.temp}/{name}",
        host=os.path.join(step.cell.host_temp, name),  # noqa: PTH118 - names that are not UTF-8 stay as they are
    )
    try:
        yield shared
    finally:
        with suppress(OSError):
            os.unlink(shared.host)  # noqa: PTH108 - as above


@contextmanager
def handed(step: ActionStep, data: bytes) -> Iterator[str]:
    """Give the path inside the box of a file with these bytes; it is removed at the end."""
    with answer(step) as shared:
        descriptor = os.open(
            shared.host, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644
        )
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        yield shared.inside
