"""Reads what a build of extension modules left: which files of the tree each of them was made from.

All of it was written by the project's own code: it is read without following links, within limits, and believed only
as far as it fits together.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from presubmit.selector.native.built import (
    join_facts,
    read_build_log,
    read_build_ninja,
    read_ninja_log,
)
from presubmit.selector.native.exact import make_built
from presubmit.selector.native.static import generators_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from presubmit.replay.assignment import Lane
    from presubmit.selector.native.exact import Built

_MOST_BYTES: Final = 64 << 20


def read_traces(
    lane: Lane, log: Path, blobs: Mapping[str, str], made: Collection[str]
) -> Built | None:
    """Read what the lane's last build compiled; None where it left nothing that tells.

    Ninja's own files tell it all (meson-python, scikit-build-core); of setuptools the compiler's lines in the log do,
    headers apart. `made` are the extension modules that were built, `blobs` the tree's files.
    """
    build = f"{lane.host_environment}/build"
    ninja, deps = (_read(build, name) for name in ("build.ninja", ".ninja_deps"))
    folder = f"{lane.environment}/build"
    if ninja and deps:
        facts = join_facts(
            [
                read_build_ninja(ninja.decode("utf-8", "surrogateescape"), folder),
                read_ninja_log(deps, folder),
            ]
        )
    else:
        text = _read(str(log.parent), log.name).decode("utf-8", "surrogateescape")
        facts = read_build_log(text, lane.source)
    built = make_built(
        facts,
        blobs,
        made=made,
        headers=bool(ninja and deps),
        root=lane.source,
        generators=lambda source: generators_of(source, blobs),
    )
    return built if built.modules else None


def _read(folder: str, name: str) -> bytes:
    """Read a plain file of a folder that is no link; empty where there is none, or too much of it."""
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return b""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    except OSError:
        return b""
    finally:
        os.close(place)
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES:
        os.close(descriptor)
        return b""
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_MOST_BYTES)
