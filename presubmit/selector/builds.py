"""Keeps what builds of extension modules were seen to compile, by the build files that decide it."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
from typing import TYPE_CHECKING, Final

import msgspec

from presubmit.selector.cache import Kind
from presubmit.selector.native.exact import Built

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from presubmit.selector.cache import Cache

_VERSION: Final = 1
"""Raise it when the same build gives another `Built`."""
_NAMES: Final = frozenset(
    {
        *("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "Makefile"),
        *("meson.build", "meson.options", "meson_options.txt", "CMakeLists.txt", "conanfile.txt"),
    }
)
_IMPORTED = re.compile(rb"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)


def build_key(blobs: Mapping[str, str], read: Callable[[str], bytes | None]) -> str:
    """Name the build files of a tree with their content: what is compiled into what depends on these.

    `read` gives the content of a setup.py: what it imports of the tree belongs to it.
    """
    words = {
        word.decode()
        for path in blobs
        if posixpath.basename(path) == "setup.py"
        for word in _IMPORTED.findall(read(path) or b"")
    }
    files = [(path, blob) for path, blob in sorted(blobs.items()) if _decides(path, words)]
    data = repr((_VERSION, files)).encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()


def _decides(path: str, imported: set[str]) -> bool:
    folder, name = posixpath.split(path)
    if name in _NAMES or name.endswith((".cmake", ".in", ".mk")):
        return True
    # A script beside setup.py, or in a folder that is no package, may be what generates sources.
    return name.endswith(".py") and (not folder or not imported.isdisjoint(path[:-3].split("/")))


def load_built(cache: Cache | None, key: str) -> Built | None:
    """Give what is known of a build by these build files; nothing where it is damaged."""
    kept = cache.load(Kind.BUILT, [key]).get(key) if cache is not None else None
    if kept is None:
        return None
    with contextlib.suppress(msgspec.MsgspecError, UnicodeError):
        return msgspec.msgpack.decode(kept, type=Built)
    return None


def store_built(cache: Cache, key: str, built: Built) -> None:
    """Keep what was seen of a build."""
    with contextlib.suppress(
        UnicodeEncodeError
    ):  # a name that is not UTF-8: the build files decide
        cache.store(Kind.BUILT, {key: msgspec.msgpack.encode(built)})
