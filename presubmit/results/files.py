"""Reads files that a step wrote: never through a link, never without a bound."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def read_bounded(path: Path, max_bytes: int) -> tuple[bytes, str]:
    """Give a plain file's content, or nothing and what is wrong with it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b"", "no plain file"
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        return b"", "missing"
    except OSError as error:
        link = error.errno == errno.ELOOP
        fault = "a symbolic link, which is not followed" if link else error.strerror
        return b"", fault or str(error)
    if len(data) > max_bytes:
        return b"", f"larger than {max_bytes} bytes"
    return data, ""


def cut(text: str, most: int) -> str:
    """Shorten a long text in its middle."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[...]\n{text[-half:]}"
