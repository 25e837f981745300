"""Takes a step's files out of its output folder, whatever the step has made of that folder.

The folder is writable for the code under test, so nothing in it is trusted: names are opened relative to a
descriptor that was taken before the step began, links are not followed, and sizes are bounded (DESIGN, section 6).
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from presubmit.replay.assignment import Lane

MOST_BYTES: Final = 64 << 20


class OutputFolder:
    """One empty folder for one command: `inside` is its name in the box."""

    def __init__(self, lane: Lane) -> None:
        name = secrets.token_hex(8)
        self.host = Path(lane.host_output) / name
        self.inside = f"{lane.output}/{name}"
        self.host.mkdir(parents=True)
        self._descriptor = os.open(self.host, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        if not self.host.is_symlink():
            shutil.rmtree(self.host, ignore_errors=True)

    def write(self, name: str, data: bytes) -> str:
        """Put a file in before the command starts; gives its name inside the box."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o644, dir_fd=self._descriptor)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        return f"{self.inside}/{name}"

    def take(self, name: str, destination: Path) -> str:
        """Copy a file out; gives an empty text, or in words why it was not taken (then nothing is copied)."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError:
            return f"{name} was not written"
        except OSError as error:
            return f"{name} is not a plain file ({error.strerror})"
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            os.close(descriptor)  # a folder cannot even be made a stream of
            return f"{name} is not a plain file"
        with os.fdopen(descriptor, "rb") as stream:
            if facts.st_size > MOST_BYTES:
                return f"{name} is larger than {MOST_BYTES >> 20} MiB"
            destination.parent.mkdir(parents=True, exist_ok=True)
            with destination.open("wb") as copy:
                # The file may grow while it is read: no more than what was allowed.
                copy.write(stream.read(MOST_BYTES))
        return ""
