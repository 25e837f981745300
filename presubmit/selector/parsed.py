"""Reads what single Python files import, from the cache or by parsing them."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from presubmit.selector.cache import Kind
from presubmit.selector.imports import EXTRACTOR, Imports, read_imports
from presubmit.selector.layout import dotted
from presubmit.selector.processes import every_core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from presubmit.selector.cache import Cache

_BATCH: Final = 1_000
"""Sources that are held in memory at a time."""

_DECODER: Final = msgspec.msgpack.Decoder(Imports)
_ENCODER: Final = msgspec.msgpack.Encoder()


def imports_of(path: str, source: bytes) -> Imports:
    """Read the imports of the file at a path of the tree."""
    return read_imports(
        source, module=dotted(path), is_package=posixpath.basename(path) == "__init__.py"
    )


class Parsed(NamedTuple):
    """What a file imports, encoded: the values of a large tree would fill the memory."""

    data: bytes
    problem: str


def read_all_imports(
    blobs: Mapping[str, str],
    read: Callable[[Iterable[str]], Mapping[str, bytes]],
    cache: Cache | None,
) -> dict[str, Parsed]:
    """Give path -> Parsed for path -> blob id; only what the cache lacks is read and parsed."""
    keys = {path: _key(path, blob) for path, blob in blobs.items()}
    known = {} if cache is None else _load(keys.values(), cache)
    found = {path: known[key] for path, key in keys.items() if key in known}
    missing = [path for path in blobs if path not in found]
    with every_core(len(missing)) as cores:
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            sources = read({blobs[path] for path in batch})
            pairs = [(path, sources[blobs[path]]) for path in batch if blobs[path] in sources]
            fresh = dict(zip((path for path, _ in pairs), cores.map(_of_pair, pairs), strict=True))
            found |= fresh
            if cache is not None:
                entries = {keys[path]: value.data for path, value in fresh.items()}
                cache.store(Kind.IMPORTS, entries)
    return found


def _of_pair(pair: tuple[str, bytes]) -> Parsed:
    value = imports_of(*pair)
    try:
        return Parsed(_ENCODER.encode(value), value.problem)
    except UnicodeError:
        value = _anything("a name in it is no text")
        return Parsed(_ENCODER.encode(value), value.problem)


def _anything(problem: str) -> Imports:
    """Stand for a file that may import, and read, anything."""
    return Imports(dynamic=True, walks=True, documents=True, problem=problem)


def decode_imports(data: bytes | msgspec.Raw) -> Imports:
    """Decode what was kept; damaged data stand for a file that may import anything."""
    try:
        return _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        return _anything("presubmit's cache is damaged")


def _key(path: str, blob: str) -> str:
    """Give the cache's key: relative imports make the value depend on where the file stands."""
    package = posixpath.basename(path) == "__init__.py"
    return f"{EXTRACTOR}:{blob}:{dotted(path)}:{'p' if package else 'm'}"


def _load(keys: Iterable[str], cache: Cache) -> dict[str, Parsed]:
    found: dict[str, Parsed] = {}
    for key, value in cache.load(Kind.IMPORTS, sorted(keys)).items():
        try:
            found[key] = Parsed(value, _DECODER.decode(value).problem)
        except (msgspec.MsgspecError, UnicodeError):
            continue  # a row that does not fit counts as absent
    return found
